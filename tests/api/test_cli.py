#!/usr/bin/env python3
"""The command line, end to end: what a person or a script sees of it.

BAKEHOUSE names the binary under test (build/dev/bakehouse).
"""

import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BAKEHOUSE = os.path.abspath(os.environ.get("BAKEHOUSE", ROOT / "build/dev/bakehouse"))
COMMANDS = ["bake", "check", "inspect", "job-template", "sample", "sheet"]


def run(*arguments, expect=0, env=None, cwd=None):
    """The result of a command, which must end with the exit code that is expected."""
    result = subprocess.run(
        [BAKEHOUSE, *map(str, arguments)], capture_output=True, text=True, timeout=300,
        env={**os.environ, **(env or {})}, cwd=cwd, check=False)
    if result.returncode != expect:
        raise AssertionError(
            f"{arguments} ended with {result.returncode}, expected {expect}:\n"
            f"{result.stdout[-2000:]}{result.stderr[-2000:]}")
    return result


def split_glb(path, folder):
    """The GLB as a glTF with its binary chunk beside it."""
    data = path.read_bytes()
    size, = struct.unpack_from("<I", data, 12)
    document = json.loads(data[20:20 + size])
    binary = data[20 + size + 8:]
    document["buffers"][0]["uri"] = "the%20data.bin"
    document["buffers"][0]["byteLength"] = len(binary)
    (folder / "the data.bin").write_bytes(binary)
    out = folder / "model.gltf"
    out.write_text(json.dumps(document))
    return out


class CommandLine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder_object = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.folder_object.name)
        cls.model = cls.folder / "avatar.vrm"
        run("sample", "avatar", "-o", cls.model)

    @classmethod
    def tearDownClass(cls):
        cls.folder_object.cleanup()

    def path(self, name):
        return self.folder / name

    def write_job(self, name, job):
        path = self.path(name)
        path.write_text(job if isinstance(job, str) else json.dumps(job))
        return path

    # --- help and usage

    def test_every_command_explains_itself(self):
        everything = run("--help").stdout
        for command in COMMANDS:
            self.assertIn(command, everything)
            text = run(command, "--help").stdout
            self.assertIn(f"usage: bakehouse {command}", text)
            self.assertIn("exit codes", text)

    def test_version_names_the_simulation(self):
        self.assertRegex(run("--version").stdout, r"^bakehouse \d+\.\d+\.\d+ \(simulation \d+\)$")

    def test_usage_faults_end_with_2_and_say_what_is_wrong(self):
        cases = [
            (["bread"], "no command \"bread\""),
            ([], "usage"),
            (["bake"], "something is missing"),
            (["bake", "a", "b"], "one argument too many"),
            (["inspect", self.model, "--colour"], "no option \"--colour\""),
            (["bake", self.model, "--fps"], "--fps needs a value"),
            (["bake", self.model, "--json=1"], "takes no value"),
            (["bake", self.model, "-o", "x.mov"], ".frames, .ndjson, .glb, .vrm, .usda, .pc2, .mdd, .png, .csv"),
            (["bake", self.model, "--model", self.model], "goes with a job file"),
            (["sheet", self.model], "say where to write it"),
            (["sample", "house", "-o", "x"], "no sample \"house\""),
            (["sample", "avatar"], "say where to write it"),
        ]
        for arguments, message in cases:
            with self.subTest(arguments):
                self.assertIn(message, run(*arguments, expect=2).stderr)

    # --- inspect and sample

    def test_inspect_gives_the_summary_as_json(self):
        summary = json.loads(run("inspect", self.model).stdout)
        self.assertEqual(summary["format"], "vrm1")
        self.assertGreater(summary["counts"]["springs"], 2)
        self.assertEqual({c["key"] for c in summary["clips"]},
                         {"idle", "walk", "jump", "crouch", "back_flip", "dance"})

    def test_inspect_takes_units_and_axes(self):
        plain = json.loads(run("inspect", self.model).stdout)
        scaled = json.loads(run("inspect", self.model, "--unit", "cm").stdout)
        turned = json.loads(run("inspect", self.model, "--up=z").stdout)
        self.assertAlmostEqual(scaled["height"], plain["height"] / 100, places=6)
        self.assertIn("unit_suspect", [w["code"] for w in scaled["warnings"]])
        self.assertNotAlmostEqual(turned["height"], plain["height"], places=2)
        self.assertIn("--unit must be", run("inspect", self.model, "--unit", "mile",
                                            expect=1).stderr)

    def test_input_faults_end_with_1_and_name_the_file(self):
        broken = self.path("broken.glb")
        broken.write_bytes(b"glTF" + bytes(30))
        for path in [self.path("nowhere.vrm"), broken, self.folder]:
            with self.subTest(path):
                error = run("inspect", path, expect=1).stderr
                self.assertIn(str(path), error)
                self.assertEqual(len(error.splitlines()), 1)

    def test_samples_are_the_same_every_time(self):
        again = self.path("again.vrm")
        run("sample", "avatar", "--output", again)
        self.assertEqual(again.read_bytes(), self.model.read_bytes())
        layered = self.path("layered.vrm")
        run("sample", "avatar", "--hair", "layered", "-o", layered)
        self.assertNotEqual(layered.read_bytes(), self.model.read_bytes())
        self.assertIn("avatar", run("sample").stdout)

    def test_side_files_are_found_beside_the_file(self):
        folder = self.path("gltf")
        folder.mkdir()
        gltf = split_glb(self.model, folder)
        whole = json.loads(run("inspect", self.model).stdout)
        beside = json.loads(run("inspect", gltf).stdout)
        self.assertEqual(beside["counts"], whole["counts"])
        (folder / "the data.bin").unlink()
        without = json.loads(run("inspect", gltf).stdout)
        self.assertEqual(without["counts"]["vertices"], 0)
        self.assertEqual(without["counts"]["springs"], whole["counts"]["springs"])
        self.assertTrue(without["warnings"])

    # --- jobs

    def test_the_template_is_a_job_with_nothing_but_defaults(self):
        template = self.path("template.json")
        run("job-template", self.model, "-o", template)
        self.assertIn("// 1/s^2; null: the file's, else 240 (0 to 14400)", template.read_text())
        full = json.loads(run("check", template, "--json").stdout)
        least = self.write_job("least.json", {
            "model": "avatar.vrm", "animation": {"procedural": "head_turn"},
            "simulations": [{"type": "chains"}]})
        self.assertEqual(json.loads(run("check", least, "--json").stdout)["key"], full["key"])
        # what check prints is a job too, and the same one
        again = self.write_job("again.json", full["job"])
        result = json.loads(run("check", again, "--model", self.model, "--json").stdout)
        self.assertEqual(result["key"], full["key"])
        self.assertEqual(result["frames"], 121)

    def test_a_template_elsewhere_still_finds_its_model(self):
        folder = self.path("elsewhere")
        folder.mkdir()
        run("job-template", "avatar.vrm", "-o", "elsewhere/job.json", cwd=self.folder)
        run("check", "elsewhere/job.json", cwd=self.folder)

    def test_every_fault_of_a_job_is_listed_with_its_pointer(self):
        job = self.write_job("faulty.json", {
            "model": "avatar.vrm", "colour": 1, "time": {"warmup": 1, "fps": 0},
            "simulations": [{"type": "chains", "damping": 400, "target": "Ponytial"},
                            {"type": "flesh"}]})
        for command in ["check", "bake"]:
            error = run(command, job, expect=1).stderr
            self.assertEqual(len(error.splitlines()), 6, error)
            for text in ["/colour is not a known field", "did you mean \"warm_up\"?",
                         "/time/fps must be a number from 1 to 240",
                         "/simulations/0/damping must be a number from 0 to 180, not 400",
                         "did you mean \"Ponytail\"?",
                         "this version cannot simulate \"flesh\""]:
                self.assertIn(text, error)

    def test_unreadable_jobs_are_refused_with_the_place(self):
        job = self.write_job("unreadable.json", "{\n  // fine\n  \"model\": \"x\",\n  oops\n}")
        self.assertIn("line 4", run("check", job, expect=1).stderr)
        job = self.write_job("nowhere.json", {"model": "m_123",
                                              "simulations": [{"type": "chains"}]})
        self.assertIn("--model FILE", run("check", job, expect=1).stderr)

    def test_a_bare_model_asks_for_its_motion(self):
        error = run("bake", self.model, expect=1).stderr
        self.assertIn("--clip", error)
        self.assertIn("\"walk\"", error)

    # --- bakes

    def test_a_bake_without_a_job_writes_every_kind_of_file(self):
        names = ["w.frames", "w.ndjson", "w.glb", "w.png", "w.csv"]
        outputs = [option for name in names for option in ("-o", self.path(name))]
        measures = self.path("w.json")
        result = json.loads(run("bake", self.model, "--clip", "walk", "--fps", 24, "--json",
                                "--measures", measures, *outputs).stdout)
        lines = self.path("w.ndjson").read_text().splitlines()
        self.assertEqual(len(lines), 1 + result["frames"])
        header = json.loads(lines[0])
        self.assertIn("joints", json.dumps(header))
        frame = json.loads(lines[5])
        self.assertEqual(frame["frame"], 4)
        self.assertAlmostEqual(frame["time"], 4 / 24, places=9)
        self.assertEqual({len(v) for v in frame["segments"].values()}, {6})
        self.assertEqual(self.path("w.glb").read_bytes()[:4], b"glTF")
        self.assertEqual(self.path("w.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        self.assertTrue(self.path("w.csv").read_text().startswith(
            "name,simulation,target,value,unit\n"))
        summary = {(m["name"], m["target"]): m["value"]
                   for m in json.loads(measures.read_text())["summary"]}
        self.assertGreater(summary["stretch.max", "*"], 0)
        self.assertGreater(summary["cost.realtime", "*"], 0)
        self.assertEqual(summary["nonfinite", "*"], 0)

    def test_frames_can_be_piped(self):
        out = run("bake", self.model, "--procedural", "swing", "-o", "-", "--json").stdout
        lines = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([line["frame"] for line in lines[1:]], list(range(46)))
        self.assertEqual(lines[0]["precision"], 32)

    def test_an_export_is_a_model_that_reads_again(self):
        out = self.path("export.glb")
        run("bake", self.model, "--clip", "walk", "-o", out, "--quiet")
        before = json.loads(run("inspect", self.model).stdout)
        after = json.loads(run("inspect", out).stdout)
        self.assertEqual(after["counts"]["clips"], before["counts"]["clips"] + 1)
        self.assertEqual(after["counts"]["springs"], before["counts"]["springs"])
        self.assertEqual(after["counts"]["vertices"], before["counts"]["vertices"])

    def test_the_same_job_gives_the_same_bytes(self):
        frames = []
        for index, simd in enumerate(["scalar", "", "scalar"]):
            out = self.path(f"same{index}.frames")
            env = {"BAKEHOUSE_SIMD": simd} if simd else {}
            run("bake", self.model, "--procedural", "head_turn", "--end", 1, "--settle", 0,
                "--set", "output.channels=[\"joints\",\"positions\"]", "-o", out, "-q", env=env)
            frames.append(out.read_bytes())
        self.assertEqual(frames[0], frames[1])
        self.assertEqual(frames[0], frames[2])

    def test_ntsc_rates_are_exact(self):
        out = self.path("ntsc.ndjson")
        for fps in ["23.976", "24000/1001"]:
            run("bake", self.model, "--procedural", "still", "--end", 1, "--fps", fps, "-o", out,
                "-q")
            lines = out.read_text().splitlines()
            self.assertAlmostEqual(json.loads(lines[24])["time"], 23 * 1001 / 24000, places=12)

    def test_options_change_the_job(self):
        job = self.write_job("base.json", {
            "model": "avatar.vrm", "animation": {"procedural": "jump"},
            "simulations": [{"type": "chains"}]})
        plain = json.loads(run("check", job, "--json").stdout)["job"]
        self.assertEqual(plain["animation"]["procedural"], "jump")
        changed = json.loads(run(
            "check", job, "--json", "--clip", "dance", "--start", "0.5", "--mode", "vrm",
            "--set", "simulations.0.damping=7", "--set", "/forces/wind/velocity=[1,0,0]",
            "--set", "simulations.0.overrides.Ponytail.enabled=false").stdout)["job"]
        self.assertEqual(changed["animation"], {"clip": "dance", "in_place": False})
        self.assertEqual(changed["time"]["start"], 0.5)
        simulation = changed["simulations"][0]
        self.assertEqual((simulation["mode"], simulation["rate"], simulation["damping"]),
                         ("vrm", 60, 7))
        self.assertEqual(changed["forces"]["wind"]["velocity"], [1, 0, 0])
        self.assertFalse(simulation["overrides"]["Ponytail"]["enabled"])
        self.assertIn("no place", run("check", job, "--set", "model.x=1", expect=1).stderr)

    def test_an_animation_may_come_from_another_file(self):
        other = self.path("other.vrm")
        run("sample", "avatar", "--hair", "layered", "-o", other)
        named = json.loads(run("check", self.model, "--animation", other, "--clip", "dance",
                               "--json").stdout)["job"]
        self.assertRegex(named["animation"]["animation"], "^a_[0-9a-f]{32}$")
        job = self.write_job("asset.json", {
            "model": "avatar.vrm", "animation": {"animation": "take", "clip": "dance"},
            "simulations": [{"type": "chains"}]})
        aliased = json.loads(run("check", job, "--asset", f"take={other}", "--json").stdout)["job"]
        self.assertEqual(aliased, named)

    def test_a_gate_that_is_not_passed_ends_with_4(self):
        arguments = ["bake", self.model, "--procedural", "swing", "--settle", 0]
        run(*arguments, "--set", "/gates/stretch.max={\"max\": 1000}")
        result = run(*arguments, "--set", "/gates/stretch.max={\"max\": 1e-9}", expect=4)
        self.assertIn("stretch.max", result.stderr)
        result = run(*arguments, "--json", "--set", "/gates/stretch.max={\"max\": 1e-9}", expect=4)
        self.assertIs(json.loads(result.stdout)["passed"], False)

    def test_a_bake_that_is_interrupted_ends_with_3(self):
        measures = self.path("stopped.json")
        process = subprocess.Popen(
            [BAKEHOUSE, "bake", self.model, "--procedural", "head_turn", "--end", "900",
             "--set", "output.channels=[\"positions\"]", "--measures", measures],
            stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 3, error)
        self.assertIn("stopped after", error)
        self.assertIs(json.loads(measures.read_text())["partial"], True)

    def test_what_cannot_be_written_ends_with_3_and_leaves_nothing(self):
        out = self.path("no/such/folder/out.glb")
        error = run("bake", self.model, "--procedural", "swing", "-o", out, expect=3).stderr
        self.assertIn("could not write", error)
        self.assertEqual(list(self.folder.glob("**/*.part")), [])

    def test_sheets_come_from_jobs_models_and_frames(self):
        frames = self.path("sheet.frames")
        run("bake", self.model, "--procedural", "swing", "-o", frames, "-q")
        for index, arguments in enumerate([
                [frames, "--model", self.model, "--columns", 2, "--size", "128x160"],
                [self.model, "--procedural", "swing", "--frames", "0,20", "--views", "front,side",
                 "--stretch", "--whole"]]):
            out = self.path(f"sheet{index}.png")
            run("sheet", *arguments, "-o", out)
            self.assertEqual(out.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        self.assertIn("--model FILE", run("sheet", frames, "-o", "x.png", expect=2).stderr)
        for option, value in [("--size", "1x1"), ("--frames", "a"), ("--views", "back"),
                              ("--columns", "17")]:
            self.assertIn(f"{option} must be", run("sheet", frames, "--model", self.model, "-o",
                                                   "x.png", option, value, expect=1).stderr)

    def test_a_model_without_springs_is_told_how_to_define_one(self):
        folder = self.path("bald")
        folder.mkdir()
        gltf = split_glb(self.model, folder)
        document = json.loads(gltf.read_text())
        del document["extensions"]["VRMC_springBone"]
        document["extensionsUsed"].remove("VRMC_springBone")
        gltf.write_text(json.dumps(document))
        error = run("bake", gltf, "--procedural", "head_turn", expect=1).stderr
        self.assertIn("no spring chains", error)
        # the advice, taken to the letter
        advice = re.search(r"--set (\S+)='(.*?)'", error)
        root = next(n["key"] for n in json.loads(run("inspect", gltf).stdout)["nodes"]
                    if n["key"].lower().startswith("ponytail"))
        run("bake", gltf, "--procedural", "swing", "--set",
            advice[1] + "=" + advice[2].replace("NODE", root))


class Schema(unittest.TestCase):
    def test_the_http_description_embeds_the_job_schema(self):
        job = json.loads((ROOT / "schema/job.schema.json").read_text())
        api = json.loads((ROOT / "schema/openapi.json").read_text())
        text = json.dumps(api["components"]["schemas"]["JobSpec"])
        text = text.replace("#/components/schemas/JobSpec/$defs/", "#/$defs/")
        del job["$schema"]
        self.assertEqual(json.loads(text), job)


if __name__ == "__main__":
    unittest.main(verbosity=2)
