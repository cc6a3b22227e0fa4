#!/usr/bin/env python3
"""--isolate: each job in a process of its own, whose end is that job's alone."""

from __future__ import annotations

import os
import signal
import subprocess
import unittest
from pathlib import Path

from support import BINARY, Server, job, long_job, wait_until


def processes(server: Server) -> list[int]:
    """The processes of its jobs, in the order they were started."""
    assert server.process is not None
    found = []
    for task in Path(f"/proc/{server.process.pid}/task").iterdir():
        found += [int(pid) for pid in (task / "children").read_text().split()]
    return sorted(pid for pid in found if name(pid) == "bakehouse-job")


def name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


class Isolated(unittest.TestCase):
    options: tuple[str, ...] = ()

    def setUp(self) -> None:
        self.server = Server("--isolate", "--workers", "2", "--drain-ms", "100", *self.options)
        self.addCleanup(self.server.close)
        self.model = self.server.upload()

    def start(self, count: int = 1) -> tuple[list[str], list[int]]:
        """Long jobs that have frames, and their processes."""
        jobs, pids = [], []
        for _ in range(count):
            jobs.append(self.server.post_json("/v1/jobs", long_job(self.model)).json["id"])
            wait_until(lambda: self.server.job(jobs[-1])["frames"] > 3, "frames")
            pids += [pid for pid in processes(self.server) if pid not in pids]
        self.assertEqual(len(pids), count)
        return jobs, pids


class Crashes(Isolated):
    def test_a_crash_fails_its_job_alone(self):
        (crashing, other), (pid, _) = self.start(2)
        os.kill(pid, signal.SIGABRT)
        failed = self.server.wait(crashing)
        self.assertEqual((failed["state"], failed["error"]["status"]), ("failed", "crashed"))
        self.assertIn("Aborted (signal 6)", failed["error"]["detail"])
        self.assertEqual(self.server.metric("crashes_total"), 1)
        self.assertEqual(self.server.job(other)["state"], "running")
        # what it wrote before is whole and can be read
        kept = self.server.get(f"/v1/jobs/{crashing}/frames")
        self.assertEqual((kept.status, len(kept.body)), (200, failed["bytes"]))
        # the slot is free again, and a retry is a new process
        done = self.server.wait(self.server.submit(self.model, seconds=0.5)["id"])
        self.assertEqual(done["state"], "done", done["error"])
        self.assertEqual(self.server.request("POST", f"/v1/jobs/{crashing}/retry").status, 202)
        wait_until(lambda: self.server.job(crashing)["state"] == "running", "the retry")
        for running in (crashing, other):
            self.server.request("POST", f"/v1/jobs/{running}/cancel")
            ended = self.server.wait(running)
            self.assertEqual(ended["state"], "cancelled", ended["error"])

    def test_memory_that_runs_out_fails_its_job_alone(self):
        # this is how the kernel takes a process when memory runs out, the jobs' before the server
        (running,), (pid,) = self.start()
        self.assertEqual(Path(f"/proc/{pid}/oom_score_adj").read_text().strip(), "1000")
        os.kill(pid, signal.SIGKILL)
        failed = self.server.wait(running)
        self.assertEqual((failed["state"], failed["error"]["status"]), ("failed", "crashed"))
        self.assertIn("memory ran out", failed["error"]["detail"])
        self.assertEqual(self.server.get("/readyz").status, 200)

    def test_no_process_outlives_its_server(self):
        _, pids = self.start(2)
        self.server.kill()
        wait_until(lambda: all(name(pid) != "bakehouse-job" for pid in pids), "the processes' end")
        self.server.start()

    def test_holds_nothing_open_that_is_not_its_job(self):
        _, (pid,) = self.start()
        held = {int(entry.name): os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir()}
        self.assertEqual(sorted(held), [0, 1, 2, 3, 4])
        self.assertTrue(held[3].startswith("socket:"), held)
        self.assertEqual(held[0], "/dev/null")


class Stops(Isolated):
    options = ("--stall-ms", "400", "--stall-grace-ms", "600")

    def test_a_process_that_hangs_is_ended_and_its_slot_comes_back(self):
        (hanging,), (pid,) = self.start()
        os.kill(pid, signal.SIGSTOP)
        failed = self.server.wait(hanging)
        self.assertEqual((failed["state"], failed["error"]["status"]), ("failed", "stalled"))
        wait_until(lambda: self.server.metric("slots_busy") == 0, "the slot")
        self.assertEqual(self.server.metric("slots_lost"), 0)
        self.assertEqual(name(pid), "")

    def test_a_cancelled_job_that_hangs_is_cancelled(self):
        (hanging,), (pid,) = self.start()
        os.kill(pid, signal.SIGSTOP)
        self.server.request("POST", f"/v1/jobs/{hanging}/cancel")
        self.assertEqual(self.server.wait(hanging)["state"], "cancelled")

    def test_a_job_that_is_cancelled_while_its_process_begins_is_cancelled(self):
        for _ in range(12):
            job_id = self.server.post_json("/v1/jobs", long_job(self.model)).json["id"]
            wait_until(lambda: self.server.job(job_id)["state"] == "running", "its start")
            self.server.request("POST", f"/v1/jobs/{job_id}/cancel")
            ended = self.server.wait(job_id)
            self.assertEqual(ended["state"], "cancelled", ended["error"])

    def test_signals_to_the_whole_group_are_the_servers(self):
        (running,), (pid,) = self.start()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(pid, number)
        seen = self.server.job(running)["frames"]
        wait_until(lambda: self.server.job(running)["frames"] > seen + 10, "more frames")
        self.assertEqual(processes(self.server), [pid])


class Results(unittest.TestCase):
    def test_gives_the_bytes_and_measures_of_a_run_in_the_server(self):
        found = []
        for options in ((), ("--isolate",)):
            server = Server(*options)
            try:
                done = server.wait(server.post_json("/v1/jobs", job(
                    server.upload(), seconds=1,
                    gates={"stretch.p99": {"max": 1e-9}})).json["id"])
                self.assertEqual(done["state"], "done", done["error"])
                measures = server.get(f"/v1/jobs/{done['id']}/measures").json
                for part in ("summary", "measures"):
                    measures[part] = [row for row in measures.get(part, [])
                                      if not row["name"].startswith("cost.")]
                found.append((server.get(f"/v1/jobs/{done['id']}/frames").body, measures,
                              done["frames"], done["passed"], done["reason"], done["used"]))
            finally:
                server.close()
        self.assertEqual(found[0], found[1])
        self.assertIs(found[0][3], False)

    def test_says_what_the_command_is_for(self):
        result = subprocess.run([BINARY, "worker"], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn("bakehouse serve --isolate", result.stderr)


if __name__ == "__main__":
    unittest.main()
