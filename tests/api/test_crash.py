#!/usr/bin/env python3
"""Nothing that was acknowledged is lost, whenever the server is killed.

BAKEHOUSE_KILLS says how often it is killed under load (20), BAKEHOUSE_SEED at which moments.
"""

import hashlib
import http.client
import json
import os
import random
import shutil
import subprocess
import tempfile
import threading
import time
import unittest
import uuid
from contextlib import closing

from support import (BINARY, FINAL, Server, frame_numbers, job, long_job, records, sample, wait_until)
from test_notify import Receiver
from test_uploads import TUS

KILLS = int(os.environ.get("BAKEHOUSE_KILLS", "20"))
SEED = int(os.environ.get("BAKEHOUSE_SEED", "1"))
FRAMES = 151
LOST = (OSError, ValueError, http.client.HTTPException)  # what a client of a killed server sees


_serial = iter(range(10 ** 9))


def variant():
    """A model like no other."""
    return sample("avatar").replace(b'"bakehouse"', b'"%09d"' % next(_serial), 1)


def events(server, last):
    """(id, data) of the events after `last`, until the stream ends."""
    with closing(server.connect()) as connection:
        connection.request("GET", "/v1/events?topics=jobs", headers={"Last-Event-ID": str(last)})
        number = 0
        for line in connection.getresponse():
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "id":
                number = int(value)
            elif name == "data":
                yield number, value


class Client(threading.Thread):
    """Works until the server is gone; remembers what was acknowledged. What it must not see is
    in `faults`."""

    def __init__(self, server, model, turn):
        super().__init__(daemon=True)
        self.server, self.model, self.turn = server, model, turn
        self.faults = []
        self.start()

    def run(self):
        try:
            while True:
                self.work()
        except LOST:
            pass
        except AssertionError as fault:
            self.faults.append(str(fault))

    def work(self):
        raise NotImplementedError

    def expect(self, answer, *statuses):
        assert answer.status in statuses, (answer.status, answer.body[:300])
        return answer


class Submitter(Client):
    """Jobs, each under a key of its own; a third of them may be answered from the cache."""

    def __init__(self, server, model, turn, url):
        self.url, self.jobs, self.asked = url, {}, []
        super().__init__(server, model, turn)

    def work(self):
        count = len(self.asked)
        fields = {"seconds": 5, "name": f"{self.turn} {count}", "cache": count % 3 == 0}
        if count % 2 == 0:
            fields["notify"] = self.url
        self.asked.append((uuid.uuid4().hex, job(self.model, **fields)))
        self.submit(*self.asked[-1])
        time.sleep(0.1)

    def submit(self, key, body):
        answer = self.expect(self.server.post_json("/v1/jobs", body, {"Idempotency-Key": key}), 200,
                             202)
        self.jobs[answer.json["id"]] = body

    def ask_again(self):
        """As a client does that got no answer, and one that forgot it."""
        for key, body in self.asked[-2:]:
            self.submit(key, body)


class Uploader(Client):
    """Whole files, no two the same; each third is deleted again."""

    def __init__(self, *arguments):
        self.models, self.deleted = {}, []
        super().__init__(*arguments)

    def work(self):
        data = variant()
        answer = self.server.request("POST", "/v1/models", data)
        model = self.expect(answer, 201).json["id"]
        self.models[model] = data
        if len(self.models) % 3 == 0:
            del self.models[model]  # from here on it may be there or not
            self.expect(self.server.request("DELETE", f"/v1/models/{model}"), 204)
            self.deleted.append(model)


class PieceUploader(Client):
    """Files in pieces: how much of each was acknowledged, and the models they became."""

    def __init__(self, *arguments):
        self.begun, self.models, self.over = {}, {}, []
        super().__init__(*arguments)

    def work(self):
        data = variant()
        headers = {**TUS, "Upload-Length": str(len(data))}
        answer = self.expect(self.server.request("POST", "/v1/uploads", None, headers), 201)
        path = answer.headers["Location"]
        self.begun[path] = data, 0
        self.go_on(path, 1 << 18)

    def go_on(self, path, size):
        """The rest of it, and the model that it becomes."""
        data, at = self.begun[path]
        while at < len(data):
            piece = data[at:at + size]
            headers = {**TUS, "Content-Type": "application/offset+octet-stream",
                       "Upload-Offset": str(at)}
            self.expect(self.server.request("PATCH", path, piece, headers), 204)
            at += len(piece)
            self.begun[path] = data, at
        made = self.server.request("POST", f"/v1/models?upload={path[12:]}")
        self.models[self.expect(made, 200, 201).json["id"]] = data
        del self.begun[path]
        self.over.append(path)

    def take_up(self):
        """After the kill: what was acknowledged is there, and can be gone on with."""
        for path, (data, acknowledged) in list(self.begun.items()):
            answer = self.server.request("HEAD", path, None, TUS)
            if answer.status == 404 and acknowledged == len(data):
                # it became a model, and nobody was told
                made = self.expect(self.server.request("POST", "/v1/models", data), 200)
                self.models[made.json["id"]] = data
                continue
            self.expect(answer, 200)
            there = int(answer.headers["Upload-Offset"])
            assert there >= acknowledged, (path, there, acknowledged)
            self.begun[path] = data, there
            self.go_on(path, 1 << 20)


class Watcher(Client):
    """The events, and the frames of jobs as they are made."""

    def __init__(self, server, model, turn, last):
        self.events, self.frames, self.last = {}, {}, last
        super().__init__(server, model, turn)
        self.reader = threading.Thread(target=self.read_frames, daemon=True)
        self.reader.start()

    def work(self):
        for number, data in events(self.server, self.last):
            if '"state":' in data:
                self.events[number] = data
            self.last = number
        raise OSError("the stream has ended")

    def read_frames(self):
        """One job after another, the first that is not over."""
        try:
            while True:
                running = [j["id"] for j in self.server.get("/v1/jobs?state=running").json["items"]]
                for job_id in running[:1]:
                    with closing(self.server.connect()) as connection:
                        connection.request("GET", f"/v1/jobs/{job_id}/frames")
                        response = connection.getresponse()
                        self.frames[job_id] = b""
                        while piece := response.read1(65536):
                            self.frames[job_id] += piece
                time.sleep(0.01)
        except LOST:
            pass


class Load:
    """All of them at once."""

    def __init__(self, server, model, turn, url, last_event):
        self.submitter = Submitter(server, model, turn, url)
        self.uploader = Uploader(server, model, turn)
        self.pieces = PieceUploader(server, model, turn)
        self.watcher = Watcher(server, model, turn, last_event)

    def join(self):
        for client in (self.submitter, self.uploader, self.pieces, self.watcher):
            client.join()
        self.watcher.reader.join()
        return [fault for client in (self.submitter, self.uploader, self.pieces, self.watcher)
                for fault in client.faults]


def states(server, job_id):
    """What the job's own events tell: [(state, attempt), ...] from its first one on."""
    text = server.get(f"/v1/jobs/{job_id}/events", Last_Event_ID="0").body.decode()
    found = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
    return [(event["state"], event["attempt"]) for event in found if "state" in event]


def fsck(data):
    done = subprocess.run([BINARY, "fsck", "--data", data, "--json"], capture_output=True,
                          text=True, timeout=300)
    assert done.stdout, (done.returncode, done.stderr)
    return json.loads(done.stdout)


class UnderLoad(unittest.TestCase):
    """Killed while files and pieces come in, jobs are submitted, run, and told of, and streams are
    open."""

    def setUp(self):
        handle, self.secret = tempfile.mkstemp(prefix="bakehouse-secret-")
        with os.fdopen(handle, "w") as file:
            file.write("correct horse battery staple")
        self.addCleanup(os.unlink, self.secret)
        self.receiver = Receiver()
        self.addCleanup(self.receiver.close)
        self.server = Server("--workers", "2", "--max-queued", "100000", "--keep-unused-days", "0",
                             "--notify-secret-file", self.secret, "--notify-allow", "127.0.0.1",
                             "--notify-retry-ms", "100")
        self.addCleanup(self.server.close)
        self.model = self.server.upload()
        self.wanted = self.bake_once()
        self.told = {}      # jobs that are to be told of
        self.last_event = 0
        self.counts = {"jobs": 0, "interrupted": 0, "models": 0, "pieces": 0, "events": 0,
                       "streams": 0, "kills": 0}

    def bake_once(self):
        """The bytes that every job of this test has."""
        done = self.server.wait(self.server.submit(self.model, seconds=5)["id"])
        data = self.server.get(f"/v1/jobs/{done['id']}/frames").body
        self.assertEqual(frame_numbers(data), list(range(FRAMES)))
        self.assertEqual(hashlib.sha256(data).hexdigest(), done["sha256"])
        return data

    def check_dead(self):
        """Whatever the moment: rows and files of what was interrupted, and no damage."""
        kinds = {finding["kind"] for finding in fsck(self.server.data)["findings"]}
        self.assertLessEqual(kinds, {"job.running", "orphan.blob", "orphan.attempt",
                                     "orphan.upload"})

    def check_alive(self):
        report = fsck(self.server.data)
        self.assertEqual(report["findings"], [])

    def check_run(self, job_id):
        """Never two runs at once: between two of them the job was taken back, and only the last
        one ended it. Answers how often it was taken back."""
        told = states(self.server, job_id)
        if told == [("done", 0)]:
            return 0  # born with the answer of an identical bake
        runs = [attempt for state, attempt in told if state == "running"]
        self.assertEqual(told[0], ("queued", 0), told)
        self.assertEqual(runs, list(range(1, len(runs) + 1)), told)
        for (before, _), (after, _) in zip(told, told[1:]):
            self.assertIn((before, after), (("queued", "running"), ("running", "queued"),
                                            ("running", "done")), told)
        self.assertEqual([state for state, _ in told].count("done"), 1, told)
        return len(runs) - 1

    def check_jobs(self, submitter, frames):
        submitter.ask_again()
        named = {}
        for job_id, body in submitter.jobs.items():
            ended = self.server.wait(job_id)
            self.assertEqual(ended["state"], "done", ended["error"])
            self.assertEqual(self.server.get(f"/v1/jobs/{job_id}/frames").body, self.wanted)
            self.counts["interrupted"] += self.check_run(job_id) > 0
            named.setdefault(body["name"], []).append(job_id)
            if "notify" in body:
                self.told[job_id] = ended
        # a submit that was sent twice is one job
        self.assertEqual({name: len(ids) for name, ids in named.items()},
                         {body["name"]: 1 for _key, body in submitter.asked})
        for job_id, seen in frames.items():
            whole = b"".join(record for kind, _frame, record in records(seen) if kind != 10)
            self.assertEqual(whole, self.wanted[:len(whole)], job_id)
        self.counts["jobs"] += len(submitter.jobs)
        self.counts["streams"] += len(frames)

    def check_models(self, uploader, pieces):
        pieces.take_up()
        for model, data in {**uploader.models, **pieces.models}.items():
            self.assertEqual(self.server.get(f"/v1/models/{model}/content").body, data)
        for path in pieces.over:
            self.assertEqual(self.server.request("HEAD", path, None, TUS).status, 404)
        for model in uploader.deleted:
            self.assertEqual(self.server.get(f"/v1/models/{model}").status, 404)
        self.counts["models"] += len(uploader.models)
        self.counts["pieces"] += len(pieces.models)
        for model in [*uploader.models, *pieces.models]:
            self.assertEqual(self.server.request("DELETE", f"/v1/models/{model}").status, 204)

    def check_events(self, watcher):
        """What was told is true after the crash too: the same ids mean the same."""
        if not watcher.events:
            return
        told = {}
        for number, data in events(self.server, min(watcher.events) - 1):
            told[number] = data
            if number >= max(watcher.events):
                break
        self.assertEqual({number: told.get(number) for number in watcher.events}, watcher.events)
        self.last_event = max(watcher.events)
        self.counts["events"] += len(watcher.events)

    def kill(self, rng):
        """At once, or also while it starts."""
        self.server.kill()
        self.counts["kills"] += 1
        if rng.random() < 0.25 and self.counts["kills"] < KILLS:
            # a job survives two interruptions and no more, so one of these at most
            process = subprocess.Popen([BINARY, "serve", "--listen", "127.0.0.1:0", "--data",
                                        self.server.data], stderr=subprocess.DEVNULL)
            time.sleep(rng.uniform(0, 0.1))
            process.kill()
            process.wait()
            self.counts["kills"] += 1

    def test_at_random_moments_keeps_all_that_was_acknowledged(self):
        rng = random.Random(SEED)
        turn = 0
        while self.counts["kills"] < KILLS:
            load = Load(self.server, self.model, turn, self.receiver.url(), self.last_event)
            time.sleep(rng.uniform(0.02, 1.0))
            self.kill(rng)
            with self.subTest(turn=turn, seed=SEED):
                self.assertEqual(load.join(), [])
                self.check_dead()
                self.server.start()
                self.check_jobs(load.submitter, load.watcher.frames)
                self.check_models(load.uploader, load.pieces)
                self.check_events(load.watcher)
                self.check_alive()
            turn += 1
        print(self.counts, "told", len(self.told))
        self.check_told()
        self.assertEqual(os.listdir(os.path.join(self.server.data, "uploads")), [])
        self.assertEqual(self.server.stop(), 0)
        report = fsck(self.server.data)
        self.assertEqual((report["findings"], report["server"]), ([], False))

    def check_told(self):
        """Each end that somebody wanted to know was told, at least once and as it is."""
        def all_told():
            told = {json.loads(body)["job"]["id"] for _path, _headers, body in self.receiver.told}
            return self.told.keys() <= told
        wait_until(all_told, "deliveries")
        ids = {}
        for _path, headers, body in list(self.receiver.told):
            ids.setdefault(headers["Bakehouse-Delivery"], set()).add(body)
        self.assertTrue(all(len(bodies) == 1 for bodies in ids.values()))
        for job_id in self.told:
            wait_until(lambda: self.server.job(job_id)["notify"]["state"] == "delivered", job_id)


class Killed(unittest.TestCase):
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
