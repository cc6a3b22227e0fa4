"""Exports imported by Blender: vertices equal the frames at three of them.

    blender -b --factory-startup --python-exit-code 1 --python check_blender.py -- FOLDER

GLB: every mesh, skinned by the armature that Blender makes of it. PC2: a mesh with a Mesh Cache
modifier; forward +Z and up -Y is what turns Y up to Z up there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy

numpy.bool = bool  # the importer of Blender 3.4 is older than the numpy of its Python

import bpy  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
from files import Glb, points_of, read_frames, read_glb, read_pc2  # noqa: E402

LIMIT = 1e-4  # metres


def used_vertices(glb: Glb, node: int) -> numpy.ndarray:
    """The importer leaves out vertices that no triangle uses."""
    used, base = [], 0
    document = glb.document
    for primitive in document["meshes"][document["nodes"][node]["mesh"]]["primitives"]:
        count = document["accessors"][primitive["attributes"]["POSITION"]]["count"]
        indices = (glb.accessor(primitive["indices"]) if "indices" in primitive
                   else [(i,) for i in range(count)])
        used.append(base + numpy.unique(numpy.array(indices)))
        base += count
    return numpy.concatenate(used)


def to_blender(points: numpy.ndarray) -> numpy.ndarray:
    return numpy.stack([points[:, 0], -points[:, 2], points[:, 1]], axis=1)


def world_points(thing: bpy.types.Object) -> numpy.ndarray:
    made = thing.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = made.to_mesh()
    points = numpy.empty(3 * len(mesh.vertices), numpy.float32)
    mesh.vertices.foreach_get("co", points)
    matrix = numpy.array(made.matrix_world)
    made.to_mesh_clear()
    return points.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3]


def empty_scene(fps: list[int]) -> None:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = fps[0]
    bpy.context.scene.render.fps_base = fps[1]


def set_frame(number: int) -> None:
    bpy.context.scene.frame_set(number)
    bpy.context.view_layer.update()


def check_glb(bake: dict, frames: list[dict], fps: list[int], folder: Path) -> float:
    path = folder / f"{bake['name']}.glb"
    glb = read_glb(path)
    worst = 0.0
    empty_scene(fps)
    bpy.ops.import_scene.gltf(filepath=str(path))
    objects = {key: object_by_vertices(glb, bake, key) for key in bake["meshes"]}
    for frame in (frames[0], frames[len(frames) // 2], frames[-1]):
        set_frame(frame["frame"])
        for key, thing in objects.items():
            used = used_vertices(glb, bake["keys"].index(key))
            wanted = numpy.array(points_of(frame, key)).reshape(-1, 3)[used]
            got = world_points(thing) * bake["unit"]
            if got.shape != wanted.shape:
                raise AssertionError(f"{key}: {len(got)} vertices, not {len(wanted)}")
            worst = max(worst, float(numpy.abs(got - to_blender(wanted)).max()))
    return worst


def object_by_vertices(glb: Glb, bake: dict, key: str) -> bpy.types.Object:
    """Blender makes names unique in its own way: the name or one that begins with it, and as many
    vertices."""
    node = bake["keys"].index(key)
    name = glb.document["nodes"][node].get("name", key)
    count = len(used_vertices(glb, node))
    found = [thing for thing in bpy.data.objects
             if thing.type == "MESH" and thing.name.startswith(name) and
             len(thing.data.vertices) == count and "checked" not in thing]
    if not found:
        raise AssertionError(f"no mesh object for {key}")
    best = min(found, key=lambda thing: len(thing.name))
    best["checked"] = key
    return best


def check_pc2(bake: dict, frames: list[dict], fps: list[int], folder: Path) -> float:
    path = folder / f"{bake['name']}.pc2"
    count, _ = read_pc2(path)
    worst = 0.0
    empty_scene(fps)
    mesh = bpy.data.meshes.new("cache")
    mesh.from_pydata([(0, 0, 0)] * count, [], [])
    thing = bpy.data.objects.new("cache", mesh)
    bpy.context.scene.collection.objects.link(thing)
    cache = thing.modifiers.new("cache", "MESH_CACHE")
    cache.cache_format, cache.filepath = "PC2", str(path.resolve())
    cache.frame_start, cache.interpolation = 0, "NONE"
    cache.forward_axis, cache.up_axis = "POS_Z", "NEG_Y"
    for frame in (frames[0], frames[len(frames) // 2], frames[-1]):
        set_frame(frame["frame"])
        wanted = numpy.array(points_of(frame, bake["target"])).reshape(-1, 3)
        worst = max(worst, float(numpy.abs(world_points(thing) - to_blender(wanted)).max()))
    return worst


def main() -> int:
    folder = Path(sys.argv[sys.argv.index("--") + 1])
    failed = 0
    for info in sorted(folder.glob("*.json")):
        bake = json.loads(info.read_text())
        header, frames = read_frames(info.with_suffix(".ndjson"))
        for form, check in (("glb", check_glb), ("pc2", check_pc2)):
            try:
                off = check(bake, frames, header["fps"], folder)
                good = off <= LIMIT
                print(f"{bake['name']}.{form}: vertices off by {off:.1e} m"
                      f"{'' if good else ': FAILED'}", flush=True)
                failed += not good
            except AssertionError as failure:
                print(f"{bake['name']}.{form}: FAILED: {failure}")
                failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    code = main()
    if code:
        raise SystemExit(code)
