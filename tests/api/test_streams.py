#!/usr/bin/env python3
"""The frame stream: live, replayed, filtered, as text; slow clients cost nothing."""

import hashlib
import json
import os
import re
import socket
import time
import unittest

from support import (BINARY, DEADLINE, END, HEADER, HEARTBEAT, Server, ServerTest, frame_numbers, job,
                     long_job, records, sample, wait_until)


class Frames(ServerTest):
    options = ("--heartbeat-ms", "100", "--drain-ms", "100")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.server.upload()
        cls.done = cls.server.wait(cls.server.submit(cls.model, seconds=4)["id"])
        cls.path = f"/v1/jobs/{cls.done['id']}/frames"
        cls.data = cls.server.get(cls.path).body

    def read_until(self, response, condition):
        """What comes of a live answer until the condition holds for it."""
        data, end = b"", time.monotonic() + DEADLINE
        while not condition(data):
            self.assertLess(time.monotonic(), end, "the stream did not come so far")
            piece = response.read1(65536)
            if not piece:
                break
            data += piece
        return data

    def test_gives_the_whole_file_of_a_finished_job(self):
        kinds = [kind for kind, _frame, _record in records(self.data)]
        self.assertEqual((kinds[0], kinds[-1]), (HEADER, END))
        self.assertNotIn(HEARTBEAT, kinds)
        self.assertEqual(frame_numbers(self.data), list(range(121)))
        self.assertEqual(hashlib.sha256(self.data).hexdigest(), self.done["sha256"])
        answer = self.server.get(self.path)
        self.assertEqual(answer.headers["ETag"], f'"{self.done["sha256"]}"')
        self.assertIn("immutable", answer.headers["Cache-Control"])
        part = self.server.get(self.path, Range="bytes=100-299")
        self.assertEqual((part.status, part.body), (206, self.data[100:300]))
        self.assertEqual(self.server.get(self.path, If_None_Match=answer.headers["ETag"]).status,
                         304)

    def test_a_client_that_comes_in_the_middle_gets_every_frame_from_0_and_the_live_end(self):
        running = self.server.submit(self.model, seconds=120, cache=False)["id"]
        seen = wait_until(lambda: self.server.job(running)["frames"], "frames")
        self.assertGreater(seen, 0)
        connection = self.server.connect()
        connection.request("GET", f"/v1/jobs/{running}/frames")
        response = connection.getresponse()
        self.assertEqual(response.headers["Cache-Control"], "no-store")
        data = response.read()
        connection.close()
        self.assertEqual(self.server.job(running)["state"], "done")
        live = b"".join(r for kind, _f, r in records(data) if kind != HEARTBEAT)
        self.assertEqual(frame_numbers(live), list(range(3601)))
        self.assertEqual(hashlib.sha256(live).hexdigest(), self.server.job(running)["sha256"])

    def test_gives_the_first_frame_within_50_ms_of_the_job(self):
        # the best of ten, for the machine has other work; the bake itself takes longer than that
        model, best = self.server.upload(sample("avatar"), "sample"), DEADLINE
        for _ in range(10):
            connection, start = self.server.connect(), time.monotonic()
            running = self.server.submit(model, seconds=20, cache=False)["id"]
            connection.request("GET", f"/v1/jobs/{running}/frames")
            data = self.read_until(connection.getresponse(), lambda data: frame_numbers(data))
            best = min(best, time.monotonic() - start)
            self.assertEqual(frame_numbers(data)[0], 0)
            self.server.post_json(f"/v1/jobs/{running}/cancel", {})
            connection.close()
            self.server.wait(running)
        # promised for a build without sanitizers, and jobs that find their model in memory
        slow = re.search("asan|tsan", BINARY) or os.environ.get("BAKEHOUSE_ISOLATE")
        self.assertLess(best, 1.0 if slow else 0.05)

    def test_waits_for_a_job_that_has_not_begun(self):
        server = Server("--workers", "1", "--heartbeat-ms", "100", "--drain-ms", "100")
        try:
            model = server.upload()
            first = server.post_json("/v1/jobs", long_job(model)).json["id"]
            server.wait(first, "running")
            waiting = server.submit(model, cache=False)["id"]
            connection = server.connect()
            connection.request("GET", f"/v1/jobs/{waiting}/frames")
            response = connection.getresponse()
            # alive, though there is nothing yet
            data = self.read_until(response, lambda d: len(list(records(d))) >= 2)
            self.assertEqual({kind for kind, _f, _r in records(data)}, {HEARTBEAT})
            server.request("POST", f"/v1/jobs/{first}/cancel")
            data += response.read()
            self.assertEqual(frame_numbers(data), list(range(31)))
            connection.close()
        finally:
            server.close()

    def test_ends_when_the_job_is_cancelled(self):
        running = self.server.post_json("/v1/jobs", long_job(self.model)).json["id"]
        connection = self.server.connect()
        connection.request("GET", f"/v1/jobs/{running}/frames")
        response = connection.getresponse()
        data = self.read_until(response, lambda d: len(frame_numbers(d)) > 3)
        self.server.request("POST", f"/v1/jobs/{running}/cancel")
        data += response.read()
        numbers = frame_numbers(data)
        self.assertEqual(numbers, list(range(len(numbers))))
        self.assertEqual(self.server.wait(running)["frames"], len(numbers))
        kept = self.server.get(f"/v1/jobs/{running}/frames")
        self.assertEqual(frame_numbers(kept.body), numbers)

    def test_a_stalled_client_costs_the_worker_nothing(self):
        fields = {"seconds": 60, "cache": False}
        positions = {"output": {"channels": ["joints", "positions"]}}

        def bake():
            started = time.monotonic()
            job_id = self.server.submit(self.model, **fields, **positions)["id"]
            return job_id, started
        job_id, started = bake()
        self.server.wait(job_id)
        alone = time.monotonic() - started
        job_id, started = bake()
        clients = []
        for _ in range(20):
            client = socket.create_connection((self.server.host, self.server.port))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.sendall(f"GET /v1/jobs/{job_id}/frames HTTP/1.1\r\nHost: localhost\r\n\r\n"
                           .encode())
            clients.append(client)
        done = self.server.wait(job_id)
        stalled = time.monotonic() - started
        self.assertGreater(done["bytes"], 10 << 20)
        print(f"bake alone {alone:.2f} s, with 20 clients that do not read {stalled:.2f} s")
        self.assertLess(stalled, 2 * alone + 1)
        # the server still has all of it for each of them
        self.assertEqual(self.server.get("/healthz").status, 200)
        for client in clients:
            client.close()
        wait_until(lambda: self.server.metric("http_streams") == 0, "the streams' end")

    def test_filters_channels_and_frames(self):
        both = self.server.wait(self.server.submit(
            self.model, seconds=4, output={"channels": ["joints", "segments"]})["id"])
        path = f"/v1/jobs/{both['id']}/frames"
        joints = self.server.get(path + "?channels=joints").body
        self.assertEqual(frame_numbers(joints), list(range(121)))
        self.assertLess(len(joints), both["bytes"])
        part = self.server.get(path + "?from=60&to=90")
        numbers = frame_numbers(part.body)
        self.assertEqual(numbers[-1], 90)
        self.assertLessEqual(numbers[0], 60)
        self.assertEqual(int(part.headers["Bakehouse-First-Frame"]), numbers[0])
        self.assertEqual([k for k, _f, _r in records(part.body)][-1], END)
        for query in ("channels=odd", "from=-1", "to=x", "from=5&to=4"):
            self.check_problem(self.server.get(f"{path}?{query}"), 400, "malformed")

    def test_gives_text(self):
        answer = self.server.get(self.path + "?from=10&to=12", Accept="application/x-ndjson")
        self.assertEqual(answer.headers["Content-Type"], "application/x-ndjson")
        header, *lines = [json.loads(line) for line in answer.body.splitlines()]
        self.assertIn("joints", header["channels"])
        self.assertEqual([line["frame"] for line in lines], [10, 11, 12])
        for line in lines:
            self.assertEqual(line["time"], line["frame"] / 30)
            self.assertTrue(all(len(v) in (7, 10) for v in line["joints"].values()))

    def test_gives_text_live(self):
        running = self.server.submit(self.model, seconds=20, cache=False)["id"]
        answer = self.server.get(f"/v1/jobs/{running}/frames", Accept="application/x-ndjson")
        lines = [json.loads(line) for line in answer.body.splitlines() if line]
        self.assertEqual([line["frame"] for line in lines[1:]], list(range(601)))


if __name__ == "__main__":
    unittest.main()
