#!/usr/bin/env python3
"""The sessions of README.md work as they stand, in order, on a machine with the binary in its path."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BAKEHOUSE = pathlib.Path(os.environ.get("BAKEHOUSE", ROOT / "build/dev/bakehouse")).resolve()
README = (ROOT / "README.md").read_text()


def block(heading, language):
    """The first code block below a heading."""
    section = README.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.search(rf"```{language}\n(.*?)```", section, re.S).group(1)


class Readme(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.object = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.object.name)
        (cls.folder / "bin").mkdir()
        shutil.copy(BAKEHOUSE, cls.folder / "bin/bakehouse")

    @classmethod
    def tearDownClass(cls):
        cls.object.cleanup()

    def run_script(self, script):
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        result = subprocess.run(["sh", "-e", "-c", script], cwd=self.folder, capture_output=True,
                                text=True, timeout=300, env={**os.environ, "PATH": path},
                                check=False)
        self.assertEqual(result.returncode, 0, result.stdout[-2000:] + result.stderr[-2000:])
        return result

    def test_the_offline_session(self):
        self.run_script(block("Without a server", "sh"))
        for name in ["avatar.vrm", "out.glb", "out.png", "walk.frames", "walk.json", "job.json",
                     "out.ndjson"]:
            self.assertGreater((self.folder / name).stat().st_size, 1000, name)

    def test_the_rest_session(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        script = block("With a server", "sh").replace("8080", port)
        ready = f"until curl -fsS -o /dev/null http://127.0.0.1:{port}/readyz 2>/dev/null; do :; done\n"
        script = script.replace("\n\n", f"\nserver=$!\ntrap 'kill $server; wait' EXIT\n{ready}", 1)
        result = self.run_script("bakehouse sample avatar -o avatar.vrm\n" + script +
                                 "\ncurl -sS \"$url/v1/jobs/$job\" > job-state.json\n")
        state = json.loads((self.folder / "job-state.json").read_text())
        self.assertEqual((state["state"], state["passed"], state["frames"]), ("done", True, 121))
        self.assertEqual((self.folder / "baked.glb").read_bytes()[:4], b"glTF")
        self.assertEqual((self.folder / "sheet.png").read_bytes()[:4], b"\x89PNG")
        self.assertIn('"stretch.p99"', result.stdout)

    def test_the_problem_is_what_a_faulty_job_gets(self):
        shown = json.loads(block("With a server", "json"))
        model = self.folder / "model.vrm"
        self.run_script(f"bakehouse sample avatar -o {model}")
        job = self.folder / "faulty.json"
        job.write_text(json.dumps({"model": "model.vrm", "time": {"warmup": 1},
                                   "simulations": [{"type": "chains", "damping": 400}]}))
        result = subprocess.run([BAKEHOUSE, "check", job], capture_output=True, text=True, check=False)
        faults = [f"{job}: {e['pointer']} {e['detail']}" for e in shown["errors"]]
        self.assertEqual(result.stderr.splitlines(), faults)
        self.assertIn(shown["errors"][0]["detail"], shown["detail"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
