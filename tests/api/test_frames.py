#!/usr/bin/env python3
"""The frame stream as a stranger reads it: by schema/frames.md alone, in another language.

BAKEHOUSE names the binary under test (build/dev/bakehouse).
"""

import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BAKEHOUSE = os.path.abspath(os.environ.get("BAKEHOUSE", ROOT / "build/dev/bakehouse"))
sys.path.insert(0, str(ROOT / "tests/support"))

from read_frames import FramesError, Stream, crc32c, float32, records  # noqa: E402


def bake(folder: pathlib.Path, precision: int) -> tuple[bytes, list[dict]]:
    """A short bake of the sample: its frame file, and the lines of the same frames as text."""
    model = folder / "avatar.vrm"
    if not model.exists():
        subprocess.run([BAKEHOUSE, "sample", "avatar", "-o", model], check=True,
                       stdout=subprocess.DEVNULL)
    files = folder / f"{precision}.frames", folder / f"{precision}.ndjson"
    subprocess.run(
        [BAKEHOUSE, "bake", model, "--procedural", "head_turn", "--end", "0.1", "--quiet",
         "--set", 'output.channels=["joints", "segments", "positions"]',
         "--set", "output.normals=true", "--set", f"output.precision={precision}",
         "-o", files[0], "-o", files[1]], check=True)
    return files[0].read_bytes(), [json.loads(line) for line in files[1].read_text().splitlines()]


class Frames(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder_object = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.folder_object.name)
        cls.data, cls.lines = bake(cls.folder, 16)
        cls.exact_data, cls.exact_lines = bake(cls.folder, 32)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder_object.cleanup()

    def compare(self, data: bytes, lines: list[dict]) -> Stream:
        """Every float that was decoded here is the one that was written as text."""
        stream = Stream(data)
        count = 0
        for (frame, values), line in zip(stream.frames(), lines[1:], strict=True):
            self.assertEqual(frame, line["frame"])
            self.assertAlmostEqual(stream.time(frame), line["time"], delta=1e-12)
            ours = stream.line(frame, values)
            self.assertEqual(set(ours), set(line))
            for kind in set(line) - {"frame", "time"}:
                self.assertEqual(list(ours[kind]), list(line[kind]))
                # normals end in a square root and a division, which are not rounded alike here
                bar = 1e-6 if kind == "normals" else 0.0
                for key, expected in line[kind].items():
                    got = ours[kind][key]
                    self.assertEqual(len(got), len(expected))
                    worst = max(abs(a - float32(b)) for a, b in zip(got, expected))
                    self.assertLessEqual(worst, bar, f"{kind} {key} of frame {frame}")
            count += 1
        self.assertEqual(count, 4)
        self.assertEqual(stream.end, (4, 0))
        return stream

    def test_quantised_frames_decode_to_what_the_text_says(self) -> None:
        stream = self.compare(self.data, self.lines)
        kinds = {record.type for record in records(self.data)}
        self.assertLessEqual({1, 2, 3, 4, 5, 8, 9}, kinds)
        self.assertEqual(stream.keys[0], 0)
        self.assertEqual(stream.header["precision"], 16)

    def test_exact_frames_decode_to_what_the_text_says(self) -> None:
        self.compare(self.exact_data, self.exact_lines)

    def test_quantised_positions_are_within_half_a_step(self) -> None:
        stream = Stream(self.data)
        for (frame, values), line in zip(stream.frames(), self.exact_lines[1:], strict=True):
            for channel in stream.channels.values():
                if channel.kind != "positions":
                    continue
                expected = line["positions"][channel.keys[0]]
                for k in range(3):
                    worst = max(abs(a - b) for a, b in
                                zip(values[channel.id][k::3], expected[k::3], strict=True))
                    # half a step, and the rounding of coordinates of up to 2 m to float
                    self.assertLessEqual(worst, 0.51 * channel.step[k] + 4e-7)

    def test_header_and_measures_hold_no_times_of_day_or_names(self) -> None:
        stream = Stream(self.data)
        list(stream.frames())
        self.assertEqual(set(stream.header), {"model", "fps", "frames", "first", "start", "loop",
                                              "precision", "key_interval", "channels"})
        names = [row["name"] for row in stream.measures["summary"]]
        self.assertTrue(any(name.startswith("stretch.") for name in names))
        self.assertFalse([name for name in names if name.startswith("cost.")])

    def test_checksums_are_those_of_the_page(self) -> None:
        # the check value of CRC-32C in its catalogue
        self.assertEqual(crc32c(b"123456789"), 0xE3069283)
        broken = bytearray(self.data)
        broken[len(broken) // 2] ^= 1
        with self.assertRaisesRegex(FramesError, "checksum|cut off"):
            list(Stream(bytes(broken)).frames())

    def test_same_job_gives_the_same_bytes(self) -> None:
        again, _ = bake(self.folder, 16)
        self.assertEqual(again, self.data)
        self.assertEqual(struct.unpack_from("<8sI", self.data, 16), (b"BHFRAMES", 1))


if __name__ == "__main__":
    unittest.main()
