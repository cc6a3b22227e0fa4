#!/usr/bin/env python3
"""Memory that the system refuses: the n-th allocation fails, for a rising n. A command ends with a
clear error, a server answers with a problem and goes on, and nothing half-made is left.

Every allocation of the process with a library before all others (build/*/tests/libfaults.so, where
there is no sanitizer), those of our own code under a sanitizer too (bakehouse_faults).
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any, Callable

from faults import LIBRARY, WRAPPED, Faults, rising
from support import BINARY, Answer, Server, job, sample
from test_uploads import TUS

REFUSED = (500, 503)


class Process(unittest.TestCase):
    """What both kinds of allocations share: the binary, and its faults."""

    binary = str(WRAPPED)
    needs = WRAPPED
    ratio = 1.0

    def setUp(self) -> None:
        if type(self).__name__ in ("Process", "Command", "Service"):
            self.skipTest("the base of others")
        if not self.needs.exists():
            self.skipTest(f"{self.needs.name} is not built")
        self.faults = Faults()
        self.addCleanup(self.faults.close)
        if self.needs == LIBRARY:
            self.faults.preload()


class Command(Process):
    """`bakehouse bake`."""

    def bake(self, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.binary, "bake", str(folder / "a.vrm"), "--procedural", "head_turn", "--end",
             "0.1", "--quiet", "-o", str(folder / "out.glb"), *options], text=True,
            capture_output=True, timeout=120, env={**os.environ, **self.faults.environment})

    def test_a_bake_ends_with_a_clear_error(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            out = folder / "out.glb"
            (folder / "a.vrm").write_bytes(sample("avatar"))
            self.assertEqual(self.bake(folder).returncode, 0)
            wanted, total = out.read_bytes(), self.faults["seen"]
            refused = 0
            for number in rising(total, self.ratio):
                out.unlink(missing_ok=True)
                self.faults.fail_allocation(number)
                done = self.bake(folder)
                self.assertLessEqual(self.faults.allow_allocations(), 1)
                with self.subTest(allocation=number):
                    if done.returncode == 0:
                        # one that can be done without
                        self.assertEqual(out.read_bytes(), wanted)
                        continue
                    refused += 1
                    self.assertEqual(done.returncode, 3, done.stderr)
                    self.assertRegex(done.stderr, r"^bakehouse: .*(memory|reserve|room|open)")
                    self.assertEqual(done.stderr.count("\n"), 1)
                    self.assertFalse(out.exists())
                    self.assertEqual(sorted(os.listdir(folder)), ["a.vrm"])
            self.assertGreater(refused, 10)


class CommandOwn(Command):
    """Our own allocations."""


class CommandAll(Command):
    """Every allocation of the process; the first thousands are of libraries at their start."""

    binary, needs, ratio = BINARY, LIBRARY, 1.35


class Service(Process):
    """`bakehouse serve`."""

    options = ("--workers", "1", "--drain-ms", "2000", "--idle-ms", "5000")

    def setUp(self) -> None:
        super().setUp()
        self.server = Server(*self.options, binary=self.binary,
                             environment=self.faults.environment)
        self.addCleanup(self.server.close)
        self.model = self.server.upload()
        self.job = self.server.wait(self.server.submit(self.model)["id"])["id"]
        self.serial = 0

    def next(self) -> int:
        self.serial += 1
        return self.serial

    def variant(self) -> bytes:
        return sample("avatar").replace(b'"bakehouse"', b'"%09d"' % self.next(), 1)

    def begin_upload(self) -> Answer:
        return self.server.request("POST", "/v1/uploads", None, {**TUS, "Upload-Length": "10"})

    def add_piece(self) -> Answer:
        begun = self.untouched(self.begin_upload)
        return self.server.request("PATCH", begun.headers["Location"], b"0123456789", {
            **TUS, "Content-Type": "application/offset+octet-stream", "Upload-Offset": "0"})

    def untouched(self, request: Callable[[], Answer]) -> Answer:
        """A request before the faults begin."""
        left, self.faults["left"] = self.faults["left"], 0
        try:
            return request()
        finally:
            self.faults["left"] = left

    def submit(self) -> Answer:
        return self.server.post_json("/v1/jobs", job(self.model, seconds=0.1, cache=False,
                                                     name=str(self.next())))

    def requests(self) -> dict[str, Callable[[], Answer]]:
        get = self.server.get
        return {
            "list": lambda: get("/v1/jobs"),
            "job": lambda: get(f"/v1/jobs/{self.job}"),
            "frames": lambda: get(f"/v1/jobs/{self.job}/frames"),
            "some frames": lambda: get(f"/v1/jobs/{self.job}/frames?from=3&to=9"),
            "measures": lambda: get(f"/v1/jobs/{self.job}/measures"),
            "events": lambda: get(f"/v1/jobs/{self.job}/events"),
            "metrics": lambda: get("/metrics"),
            "contract": lambda: get("/v1/openapi.json"),
            "dry run": lambda: self.server.post_json("/v1/jobs?validate=true", job(self.model)),
            "submit": self.submit,
            "upload": lambda: self.server.request("POST", "/v1/models", self.variant()),
            "begin": self.begin_upload,
            "piece": self.add_piece,
            "export": lambda: get(f"/v1/jobs/{self.job}/export?format=glb&fps={self.next()}"),
            "sheet": lambda: get(f"/v1/jobs/{self.job}/sheet.png?width={200 + self.next()}"),
        }

    def ask(self, request: Callable[[], Answer]) -> Any:
        """The answer, or None when the connection ended without one."""
        try:
            return request()
        except (http.client.HTTPException, OSError):
            return None

    def check_answer(self, answer: Any, good: Answer) -> str:
        if answer is None:
            return "dropped"
        if answer.status == good.status:
            return "good"
        self.assertIn(answer.status, REFUSED, answer.body[:300])
        if answer.body:
            self.assertEqual(answer.json["status"], answer.status)
            self.assertRegex(answer.json["detail"] + answer.json["title"], "memory|room|reserve|open")
        return "refused"

    def test_requests_are_refused_and_the_service_goes_on(self) -> None:
        counts: dict[str, dict[str, int]] = {}
        for name, request in self.requests().items():
            good = request()
            self.assertLess(good.status, 300, (name, good.body[:300]))
            self.faults["seen"] = 0
            request()
            total = self.faults["seen"]
            count = counts[name] = {"good": 0, "refused": 0, "dropped": 0}
            for number in rising(total, self.ratio):
                self.faults.fail_allocation(number)
                answer = self.ask(request)
                self.faults.allow_allocations()
                with self.subTest(request=name, allocation=number):
                    assert self.server.process
                    self.assertIsNone(self.server.process.poll(), "".join(self.server.log[-5:]))
                    count[self.check_answer(answer, good)] += 1
                    self.assertEqual(self.server.get("/healthz").status, 200)
            self.assertGreater(count["refused"] + count["dropped"], 0, name)
            again = request()
            self.assertEqual(again.status, good.status, (name, again.body[:300]))
        self.check_state()

    def test_a_job_that_gets_no_memory_fails_and_can_be_retried(self) -> None:
        failed = 0
        for number in [0, *rising(400, max(self.ratio, 1.1))]:
            body = job(self.model, seconds=0.1, cache=False)
            made = self.server.post_json("/v1/jobs?priority=0", body)
            self.assertEqual(made.status, 202, made.body)
            self.faults.fail_allocation(number)
            ended = None
            while ended is None or ended["state"] not in ("done", "failed"):
                answer = self.ask(lambda: self.server.get(f"/v1/jobs/{made.json['id']}"))
                if answer is not None and answer.status == 200:
                    ended = answer.json
            self.faults.allow_allocations()
            if ended["state"] == "failed":
                failed += 1
                self.assertRegex(ended["error"]["detail"], "memory|room|reserve|open")
                path = f"/v1/jobs/{made.json['id']}/retry"
                self.assertEqual(self.server.request("POST", path).status, 202)
                self.assertEqual(self.server.wait(made.json["id"])["state"], "done")
        self.assertGreater(failed, 0)
        self.check_state()

    def check_state(self) -> None:
        """Every job ends, and the store is whole."""
        for item in self.server.get("/v1/jobs?limit=1000").json["items"]:
            ended = self.server.wait(item["id"])
            if ended["state"] == "failed":
                self.assertEqual(ended["error"]["status"], "no_memory", ended["error"])
                path = f"/v1/jobs/{item['id']}/retry"
                self.assertEqual(self.server.request("POST", path).status, 202)
                ended = self.server.wait(item["id"])
            self.assertEqual(ended["state"], "done", ended["error"])
        self.assertEqual(self.server.get("/readyz").status, 200)
        self.assertEqual(self.server.stop(), 0, "".join(self.server.log[-20:]))
        done = subprocess.run([BINARY, "fsck", "--data", self.server.data, "--json"], text=True,
                              capture_output=True, timeout=120)
        self.assertEqual(json.loads(done.stdout)["findings"], [])


class ServiceOwn(Service):
    """Our own allocations."""


class ServiceAll(Service):
    """Every allocation of the process."""

    binary, needs, ratio = BINARY, LIBRARY, 1.15


if __name__ == "__main__":
    unittest.main()
