#!/usr/bin/env python3
"""Hours of everything at once, and what the server holds afterwards.

    python3 tests/soak/soak.py [HOURS]    8 without; BAKEHOUSE names the binary

Uploads whole and in pieces, jobs to their end with frames, measures and exports, jobs that are
cancelled, live streams, readers that stall, half-open connections, lists, and the requests of
tests/api/test_hostile.py. Every minute all of it rests and the server's memory and descriptors are
read. After the warm-up both must be flat: what they grow by, by the median slope between samples
(Theil and Sen), stays under MEMORY_GROWS and FILES_GROW over the whole time.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import socket
import statistics
import sys
import threading
import time
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any, Callable, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "api"))

from support import FINAL, Server, job, long_job, sample, wait_until  # noqa: E402
from test_hostile import (ENDED, MODEL, READ, REFUSED, UPLOAD, ask, exchange,  # noqa: E402
                          replies)

MEMORY_GROWS = 8.0  # MiB
FILES_GROW = 3.0
ROUND = 50  # seconds of load between two samples
WARM_UP = 0.2  # of the time, five minutes at most
TUS = {"Tus-Resumable": "1.0.0"}


class Sample(NamedTuple):
    hours: float
    memory: float  # MiB that are not of files
    files: int
    threads: int


class Load:
    """The server and those that use it; they rest while `goes` is not set."""

    def __init__(self) -> None:
        self.server = Server("--idle-ms", "4000", "--max-upload-mib", "3", "--max-uploads", "64",
                             "--max-unfinished", "1000", "--upload-hours", "1", "--rig-cache-mib",
                             "32", "--workers", "2")
        self.model = self.server.upload()
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []
        self.goes, self.ends = threading.Event(), threading.Event()
        self.busy = 0
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.repeat, args=(user, number), daemon=True)
                        for user, times in ((self.bakes, 2), (self.cancels, 2), (self.uploads, 1),
                                            (self.pieces, 1), (self.watches, 4), (self.listens, 4),
                                            (self.stalls, 2), (self.opens_half, 2),
                                            (self.is_hostile, 6), (self.looks, 2))
                        for number in range(times)]

    def repeat(self, user: Callable[[random.Random], None], number: int) -> None:
        chance = random.Random(f"{user.__name__} {number}")
        while not self.ends.is_set():
            if not self.goes.wait(1):
                continue
            with self.lock:
                self.busy += 1
            try:
                user(chance)
                with self.lock:
                    self.counts[user.__name__] += 1
            except (AssertionError, OSError, http.client.HTTPException) as fault:
                with self.lock:
                    self.faults.append(f"{user.__name__}: {type(fault).__name__}: {fault}"[:400])
            finally:
                with self.lock:
                    self.busy -= 1
            self.ends.wait(chance.random() * 0.2)

    def call(self, method: str, path: str, *wanted: int, body: bytes | None = None,
             headers: dict[str, str] | None = None) -> Any:
        answer = self.server.request(method, path, body, headers)
        if answer.status not in wanted:
            raise AssertionError(f"{method} {path}: {answer.status} {answer.body[:200]!r}")
        return answer

    def submit(self, spec: dict[str, Any]) -> str:
        return self.call("POST", "/v1/jobs", 202, body=json.dumps(spec).encode(),
                         headers={"Content-Type": "application/json"}).json["id"]

    def until(self, name: str, *states: str) -> None:
        end = time.monotonic() + 120
        while self.call("GET", f"/v1/jobs/{name}?wait=2", 200).json["state"] not in states:
            if time.monotonic() > end:
                raise AssertionError(f"{name} is not one of {states} after two minutes")

    def remove(self, path: str) -> None:
        """A job may still be read by its run when it is final."""
        wait_until(lambda: self.server.request("DELETE", path).status in (204, 404), path)

    # --- users ---

    def bakes(self, chance: random.Random) -> None:
        name = self.submit(job(self.model, seconds=1 + chance.random(), cache=False))
        self.until(name, *FINAL)
        for path in ("frames", "measures", "export?format=glb", "sheet.png", "events"):
            self.call("GET", f"/v1/jobs/{name}/{path}", 200)
        self.remove(f"/v1/jobs/{name}")

    def cancels(self, chance: random.Random) -> None:
        name = self.submit(long_job(self.model, tags={"soak": "cancels"}))
        time.sleep(chance.random())
        self.call("POST", f"/v1/jobs/{name}/cancel", 202)
        self.until(name, "cancelled")
        self.remove(f"/v1/jobs/{name}")

    def uploads(self, chance: random.Random) -> None:
        unit = 0.5 + chance.random()
        name = self.call("POST", f"/v1/models?unit={unit:.6f}", 200, 201, body=sample("avatar"))
        self.call("GET", f"/v1/models/{name.json['id']}/content", 200)
        self.remove(f"/v1/models/{name.json['id']}")
        time.sleep(1)

    def pieces(self, chance: random.Random) -> None:
        data = sample("avatar")
        path = self.call("POST", "/v1/uploads", 201,
                         headers={**TUS, "Upload-Length": str(len(data))}).headers["Location"]
        at = 0
        while at < len(data):
            piece = data[at:at + chance.randrange(1, len(data))]
            self.call("PATCH", path, 204, body=piece, headers={
                **TUS, "Upload-Offset": str(at), "Content-Type": "application/offset+octet-stream"})
            at += len(piece)
            if chance.random() < 0.2:
                self.call("DELETE", path, 204, headers=TUS)
                return
        unit = 2 + chance.random()
        made = self.call("POST", f"/v1/models?unit={unit:.6f}&upload={path[12:]}", 200, 201)
        self.remove(f"/v1/models/{made.json['id']}")
        time.sleep(1)

    def watches(self, chance: random.Random) -> None:
        """A live stream, left in its midst."""
        name = self.submit(long_job(self.model))
        self.until(name, "running", *FINAL)
        with socket.create_connection((self.server.host, self.server.port), timeout=30) as reader:
            reader.sendall(ask(f"GET /v1/jobs/{name}/frames"))
            for _ in range(chance.randrange(1, 200)):
                if not reader.recv(65536):
                    break
        self.call("POST", f"/v1/jobs/{name}/cancel", 202)
        self.until(name, "cancelled")
        self.remove(f"/v1/jobs/{name}")

    def listens(self, chance: random.Random) -> None:
        last = chance.choice((b"0", b"999999999999", b"100"))
        with socket.create_connection((self.server.host, self.server.port), timeout=30) as reader:
            reader.sendall(ask("GET /v1/events", b"Last-Event-ID: " + last))
            reader.settimeout(0.5)
            end = time.monotonic() + chance.random() * 5
            while time.monotonic() < end:
                try:
                    if not reader.recv(65536):
                        break
                except TimeoutError:
                    pass

    def stalls(self, chance: random.Random) -> None:
        """Twenty that ask for frames and do not read them."""
        name = self.submit(long_job(self.model))
        self.until(name, "running", *FINAL)
        readers = []
        for _ in range(20):
            reader = socket.create_connection((self.server.host, self.server.port), timeout=30)
            reader.sendall(ask(f"GET /v1/jobs/{name}/frames"))
            readers.append(reader)
        time.sleep(chance.random() * 10)
        for reader in readers:
            reader.close()
        self.call("POST", f"/v1/jobs/{name}/cancel", 202)
        self.until(name, "cancelled")
        self.remove(f"/v1/jobs/{name}")

    def opens_half(self, chance: random.Random) -> None:
        """Twenty that begin a request; half of them wait to be cut off."""
        readers = []
        for _ in range(20):
            reader = socket.create_connection((self.server.host, self.server.port), timeout=30)
            line = b"POST /v1/models HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nabc"
            reader.sendall(line[:chance.randrange(len(line))])
            readers.append(reader)
        time.sleep(chance.random() * 3)
        for reader in readers[:10]:
            reader.close()
        for reader in readers[10:]:
            try:
                while reader.recv(65536):
                    pass
            except ConnectionResetError:
                pass
            reader.close()

    def is_hostile(self, chance: random.Random) -> None:
        row: Any = chance.choice(HOSTILE)
        data = row.data.replace(MODEL, self.model.encode())
        if UPLOAD in data:
            path = self.call("POST", "/v1/uploads", 201, headers={
                **TUS, "Upload-Length": "100"}).headers["Location"]
            data = data.replace(UPLOAD, path[12:].encode())
        got, _seconds = exchange(self.server, data)
        if hasattr(row, "status") and [reply.code for reply in replies(got)] != [row.status]:
            raise AssertionError(f"{row.name}: {got[:200]!r}")
        if UPLOAD in row.data:
            self.call("DELETE", path, 204, 404, headers=TUS)

    def looks(self, _chance: random.Random) -> None:
        for path in ("/metrics", "/healthz", "/readyz", "/v1/jobs", "/v1/models", "/v1/measures",
                     "/v1/queue", "/"):
            self.call("GET", path, 200)
        time.sleep(0.5)

    # --- rest ---

    def rest(self) -> None:
        self.goes.clear()
        wait_until(lambda: self.busy == 0, "the users' rest")
        wait_until(lambda: self.server.metric("http_connections") == 1, "the connections' end")
        wait_until(lambda: self.server.metric("slots_busy") == 0, "the runs' end")
        wait_until(lambda: self.server.metric("uploads") == 0, "the uploads' end")

    def look(self, hours: float) -> Sample:
        process = Path(f"/proc/{self.server.process.pid}")
        status = (process / "status").read_text()
        memory = int(re.search(r"RssAnon:\s+(\d+)", status).group(1)) / 1024
        threads = int(re.search(r"Threads:\s+(\d+)", status).group(1))
        return Sample(hours, memory, len(os.listdir(process / "fd")), threads)


# of those that say how they end; the slow ones are of half-open connections
HOSTILE = [row for row in [*REFUSED, *READ, *ENDED] if isinstance(row.data, bytes)]


def slope(samples: list[Sample], of: Callable[[Sample], float]) -> float:
    """Per hour, by the median of the slopes between all pairs (some, when they are many)."""
    pairs = list(combinations(samples, 2))
    pairs = random.Random(1).sample(pairs, 20000) if len(pairs) > 20000 else pairs
    return statistics.median((of(b) - of(a)) / (b.hours - a.hours) for a, b in pairs)


def main() -> int:
    hours = float(sys.argv[1]) if len(sys.argv) > 1 else 8.0
    load = Load()
    samples: list[Sample] = []
    began = time.monotonic()
    for thread in load.threads:
        thread.start()
    try:
        while (now := (time.monotonic() - began) / 3600) < hours:
            load.goes.set()
            time.sleep(min(ROUND, (hours - now) * 3600 + 1))
            load.rest()
            if load.server.process.poll() is not None:
                load.faults.append("the server ended:\n" + "".join(load.server.log[-40:]))
                break
            samples.append(load.look((time.monotonic() - began) / 3600))
            print(f"{samples[-1].hours:.3f} h: {samples[-1].memory:.1f} MiB, {samples[-1].files} "
                  f"descriptors, {samples[-1].threads} threads, {sum(load.counts.values())} "
                  f"done, {len(load.faults)} faults", flush=True)
    finally:
        load.ends.set()
        for thread in load.threads:
            thread.join(60)
        left = os.listdir(os.path.join(load.server.data, "uploads"))
        load.server.close()
    judged = [s for s in samples if s.hours > min(WARM_UP * hours, 1 / 12)]
    if len(judged) < 3:
        print("too short to judge: no three samples after the warm-up")
        return 1
    span = judged[-1].hours - judged[0].hours
    memory = slope(judged, lambda s: s.memory)
    files = slope(judged, lambda s: s.files)
    print("done: " + ", ".join(f"{name} {count}" for name, count in sorted(load.counts.items())))
    print(f"memory {judged[0].memory:.1f} to {judged[-1].memory:.1f} MiB, {memory:+.2f} MiB/h; "
          f"descriptors {judged[0].files} to {judged[-1].files}, {files:+.2f}/h; "
          f"{len(judged)} samples over {span:.2f} h")
    for fault in load.faults[:20]:
        print("fault:", fault)
    if left:
        print("left in uploads:", left[:5])
    return int(bool(load.faults or left or memory * span > MEMORY_GROWS or
                    files * span > FILES_GROW))


if __name__ == "__main__":
    sys.exit(main())
