#!/usr/bin/env python3
"""Server-sent events: one rising id, resumed where a client left off."""

import json
import time
import unittest

from support import DEADLINE, ServerTest, long_job


class Events(ServerTest):
    options = ("--heartbeat-ms", "100", "--drain-ms", "100")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.server.upload()

    def parse(self, data):
        """(id, kind, data) of each event."""
        out = []
        whole, _end, _rest = data.rpartition(b"\n\n")
        for block in whole.decode().split("\n\n"):
            fields = dict(line.split(": ", 1) for line in block.splitlines()
                          if ": " in line and not line.startswith(":"))
            if "event" in fields:
                out.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
        return out

    def stream(self, path, until, **headers):
        """What a live stream says until the condition holds."""
        connection = self.server.connect()
        connection.request("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})
        response = connection.getresponse()
        self.assertEqual(response.status, 200)
        self.assertEqual(response.headers["Content-Type"], "text/event-stream")
        data, end = b"", time.monotonic() + DEADLINE
        while not until(data):
            self.assertLess(time.monotonic(), end, data[-500:])
            piece = response.read1(65536)
            if not piece:
                break
            data += piece
        connection.close()
        return data

    def test_tells_a_job_from_queued_to_done_and_ends(self):
        job_id = self.server.submit(self.model, seconds=20, cache=False)["id"]
        events = self.parse(self.server.get(f"/v1/jobs/{job_id}/events").body)
        states = [data["state"] for _id, kind, data in events if kind == "state"]
        self.assertEqual(states, ["queued", "running", "done"])
        ids = [i for i, _kind, _data in events]
        self.assertEqual(ids, sorted(set(ids)))
        self.assertTrue(all(data["job"] == job_id for _i, _k, data in events))
        # a job that is over is told again, from any point
        again = self.parse(self.server.get(f"/v1/jobs/{job_id}/events").body)
        self.assertEqual([d["state"] for _i, k, d in again if k == "state"], states)
        rest = self.parse(self.server.get(f"/v1/jobs/{job_id}/events",
                                          Last_Event_ID=str(again[1][0])).body)
        self.assertEqual(rest, again[2:])
        nothing = self.server.get(f"/v1/jobs/{job_id}/events", Last_Event_ID=str(again[-1][0]))
        self.assertEqual(self.parse(nothing.body), [])

    def test_resumes_without_losing_a_state(self):
        first = self.server.wait(self.server.submit(self.model, cache=False)["id"])
        seen = self.parse(self.server.get(f"/v1/jobs/{first['id']}/events").body)[-1][0]
        jobs = [self.server.submit(self.model, cache=False)["id"] for _ in range(3)]
        for job_id in jobs:
            self.server.wait(job_id)

        def states(data):
            return [(d["job"], d["state"]) for _i, kind, d in self.parse(data) if kind == "state"]
        data = self.stream("/v1/events?topics=jobs", lambda d: len(states(d)) >= 9,
                           Last_Event_ID=str(seen))
        for job_id in jobs:
            self.assertEqual([s for j, s in states(data) if j == job_id],
                             ["queued", "running", "done"])

    def test_an_id_that_is_yet_to_come_means_from_now_on(self):
        began = []

        def until(data):
            if not began:  # the stream has begun: its first bytes came
                began.append(self.server.submit(self.model, cache=False)["id"])
            return len(self.parse(data)) >= 1
        data = self.stream("/v1/events?topics=jobs", until, Last_Event_ID="1" + "0" * 17)
        self.assertEqual(self.parse(data)[0][2]["job"], began[0])

    def test_keeps_to_its_topics(self):
        start = self.server.request("POST", "/v1/models?unit=0.77", b"x")  # no event
        self.assertEqual(start.status, 422)
        one = self.server.post_json("/v1/jobs", long_job(self.model)).json["id"]
        other = self.server.post_json("/v1/jobs", long_job(self.model)).json["id"]
        data = self.stream(f"/v1/events?topics=job:{one}",
                           lambda d: len(self.parse(d)) >= 2, Last_Event_ID="0")
        self.assertEqual({d["job"] for _i, _k, d in self.parse(data)}, {one})
        kinds = {k for _i, k, _d in self.parse(self.stream(
            "/v1/events?topics=measures", lambda d: len(self.parse(d)) >= 2))}
        self.assertEqual(kinds, {"measure"})
        for job_id in (one, other):
            self.server.request("POST", f"/v1/jobs/{job_id}/cancel")
            self.server.wait(job_id)
        for query in ("odd", "jobs,,", "job:", ",".join(f"job:{i}" for i in range(40))):
            self.check_problem(self.server.get("/v1/events?topics=" + query), 400, "malformed")
        self.check_problem(self.server.get("/v1/events", Last_Event_ID="x"), 400, "malformed")

    def test_beats_when_nothing_happens(self):
        start = time.monotonic()
        data = self.stream("/v1/events?topics=server", lambda d: d.count(b": heartbeat") >= 3)
        self.assertEqual(self.parse(data), [])
        self.assertGreater(time.monotonic() - start, 0.15)


if __name__ == "__main__":
    unittest.main()
