#!/usr/bin/env python3
"""Nothing that was acknowledged is lost, whenever the server is killed."""

import json
import os
import random
import shutil
import subprocess
import threading
import time
import unittest

from support import (BINARY, FINAL, Server, frame_numbers, job, long_job, records, sample, wait_until)

KILLS = int(os.environ.get("BAKEHOUSE_KILLS", "5"))
SEED = int(os.environ.get("BAKEHOUSE_SEED", "1"))


class Load(threading.Thread):
    """Uploads and submits until the server is gone; remembers what was acknowledged."""

    def __init__(self, server, model, unit):
        super().__init__(daemon=True)
        self.server, self.model, self.unit = server, model, unit
        self.jobs, self.models = [], []

    def run(self):
        count = 0
        try:
            while True:
                count += 1
                fields = {"seconds": 5, "name": f"{self.unit} {count}", "cache": count % 3 == 0}
                answer = self.server.post_json("/v1/jobs", job(self.model, **fields))
                if answer.status == 202:
                    self.jobs.append(answer.json["id"])
                if count % 2 == 0:
                    upload = self.server.request(
                        "POST", f"/v1/models?unit={self.unit + count / 1000}", sample("avatar"))
                    if upload.status in (200, 201):
                        self.models.append(upload.json["id"])
        except (OSError, ValueError, __import__("http").client.HTTPException):
            pass


def states(server, job_id):
    """What the job's own events tell: [(state, attempt), ...] from its first one on."""
    text = server.get(f"/v1/jobs/{job_id}/events", Last_Event_ID="0").body.decode()
    found = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
    return [(event["state"], event["attempt"]) for event in found if "state" in event]


class Killed(unittest.TestCase):
    def check_store(self, server):
        """Beside the server and without it, the store holds what it says and nothing else."""
        for is_running in (True, False):
            if not is_running:
                self.assertEqual(server.stop(), 0)
            done = subprocess.run([BINARY, "fsck", "--data", server.data], capture_output=True,
                                  text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn(": clean", done.stdout)

    def check_runs(self, server, job_id):
        """Never two runs at once: between two of them the job was taken back, and only the last
        one ended it."""
        told = states(server, job_id)
        if told == [("done", 0)]:
            return  # born with the answer of an identical bake
        runs = [attempt for state, attempt in told if state == "running"]
        self.assertEqual(told[0], ("queued", 0), told)
        self.assertEqual(runs, list(range(1, len(runs) + 1)), told)
        for (before, _), (after, _) in zip(told, told[1:]):
            self.assertIn((before, after), (("queued", "running"), ("running", "queued"),
                                            ("running", "done")), told)
        self.assertEqual([state for state, _ in told].count("done"), 1, told)

    def test_at_random_moments_keeps_every_upload_and_job(self):
        rng = random.Random(SEED)
        server = Server("--workers", "2", "--max-queued", "100000")
        jobs, models = [], []
        try:
            model = server.upload()
            models.append(model)
            for kill in range(KILLS):
                load = Load(server, model, 1 + kill)
                load.start()
                time.sleep(rng.uniform(0.02, 0.8))
                server.kill()
                load.join()
                jobs += load.jobs
                models += load.models
                server.start()
                # a job may be interrupted twice and no more: let each end before the next kill
                for job_id in load.jobs:
                    self.assertEqual(server.wait(job_id)["state"], "done", f"kill {kill}")
                for model_id in load.models:
                    self.assertEqual(server.get(f"/v1/models/{model_id}/content").body,
                                     sample("avatar"), f"kill {kill}, seed {SEED}")
            self.assertTrue(jobs)
            sums = set()
            for job_id in jobs:
                ended = server.wait(job_id)
                self.assertEqual(ended["state"], "done", (ended["error"], SEED))
                sums.add(ended["sha256"])
                data = server.get(f"/v1/jobs/{job_id}/frames").body
                self.assertEqual(len(data), ended["bytes"])
                self.assertEqual(sum(1 for _ in records(data)) > 0, True)
                self.assertEqual(frame_numbers(data), list(range(151)))
                self.check_runs(server, job_id)
            # the same bake every time, whatever happened to it
            self.assertEqual(len(sums), 1)
            self.assertEqual(os.listdir(os.path.join(server.data, "uploads")), [])
            self.check_store(server)
            print(f"{KILLS} kills: {len(jobs)} jobs and {len(models)} models acknowledged, all there")
        finally:
            server.close()

    def test_in_the_middle_of_a_bake_serves_what_there_was_and_bakes_again(self):
        server = Server("--workers", "1", "--drain-ms", "100")
        try:
            model = server.upload()
            running = server.submit(model, seconds=300, cache=False)["id"]
            before = wait_until(lambda: server.job(running)["frames"] > 50 and server.job(running),
                                "frames")
            server.kill()
            # a torn record at the end, as a power cut leaves it
            path = os.path.join(server.data, "jobs", running, "a1", "frames")
            with open(path, "r+b") as file:
                file.truncate(os.path.getsize(path) - 5)
            with open(path, "rb") as file:
                kept = file.read()
            server.start()
            found = server.job(running)
            self.assertIn(found["state"], ("queued", "running", "done"))
            connection = server.connect()
            connection.request("GET", f"/v1/jobs/{running}/frames")
            data = connection.getresponse().read()
            connection.close()
            ended = server.wait(running)
            self.assertEqual((ended["state"], ended["attempt"]), ("done", 2), ended["error"])
            stream = b"".join(r for kind, _f, r in records(data) if kind != 10)
            self.assertEqual(frame_numbers(stream), list(range(9001)))
            whole = sum(len(r) for _k, _f, r in records(kept))
            self.assertGreater(whole, 0)
            self.assertEqual(stream[:whole], kept[:whole])
            self.assertGreaterEqual(before["frames"], 50)
            self.assertFalse(os.path.exists(path))
        finally:
            server.close()

    def test_three_times_by_the_same_job_fails_it(self):
        server = Server("--workers", "1", "--drain-ms", "100")
        try:
            model = server.upload()
            running = server.post_json("/v1/jobs", long_job(model)).json["id"]
            for attempt in (1, 2, 3):
                wait_until(lambda: server.job(running)["state"] == "running", "the run")
                self.assertEqual(server.job(running)["attempt"], attempt)
                server.kill()
                server.start()
            failed = server.job(running)
            self.assertEqual(failed["state"], "failed")
            self.assertIn("stopped 3 times", failed["error"]["detail"])
            retried = server.request("POST", f"/v1/jobs/{running}/retry")
            self.assertEqual(retried.status, 202)
            server.wait(running, "running")
            server.request("POST", f"/v1/jobs/{running}/cancel")
            self.assertEqual(server.wait(running)["attempt"], 4)
        finally:
            server.close()

    def test_while_cancelling_leaves_the_job_cancelled(self):
        server = Server("--workers", "1")
        try:
            model = server.upload()
            running = server.post_json("/v1/jobs", long_job(model)).json["id"]
            server.wait(running, "running")
            self.assertEqual(server.request("POST", f"/v1/jobs/{running}/cancel").status, 202)
            server.kill()
            server.start()
            self.assertEqual(server.wait(running)["state"], "cancelled")
        finally:
            server.close()


class Recovery(unittest.TestCase):
    def test_a_lost_folder_of_results_is_an_error_and_not_a_crash(self):
        server = Server()
        try:
            model = server.upload()
            done = server.wait(server.submit(model)["id"])
            shutil.rmtree(os.path.join(server.data, "jobs", done["id"]))
            for path in ("frames", "frames?channels=joints", "measures"):
                answer = server.get(f"/v1/jobs/{done['id']}/{path}")
                self.assertIn(answer.status, (200, 404, 409, 503), path)
            self.assertEqual(server.get("/healthz").status, 200)
            self.assertIn(done["state"], FINAL)
        finally:
            server.close()


if __name__ == "__main__":
    unittest.main()
