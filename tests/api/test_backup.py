#!/usr/bin/env python3
"""`bakehouse backup` beside a running server, and `bakehouse fsck` on whole and broken folders."""

import json
import os
import shutil
import subprocess
import tempfile
import threading
import unittest

from support import BINARY, Server, frame_numbers, long_job, sample, wait_until


def run(*arguments):
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=300)


def fsck(data, *options):
    """(exit code, report)."""
    done = run("fsck", "--data", data, "--json", *options)
    assert done.returncode in (0, 3) and done.stdout, (done.returncode, done.stderr)
    return done.returncode, json.loads(done.stdout)


def kinds(report):
    return sorted(finding["kind"] for finding in report["findings"])


class Load(threading.Thread):
    """Uploads, submits, deletes and cancels until it is told to stop."""

    def __init__(self, server, model, unit):
        super().__init__(daemon=True)
        self.server, self.model, self.unit = server, model, unit
        self.over = threading.Event()
        self.failures = []

    def run(self):
        count = 0
        while not self.over.is_set():
            count += 1
            try:
                upload = self.server.request(
                    "POST", f"/v1/models?unit={self.unit + count / 1000}", sample("avatar"))
                one = self.server.submit(upload.json["id"], cache=False)["id"]
                self.server.wait(one)
                if count % 2:
                    self.server.request("DELETE", f"/v1/jobs/{one}")
                    self.server.request("DELETE", f"/v1/models/{upload.json['id']}")
            except (AssertionError, OSError, KeyError) as failure:
                self.failures.append(failure)
                return


class Backup(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="bakehouse-backup-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.dest = os.path.join(self.folder, "copy")

    def test_beside_load_makes_a_folder_that_a_server_starts_from(self):
        server = Server("--workers", "3", "--drain-ms", "100")
        try:
            model = server.upload()
            done = server.wait(server.submit(model)["id"])
            frames = server.get(f"/v1/jobs/{done['id']}/frames").body
            running = server.post_json("/v1/jobs", long_job(model)).json["id"]
            server.wait(running, "running")
            loads = [Load(server, model, 1 + unit) for unit in range(2)]
            for load in loads:
                load.start()
            for turn in range(3):
                dest = f"{self.dest}{turn}"
                made = run("backup", dest, "--data", server.data)
                self.assertEqual(made.returncode, 0, made.stderr)
                self.assertFalse(os.path.exists(dest + ".partial"))
                code, report = fsck(dest)
                self.assertEqual((code, report["findings"]), (0, []))
                # nothing of the work in progress is a finding
                code, report = fsck(server.data)
                self.assertEqual((code, report["findings"]), (0, []))
                self.assertTrue(report["server"])
            for load in loads:
                load.over.set()
                load.join()
                self.assertEqual(load.failures, [])
            self.assertEqual(server.job(running)["state"], "running")
            copy = Server("--workers", "1", "--drain-ms", "100", data=f"{self.dest}2")
            try:
                self.assertEqual(copy.get(f"/v1/jobs/{done['id']}/frames").body, frames)
                self.assertEqual(copy.get(f"/v1/models/{model}/content").body, sample("avatar"))
                self.assertEqual(copy.get(f"/v1/jobs/{done['id']}/measures").body,
                                 server.get(f"/v1/jobs/{done['id']}/measures").body)
                # the job that ran begins again in the copy, as nobody's crash
                copy.wait(running, "running")
                self.assertEqual(copy.job(running)["attempt"], 2)
                copy.request("POST", f"/v1/jobs/{running}/cancel")
                copy.wait(running)
                again = copy.wait(copy.submit(model, cache=False)["id"])
                self.assertEqual(again["sha256"], done["sha256"])
                self.assertTrue(copy.submit(model)["cached"])
            finally:
                copy.close()
            server.request("POST", f"/v1/jobs/{running}/cancel")
        finally:
            server.close()

    def test_works_without_a_server_and_keeps_what_failed(self):
        server = Server("--workers", "1")
        try:
            model = server.upload()
            stopped = server.post_json("/v1/jobs", long_job(model)).json["id"]
            wait_until(lambda: server.job(stopped)["frames"] > 50, "frames")
            server.request("POST", f"/v1/jobs/{stopped}/cancel")
            server.wait(stopped)
            frames = server.get(f"/v1/jobs/{stopped}/frames").body
            server.stop()
            os.mkdir(self.dest)
            made = run("backup", self.dest + "/", "--data", server.data)
            self.assertEqual(made.returncode, 0, made.stderr)
            # the original is what it was: it starts, and so does the copy
            self.assertEqual(fsck(server.data)[0], 0)
            copy = Server(data=self.dest)
            try:
                self.assertEqual(copy.get(f"/v1/jobs/{stopped}/frames").body, frames)
                self.assertTrue(frame_numbers(frames))
            finally:
                copy.close()
            server.start()
        finally:
            server.close()

    def test_refuses_what_it_would_spoil(self):
        server = Server()
        try:
            os.mkdir(self.dest)
            with open(os.path.join(self.dest, "mine"), "w", encoding="ascii"):
                pass
            made = run("backup", self.dest, "--data", server.data)
            self.assertEqual(made.returncode, 3)
            self.assertIn("it is not empty", made.stderr)
            self.assertEqual(os.listdir(self.dest), ["mine"])
            made = run("backup", self.dest + "2", "--data", self.folder)
            self.assertEqual(made.returncode, 3)
            self.assertFalse(os.path.exists(self.dest + "2"))
            self.assertEqual(run("backup").returncode, 2)
        finally:
            server.close()

    def test_goes_on_from_an_interrupted_one(self):
        server = Server()
        try:
            server.upload()
            partial = self.dest + ".partial"
            os.makedirs(os.path.join(partial, "assets"))
            with open(os.path.join(partial, "store.sqlite"), "w", encoding="ascii") as file:
                file.write("half a database")
            with open(os.path.join(partial, "assets", "0" * 64), "w", encoding="ascii") as file:
                file.write("deleted since")
            made = run("backup", self.dest, "--data", server.data)
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertEqual(fsck(self.dest)[0], 0)
        finally:
            server.close()


class Fsck(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """A folder with a model, a bake with its cached twin, and a cancelled one."""
        cls.whole = tempfile.mkdtemp(prefix="bakehouse-fsck-")
        server = Server("--workers", "1", data=cls.whole)
        try:
            cls.model = server.upload()
            cls.done = server.wait(server.submit(cls.model)["id"])
            cls.twin = server.submit(cls.model)
            assert cls.twin["cached"]
            cls.stopped = server.post_json("/v1/jobs", long_job(cls.model)).json["id"]
            wait_until(lambda: server.job(cls.stopped)["frames"] > 50, "frames")
            server.request("POST", f"/v1/jobs/{cls.stopped}/cancel")
            server.wait(cls.stopped)
        finally:
            server.close()

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.whole, ignore_errors=True)

    def setUp(self):
        self.data = tempfile.mkdtemp(prefix="bakehouse-fsck-")
        shutil.rmtree(self.data)
        shutil.copytree(self.whole, self.data)
        self.addCleanup(shutil.rmtree, self.data, ignore_errors=True)

    def result(self, job_id, name):
        return os.path.join(self.data, "jobs", job_id, "a1", name)

    def blob(self):
        folder = os.path.join(self.data, "assets")
        return os.path.join(folder, sorted(os.listdir(folder))[0])

    def flip(self, path, at=1000):
        with open(path, "r+b") as file:
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 1]))

    def check(self, wanted, left=0):
        """The findings without and with repair, and none after it."""
        code, report = fsck(self.data)
        self.assertEqual((code, kinds(report)), (3, sorted(wanted)))
        code, report = fsck(self.data, "--repair")
        self.assertEqual((kinds(report), report["left"]), (sorted(wanted), left))
        self.assertEqual(code, 3 if left else 0)
        code, report = fsck(self.data)
        self.assertEqual(code, 3 if left else 0, report)
        return report

    def serve(self):
        server = Server("--workers", "1", data=self.data)
        self.addCleanup(server.close)
        return server

    def test_whole_is_clean(self):
        code, report = fsck(self.data)
        self.assertEqual((code, report["findings"], report["clean"], report["server"]),
                         (0, [], True, False))
        self.assertEqual((report["files"], report["results"]), (1, 2))
        self.assertEqual(fsck(self.data, "--repair")[0], 0)
        self.assertEqual(run("fsck", "--data", self.data, "more").returncode, 2)
        self.assertEqual(run("fsck", "--data", self.data + "-none").returncode, 3)

    def test_damaged_frames_fail_their_jobs_which_can_be_retried(self):
        self.flip(self.result(self.done["id"], "frames"))
        self.check(["frames.damaged"])
        server = self.serve()
        for job_id in (self.done["id"], self.twin["id"]):
            failed = server.job(job_id)
            self.assertEqual(failed["state"], "failed")
            self.assertIn("damaged", failed["error"]["detail"])
            self.assertEqual(server.request("POST", f"/v1/jobs/{job_id}/retry").status, 202)
            again = server.wait(job_id)
            self.assertEqual((again["state"], again["sha256"], again["cached"]),
                             ("done", self.done["sha256"], False))
        # an identical bake was not answered with what is broken
        self.assertEqual(server.get("/readyz").status, 200)

    def test_frames_that_are_cut_or_gone(self):
        path = self.result(self.done["id"], "frames")
        os.truncate(path, os.path.getsize(path) - 5)
        self.check(["frames.damaged"])
        server = self.serve()
        part = server.get(f"/v1/jobs/{self.done['id']}/frames")
        self.assertEqual(part.status, 200)
        self.assertEqual(frame_numbers(part.body), list(range(31)))
        server.close()
        os.unlink(path)
        self.check(["frames.short"])

    def test_a_missing_folder_of_results(self):
        shutil.rmtree(os.path.join(self.data, "jobs", self.done["id"]))
        self.check(["frames.missing"])
        server = self.serve()
        self.assertIn("lost", server.job(self.done["id"])["error"]["detail"])

    def test_frames_of_a_cancelled_bake(self):
        path = self.result(self.stopped, "frames")
        os.truncate(path, os.path.getsize(path) // 2)
        self.check(["frames.short"])
        server = self.serve()
        body = server.get(f"/v1/jobs/{self.stopped}/frames").body
        self.assertTrue(frame_numbers(body))

    def test_measures_come_back_from_the_frames(self):
        path = self.result(self.done["id"], "measures.json")
        os.truncate(path, 10)
        self.check(["measures.damaged"])
        os.unlink(path)
        self.check(["measures.damaged"])
        server = self.serve()
        summary = server.get(f"/v1/jobs/{self.done['id']}/measures").json["summary"]
        self.assertIn("stretch.p99", [row["name"] for row in summary])

    def test_a_damaged_file_is_set_aside_until_it_is_uploaded_again(self):
        self.flip(self.blob())
        report = self.check(["blob.damaged"], left=1)
        self.assertEqual(kinds(report), ["blob.missing"])
        self.assertTrue(os.listdir(os.path.join(self.data, "assets"))[0].endswith(".broken"))
        server = self.serve()
        self.assertEqual(server.upload(), self.model)
        self.assertEqual(server.get(f"/v1/models/{self.model}/content").body, sample("avatar"))
        server.close()
        self.assertEqual(fsck(self.data)[0], 0)

    def test_what_belongs_to_nothing_is_removed(self):
        for name in ("0" * 64, "README"):
            with open(os.path.join(self.data, "assets", name), "w", encoding="ascii") as file:
                file.write("x")
        os.makedirs(os.path.join(self.data, "jobs", "j_gone", "a2"))
        os.makedirs(os.path.join(self.data, "jobs", self.done["id"], "a7"))
        os.mkdir(os.path.join(self.data, "jobs", "j_empty"))
        with open(os.path.join(self.data, "uploads", "u1-1"), "w", encoding="ascii") as file:
            file.write("x")
        # halves of uploads in pieces, and a whole one
        for name in ("u_half", "u_other.about", "u_whole", "u_whole.about"):
            with open(os.path.join(self.data, "partial", name), "w", encoding="ascii") as file:
                file.write("5\n\n\n")
        self.check(["orphan.attempt"] * 3 + ["orphan.blob"] + ["orphan.upload"] * 3)
        self.assertEqual(sorted(os.listdir(os.path.join(self.data, "partial"))),
                         ["u_whole", "u_whole.about"])
        # what is not the store's is let alone
        self.assertIn("README", os.listdir(os.path.join(self.data, "assets")))
        self.assertTrue(os.path.exists(self.result(self.done["id"], "frames")))

    def test_a_start_removes_what_belongs_to_nothing(self):
        with open(os.path.join(self.data, "assets", "0" * 64), "w", encoding="ascii") as file:
            file.write("x")
        os.makedirs(os.path.join(self.data, "jobs", self.done["id"], "a7"))
        for name in ("u_half", "u_other.about", "u_whole", "u_whole.about"):
            with open(os.path.join(self.data, "partial", name), "w", encoding="ascii") as file:
                file.write("5\n\n\n")
        self.serve().close()
        self.assertEqual(sorted(os.listdir(os.path.join(self.data, "partial"))),
                         ["u_whole", "u_whole.about"])
        self.assertEqual(fsck(self.data)[0], 0)

    def test_a_job_that_nobody_runs_is_put_back(self):
        server = Server("--workers", "1", data=self.data)
        running = server.post_json("/v1/jobs", long_job(self.model)).json["id"]
        wait_until(lambda: server.job(running)["frames"] > 50, "frames")
        code, report = fsck(self.data)
        self.assertEqual((code, report["findings"]), (0, []))
        refused = run("fsck", "--data", self.data, "--repair")
        self.assertEqual(refused.returncode, 3)
        self.assertIn("another server uses", refused.stderr)
        server.kill()
        self.check(["job.running"])
        server.start()
        server.wait(running, "running")
        self.assertEqual(server.job(running)["attempt"], 2)
        server.request("POST", f"/v1/jobs/{running}/cancel")
        server.close()

    def test_damage_of_the_database_is_seen(self):
        path = os.path.join(self.data, "store.sqlite")
        size = os.path.getsize(path)
        with open(path, "r+b") as file:
            for page in range(4096 * 3, size, 4096 * 2):
                file.seek(page)
                file.write(b"\xff" * 64)
        code, report = fsck(self.data)
        self.assertEqual(code, 3)
        self.assertEqual(set(kinds(report)), {"database.damaged"})
        made = run("backup", self.data + "-copy", "--data", self.data)
        self.assertEqual(made.returncode, 3)
        self.assertFalse(os.path.exists(self.data + "-copy"))
        shutil.rmtree(self.data + "-copy.partial", ignore_errors=True)

    def test_text_names_each_finding_and_what_repair_would_do(self):
        self.flip(self.result(self.done["id"], "frames"))
        told = run("fsck", "--data", self.data).stdout
        self.assertRegex(told, rf"frames.damaged +{self.done['id']} attempt 1: its SHA-256 is")
        self.assertIn("repair would: fail its jobs", told)
        self.assertIn("1 findings, 1 left", told)


if __name__ == "__main__":
    unittest.main()
