"""What the API tests share: a server of their own on loopback, and requests to it.

Standard library only. BAKEHOUSE names the binary under test.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path
from typing import Any, Iterator

ROOT = Path(__file__).resolve().parents[2]
BINARY = os.environ.get("BAKEHOUSE", str(ROOT / "build" / "dev" / "bakehouse"))
DEADLINE = float(os.environ.get("BAKEHOUSE_TEST_SECONDS", "60"))

FINAL = ("done", "failed", "cancelled")


def sample(name: str, *options: str) -> bytes:
    """The bytes of a built-in sample, made once a process."""
    key = (name, *options)
    if key not in _samples:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "sample"
            subprocess.run([BINARY, "sample", name, *options, "-o", str(path)], check=True,
                           stdout=subprocess.DEVNULL)
            _samples[key] = path.read_bytes()
    return _samples[key]


_samples: dict[tuple[str, ...], bytes] = {}


class Answer:
    """An answer with its body read."""

    def __init__(self, status: int, headers: http.client.HTTPMessage, body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Server:
    """`bakehouse serve` on a port that the system chose, with a data folder of its own."""

    def __init__(self, *options: str, data: str | None = None, binary: str = BINARY,
                 environment: dict[str, str] | None = None) -> None:
        self.binary, self.environment = binary, {**os.environ, **(environment or {})}
        self.own_data = data is None
        self.data = data or tempfile.mkdtemp(prefix="bakehouse-test-")
        self.options = options
        self.log: list[str] = []
        self.process: subprocess.Popen[str] | None = None
        self.host, self.port = "127.0.0.1", 0
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [self.binary, "serve", "--listen", "127.0.0.1:0", "--data", self.data,
             "--reserve-disk-mib", "16", *self.options],
            stderr=subprocess.PIPE, text=True, env=self.environment)
        listening = threading.Event()
        self.port = 0
        threading.Thread(target=self._read_log, args=(self.process, listening), daemon=True).start()
        if not listening.wait(DEADLINE) or not self.port:
            raise AssertionError("the server did not start:\n" + "".join(self.log[-20:]))

    def _read_log(self, process: subprocess.Popen[str], listening: threading.Event) -> None:
        assert process.stderr is not None
        for line in process.stderr:
            self.log.append(line)
            found = re.search(r"server\.listening address=\S+:(\d+)", line)
            if found:
                self.port = int(found.group(1))
                listening.set()
        process.stderr.close()
        listening.set()

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """SIGTERM, and the exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(DEADLINE)

    def close(self) -> None:
        try:
            code = self.stop()
            if code != 0:
                raise AssertionError(f"the server ended with {code}:\n" + "".join(self.log[-60:]))
        finally:
            if self.process and self.process.poll() is None:
                self.kill()
            if self.own_data:
                shutil.rmtree(self.data, ignore_errors=True)

    def connect(self, timeout: float = DEADLINE) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def request(self, method: str, path: str, body: bytes | None = None,
                headers: dict[str, str] | None = None) -> Answer:
        connection = self.connect()
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.request("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})

    def post_json(self, path: str, value: Any, headers: dict[str, str] | None = None) -> Answer:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        return self.request("POST", path, body,
                            {"Content-Type": "application/json", **(headers or {})})

    def raw(self, data: bytes, timeout: float = 5.0) -> bytes:
        """Bytes as they are; what comes back until the server closes or is silent."""
        with socket.create_connection((self.host, self.port), timeout=timeout) as connection:
            connection.sendall(data)
            got = b""
            try:
                while piece := connection.recv(65536):
                    got += piece
                    if got.endswith(b"\r\n0\r\n\r\n"):
                        break
            except (TimeoutError, ConnectionResetError):
                pass
            return got

    # --- what most tests do ---

    def upload(self, data: bytes | None = None, name: str = "avatar") -> str:
        answer = self.request("POST", f"/v1/models?name={name}", data or sample("avatar"))
        assert answer.status in (200, 201), answer.body[:300]
        return str(answer.json["id"])

    def submit(self, model: str, **fields: Any) -> dict[str, Any]:
        answer = self.post_json("/v1/jobs", job(model, **fields))
        assert answer.status == 202, answer.body[:300]
        return dict(answer.json)

    def job(self, job_id: str) -> dict[str, Any]:
        answer = self.get(f"/v1/jobs/{job_id}")
        assert answer.status == 200, answer.body[:300]
        return dict(answer.json)

    def wait(self, job_id: str, *states: str) -> dict[str, Any]:
        """The job once it has one of these states (any final one)."""
        wanted = states or FINAL
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            found = dict(self.get(f"/v1/jobs/{job_id}?wait={0 if states else 5}").json)
            if found["state"] in wanted:
                return found
            if found["state"] in FINAL:
                raise AssertionError(f"the job is {found['state']}: {found['error']}")
            time.sleep(0.005)
        raise AssertionError(f"the job is {found['state']} after {DEADLINE} s")

    def metric(self, name: str) -> float:
        text = self.get("/metrics").body.decode()
        found = re.search(rf"^bakehouse_{re.escape(name)} (\S+)$", text, re.M)
        assert found, f"no metric {name}"
        return float(found.group(1))


def job(model: str, *, seconds: float = 1.0, **fields: Any) -> dict[str, Any]:
    """A short bake of the ponytail, channels that are small."""
    return {"model": model, "animation": {"procedural": "head_turn"},
            "time": {"end": seconds, "warm_up": 0, "settle": 0},
            "simulations": [{"type": "chains"}], "output": {"channels": ["joints"]}, **fields}


def long_job(model: str, **fields: Any) -> dict[str, Any]:
    """One that runs until it is stopped, as far as a test is concerned."""
    return job(model, seconds=3000, **{"cache": False, **fields})


def wait_until(condition: Any, what: str) -> Any:
    """The condition's value once it holds."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    raise AssertionError(f"waited {DEADLINE} s for: {what}")


# --- frames (schema/frames.md) ---

HEADER, END, HEARTBEAT = 1, 9, 10
FRAME_TYPES = (2, 3, 4, 5, 6, 7)

_CRC = []
for _i in range(256):
    for _ in range(8):
        _i = _i >> 1 ^ (0x82F63B78 if _i & 1 else 0)
    _CRC.append(_i)


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def records(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """(type, frame, whole record) of every whole record, its checksum verified."""
    at = 0
    while at + 16 <= len(data):
        length, kind, _codec, _flags, frame, crc = struct.unpack_from("<IBBHII", data, at)
        size = 16 + (length + 3) // 4 * 4
        if at + size > len(data):
            return
        record = data[at:at + size]
        assert crc32c(record[:12] + record[16:]) == crc, f"checksum of the record at {at}"
        yield kind, frame, record
        at += size


def frame_numbers(data: bytes) -> list[int]:
    """The frames of a stream, each once, in order."""
    out: list[int] = []
    for kind, frame, _record in records(data):
        if kind in FRAME_TYPES and (not out or out[-1] != frame):
            out.append(frame)
    return out


class ServerTest(unittest.TestCase):
    """A test class with one server for all its tests."""

    options: tuple[str, ...] = ()
    server: Server

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server(*cls.options)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.close()

    def check_problem(self, answer: Answer, status: int, kind: str, text: str = "") -> Any:
        self.assertEqual(answer.status, status, answer.body[:300])
        self.assertEqual(answer.headers["Content-Type"], "application/problem+json")
        document = answer.json
        self.assertEqual(document["type"], f"/problems/{kind}")
        self.assertEqual(document["status"], status)
        self.assertIn(text, document["detail"])
        return document
