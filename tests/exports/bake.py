#!/usr/bin/env python3
"""Bakes the characters that exports are checked with, and reads back what needs no other program.

    bake.py BINARY FOLDER

Leaves NAME.glb .usda .pc2 .mdd .ndjson and NAME.json (what other checks must know) in FOLDER, .vrm
where the model is one. Checks that glb and vrm hold the joints of the frames and all that the file
held, that reduced keys stay within their error, that point caches equal the frames. Real files are
looked for in BAKEHOUSE_TEST_DATA.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

from files import Glb, points_of, read_frames, read_glb, read_mdd, read_pc2

TAIL = '{"name": "tail", "root": "b_Tail01_012"}'
CASES = {
    # name: file of the test data, unit, mesh of point caches, options of the bake
    "avatar": (None, 1, "Hair", ["--clip", "dance", "--end", "1"]),
    "mh_ponytail": ("vrm/mh_ponytail_avatar.vrm", 1, None,
                    ["--procedural", "head_turn", "--end", "1", "--settle", "0"]),
    "godette": ("vrm/Godette_vrm_v4.vrm", 1, None,
                ["--procedural", "head_turn", "--end", "1", "--settle", "0"]),
    "fox": ("skel/Fox.glb", 0.01, "fox",
            ["--clip", "Run", "--unit", "0.01", "--set", f"simulations.0.define=[{TAIL}]"]),
    "robot": ("skel/robot_expressive.glb", 1, "Head#2",
              ["--clip", "Robot_Dance", "--end", "1", "--set",
               'simulations.0.define=[{"name": "neck", "root": "Neck"}]']),
}
REDUCE = 0.001


class Failure(Exception):
    pass


def check(holds: bool, what: str) -> None:
    if not holds:
        raise Failure(what)


def run(binary: str, *arguments: str) -> str:
    return subprocess.run([binary, *arguments], check=True, capture_output=True, text=True).stdout


# --- the animation of a GLB


def slerp(a: tuple, b: tuple, t: float) -> tuple:
    dot = sum(x * y for x, y in zip(a, b))
    if dot < 0:
        b, dot = tuple(-x for x in b), -dot
    omega = math.acos(min(dot, 1.0))
    if omega < 1e-6:
        return tuple(x + (y - x) * t for x, y in zip(a, b))
    from_, to = math.sin((1 - t) * omega), math.sin(t * omega)
    return tuple((from_ * x + to * y) / math.sin(omega) for x, y in zip(a, b))


def sample(times: list[float], values: list[tuple], path: str, time: float) -> tuple:
    if time <= times[0] or len(times) == 1:
        return values[0]
    after = next((i for i, t in enumerate(times) if t >= time), len(times) - 1)
    t = min(max((time - times[after - 1]) / (times[after] - times[after - 1]), 0.0), 1.0)
    if path == "rotation":
        return slerp(values[after - 1], values[after], t)
    return tuple(x + (y - x) * t for x, y in zip(values[after - 1], values[after]))


def tracks(glb: Glb) -> dict[tuple[int, str], tuple[list[float], list[tuple]]]:
    animation = glb.document["animations"][0]
    found = {}
    for channel in animation["channels"]:
        sampler = animation["samplers"][channel["sampler"]]
        check(sampler["interpolation"] == "LINEAR", "an interpolation that is not LINEAR")
        times = [t for t, in glb.accessor(sampler["input"])]
        found[channel["target"]["node"], channel["target"]["path"]] = (
            times, glb.accessor(sampler["output"]))
    return found


def rest_of(node: dict) -> dict[str, tuple]:
    check("matrix" not in node, "a joint with a matrix")
    return {"translation": tuple(node.get("translation", (0, 0, 0))),
            "rotation": tuple(node.get("rotation", (0, 0, 0, 1))),
            "scale": tuple(node.get("scale", (1, 1, 1)))}


def angle(a: tuple, b: tuple) -> float:
    minus = math.dist(a, b)
    plus = math.dist(a, tuple(-x for x in b))
    return 4 * math.atan2(min(minus, plus), max(minus, plus))


def trajectory_error(glb: Glb, frames: list[dict], keys: list[str], unit: float) -> list[float]:
    """The greatest difference between the joints of the frames and of the file: metres, radians,
    scale, and of morph weights."""
    worst = [0.0, 0.0, 0.0, 0.0]
    nodes = glb.document["nodes"]
    animated = tracks(glb)
    for frame in frames:
        for key, value in frame["joints"].items():
            index = keys.index(key)
            node = nodes[index]
            if "skin" in node and not node.get("children"):
                continue  # its transform shows nowhere
            rest = rest_of(node)
            at = {path: sample(*animated[index, path], path, frame["time"])
                  if (index, path) in animated else rest[path] for path in rest}
            place = tuple(x * unit for x in at["translation"])
            worst[0] = max(worst[0], math.dist(place, value[:3]))
            worst[1] = max(worst[1], angle(at["rotation"], tuple(value[3:7])))
            if len(value) > 7:
                worst[2] = max(worst[2], math.dist(at["scale"], value[7:]))
        for key, value in frame.get("weights", {}).items():
            if (keys.index(key), "weights") not in animated:
                continue
            times, flat = animated[keys.index(key), "weights"]
            rows = [tuple(x for x, in flat[i * len(value):(i + 1) * len(value)])
                    for i in range(len(times))]
            worst[3] = max(worst[3], math.dist(sample(times, rows, "weights", frame["time"]),
                                               value))
    return worst


def check_untouched(before: Glb, after: Glb) -> None:
    """Everything of the file is there, but for what is added at an end."""
    check(after.binary[:len(before.binary)] == before.binary, "the binary chunk has changed")
    for key in set(before.document) | set(after.document):
        old, new = before.document.get(key), after.document.get(key)
        if key in ("accessors", "bufferViews"):
            check(new[:len(old)] == old, f"{key} have changed")
        elif key == "animations":
            check(new[1:] == (old or []), f"{key} have changed")
        elif key == "buffers":
            check([{**b, "byteLength": 0} for b in old] == [{**b, "byteLength": 0} for b in new],
                  f"{key} have changed")
        else:
            check(old == new, f"{key} has changed")


# --- a case


def check_case(binary: str, name: str, folder: Path, data: Path | None) -> str:
    source, unit, target, options = CASES[name]
    model = folder / f"{name}.model"
    if source is None:
        run(binary, "sample", "avatar", "-o", str(model))
    else:
        check(data is not None, "needs BAKEHOUSE_TEST_DATA")
        model = data / source
    summary = json.loads(run(binary, "inspect", str(model)))
    keys = [node["key"] for node in summary["nodes"]]
    original = read_glb(model)
    meshes = [keys[i] for i, node in enumerate(original.document["nodes"]) if "mesh" in node]
    target = target or meshes[-1]
    forms = ["glb", "usda", "ndjson", "pc2", "mdd"]
    forms += ["vrm"] if summary["format"].startswith("vrm") else []
    outputs = [word for form in forms for word in ("-o", str(folder / f"{name}.{form}"))]
    channels = 'output.channels=["joints","segments","positions","weights"]'
    run(binary, "bake", str(model), *options, "-q", "--set", channels, "--set",
        "output.precision=32", "--target", target, *outputs)
    run(binary, "bake", str(model), *options, "-q", "--set", channels, "--reduce", str(REDUCE),
        "-o", str(folder / f"{name}.reduced.glb"))

    header, frames = read_frames(folder / f"{name}.ndjson")
    glb = read_glb(folder / f"{name}.glb")
    check_untouched(original, glb)
    error = trajectory_error(glb, frames, keys, unit)
    check(max(error) <= 1e-5, f"trajectories are off by {error}")
    if "vrm" in forms:
        check((folder / f"{name}.vrm").read_bytes() == (folder / f"{name}.glb").read_bytes(),
              "vrm and glb differ")
    reduced = read_glb(folder / f"{name}.reduced.glb")
    check_untouched(original, reduced)
    off = trajectory_error(reduced, frames, keys, unit)
    check(max(off) <= REDUCE * 1.001 + 2e-6, f"reduced trajectories are off by {off}")
    extras = reduced.document["animations"][0]["extras"]

    wanted = [points_of(frame, target) for frame in frames]
    _, samples = read_pc2(folder / f"{name}.pc2")
    check(samples == wanted, "pc2 does not equal the frames")
    times, samples = read_mdd(folder / f"{name}.mdd")
    check(samples == wanted, "mdd does not equal the frames")
    check(all(abs(t - f["time"]) < 1e-6 for t, f in zip(times, frames)), "times of mdd")
    (folder / f"{name}.json").write_text(json.dumps(
        {"name": name, "unit": unit, "target": target, "keys": keys, "meshes": meshes,
         "source": str(model), "forms": forms}))
    return (f"{name}: {len(frames)} frames; joints off by {error[0]:.1e} m {error[1]:.1e} rad, "
            f"reduced to {extras['keys']} of {extras['keys_before']} keys by {off[0]:.1e} m "
            f"{off[1]:.1e} rad; pc2 and mdd equal")


def main() -> int:
    binary, folder = sys.argv[1], Path(sys.argv[2])
    data = os.environ.get("BAKEHOUSE_TEST_DATA")
    failed = 0
    for name, case in CASES.items():
        if case[0] and not data:
            print(f"{name}: skipped: BAKEHOUSE_TEST_DATA is not set")
            continue
        try:
            print(check_case(binary, name, folder, Path(data) if data else None), flush=True)
        except Failure as failure:
            print(f"{name}: FAILED: {failure}")
            failed += 1
        except subprocess.CalledProcessError as failure:
            print(f"{name}: FAILED: {failure.cmd}: {failure.stderr}")
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
