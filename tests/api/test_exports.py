#!/usr/bin/env python3
"""GET /v1/jobs/{id}/export and `bakehouse bake -o`: every format, its options, what it says where a
bake cannot give it. Files are read back by what their formats say, and equal the stored frames."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import struct
import subprocess
import tempfile
import unittest
from array import array
from pathlib import Path

from support import BINARY, Server, sample


def glb_parts(file: bytes) -> tuple[dict, bytes, bytes]:
    """Document, its text, binary chunk."""
    assert file[:4] == b"glTF" and struct.unpack_from("<I", file, 8)[0] == len(file)
    size = struct.unpack_from("<I", file, 12)[0]
    text = file[20:20 + size]
    binary = file[20 + size:]
    return json.loads(text), text, binary[8:8 + struct.unpack_from("<I", binary)[0]]


def floats(values: list[float]) -> bytes:
    return array("f", values).tobytes()


def points_of(frame: dict, key: str) -> list[float]:
    """Those of a node: its primitives one after the other."""
    return [number for name, values in frame["positions"].items()
            if re.fullmatch(re.escape(key) + r"(/\d+)?", name) for number in values]


def read_pc2(file: bytes) -> tuple[int, list[bytes]]:
    magic, version, points, start, rate, samples = struct.unpack_from("<12siiffi", file)
    assert (magic, version, start, rate) == (b"POINTCACHE2\0", 1, 0.0, 1.0)
    size = 12 * points
    assert len(file) == 32 + samples * size
    return points, [file[32 + k * size:32 + (k + 1) * size] for k in range(samples)]


def read_mdd(file: bytes) -> tuple[int, list[float], list[bytes]]:
    samples, points = struct.unpack_from(">ii", file)
    numbers = array("f", file[8:])
    numbers.byteswap()
    times, data = numbers[:samples], numbers[samples:]
    assert len(data) == 3 * samples * points
    return points, list(times), [data[3 * points * k:3 * points * (k + 1)].tobytes()
                                 for k in range(samples)]


class Exports(unittest.TestCase):
    server: Server

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server()
        cls.model = cls.upload(sample("avatar"))
        cls.joints = cls.bake({})
        cls.points = cls.bake({"output": {"channels": ["joints", "positions"]}})

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.close()

    @classmethod
    def upload(cls, file: bytes) -> str:
        answer = cls.server.request("POST", "/v1/models?name=avatar", file,
                                    {"Content-Type": "application/octet-stream"})
        assert answer.status in (200, 201), answer.body
        return answer.json["id"]

    @classmethod
    def bake(cls, more: dict) -> str:
        job = {"model": cls.model, "animation": {"clip": "walk"}, "time": {"end": 0.5},
               "simulations": [{"type": "chains"}], **more}
        answer = cls.server.request("POST", "/v1/jobs", json.dumps(job).encode(),
                                    {"Content-Type": "application/json"})
        assert answer.status == 202, answer.body
        done = cls.server.get(f"/v1/jobs/{answer.json['id']}?wait=60").json
        assert done["state"] == "done", done
        return done["id"]

    def export(self, job: str, query: str) -> bytes:
        answer = self.server.get(f"/v1/jobs/{job}/export?{query}")
        self.assertEqual(answer.status, 200, answer.body[:300])
        extension = query.split("&")[0].split("=")[1]
        self.assertEqual(answer.headers["Content-Disposition"],
                         f'attachment; filename="{job}.{extension}"')
        return answer.body

    def refused(self, job: str, query: str, *texts: str) -> None:
        answer = self.server.get(f"/v1/jobs/{job}/export?{query}")
        self.assertEqual(answer.status, 422, f"{query}: {answer.body[:300]!r}")
        for text in texts:
            self.assertIn(text, answer.json["detail"])

    def frames(self, job: str) -> list[dict]:
        answer = self.server.get(f"/v1/jobs/{job}/frames", Accept="application/x-ndjson")
        return [json.loads(line) for line in answer.body.splitlines()][1:]

    # --- what comes out

    def test_glb_and_vrm_keep_everything_but_what_is_added(self) -> None:
        before, _, binary = glb_parts(sample("avatar"))
        for form in ("glb", "vrm"):
            after, _, longer = glb_parts(self.export(self.joints, f"format={form}"))
            self.assertEqual(longer[:len(binary)], binary)
            for key in set(before) | set(after):
                if key in ("accessors", "bufferViews"):
                    self.assertEqual(after[key][:len(before[key])], before[key])
                elif key == "animations":
                    self.assertEqual(after[key][1:], before[key])
                elif key == "buffers":
                    self.assertEqual(len(after[key]), len(before[key]))
                else:
                    self.assertEqual(after[key], before[key], key)
            self.assertTrue({"VRMC_vrm", "VRMC_springBone"} <= set(after["extensions"]))

    def test_reduce_leaves_out_keys_and_says_so(self) -> None:
        whole, _, _ = glb_parts(self.export(self.joints, "format=glb"))
        sizes = []
        for reduce, taken in (("0.0001", 0.0001), ("0.0123", 0.01), ("1e-1", 0.1)):
            document, _, _ = glb_parts(self.export(self.joints, f"format=glb&reduce={reduce}"))
            extras = document["animations"][0]["extras"]
            self.assertEqual(extras["reduce"], taken)
            self.assertLessEqual(extras["keys"], extras["keys_before"])
            sizes.append(extras["keys"])
        self.assertEqual(sizes, sorted(sizes, reverse=True))
        self.assertLess(sizes[2], sizes[0])
        self.assertNotIn("extras", whole["animations"][0])
        # 0 is the whole, and a value of one digit less is the same file
        self.assertEqual(self.export(self.joints, "format=glb&reduce=0"),
                         self.export(self.joints, "format=glb"))
        self.assertEqual(self.export(self.joints, "format=vrm&reduce=0.019"),
                         self.export(self.joints, "format=vrm&reduce=0.01"))

    def test_point_caches_equal_the_frames(self) -> None:
        frames = self.frames(self.points)
        for key in ("Hair", "Face"):
            wanted = [floats(points_of(frame, key)) for frame in frames]
            points, samples = read_pc2(self.export(self.points, f"format=pc2&target={key}"))
            self.assertEqual(12 * points, len(wanted[0]))
            self.assertEqual(samples, wanted)
            points, times, samples = read_mdd(self.export(self.points, f"format=mdd&target={key}"))
            self.assertEqual(samples, wanted)
            self.assertEqual(floats(times), floats([frame["time"] for frame in frames]))

    def test_csv_equals_the_frames(self) -> None:
        frames = self.frames(self.joints)
        text = self.export(self.joints, "format=csv").decode()
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        self.assertEqual(len(rows), sum(len(frame["joints"]) for frame in frames))
        names = ["tx", "ty", "tz", "qx", "qy", "qz", "qw", "sx", "sy", "sz"]
        for row in rows:
            frame = frames[int(row["frame"])]
            joint = frame["joints"][row["joint"]]
            self.assertEqual(float(row["time"]), frame["time"])
            self.assertEqual([float(row[name]) for name in names][:len(joint)], joint)

    def test_usda_equals_the_frames(self) -> None:
        frames = self.frames(self.points)
        text = self.export(self.points, "format=usda").decode()
        self.assertTrue(text.startswith("#usda 1.0\n"))
        self.assertIn("def SkelAnimation", text)
        mesh = text[text.index('def Mesh "Hair"'):]
        points = mesh[mesh.index("points.timeSamples"):]
        sample_7 = points[points.index(" 7: ["):].split("\n")[0]
        numbers = [float(n) for n in re.findall(r"-?[0-9.]+(?:e[-+]?\d+)?", sample_7[4:])]
        self.assertEqual(numbers, points_of(frames[7], "Hair"))

    def test_a_second_request_gives_the_same_file(self) -> None:
        for query in ("format=usda", "format=pc2&target=Skirt", "format=glb&reduce=0.001"):
            self.assertEqual(self.export(self.points, query), self.export(self.points, query))
        self.assertNotEqual(self.export(self.points, "format=pc2&target=Skirt"),
                            self.export(self.points, "format=pc2&target=Hair"))

    def test_the_type_says_what_it_is(self) -> None:
        for form, media in (("glb", "model/gltf-binary"), ("vrm", "model/gltf-binary"),
                            ("usda", "model/vnd.usda"), ("csv", "text/csv; charset=utf-8"),
                            ("pc2&target=Hair", "application/octet-stream")):
            answer = self.server.get(f"/v1/jobs/{self.points}/export?format={form}")
            self.assertEqual(answer.headers["Content-Type"], media)

    # --- what does not

    def test_a_bake_without_a_channel_says_what_the_job_must_ask_for(self) -> None:
        asked = '"output": {"channels": ["joints", "positions"]}'
        for form in ("usda", "pc2", "mdd"):
            self.refused(self.joints, f"format={form}", f"no positions, of which {form} is made",
                         asked)
        bare = self.bake({"output": {"channels": ["positions"]}})
        for form in ("glb", "vrm", "csv"):
            self.refused(bare, f"format={form}", "the bake holds no joints",
                         '"output": {"channels": ["joints"]}')
        self.assertIn(b"def Mesh", self.export(bare, "format=usda"))

    def test_faults_of_the_query_are_named(self) -> None:
        points = self.points
        self.refused(points, "format=fbx", 'glb, vrm, usda, pc2, mdd or csv, got "fbx"')
        self.refused(points, "format=pc2", "target: pc2 holds one mesh and the model has 6",
                     '"Body", "Face"')
        self.refused(points, "format=mdd&target=Head", 'no mesh at a node "Head", but at "Body"')
        self.refused(points, "format=usda&target=Hair", "target goes with pc2 and mdd")
        self.refused(points, "format=csv&reduce=0.1", "reduce goes with glb and vrm")
        for value in ("0.2", "-1", "1e-9", "nan", "inf", "x", "0.1x", ""):
            self.refused(points, f"format=glb&reduce={value}",
                         "reduce must be 0 or a number from 1e-06 to 0.1", f'got "{value}"')

    def test_a_model_that_is_no_vrm_gives_none(self) -> None:
        document, _, binary = glb_parts(sample("avatar"))
        for key in ("extensions", "extensionsUsed"):
            del document[key]
        text = json.dumps(document).encode()
        text += b" " * (-len(text) % 4)
        body = struct.pack("<I4s", len(text), b"JSON") + text
        body += struct.pack("<I4s", len(binary), b"BIN\0") + binary
        model = self.upload(struct.pack("<4sII", b"glTF", 2, 12 + len(body)) + body)
        job = self.bake({"model": model, "simulations": [
            {"type": "chains", "define": [{"name": "tail", "root": "Ponytail1"}]}]})
        self.refused(job, "format=vrm", "the model is no VRM but glb: take the format glb")
        self.export(job, "format=glb")

    def test_a_job_that_is_not_done_is_a_conflict(self) -> None:
        self.assertEqual(self.server.request("POST", "/v1/queue/pause", b"").status, 200)
        job = json.dumps({"model": self.model, "animation": {"procedural": "jump"},
                          "simulations": [{"type": "chains"}], "cache": False}).encode()
        queued = self.server.request("POST", "/v1/jobs", job,
                                     {"Content-Type": "application/json"}).json["id"]
        answer = self.server.get(f"/v1/jobs/{queued}/export?format=usda")
        self.assertEqual(answer.status, 409)
        self.assertIn("only finished bakes", answer.json["detail"])
        self.server.request("POST", "/v1/queue/resume", b"")


class CommandLine(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="bakehouse-test-"))
        cls.model = cls.folder / "avatar.vrm"
        cls.model.write_bytes(sample("avatar"))

    @classmethod
    def tearDownClass(cls) -> None:
        shutil.rmtree(cls.folder)

    def bake(self, *options: str, expect: int = 0) -> str:
        done = subprocess.run([BINARY, "bake", str(self.model), "--clip", "walk", "--end", "0.2",
                               "-q", *options], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done.stderr

    def test_a_bake_asks_for_what_its_outputs_need(self) -> None:
        self.bake("-o", "a.usda", "-o", "a.pc2", "-o", "a.mdd", "-o", "a.vrm", "-o", "a.csv",
                  "-o", "a.joints.csv", "-o", "a.ndjson", "--target", "Hair")
        lines = (self.folder / "a.ndjson").read_text().splitlines()
        header, frames = json.loads(lines[0]), [json.loads(line) for line in lines[1:]]
        self.assertEqual(header["precision"], 32)
        _, samples = read_pc2((self.folder / "a.pc2").read_bytes())
        self.assertEqual(samples, [floats(points_of(frame, "Hair")) for frame in frames])
        _, _, samples = read_mdd((self.folder / "a.mdd").read_bytes())
        self.assertEqual(samples, [floats(points_of(frame, "Hair")) for frame in frames])
        glb_parts((self.folder / "a.vrm").read_bytes())
        self.assertTrue((self.folder / "a.csv").read_text().startswith("name,simulation,"))
        self.assertTrue((self.folder / "a.joints.csv").read_text().startswith("frame,time,joint,"))

    def test_reduce_is_taken_as_it_is(self) -> None:
        self.bake("-o", "r.glb", "--reduce", "0.0123")
        document, _, _ = glb_parts((self.folder / "r.glb").read_bytes())
        self.assertEqual(document["animations"][0]["extras"]["reduce"], 0.0123)

    def test_what_cannot_be_given_is_said_before_the_bake(self) -> None:
        channels = 'output.channels=["joints"]'
        self.assertIn("b.pc2: the bake holds no positions",
                      self.bake("-o", "b.pc2", "--set", channels, expect=1))
        self.assertIn("b.mdd: target: mdd holds one mesh and the model has 6",
                      self.bake("-o", "b.mdd", expect=1))
        self.assertIn("b.glb: the bake holds no joints",
                      self.bake("-o", "b.glb", "--set", 'output.channels=["positions"]', expect=1))
        for value in ("1", "-1", "x", "nan", ""):
            self.assertIn("--reduce must be a number from 0 to 0.1",
                          self.bake("-o", "b.glb", f"--reduce={value}", expect=2))
        self.assertFalse(list(self.folder.glob("b.*")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
