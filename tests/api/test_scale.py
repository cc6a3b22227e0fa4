#!/usr/bin/env python3
"""Thousands of clients: streams that reach all of them whole, answers that stay quick meanwhile,
clients that stall and cost the others nothing, memory, and what a job costs beside `bake`.

Small by default; BAKEHOUSE_SCALE=full takes the numbers that are promised and holds the figures
against them, which wants an optimised build (`cmake --preset bench`)."""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import statistics
import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

from support import BINARY, Server, ServerTest, job, sample, wait_until

FULL = os.environ.get("BAKEHOUSE_SCALE") == "full"
LOAD = Path(BINARY).parent / "tests" / "load"

CLIENTS = 2000 if FULL else 200     # of one running bake
STREAMS = 5000 if FULL else 400     # open at once
SLOW = 2000 if FULL else 100        # read 1 KiB a second
HALF = 1000 if FULL else 50         # send half a request
FRAMES = 361
ENQUEUED = 20000 if FULL else 300   # jobs
JOBS_A_SECOND = 2000
WAITING = 100000 if FULL else 2000  # jobs, of which pages are listed
PAGE_MS = 20.0
OVERHEAD = 1.05                     # CPU time of a job on the server, over that of `bake`
CONNECTIONS = 10000 if FULL else 2000
JSON_MS = 50.0                      # 99 % of the answers, from when they were due
STREAM_BYTES = 64 << 10             # of memory


def raise_limit(wanted: int) -> None:
    """As many descriptors here, and so in what is started here; else the test is skipped."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise unittest.SkipTest(f"{wanted} descriptors are needed, the system allows {hard}")
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class Load:
    """Many clients, in a process of their own (tests/bench/load.c)."""

    def __init__(self, server: Server, role: str, count: int, *what: str,
                 options: tuple[str, ...] = ()) -> None:
        self.process = subprocess.Popen(
            [str(LOAD), role, *options, str(server.port), str(count), *what],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.report: dict[str, Any] = {}

    def ready(self) -> Load:
        """Every client has what it needs to be served."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if line != "ready\n":
            raise AssertionError(f"the clients were not ready: {line}")
        return self

    def end(self, stop: bool = True) -> dict[str, Any]:
        """What they saw; without `stop` once the last has had its end."""
        if not self.report:
            assert self.process.stdin is not None and self.process.stdout is not None
            if stop:
                self.process.stdin.close()
            lines = self.process.stdout.read().splitlines()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.report = json.loads(lines[-1])
        return self.report

    def __enter__(self) -> Load:
        return self

    def __exit__(self, *_error: Any) -> None:
        if not self.report:
            self.process.kill()
            self.process.communicate()


def memory(server: Server) -> int:
    """Bytes of the server that lie in memory."""
    assert server.process is not None
    text = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0]) << 10


def thread_seconds(server: Server) -> dict[str, float]:
    """Of each of its threads, on a processor."""
    assert server.process is not None
    out = {}
    for task in Path(f"/proc/{server.process.pid}/task").iterdir():
        try:
            out[task.name] = int((task / "schedstat").read_text().split()[0]) * 1e-9
        except (FileNotFoundError, ProcessLookupError):
            pass
    return out


@unittest.skipUnless(LOAD.exists(), f"there is no {LOAD}")
class Scale(ServerTest):
    options = ("--workers", "1", "--max-connections", str(CONNECTIONS), "--heartbeat-ms", "1000",
               "--idle-ms", "120000", "--drain-ms", "100")

    @classmethod
    def setUpClass(cls) -> None:
        raise_limit(2 * CONNECTIONS)
        super().setUpClass()
        cls.model = cls.server.upload()

    def pause(self, is_paused: bool = True) -> None:
        self.server.request("POST", f"/v1/queue/{'pause' if is_paused else 'resume'}")

    def submit(self, frames: int = FRAMES, **fields: Any) -> str:
        fields = {"seconds": (frames - 1) / 30, "cache": False, **fields}
        return str(self.server.submit(self.model, **fields)["id"])

    def check_answers(self, report: dict[str, Any], what: str) -> None:
        """JSON requests were answered, and in time where the promise holds."""
        print(f"{what}: {report['requests']} JSON requests, p50 {report['p50_ms']} ms, "
              f"p99 {report['p99_ms']} ms, longest {report['max_ms']} ms")
        self.assertEqual((report["refused"], report["closed"]), (0, 0))
        self.assertGreater(report["requests"], 100 if FULL else 10)
        if FULL:
            self.assertLess(report["p99_ms"], JSON_MS)

    def asking(self, *paths: str) -> Load:
        return Load(self.server, "json", 10, "/v1/jobs?limit=20", "/v1/version", *paths).ready()

    def follow(self, clients: int, what: str) -> dict[str, Any]:
        """Clients of one bake from before its first frame to its end, and others that ask."""
        self.pause()
        job_id = self.submit()
        with (Load(self.server, "streams", clients, f"/v1/jobs/{job_id}/frames") as streams,
              self.asking(f"/v1/jobs/{job_id}") as asking):
            streams.ready()
            self.pause(False)
            began = time.monotonic()
            report = streams.end(stop=False)
            seconds = time.monotonic() - began
            answers = asking.end()
        done = self.server.wait(job_id)
        self.assertGreaterEqual(done["frames"], FRAMES)
        self.assertEqual((report["ok"], report["whole"], report["differing"], report["refused"]),
                         (clients, clients, 0, 0), report)
        self.assertEqual(report["bytes"], [done["bytes"]] * 2)
        self.assertEqual(report["sha256"], [done["sha256"]])
        print(f"{what}: {clients} clients of {done['frames']} frames, {done['bytes']} bytes each, "
              f"in {seconds:.2f} s ({clients * done['bytes'] / seconds / 1e6:.0f} MB/s); the bake "
              f"itself took {done['seconds']:.2f} s")
        self.check_answers(answers, what)
        return answers

    def test_every_client_of_a_bake_gets_every_byte_while_others_are_answered(self) -> None:
        self.follow(CLIENTS, "live")

    def test_slow_and_half_open_clients_change_nothing_for_the_others(self) -> None:
        self.pause()
        slow_job = self.submit(frames=3000 if FULL else FRAMES)
        self.pause(False)
        self.server.wait(slow_job)
        with (Load(self.server, "streams", SLOW, f"/v1/jobs/{slow_job}/frames?from=1",
                   options=("-r", "1024")) as slow,
              Load(self.server, "half", HALF, "GET /v1/jobs HTTP/1.1\r\nHost: loc") as half):
            slow.ready()
            half.ready()
            wait_until(lambda: self.server.metric("http_streams") >= SLOW, "the slow clients")
            self.follow(CLIENTS // 4, "beside slow and half-open clients")
            self.assertEqual(half.end()["closed"], 0)
            time.sleep(2)  # they read once a second
            report = slow.end()
            self.assertEqual((report["clients"], report["refused"], report["closed"]), (SLOW, 0, 0))
            self.assertGreater(report["bytes"][1], 0)

    def test_thousands_of_streams_are_open_at_once_and_small(self) -> None:
        self.pause()
        job_id = self.submit()
        # a first round, so that what is kept for reuse does not count
        with Load(self.server, "streams", 50, f"/v1/jobs/{job_id}/frames", "/v1/events") as first:
            first.ready().end()
        before = memory(self.server)
        with Load(self.server, "streams", STREAMS, f"/v1/jobs/{job_id}/frames",
                  f"/v1/jobs/{job_id}/events", "/v1/events", f"/v1/events?topics=job:{job_id}",
                  f"/v1/jobs/{job_id}/frames?channels=joints") as streams:
            streams.ready()
            self.assertGreaterEqual(self.server.metric("http_streams"), STREAMS)
            with self.asking(f"/v1/jobs/{job_id}") as asking:
                time.sleep(3)  # and heartbeats
                self.check_answers(asking.end(), f"{STREAMS} streams that wait")
            with self.asking(f"/v1/jobs/{job_id}") as asking:
                self.pause(False)
                self.server.wait(job_id)
                time.sleep(1)
                self.check_answers(asking.end(), f"{STREAMS} streams that run")
            each = (memory(self.server) - before) / STREAMS
            print(f"{each / 1024:.1f} KiB of memory a stream")
            report = streams.end()
        self.assertEqual((report["clients"], report["ok"], report["refused"]),
                         (STREAMS, STREAMS, 0), report)
        self.assertGreaterEqual(report["heartbeats"][0], 1)
        if not re.search("asan|tsan", BINARY):  # these fill memory of their own
            self.assertLess(each, STREAM_BYTES)

    def test_stalled_clients_cost_the_worker_nothing(self) -> None:
        def bake(stalled: int) -> float:
            self.pause()
            job_id = self.submit(frames=3000 if FULL else FRAMES)
            with Load(self.server, "streams", max(1, stalled), f"/v1/jobs/{job_id}/frames",
                      options=("-r", "0")) as clients:
                if stalled:
                    clients.ready()
                else:
                    clients.end()
                before = thread_seconds(self.server)
                self.pause(False)
                self.server.wait(job_id)
                after = thread_seconds(self.server)
            return max(after[name] - before.get(name, 0.0) for name in after)

        pairs = [(bake(0), bake(SLOW)) for _ in range(5 if FULL else 1)]
        alone, stalled = (statistics.median(times) for times in zip(*pairs))
        print(f"worker thread: {alone:.3f} s alone, {stalled:.3f} s with {SLOW} clients that do "
              f"not read: {stalled / alone:.3f}")
        if FULL:
            self.assertLess(stalled / alone, 1.05)


@unittest.skipUnless(LOAD.exists(), f"there is no {LOAD}")
class Queue(ServerTest):
    options = ("--workers", "1", "--max-queued", "1000000", "--drain-ms", "100")

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.model = cls.server.upload()
        cls.server.request("POST", "/v1/queue/pause")

    def enqueue(self, count: int, **fields: Any) -> dict[str, Any]:
        body = json.dumps(job(self.model, cache=False, **fields))
        with Load(self.server, "post", 64, str(count), body, "/v1/jobs") as load:
            report = load.ready().end(stop=False)
        self.assertEqual((report["requests"], report["refused"], report["closed"]), (count, 0, 0))
        return report

    def queued(self) -> int:
        return int(self.server.get("/v1/queue").json["queued"])

    def test_takes_thousands_of_durable_jobs_a_second(self) -> None:
        before = self.queued()
        commits = self.server.metric("store_commits_total")
        report = self.enqueue(ENQUEUED)
        rate = ENQUEUED / report["seconds"]
        commits = self.server.metric("store_commits_total") - commits
        print(f"{ENQUEUED} jobs in {report['seconds']:.2f} s: {rate:.0f} a second, p99 "
              f"{report['p99_ms']} ms, {ENQUEUED / commits:.1f} jobs a commit")
        if FULL:
            self.assertGreater(rate, JOBS_A_SECOND)
        # all of them are there, in the order in which they came, after a crash too
        self.server.kill()
        self.server.start()
        self.assertEqual(self.queued(), before + ENQUEUED)
        items = self.server.get("/v1/jobs?limit=3").json["items"]
        last = before + ENQUEUED
        self.assertEqual([item["position"] for item in items], [last, last - 1, last - 2])

    def time_page(self, path: str) -> tuple[float, dict[str, Any]]:
        """Milliseconds, the best of several: the machine has other work."""
        times = []
        for _ in range(5):
            connection = self.server.connect()
            began = time.monotonic()
            connection.request("GET", path)
            body = connection.getresponse().read()
            times.append((time.monotonic() - began) * 1e3)
            connection.close()
        return min(times), json.loads(body)

    def test_lists_every_page_of_a_long_queue_quickly(self) -> None:
        self.enqueue(WAITING // 2, tags={"shot": "one", "show": "all"})
        self.enqueue(WAITING // 2, tags={"shot": "two", "show": "all"}, priority=3)
        some = self.server.get("/v1/jobs?limit=20").json["items"]
        for item in some[::2]:
            self.server.post_json(f"/v1/jobs/{item['id']}/cancel", {})
        times: dict[str, float] = {}
        paths = ["", "state=queued", "state=cancelled", "state=running", "tag=shot:one",
                 "tag=shot:two", "tag=shot:none", "tag=shot:one&tag=shot:two", "tag=show:all&tag=shot:one", f"model={self.model}",
                 "owner=nobody", "state=queued&tag=shot:one", "state=cancelled&tag=shot:two"]
        for path in paths:
            times[path], page = self.time_page(f"/v1/jobs?{path}")
            has_some = not re.search("none|running|nobody|one&tag=shot:two", path)
            self.assertEqual(bool(page["items"]), has_some, path)
        # every page to the oldest job, of the largest size there is
        for tag, most in (("", WAITING), ("tag=shot:one&", WAITING // 2)):
            cursor, seen = "", 0
            while cursor is not None:
                path = f"{tag}limit=1000{cursor and '&cursor=' + cursor}"
                times[path], page = self.time_page(f"/v1/jobs?{path}")
                seen += len(page["items"])
                cursor = page["next"]
            self.assertGreaterEqual(seen, most)
        slowest = max(times, key=lambda path: times[path])
        print(f"{self.queued()} jobs wait; {len(times)} pages, the slowest {times[slowest]:.1f} ms "
              f"({slowest}), the first {times['']:.1f} ms")
        if FULL:
            self.assertLess(times[slowest], PAGE_MS, slowest)


class Overhead(unittest.TestCase):
    def test_a_job_costs_on_the_server_what_it_costs_by_hand(self) -> None:
        rounds = 15 if FULL else 2
        server = Server("--workers", "1", "--drain-ms", "100")
        self.addCleanup(server.close)
        fields = job(server.upload(), seconds=30.0 if FULL else 4.0, cache=False)
        fields["output"] = {"channels": ["joints", "positions"]}

        def by_hand() -> float:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([BINARY, "bake", folder / "job.json", "--model", folder / "model.glb",
                            "-q", "-o", folder / "out.frames"], check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

        def served() -> float:
            before = sum(thread_seconds(server).values())
            answer = server.post_json("/v1/jobs", fields)
            self.assertEqual(answer.status, 202, answer.body)
            done = server.wait(answer.json["id"])
            cost = sum(thread_seconds(server).values()) - before
            self.assertEqual(done["sha256"], hashlib.sha256(
                (folder / "out.frames").read_bytes()).hexdigest())
            return cost

        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "job.json").write_text(json.dumps({**fields, "model": "model.glb"}))
            (folder / "model.glb").write_bytes(sample("avatar"))
            by_hand(), served()
            pairs = [(by_hand(), served()) for _ in range(rounds)]
        hand, service = (statistics.median(times) for times in zip(*pairs))
        print(f"CPU time of one job: {hand:.3f} s by `bake`, {service:.3f} s on the server: "
              f"{service / hand:.3f}")
        if FULL:
            self.assertLess(service / hand, OVERHEAD)


@unittest.skipUnless(LOAD.exists(), f"there is no {LOAD}")
class Cap(ServerTest):
    options = ("--max-connections", "300", "--drain-ms", "100")

    def test_past_the_cap_a_stream_is_refused_and_a_request_answered(self) -> None:
        raise_limit(1000)
        with Load(self.server, "streams", 80, "/v1/events") as streams:
            streams.ready()
            answer = self.server.get("/v1/events")
            self.check_problem(answer, 503, "unavailable", "256 are kept for requests")
            self.assertGreaterEqual(int(answer.headers["Retry-After"]), 1)
            self.assertEqual(self.server.get("/v1/jobs").status, 200)
            report = streams.end()
        self.assertGreaterEqual(report["ok"], 40)
        self.assertEqual((report["ok"] + report["refused"], report["refused_status"]), (80, 503))
        self.assertGreaterEqual(report["retry_after"], 1)


if __name__ == "__main__":
    unittest.main()
