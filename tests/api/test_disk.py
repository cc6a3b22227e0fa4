#!/usr/bin/env python3
"""A disk that is full, read-only or limited, and a clock that jumps: clear errors, nothing
half-stored, and the service goes on when it is over.

The full and the read-only disk are real ones where this may mount (root), and are made by
tests/faults/faults.c or a limit of the process everywhere.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

from faults import LIBRARY, Faults
from support import (BINARY, Answer, Server, frame_numbers, job, long_job, sample, wait_until)
from test_notify import Receiver
from test_uploads import TUS

MIB = 1 << 20
DAY_MS = 86400000


def variant(number: int) -> bytes:
    return sample("avatar").replace(b'"bakehouse"', b'"%09d"' % number, 1)


def fsck(data: str) -> list[dict[str, Any]]:
    done = subprocess.run([BINARY, "fsck", "--data", data, "--json"], text=True,
                          capture_output=True, timeout=120)
    return list(json.loads(done.stdout)["findings"])


class Disk(unittest.TestCase):
    def serve(self, *options: str, **more: Any) -> Server:
        server = Server("--workers", "1", "--drain-ms", "500", *options, **more)
        self.addCleanup(server.close)
        return server

    def mount(self, *options: str) -> str:
        """A disk of its own, or a skip."""
        folder = tempfile.mkdtemp(prefix="bakehouse-disk-")
        done = subprocess.run(["mount", *options, folder], capture_output=True, text=True)
        if done.returncode != 0:
            os.rmdir(folder)
            self.skipTest(f"cannot mount: {done.stderr.strip()}")
        self.addCleanup(self.unmount, folder)
        return folder

    def unmount(self, folder: str) -> None:
        subprocess.run(["umount", "-l", folder], check=True)
        os.rmdir(folder)

    def check_full(self, answer: Answer, *statuses: int) -> None:
        self.assertIn(answer.status, statuses or (507,), answer.body[:300])
        self.assertEqual(answer.headers["Content-Type"], "application/problem+json")
        if answer.status == 507:
            self.assertEqual(answer.json["type"], "/problems/full")
            self.assertTrue(int(answer.headers["Retry-After"]))

    def add_piece(self, server: Server, path: str, offset: int, piece: bytes) -> Answer:
        return server.request("PATCH", path, piece, {
            **TUS, "Content-Type": "application/offset+octet-stream",
            "Upload-Offset": str(offset)})

    def offset(self, server: Server, path: str) -> int:
        return int(server.request("HEAD", path, None, TUS).headers["Upload-Offset"])

    def refuse_all(self, server: Server, model: str, before: dict[str, int],
                   *statuses: int) -> None:
        """Nothing can be written: each way in says so, nothing is left, and what is there can be
        read."""
        for number in range(3):
            self.check_full(server.request("POST", "/v1/models", variant(100 + number)), *statuses)
            self.check_full(server.post_json("/v1/jobs", job(model, cache=False)), *statuses)
            self.check_full(server.request("POST", "/v1/uploads", None,
                                           {**TUS, "Upload-Length": "100000"}), *statuses)
        self.assertEqual(self.count_files(server), before)
        self.assertEqual(server.get("/healthz").status, 200)
        self.assertEqual(server.get(f"/v1/models/{model}/content").body, sample("avatar"))
        self.assertEqual(server.get("/v1/jobs").status, 200)

    def count_files(self, server: Server) -> dict[str, int]:
        return {name: len(os.listdir(os.path.join(server.data, name)))
                for name in ("uploads", "partial", "assets")}

    def check_well(self, server: Server, model: str, number: int) -> None:
        """Everything works again, and has left nothing."""
        self.assertEqual(server.request("POST", "/v1/models", variant(number)).status, 201)
        done = server.wait(server.submit(model, cache=False)["id"])
        self.assertEqual(done["state"], "done", done["error"])
        wait_until(lambda: server.get("/readyz").status == 200, "readiness")
        self.assertEqual(fsck(server.data), [])
        self.assertEqual(server.stop(), 0, "".join(server.log[-20:]))
        self.assertEqual(fsck(server.data), [])


class Full(Disk):
    """A disk of 24 MiB that something else fills."""

    def fill(self, folder: str, leave: int = 0) -> str:
        path = os.path.join(folder, "other")
        with open(path, "wb") as file:
            while True:
                about = os.statvfs(folder)
                room = about.f_bavail * about.f_frsize - leave
                if room <= 0:
                    return path
                try:
                    file.write(bytes(min(room, MIB)))
                    file.flush()
                except OSError:
                    return path

    def test_without_a_byte_left(self) -> None:
        folder = self.mount("-t", "tmpfs", "-o", "size=24m", "bakehouse")
        server = self.serve("--reserve-disk-mib", "0", data=os.path.join(folder, "data"))
        model = server.upload()
        path = server.request("POST", "/v1/uploads", None,
                              {**TUS, "Upload-Length": str(len(variant(7)))}).headers["Location"]
        self.assertEqual(self.add_piece(server, path, 0, variant(7)[:MIB]).status, 204)
        before = self.count_files(server)
        other = self.fill(folder)
        self.refuse_all(server, model, before)
        # of a piece what had room is kept, and no less than was acknowledged
        self.check_full(self.add_piece(server, path, MIB, variant(7)[MIB:]))
        at = self.offset(server, path)
        self.assertGreaterEqual(at, MIB)
        self.assertEqual(fsck(server.data), [])
        os.unlink(other)
        self.assertEqual(self.add_piece(server, path, at, variant(7)[at:]).status, 204)
        made = server.request("POST", f"/v1/models?upload={path[12:]}")
        self.assertEqual(made.status, 201, made.body)
        content = server.get(f"/v1/models/{made.json['id']}/content").body
        self.assertEqual(content, variant(7))
        self.check_well(server, model, 8)

    def test_while_a_job_runs_fails_that_job(self) -> None:
        folder = self.mount("-t", "tmpfs", "-o", "size=24m", "bakehouse")
        server = self.serve("--reserve-disk-mib", "0", data=os.path.join(folder, "data"))
        model = server.upload()
        running = server.post_json("/v1/jobs", long_job(model)).json["id"]
        wait_until(lambda: server.job(running)["frames"] > 50, "frames")
        other = self.fill(folder)
        # not even its end can be written: it is told as soon as there is room
        time.sleep(1.5)
        self.assertEqual(server.get(f"/v1/jobs/{running}").status, 200)
        os.unlink(other)
        failed = server.wait(running)
        self.assertEqual(failed["state"], "failed")
        self.assertEqual(failed["error"]["status"], "full")
        self.assertIn("No space left", failed["error"]["detail"])
        # what it had made can be read
        frames = frame_numbers(server.get(f"/v1/jobs/{running}/frames").body)
        self.assertEqual(frames, list(range(len(frames))))
        self.assertGreater(len(frames), 50)
        self.check_well(server, model, 9)

    def test_jobs_wait_for_room_and_do_not_fail_one_by_one(self) -> None:
        folder = self.mount("-t", "tmpfs", "-o", "size=24m", "bakehouse")
        server = self.serve("--reserve-disk-mib", "4", data=os.path.join(folder, "data"))
        model = server.upload()
        running = server.post_json("/v1/jobs", long_job(model)).json["id"]
        server.wait(running, "running")
        waiting = [server.submit(model, cache=False)["id"] for _ in range(3)]
        other = self.fill(folder, leave=3 * MIB)
        server.request("POST", f"/v1/jobs/{running}/cancel")
        server.wait(running)
        wait_until(lambda: any("disk.low" in line for line in server.log), "the word of the log")
        time.sleep(1.5)
        self.assertEqual([server.job(each)["state"] for each in waiting], ["queued"] * 3)
        self.check_full(server.get("/readyz"), 503)
        self.check_full(server.post_json("/v1/jobs", job(model, cache=False)))
        os.unlink(other)
        for each in waiting:
            self.assertEqual(server.wait(each)["state"], "done")
        self.assertTrue(any("disk.free" in line for line in server.log))
        self.check_well(server, model, 9)

    def test_a_start_and_a_backup(self) -> None:
        folder = self.mount("-t", "tmpfs", "-o", "size=24m", "bakehouse")
        data = os.path.join(folder, "data")
        server = self.serve("--reserve-disk-mib", "0", data=data)
        model = server.upload()
        done = server.wait(server.submit(model)["id"])
        self.assertEqual(server.stop(), 0)
        other = self.fill(folder)
        # it serves what is there, or says why not, and spoils nothing
        try:
            server.start()
            self.assertEqual(server.job(done["id"])["state"], "done")
            self.check_full(server.post_json("/v1/jobs", job(model, cache=False)))
            server.stop()
        except AssertionError as fault:
            self.assertIn("could not", str(fault))
        copy = os.path.join(folder, "copy")
        made = subprocess.run([BINARY, "backup", copy, "--data", data], text=True,
                              capture_output=True, timeout=60)
        self.assertEqual(made.returncode, 3, made.stderr)
        self.assertRegex(made.stderr, "No space left|full")
        self.assertFalse(os.path.exists(copy))
        os.unlink(other)
        made = subprocess.run([BINARY, "backup", copy, "--data", data], text=True,
                              capture_output=True, timeout=60)
        self.assertEqual(made.returncode, 0, made.stderr)
        server.start()
        self.check_well(server, model, 10)

    def test_a_bake_of_the_command_line_leaves_nothing(self) -> None:
        folder = self.mount("-t", "tmpfs", "-o", "size=4m", "bakehouse")
        (Path(folder) / "a.vrm").write_bytes(sample("avatar"))
        done = subprocess.run([BINARY, "bake", f"{folder}/a.vrm", "--procedural", "head_turn", "-q",
                               "-o", f"{folder}/out.glb"], text=True, capture_output=True)
        self.assertEqual(done.returncode, 3)
        self.assertIn("No space left", done.stderr)
        self.assertEqual(os.listdir(folder), ["a.vrm"])


class Limited(Disk):
    """Files that may not grow (RLIMIT_FSIZE): like a full disk, and for everybody."""

    def limit(self, server: Server, size: int) -> None:
        assert server.process
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE,
                         (size, resource.RLIM_INFINITY))

    def test_refuses_and_goes_on(self) -> None:
        server = self.serve()
        model = server.upload()
        before = self.count_files(server)
        self.limit(server, 0)
        self.refuse_all(server, model, before)
        self.limit(server, resource.RLIM_INFINITY)
        self.check_well(server, model, 1)

    def test_ends_a_bake_of_the_command_line_with_an_error(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "a.vrm").write_bytes(sample("avatar"))
            done = subprocess.run(
                [BINARY, "bake", f"{folder}/a.vrm", "--procedural", "head_turn", "-q", "-o",
                 f"{folder}/out.glb"], text=True, capture_output=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (MIB, MIB)))
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("File too large", done.stderr)
            self.assertEqual(os.listdir(folder), ["a.vrm"])


class ReadOnly(Disk):
    def test_a_start_says_why_it_cannot(self) -> None:
        whole = tempfile.mkdtemp(prefix="bakehouse-whole-")
        self.addCleanup(shutil.rmtree, whole)
        server = Server(data=whole)
        model = server.upload()
        server.close()
        folder = self.mount("--bind", "-o", "ro", whole)
        if os.access(folder, os.W_OK) and self.is_writable(folder):
            subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        done = subprocess.run([BINARY, "serve", "--listen", "127.0.0.1:0", "--data", folder],
                              text=True, capture_output=True, timeout=30)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("Read-only file system", done.stderr)
        self.assertEqual(done.stderr.count("error"), 1)
        server = self.serve(data=whole)
        self.assertEqual(server.get(f"/v1/models/{model}/content").body, sample("avatar"))

    def is_writable(self, folder: str) -> bool:
        try:
            with open(os.path.join(folder, "probe"), "wb"):
                pass
            os.unlink(os.path.join(folder, "probe"))
            return True
        except OSError:
            return False


@unittest.skipUnless(LIBRARY.exists(), f"{LIBRARY.name} is not built under a sanitizer")
class Faulty(Disk):
    def setUp(self) -> None:
        self.faults = Faults().preload()
        self.addCleanup(self.faults.close)

    def serve(self, *options: str, **more: Any) -> Server:
        return super().serve(*options, environment=self.faults.environment, **more)


class Turned(Faulty):
    """A disk that turns read-only, or fails, while the server runs."""

    def check(self, code: int, *statuses: int) -> None:
        server = self.serve()
        model = server.upload()
        running = server.post_json("/v1/jobs", long_job(model)).json["id"]
        wait_until(lambda: server.job(running)["frames"] > 20, "frames")
        before = self.count_files(server)
        self.faults["disk"] = code
        self.refuse_all(server, model, before, *statuses)
        wait_until(lambda: any("job.waits" in line for line in server.log), "the end of the job")
        self.assertEqual(server.get("/readyz").status, 503)
        self.faults["disk"] = 0
        failed = server.wait(running)
        self.assertEqual(failed["state"], "failed")
        self.assertIn(os.strerror(code), failed["error"]["detail"])
        self.check_well(server, model, 2)

    def test_read_only(self) -> None:
        self.check(errno.EROFS)

    def test_beyond_the_quota(self) -> None:
        self.check(errno.EDQUOT)

    def test_failing(self) -> None:
        self.check(errno.EIO, 503)

    def test_a_server_that_is_stopped_then_ends_and_runs_the_job_again(self) -> None:
        server = self.serve()
        model = server.upload()
        made = server.submit(model, seconds=30, cache=False)["id"]
        wait_until(lambda: server.job(made)["frames"] > 20, "frames")
        self.faults["disk"] = errno.EROFS
        wait_until(lambda: any("job.waits" in line for line in server.log), "the end of the job")
        self.assertEqual(server.stop(), 0, "".join(server.log[-20:]))
        self.faults["disk"] = 0
        server.start()
        self.assertEqual(server.wait(made)["state"], "done")
        self.check_well(server, model, 3)


class Clock(Faulty):
    """The clock of the wall jumps by a year while the server runs."""

    def jump(self, days: int) -> None:
        self.faults["clock_ms"] = days * DAY_MS

    def check(self, days: int) -> None:
        secret = tempfile.NamedTemporaryFile("w", prefix="bakehouse-secret-")
        self.addCleanup(secret.close)
        secret.write("correct horse battery staple")
        secret.flush()
        receiver = Receiver()
        self.addCleanup(receiver.close)
        receiver.script = [503] * 2
        server = self.serve("--sweep-ms", "100", "--job-heartbeat-ms", "60000", "--keep-days", "1",
                            "--prune-ms", "100",
                            "--notify-secret-file", secret.name, "--notify-allow", "127.0.0.1",
                            "--notify-retry-ms", "300")
        model = server.upload()
        unused = server.request("POST", "/v1/models", variant(1)).json["id"]
        path = server.request("POST", "/v1/uploads", None,
                              {**TUS, "Upload-Length": "10"}).headers["Location"]
        old = server.wait(server.submit(model, cache=False)["id"])
        told = server.submit(model, cache=False, notify=receiver.url())["id"]
        server.wait(told)
        receiver.wait(1)
        running = server.submit(model, seconds=20, cache=False)["id"]
        wait_until(lambda: server.job(running)["frames"] > 20, "frames")
        self.jump(days)
        wait_until(lambda: any("clock.jumped" in line for line in server.log), "the word of the log")
        # nobody ran it a second time, and nothing waits until the clock comes back
        done = server.wait(running)
        self.assertEqual((done["state"], done["attempt"]), ("done", 1))
        receiver.wait(3)
        wait_until(lambda: server.job(told)["notify"]["state"] == "delivered", "the delivery")
        another = server.wait(server.submit(model, cache=False)["id"])
        self.assertEqual(another["state"], "done")
        self.assertGreaterEqual(server.metric("uptime_seconds"), 0)
        self.assertGreaterEqual(server.metric("job_wait_seconds_sum"), 0)
        # nothing has become old: a start with a wrong clock may think so, a server that ran not
        self.assertEqual(server.get(f"/v1/models/{unused}").status, 200)
        self.assertEqual(server.get(f"/v1/jobs/{old['id']}").status, 200)
        self.assertEqual(server.request("HEAD", path, None, TUS).status, 200)
        self.jump(0)
        self.check_well(server, model, 4)

    def test_forward(self) -> None:
        self.check(365)

    def test_back(self) -> None:
        self.check(-365)


if __name__ == "__main__":
    unittest.main()
