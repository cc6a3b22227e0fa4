"""USD exports opened with Pixar's library (PyPI: usd-core): points and joints equal the frames.

    check_usd.py FOLDER
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

from pxr import Gf, Usd, UsdGeom, UsdSkel

from files import points_of, read_frames


def check(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)


def check_meshes(stage: Usd.Stage, frames: list[dict], meshes: list[str]) -> int:
    """Every mesh of the model at every frame, bit for bit."""
    found, compared = [], 0
    for prim in stage.Traverse():
        if not prim.IsA(UsdGeom.Mesh):
            continue
        mesh, key = UsdGeom.Mesh(prim), prim.GetCustomDataByKey("key")
        found.append(key)
        points = mesh.GetPointsAttr()
        check(points.GetTimeSamples() == [float(frame["frame"]) for frame in frames],
              f"{key}: other time samples")
        for frame in frames:
            got = [x for point in points.Get(frame["frame"]) for x in point]
            check(got == list(points_of(frame, key)), f"{key} frame {frame['frame']}: other points")
            extent = mesh.GetExtentAttr().Get(frame["frame"])
            check(UsdGeom.PointBased.ComputeExtent(points.Get(frame["frame"])) == extent,
                  f"{key}: wrong extent")
            compared += len(got)
        valid, why = UsdGeom.Mesh.ValidateTopology(mesh.GetFaceVertexIndicesAttr().Get(),
                                                   mesh.GetFaceVertexCountsAttr().Get(),
                                                   len(points.Get(frames[0]["frame"])))
        check(valid, f"{key}: {why}")
    check(sorted(found) == sorted(meshes), f"meshes {found}, not {meshes}")
    return compared


def local_of(value: list[float], rest: Gf.Matrix4d) -> Gf.Matrix4d:
    x, y, z, w = value[3:7]
    turn = Gf.Matrix4d().SetRotate(Gf.Quatd(w, x, y, z))
    scale = value[7:] or [Gf.Vec3d(*rest.GetRow3(i)).GetLength() for i in range(3)]
    return (Gf.Matrix4d().SetScale(Gf.Vec3d(*scale)) * turn *
            Gf.Matrix4d().SetTranslate(Gf.Vec3d(*value[:3])))


def check_joints(stage: Usd.Stage, frames: list[dict]) -> float:
    """Local transforms as UsdSkel evaluates them, greatest difference of any number (scales are
    half precision in UsdSkel)."""
    skeleton = UsdSkel.Skeleton(stage.GetPrimAtPath("/Bake/Rig/Skeleton"))
    cache = UsdSkel.Cache()
    query = cache.GetSkelQuery(skeleton)
    check(bool(query) and query.GetTopology().Validate()[0], "the skeleton is not valid")
    names = list(skeleton.GetJointNamesAttr().Get())
    rest = skeleton.GetRestTransformsAttr().Get()
    worst = 0.0
    for frame in frames:
        locals_ = query.ComputeJointLocalTransforms(frame["frame"])
        check(len(locals_) == len(names), "the animation has no transforms")
        for key, value in frame["joints"].items():
            i = names.index(key)
            wanted = local_of(value, rest[i])
            worst = max(worst, max(abs(locals_[i][r][c] - wanted[r][c])
                                   for r in range(4) for c in range(4)))
    return worst


def main() -> int:
    failed = 0
    for info in sorted(Path(sys.argv[1]).glob("*.json")):
        bake = json.loads(info.read_text())
        name = bake["name"]
        header, frames = read_frames(info.with_suffix(".ndjson"))
        try:
            stage = Usd.Stage.Open(str(info.with_suffix(".usda")))
            fps = header["fps"][0] / header["fps"][1]
            check(math.isclose(stage.GetTimeCodesPerSecond(), fps), "timeCodesPerSecond")
            check(UsdGeom.GetStageMetersPerUnit(stage) == 1, "metersPerUnit")
            check(UsdGeom.GetStageUpAxis(stage) == "Y", "upAxis")
            check(stage.GetEndTimeCode() == frames[-1]["frame"], "endTimeCode")
            numbers = check_meshes(stage, frames, bake["meshes"])
            off = check_joints(stage, frames)
            check(off <= 1e-3, f"joints are off by {off}")
            print(f"{name}: {numbers} numbers of points equal, joints off by {off:.1e}", flush=True)
        except AssertionError as failure:
            print(f"{name}: FAILED: {failure}")
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
