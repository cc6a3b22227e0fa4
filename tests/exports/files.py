"""What the checks of exports read files with, by what the formats say: GLB, frames as text, PC2, MDD.
Standard library only, so that Blender's Python can use it too."""

from __future__ import annotations

import json
import re
import struct
from array import array
from dataclasses import dataclass
from pathlib import Path

WIDTH = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
COMPONENT = {5121: "B", 5123: "H", 5125: "I", 5126: "f"}


@dataclass
class Glb:
    document: dict
    binary: bytes

    def accessor(self, index: int) -> list[tuple]:
        accessor = self.document["accessors"][index]
        view = self.document["bufferViews"][accessor["bufferView"]]
        width = WIDTH[accessor["type"]]
        code = COMPONENT[accessor["componentType"]]
        size = width * struct.calcsize(code)
        start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
        stride = view.get("byteStride", size)
        return [struct.unpack_from(f"<{width}{code}", self.binary, start + i * stride)
                for i in range(accessor["count"])]


def read_glb(path: Path) -> Glb:
    file = path.read_bytes()
    if file[:4] != b"glTF" or struct.unpack_from("<I", file, 8)[0] != len(file):
        raise ValueError(f"{path} is no GLB")
    size = struct.unpack_from("<I", file, 12)[0]
    rest = file[20 + size:]
    return Glb(json.loads(file[20:20 + size]), rest[8:8 + struct.unpack_from("<I", rest)[0]])


def read_frames(path: Path) -> tuple[dict, list[dict]]:
    with path.open() as file:
        lines = [json.loads(line) for line in file]
    return lines[0], lines[1:]


def points_of(frame: dict, key: str) -> array:
    """Those of a mesh-bearing node: its primitives one after the other."""
    return array("f", [number for name, values in frame["positions"].items()
                       if re.fullmatch(re.escape(key) + r"(/\d+)?", name) for number in values])


def read_pc2(path: Path) -> tuple[int, list[array]]:
    file = path.read_bytes()
    magic, version, points, start, rate, samples = struct.unpack_from("<12siiffi", file)
    if (magic, version, start, rate) != (b"POINTCACHE2\0", 1, 0.0, 1.0):
        raise ValueError(f"{path} has another head")
    data = array("f", file[32:])
    if len(data) != 3 * points * samples:
        raise ValueError(f"{path} has {len(data)} floats")
    return points, [data[3 * points * k:3 * points * (k + 1)] for k in range(samples)]


def read_mdd(path: Path) -> tuple[array, list[array]]:
    file = path.read_bytes()
    samples, points = struct.unpack_from(">ii", file)
    data = array("f", file[8:])
    data.byteswap()
    if len(data) != samples + 3 * points * samples:
        raise ValueError(f"{path} has {len(data)} floats")
    body = data[samples:]
    return data[:samples], [body[3 * points * k:3 * points * (k + 1)] for k in range(samples)]
