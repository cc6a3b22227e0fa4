#!/usr/bin/env python3
"""Jobs: validated whole, run in order, moved only along the table of states."""

import json
import math
import threading
import time
import unittest

from support import Server, ServerTest, job, long_job, wait_until


class Submitting(ServerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.server.upload()

    def test_runs_a_job_from_post_to_measures(self):
        answer = self.server.post_json("/v1/jobs", job(self.model, name="turn", tags={"shot": "a"},
                                                       cache=False))
        self.assertEqual(answer.status, 202, answer.body[:300])
        self.assertEqual(answer.headers["Location"], f"/v1/jobs/{answer.json['id']}")
        self.assertEqual(answer.json["frame_count"], 31)
        done = self.server.wait(answer.json["id"])
        self.assertEqual(done["state"], "done", done["error"])
        self.assertEqual((done["frames"], done["progress"], done["attempt"]), (31, 1, 1))
        self.assertEqual((done["name"], done["tags"]), ("turn", {"shot": "a"}))
        measures = self.server.get(f"/v1/jobs/{done['id']}/measures")
        self.assertEqual(measures.status, 200)
        names = {row["name"] for row in measures.json["summary"]}
        self.assertIn("stretch.p99", names)
        self.assertEqual(names, {row["name"] for row in done["measures"]})
        counted = self.server.metric("frames_total")
        self.server.wait(self.server.submit(self.model, seconds=1, cache=False)["id"])
        self.assertEqual(self.server.metric("frames_total"), counted + 31)
        table = self.server.get(f"/v1/jobs/{done['id']}/measures", Accept="text/csv").body.decode()
        self.assertEqual(table.splitlines()[0], "name,simulation,target,value,unit")
        self.assertEqual(len(table.splitlines()) - 1, len(measures.json["summary"]))
        across = self.server.get("/v1/measures?name=stretch.p99&tag=shot:a").json["items"]
        self.assertTrue(across)
        self.assertEqual({(row["job"], row["name"]) for row in across}, {(done["id"], "stretch.p99")})
        self.assertEqual(self.server.get("/v1/measures?tag=shot:b").json["items"], [])
        self.assertEqual(self.server.get("/v1/measures?since=2100-01-01T00:00:00Z").json["items"], [])

    def test_reports_every_fault_at_once(self):
        bad = job(self.model, priority=99, unknown_field=1)
        bad["time"]["fps"] = 1000
        problem = self.check_problem(self.server.post_json("/v1/jobs", bad), 422, "invalid")
        pointers = {fault["pointer"] for fault in problem["errors"]}
        self.assertLessEqual({"/priority", "/unknown_field", "/time/fps"}, pointers)
        missing = self.server.post_json("/v1/jobs", job("m_" + "0" * 32))
        problem = self.check_problem(missing, 422, "invalid", "/model")
        self.assertEqual(problem["errors"][0]["pointer"], "/model")

    def test_refuses_what_is_no_json(self):
        for body in (b"{", b"", b"[1,2", b'{"model": "x", "model": "y"}', b"\xff\xfe", b"{} {}",
                     b"[" * 5000):
            self.check_problem(self.server.post_json("/v1/jobs", body), 400, "malformed")
        plain = self.server.request("POST", "/v1/jobs", b"{}", {"Content-Type": "text/plain"})
        self.check_problem(plain, 415, "media-type", "application/json")
        large = self.server.post_json("/v1/jobs", b" " * ((1 << 20) + 1))
        self.check_problem(large, 413, "too-large")

    def test_answers_a_dry_run_without_a_job(self):
        before = len(self.server.get("/v1/jobs").json["items"])
        answer = self.server.post_json("/v1/jobs?validate=true", job(self.model))
        self.assertEqual(answer.status, 200, answer.body[:300])
        self.assertEqual(answer.json["frames"], 31)
        self.assertEqual(answer.json["job"]["model"], self.model)
        self.assertGreater(answer.json["memory"], 0)
        self.assertEqual(len(self.server.get("/v1/jobs").json["items"]), before)

    def test_shows_what_was_used_and_takes_its_own_job_again(self):
        parts = [{"type": "chains", "overrides": {"Ponytail": {"stiffness": 99}}}]
        shown = self.server.wait(self.server.submit(self.model, simulations=parts)["id"])
        used = shown["used"][0]
        self.assertEqual(used["simulation"], 0)
        pony, lock = used["chains"]["Ponytail"], used["chains"]["SideLockL"]
        self.assertEqual((pony["stiffness"], pony["contact"], pony["radius"]), (99, "swept", 0.02))
        # the file's: k = 60 stiffness / length, one a joint; c = -60 ln(1 - drag)
        self.assertEqual(len(lock["stiffness"]), 3)
        self.assertAlmostEqual(lock["damping"], -60 * math.log(1 - 0.32), places=4)
        self.assertEqual(self.server.get("/v1/jobs").json["items"][0].get("used"), None)
        again = self.server.post_json("/v1/jobs", shown["job"]).json
        self.assertEqual(again["key"], shown["key"])
        self.assertTrue(again["cached"])

    def test_fits_colliders_and_shows_how_without_touching_the_model(self):
        plain = self.server.wait(self.server.submit(self.model, seconds=0.8)["id"])
        content = self.server.get(f"/v1/models/{self.model}/content").body
        sent = self.server.submit(self.model, seconds=0.8,
                                  simulations=[{"type": "chains", "fit_colliders": True}])
        # known before the job has run
        fit = self.server.get(f"/v1/jobs/{sent['id']}/fit").json
        self.assertEqual((fit["job"], fit["simulations"][0]["simulation"]), (sent["id"], 0))
        chest = next(c for c in fit["simulations"][0]["colliders"] if c["node"] == "UpperChest")
        self.assertGreater(chest["fitted"]["radius"], chest["authored"]["radius"])
        self.assertGreater(chest["coverage"]["after"], chest["coverage"]["before"])
        self.assertIsNone(chest["kept"])
        done = self.server.wait(sent["id"])
        self.assertEqual(done["used"][0]["fit"], fit["simulations"][0]["colliders"])
        rows = {(row["name"], row["target"]): row["value"] for row in
                self.server.get(f"/v1/jobs/{sent['id']}/measures").json["summary"]}
        self.assertAlmostEqual(rows["fit.coverage_after", chest["collider"]],
                               chest["coverage"]["after"])
        self.assertGreater(rows["fit.coverage_after", "*"], rows["fit.coverage_before", "*"])
        # the same job without fitting: the bytes of before
        self.assertEqual(self.server.get(f"/v1/models/{self.model}/content").body, content)
        again = self.server.wait(self.server.submit(self.model, seconds=0.8, cache=False)["id"])
        self.assertEqual(again["sha256"], plain["sha256"])
        self.assertEqual(self.server.get(f"/v1/jobs/{again['id']}/fit").json["simulations"], [])
        self.assertEqual(self.server.get("/v1/jobs/j_nobody/fit").status, 404)

    def test_takes_the_surface_of_the_body_as_a_collider(self):
        done = self.server.wait(self.server.submit(
            self.model, seconds=0.3,
            simulations=[{"type": "chains", "colliders": "surface", "target": "Ponytail"}])["id"])
        self.assertEqual((done["state"], done["job"]["simulations"][0]["colliders"]),
                         ("done", "surface"))
        rows = {(row["name"], row["target"]): row["value"] for row in
                self.server.get(f"/v1/jobs/{done['id']}/measures").json["summary"]}
        self.assertLess(rows["surface.depth", "Ponytail"], 1e-3)
        wrong = self.server.post_json("/v1/jobs", job(
            self.model, simulations=[{"type": "chains", "mode": "vrm", "colliders": "surface"}]))
        self.check_problem(wrong, 422, "invalid", "rest_frame")

    def test_answers_an_identical_bake_from_the_store(self):
        first = self.server.wait(self.server.submit(self.model, seconds=0.7)["id"])
        again = self.server.submit(self.model, seconds=0.7, name="again", priority=3)
        self.assertEqual((again["state"], again["cached"], again["progress"]), ("done", True, 1))
        self.assertNotEqual(again["id"], first["id"])
        frames = self.server.get(f"/v1/jobs/{again['id']}/frames")
        self.assertEqual(frames.headers["ETag"], f'"{first["sha256"]}"')
        fresh = self.server.submit(self.model, seconds=0.7, cache=False)
        self.assertFalse(fresh["cached"])
        self.assertEqual(self.server.wait(fresh["id"])["sha256"], first["sha256"])
        # the shared result outlives the job that made it
        self.assertEqual(self.server.request("DELETE", f"/v1/jobs/{first['id']}").status, 204)
        self.assertEqual(self.server.get(f"/v1/jobs/{again['id']}/frames").body, frames.body)

    def test_honours_an_idempotency_key(self):
        key = {"Idempotency-Key": "k1"}
        first = self.server.post_json("/v1/jobs", job(self.model, cache=False), key)
        again = self.server.post_json("/v1/jobs", job(self.model, cache=False), key)
        self.assertEqual((first.status, again.status), (202, 200))
        self.assertEqual(first.json["id"], again.json["id"])
        other = self.server.post_json("/v1/jobs", job(self.model, name="x", cache=False), key)
        self.check_problem(other, 422, "invalid", "Idempotency-Key")

    def test_refuses_gates_on_what_it_does_not_measure(self):
        # the same bake has been taken before, without gates
        self.server.wait(self.server.submit(self.model)["id"])
        answer = self.server.post_json("/v1/jobs", job(self.model, gates={
            "stretch.mx": {"max": 1}, "stretch.p99": {"max": 1}}))
        self.assertEqual(answer.status, 422)
        self.assertEqual([fault["pointer"] for fault in answer.json["errors"]],
                         ["/gates/stretch.mx"])
        self.assertIn('did you mean "stretch.max"?', answer.json["errors"][0]["detail"])

    def test_judges_gates(self):
        def passed(bound):
            gates = {"stretch.p99": {"max": bound}}
            return self.server.wait(self.server.submit(self.model, gates=gates)["id"])
        self.assertIs(passed(100)["passed"], True)
        failed = passed(-0.5)
        self.assertEqual((failed["state"], failed["passed"]), ("done", False))
        self.assertIn("stretch.p99", failed["reason"])

    def test_filters_lists(self):
        marked = self.server.submit(self.model, tags={"shot": "list", "take": "2"})
        self.server.wait(marked["id"])

        def ids(query):
            return [item["id"] for item in self.server.get("/v1/jobs?" + query).json["items"]]
        self.assertEqual(ids("tag=shot:list"), [marked["id"]])
        self.assertEqual(ids("tag=shot:list&tag=take:2"), [marked["id"]])
        self.assertEqual(ids("tag=shot:list&tag=take:3"), [])
        self.assertIn(marked["id"], ids(f"model={self.model}&state=done"))
        self.assertEqual(ids("model=m_00"), [])
        self.check_problem(self.server.get("/v1/jobs?state=odd"), 400, "malformed", "state must be")
        self.check_problem(self.server.get("/v1/jobs?tag=x"), 400, "malformed", "KEY:VALUE")
        self.check_problem(self.server.get("/v1/jobs?limit=0"), 400, "malformed", "limit")

    def test_knows_what_it_does_not_know(self):
        for path in ("/v1/jobs/j_0", "/v1/jobs/../models", "/v1/jobs/j_0/frames",
                     "/v1/jobs/j_0/measures", "/v1/jobs/j_0/events", "/v1/jobs/j_0/sheet.png",
                     "/v1/jobs/j_0/export?format=glb", "/v2", "/v1/jobs/j_" + "a" * 300):
            self.check_problem(self.server.get(path), 404, "not-found")
        wrong = self.server.request("PUT", "/v1/jobs")
        self.check_problem(wrong, 405, "method-not-allowed")
        self.assertEqual(wrong.headers["Allow"], "POST, GET")

    def test_keeps_a_model_that_jobs_use(self):
        done = self.server.wait(self.server.submit(self.model, seconds=0.3)["id"])
        refused = self.server.request("DELETE", f"/v1/models/{self.model}")
        self.check_problem(refused, 409, "conflict", "used by")
        self.assertEqual(self.server.request("DELETE", f"/v1/jobs/{done['id']}").status, 204)
        self.check_problem(self.server.get(f"/v1/jobs/{done['id']}"), 404, "not-found")


class Moving(ServerTest):
    options = ("--workers", "1", "--max-queued", "3", "--drain-ms", "100")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.server.upload()

    def submit_long(self, **fields):
        answer = self.server.post_json("/v1/jobs", long_job(self.model, **fields))
        self.assertEqual(answer.status, 202, answer.body[:300])
        return answer.json["id"]

    def move(self, job_id, verb, status):
        answer = self.server.request("POST", f"/v1/jobs/{job_id}/{verb}")
        self.assertEqual(answer.status, status, answer.body[:300])
        return answer.json

    def test_cancels_a_running_job_at_once(self):
        running = self.submit_long()
        wait_until(lambda: self.server.job(running)["frames"] > 3, "frames")
        start = time.monotonic()
        self.move(running, "cancel", 202)
        ended = self.server.wait(running)
        self.assertEqual(ended["state"], "cancelled")
        self.assertLess(time.monotonic() - start, 2.0)
        self.assertGreater(ended["frames"], 3)
        # what there was is kept, and marked
        self.assertTrue(self.server.get(f"/v1/jobs/{running}/measures").json["partial"])
        self.assertEqual(self.server.get(f"/v1/jobs/{running}/frames").status, 200)
        self.move(running, "cancel", 409)
        retried = self.move(running, "retry", 202)
        self.assertEqual(retried["state"], "queued")
        self.server.wait(running, "running")
        self.move(running, "retry", 409)
        self.assertEqual(self.server.job(running)["attempt"], 2)
        refused = self.server.request("DELETE", f"/v1/jobs/{running}")
        self.check_problem(refused, 409, "conflict", "running")
        self.move(running, "cancel", 202)
        self.server.wait(running)
        self.assertEqual(self.server.request("DELETE", f"/v1/jobs/{running}").status, 204)

    def test_runs_by_priority_then_age_and_says_the_place(self):
        running = self.submit_long()
        self.server.wait(running, "running")
        low = self.server.submit(self.model, cache=False, priority=-1)["id"]
        high = self.server.submit(self.model, cache=False, priority=5)["id"]
        middle = self.server.submit(self.model, cache=False)["id"]
        places = [self.server.job(j)["position"] for j in (high, middle, low)]
        self.assertEqual(places, [1, 2, 3])
        full = self.server.post_json("/v1/jobs", job(self.model, cache=False))
        self.check_problem(full, 429, "busy", "wait already")
        self.assertTrue(full.headers["Retry-After"])
        self.move(running, "cancel", 202)
        ended = [self.server.wait(j) for j in (high, middle, low)]
        self.assertEqual([e["state"] for e in ended], ["done"] * 3)
        started = [e["started"] for e in ended]
        self.assertEqual(started, sorted(started))

    def test_cancels_a_queued_job(self):
        running = self.submit_long()
        self.server.wait(running, "running")
        queued = self.submit_long()
        self.assertEqual(self.move(queued, "cancel", 202)["state"], "cancelled")
        answer = self.server.get(f"/v1/jobs/{queued}/frames")
        self.check_problem(answer, 409, "conflict", "never had frames")
        self.move(running, "cancel", 202)
        self.server.wait(running)

    def test_waits_for_the_end(self):
        queued = self.server.submit(self.model, seconds=5, cache=False)["id"]
        answer = self.server.get(f"/v1/jobs/{queued}?wait=30").json
        self.assertEqual(answer["state"], "done")
        running = self.submit_long()
        start = time.monotonic()
        answer = self.server.get(f"/v1/jobs/{running}?wait=1").json
        self.assertIn(answer["state"], ("queued", "running"))
        self.assertTrue(0.9 < time.monotonic() - start < 3.0)
        threading.Timer(0.3, lambda: self.move(running, "cancel", 202)).start()
        self.assertEqual(self.server.get(f"/v1/jobs/{running}?wait=30").json["state"], "cancelled")
        self.check_problem(self.server.get(f"/v1/jobs/{running}?wait=x"), 400, "malformed")

    def test_leaves_a_long_job_alone_while_it_makes_progress(self):
        server = Server("--workers", "1", "--stall-ms", "300", "--drain-ms", "100")
        try:
            # the sub-steps go on: nothing is stopped that makes progress
            model = server.upload()
            done = server.wait(server.submit(model, seconds=60, cache=False)["id"])
            self.assertEqual(done["state"], "done")
        finally:
            server.close()


if __name__ == "__main__":
    unittest.main()
