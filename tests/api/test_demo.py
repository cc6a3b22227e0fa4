#!/usr/bin/env python3
"""clients/demo.sh does what it says with the binary under test, and leaves nothing running."""

import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import tempfile
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BAKEHOUSE = os.path.abspath(os.environ.get("BAKEHOUSE", ROOT / "build/dev/bakehouse"))


class Demo(unittest.TestCase):
    def setUp(self):
        self.object = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.object.name)
        (self.folder / "tmp").mkdir()
        self.addCleanup(self.object.cleanup)

    def demo(self, *arguments, expect=0):
        # output to files: a server that is kept would hold a pipe open
        with open(self.folder / "stdout", "w+") as out, open(self.folder / "stderr", "w+") as err:
            result = subprocess.run(
                ["sh", ROOT / "clients/demo.sh", "--out", self.folder / "out", *arguments],
                stdout=out, stderr=err, timeout=550, cwd=self.folder, check=False,
                env={**os.environ, "BAKEHOUSE": BAKEHOUSE, "TMPDIR": str(self.folder / "tmp")})
        text = (self.folder / "stdout").read_text()
        error = (self.folder / "stderr").read_text()
        self.assertEqual(result.returncode, expect, text[-3000:] + error[-3000:])
        return text, error

    def url_is_served(self, text):
        url = re.search(r"http://127\.0\.0\.1:\d+", text).group(0)
        try:
            with urllib.request.urlopen(url + "/healthz", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def test_the_built_in_character_gets_a_table_files_and_no_server_left(self):
        text, _ = self.demo()
        self.assertRegex(text, r"first frame after \d+ ms")
        self.assertIn("121 frames in", text)
        before = re.search(r"^before.* ([\d.]+) % +([\d.]+) %", text, re.M)
        after = re.search(r"= after +([\d.]+) % +([\d.]+) %", text)
        self.assertLess(float(after.group(1)), float(before.group(1)))
        self.assertLess(float(after.group(2)), float(before.group(2)))
        for name, start in [("before.glb", b"glTF"), ("after.glb", b"glTF"),
                            ("before.png", b"\x89PNG"), ("after.png", b"\x89PNG")]:
            self.assertEqual((self.folder / "out" / name).read_bytes()[:4], start)
        measures = json.loads((self.folder / "out/measures.json").read_text())
        self.assertFalse(measures["partial"])
        self.assertFalse(self.url_is_served(text))
        self.assertEqual(list((self.folder / "tmp").iterdir()), [])

    def test_a_file_without_springs_gets_chains_or_advice(self):
        model = self.folder / "avatar.vrm"
        subprocess.run([BAKEHOUSE, "sample", "avatar", "-o", model], check=True)
        data = model.read_bytes()
        size, = struct.unpack_from("<I", data, 12)
        document = json.loads(data[20:20 + size])
        del document["extensions"]
        del document["extensionsUsed"]
        binary = data[20 + size + 8:]
        document["buffers"][0]["uri"] = "model.bin"
        (self.folder / "model.bin").write_bytes(binary)
        (self.folder / "model.gltf").write_text(json.dumps(document))
        text, _ = self.demo("model.gltf")
        self.assertRegex(text, r"no spring bones in this file: making chains from .*Ponytail1")
        for node in document["nodes"]:
            node["name"] = f"bone{node['name'].__hash__() & 0xffffff:x}".translate(
                str.maketrans("abcdef", "ghijkl"))
        (self.folder / "model.gltf").write_text(json.dumps(document))
        _, error = self.demo("model.gltf", expect=1)
        self.assertIn("--chain NODE", error)
        _, error = self.demo("model.gltf", "--chain", "nowhere", expect=1)
        self.assertIn("no node \"nowhere\"", error)

    def test_keep_leaves_the_server(self):
        text, _ = self.demo("--keep")
        server = int(re.search(r"kill (\d+) ends it", text).group(1))
        try:
            self.assertTrue(self.url_is_served(text))
        finally:
            os.kill(server, signal.SIGTERM)

    def test_usage_faults_are_said(self):
        self.assertIn("no option --colour", self.demo("--colour", expect=2)[1])
        self.assertIn("there is no file", self.demo("nothing.vrm", expect=1)[1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
