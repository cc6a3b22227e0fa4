"""Reads a stream of baked frames by what schema/frames.md says, with the standard library only.

    read_frames.py FILE            prints what is in it
    read_frames.py FILE --ndjson   prints every frame as a line of JSON

Independent of the C sources: it is what proves that the page is enough.
"""

from __future__ import annotations

import json
import math
import struct
import sys
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

HEADER, KEY, DELTA, JOINTS, SEGMENTS, CURVES, WEIGHTS, MEASURES, END = range(1, 10)
EXACT = {"joints": JOINTS, "segments": SEGMENTS, "curves": CURVES, "weights": WEIGHTS}


class FramesError(ValueError):
    pass


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


CRC_TABLE = _crc_table()


def crc32c(*parts: bytes) -> int:
    crc = 0xFFFFFFFF
    for part in parts:
        for byte in part:
            crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


@dataclass
class Record:
    type: int
    codec: int
    is_key: bool
    frame: int
    payload: bytes
    offset: int


def records(data: bytes) -> Iterator[Record]:
    offset = 0
    while offset < len(data):
        if len(data) - offset < 16:
            raise FramesError(f"record at byte {offset} is cut off")
        length, type_, codec, flags, frame, crc = struct.unpack_from("<IBBHII", data, offset)
        end = offset + 16 + (length + 3) // 4 * 4
        if end > len(data):
            raise FramesError(f"record at byte {offset} is cut off")
        if crc32c(data[offset : offset + 12], data[offset + 16 : end]) != crc:
            raise FramesError(f"checksum of the record at byte {offset} does not hold")
        payload = data[offset + 16 : offset + 16 + length]
        yield Record(type_, codec, bool(flags & 1), frame, payload, offset)
        offset = end


def decode_group(code: bytes, at: int, kind: int) -> tuple[list[int], int]:
    """Sixteen values of a group that starts at byte `at`, and where the next one starts."""
    if kind == 0:
        return [0] * 16, at
    if kind == 3:
        return list(code[at : at + 16]), at + 16
    bits = 2 if kind == 1 else 4
    full = (1 << bits) - 1
    packed = code[at : at + 2 * bits]
    at += 2 * bits
    values = []
    for byte in packed:
        for shift in range(8 - bits, -1, -bits):
            value = byte >> shift & full
            if value == full:
                value = code[at]
                at += 1
            values.append(value)
    return values, at


def decode_words(code: bytes, count: int, size: int) -> array:
    """The u16 words of `count` vertices of `size` bytes."""
    if code[:1] != b"\xa0":
        raise FramesError("coded words of an unknown version")
    tail = max(32, size)
    out = bytearray(count * size)
    last = list(code[len(code) - size :])
    block = min(256, 8192 // size // 16 * 16)
    at = 1
    for first in range(0, count, block):
        vertices = min(block, count - first)
        groups = (vertices + 15) // 16
        for k in range(size):
            header = code[at : at + (groups + 3) // 4]
            at += len(header)
            value = last[k]
            for group in range(groups):
                kind = header[group // 4] >> (group % 4 * 2) & 3
                values, at = decode_group(code, at, kind)
                for i in range(min(16, vertices - 16 * group)):
                    zigzag = values[i]
                    value = (value + (zigzag >> 1 ^ -(zigzag & 1))) & 0xFF
                    out[(first + 16 * group + i) * size + k] = value
            last[k] = value
    if at + tail != len(code):
        raise FramesError(f"coded words end at byte {at} of {len(code)} less {tail}")
    words = array("H")
    words.frombytes(bytes(out))
    if sys.byteorder == "big":
        words.byteswap()
    return words


def float32(value: float) -> float:
    return struct.unpack("<f", struct.pack("<f", value))[0]


@dataclass
class Channel:
    id: int
    kind: str
    keys: list[str]
    widths: list[int]
    precision: int
    low: tuple[float, ...] = ()
    step: tuple[float, ...] = ()
    words: array = field(default_factory=lambda: array("H"))
    frame: int = -1

    @property
    def count(self) -> int:
        return sum(self.widths)

    @property
    def is_quantised(self) -> bool:
        return self.precision == 16 and self.kind in ("positions", "normals", "tets")

    def decode(self, record: Record) -> list[float]:
        body = record.payload[4:]
        if not self.is_quantised:
            if record.codec != 0 or record.type != EXACT.get(self.kind, KEY):
                raise FramesError(f"{self.kind} in a record of type {record.type}")
            return list(struct.unpack(f"<{self.count}f", body))
        if record.codec != 1:
            raise FramesError(f"codec {record.codec}")
        size = 4 if self.kind == "normals" else 8
        if record.type == KEY:
            if self.kind != "normals":
                self.low = struct.unpack_from("<3f", body, 0)
                self.step = struct.unpack_from("<3f", body, 12)
                body = body[24:]
            self.words = decode_words(body, self.count // 3, size)
        elif record.type == DELTA:
            if self.frame != record.frame - 1:
                raise FramesError("a difference without the frame before")
            for i, folded in enumerate(decode_words(body, self.count // 3, size)):
                self.words[i] = (self.words[i] + (folded >> 1 ^ -(folded & 1))) & 0xFFFF
        else:
            raise FramesError(f"{self.kind} in a record of type {record.type}")
        return self.normals() if self.kind == "normals" else self.points()

    def points(self) -> list[float]:
        return [
            float32(self.low[k] + float32(self.words[4 * v + k] * self.step[k]))
            for v in range(self.count // 3)
            for k in range(3)
        ]

    def normals(self) -> list[float]:
        out = []
        for v in range(self.count // 3):
            x = (self.words[2 * v] - 32768) / 32767
            y = (self.words[2 * v + 1] - 32768) / 32767
            z = 1 - abs(x) - abs(y)
            if z < 0:
                x, y = math.copysign(1 - abs(y), x), math.copysign(1 - abs(x), y)
            length = math.sqrt(x * x + y * y + z * z)
            out += [x / length, y / length, z / length]
        return out


class Stream:
    """A whole stream; `header`, `measures` and `end` are there once `frames` has run."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.header: dict = {}
        self.channels: dict[int, Channel] = {}
        self.measures: dict | None = None
        self.end: tuple[int, int] | None = None
        self.keys: list[int] = []

    def _open(self, record: Record) -> None:
        if record.type != HEADER or record.payload[:8] != b"BHFRAMES":
            raise FramesError("not a file of baked frames")
        if struct.unpack_from("<I", record.payload, 8)[0] != 1:
            raise FramesError("unknown version")
        self.header = json.loads(record.payload[12:])
        for item in self.header["channels"]:
            self.channels[item["id"]] = Channel(**item, precision=self.header["precision"])

    def frames(self) -> Iterator[tuple[int, dict[int, list[float]]]]:
        """(frame, {channel id: floats}) in order."""
        have: dict[int, list[float]] = {}
        next_frame = None
        for record in records(self.data):
            if next_frame is None:
                self._open(record)
                next_frame = self.header["first"]
            elif KEY <= record.type <= WEIGHTS:
                channel = self.channels[struct.unpack_from("<I", record.payload)[0]]
                if record.frame != next_frame or channel.id in have:
                    raise FramesError(f"frame {record.frame} where {next_frame} is not complete")
                if record.is_key and record.frame not in self.keys[-1:]:
                    self.keys.append(record.frame)
                have[channel.id] = channel.decode(record)
                channel.frame = record.frame
                if len(have) == len(self.channels):
                    yield next_frame, have
                    have, next_frame = {}, next_frame + 1
            elif record.type == MEASURES:
                self.measures = json.loads(record.payload)
            elif record.type == END:
                self.end = struct.unpack("<II", record.payload)
                return

    def time(self, frame: int) -> float:
        return frame * self.header["fps"][1] / self.header["fps"][0]

    def line(self, frame: int, values: dict[int, list[float]]) -> dict:
        out: dict = {"frame": frame, "time": self.time(frame)}
        for channel in self.channels.values():
            at = 0
            for key, width in zip(channel.keys, channel.widths):
                out.setdefault(channel.kind, {})[key] = values[channel.id][at : at + width]
                at += width
        return out


def main() -> None:
    with open(sys.argv[1], "rb") as file:
        stream = Stream(file.read())
    count = 0
    for frame, values in stream.frames():
        count += 1
        if "--ndjson" in sys.argv:
            print(json.dumps(stream.line(frame, values)))
    if "--ndjson" not in sys.argv:
        kinds = {c.kind: sum(d.count for d in stream.channels.values() if d.kind == c.kind)
                 for c in stream.channels.values()}
        print(json.dumps({"frames": count, "keys": stream.keys, "floats": kinds,
                          "end": stream.end, "has_measures": stream.measures is not None}))


if __name__ == "__main__":
    main()
