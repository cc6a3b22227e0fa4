#!/usr/bin/env python3
"""Webhooks: the end of a job is told, signed, at least once, and never to a forbidden address."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support import BINARY, ROOT, Server, ServerTest, job, long_job, wait_until
from test_openapi import API, faults

SECRET = "correct horse battery staple"
TOKEN = "s3cr3t-of-the-url"


class Receiver(ThreadingHTTPServer):
    """Remembers what it is told; answers with the codes of `script`, then with 200."""

    daemon_threads = True

    def __init__(self, port: int = 0, host: str = "127.0.0.1") -> None:
        self.told: list[tuple[str, dict[str, str], bytes]] = []
        self.script: list[int] = []
        self.headers: dict[str, str] = {}
        self.hold: threading.Event | None = None
        super().__init__((host, port), Handler)
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def url(self, path: str = "/hook", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def close(self) -> None:
        if self.hold:
            self.hold.set()
        self.shutdown()
        self.server_close()

    def wait(self, count: int = 1) -> list[tuple[str, dict[str, str], bytes]]:
        wait_until(lambda: len(self.told) >= count, f"{count} deliveries")
        return self.told


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.told.append((self.path, dict(self.headers.items()), body))
        code = self.server.script.pop(0) if self.server.script else 200
        if self.server.hold:
            self.server.hold.wait(30)
        self.send_response(code)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST

    def log_message(self, *_: Any) -> None:
        pass


def from_readme() -> Any:
    """The function that README.md gives to receivers."""
    found: dict[str, Any] = {}
    code = re.search(r"```python\n(.*?def verify.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert code
    exec(code.group(1), found)  # pylint: disable=exec-used
    return found["verify"]


verify = from_readme()


def secret_file(text: str = SECRET + "\n") -> str:
    handle, path = tempfile.mkstemp(prefix="bakehouse-secret-")
    with os.fdopen(handle, "w") as file:
        file.write(text)
    return path


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


class NotifyTest(unittest.TestCase):
    """Tests that need a server with a secret, and options of their own."""

    def setUp(self) -> None:
        self.secret = secret_file()
        self.addCleanup(os.unlink, self.secret)

    def serve(self, *options: str) -> Server:
        server = Server("--notify-secret-file", self.secret, "--notify-retry-ms", "40", *options)
        self.addCleanup(server.close)
        return server

    def receive(self, **options: Any) -> Receiver:
        receiver = Receiver(**options)
        self.addCleanup(receiver.close)
        return receiver

    def settled(self, server: Server, job_id: str, *states: str) -> dict[str, Any]:
        """The job's notify once it has one of the states."""
        wanted = states or ("delivered", "failed")
        return dict(wait_until(
            lambda: (found := server.job(job_id)["notify"])["state"] in wanted and found,
            f"notify of {job_id} {wanted}"))


class Allowed(NotifyTest):
    """Receivers on loopback, which the server was told to allow."""

    def setUp(self) -> None:
        super().setUp()
        self.server = self.serve("--notify-allow", "127.0.0.1")
        self.receiver = self.receive()
        self.model = self.server.upload()

    def test_an_end_is_told_once_and_signed(self) -> None:
        made = self.server.submit(self.model, notify=self.receiver.url(f"/hook?token={TOKEN}"),
                                  name="mine", tags={"shot": "a"},
                                  gates={"stretch.p99": {"max": 1000}})
        self.assertEqual(made["notify"], {
            "url": self.receiver.url(), "state": None, "attempts": 0, "last_code": None,
            "last_error": None, "next": None})
        [(path, headers, body)] = self.receiver.wait()
        self.assertEqual(path, f"/hook?token={TOKEN}")
        self.assertEqual(headers["Content-Type"], "application/json")
        self.assertRegex(headers["User-Agent"], r"^bakehouse/\d")
        self.assertRegex(headers["Bakehouse-Signature"], r"^t=\d+,v1=[0-9a-f]{64}$")
        self.assertTrue(verify(SECRET.encode(), headers["Bakehouse-Signature"], body))
        self.assertFalse(verify(SECRET.encode(), headers["Bakehouse-Signature"], body + b" "))
        self.assertFalse(verify(SECRET.encode() + b"x", headers["Bakehouse-Signature"], body))
        self.assertFalse(verify(SECRET.encode(), headers["Bakehouse-Signature"], body, -1))
        told = json.loads(body)
        hook = API["webhooks"]["job_ended"]["post"]
        schema = hook["requestBody"]["content"]["application/json"]["schema"]
        self.assertEqual(faults(told, schema), [])
        for each in hook["parameters"]:
            self.assertIn(each["name"], headers)
        self.assertEqual(told["id"], headers["Bakehouse-Delivery"])
        self.assertEqual(told["type"], "job.done")
        ended = self.server.wait(made["id"])
        self.assertEqual(told["time"], ended["finished"])
        for key in ("id", "state", "name", "tags", "model", "attempt", "passed", "frames",
                    "finished", "bytes", "sha256", "measures", "key"):
            self.assertEqual(told["job"][key], ended[key], key)
        self.assertEqual((ended["attempt"], ended["passed"]), (1, True))
        self.assertIn("stretch.p99", [row["name"] for row in told["job"]["measures"]])
        for key in ("job", "used", "notify"):
            self.assertNotIn(key, told["job"])
        found = self.settled(self.server, made["id"])
        self.assertEqual(found, {"url": self.receiver.url(), "state": "delivered", "attempts": 1,
                                 "last_code": 200, "last_error": None, "next": None})
        time.sleep(0.3)
        self.assertEqual(len(self.receiver.told), 1)
        self.assertEqual(self.server.metric("notify_waiting"), 0)
        self.assertEqual(self.server.metric('notify_attempts_total{result="delivered"}'), 1)

    def test_a_job_answered_from_the_store_is_told_at_birth(self) -> None:
        self.server.wait(self.server.submit(self.model)["id"])
        made = self.server.submit(self.model, notify=self.receiver.url())
        self.assertTrue(made["cached"])
        told = json.loads(self.receiver.wait()[0][2])
        self.assertEqual((told["type"], told["job"]["id"], told["job"]["cached"]),
                         ("job.done", made["id"], True))
        self.assertTrue(told["job"]["measures"])

    def test_whom_it_tells_is_no_part_of_the_bake(self) -> None:
        plain = self.server.wait(self.server.submit(self.model)["id"])
        told = self.server.submit(self.model, notify=self.receiver.url())
        self.assertEqual(plain["key"], told["key"])
        self.assertEqual(plain["job"], told["job"])
        self.assertIsNone(plain["notify"])

    def test_cancelled_jobs_are_told_queued_and_running(self) -> None:
        server = self.serve("--notify-allow", "127.0.0.1", "--workers", "1")
        model = server.upload()
        first = server.submit(model, **self.long(), notify=self.receiver.url("/running"))["id"]
        server.wait(first, "running")
        second = server.submit(model, **self.long(), notify=self.receiver.url("/queued"))["id"]
        for each in (second, first):
            self.assertEqual(server.post_json(f"/v1/jobs/{each}/cancel", {}).status, 202)
        told = {path: json.loads(body) for path, _, body in self.receiver.wait(2)}
        self.assertEqual({path: (each["type"], each["job"]["id"]) for path, each in told.items()},
                         {"/running": ("job.cancelled", first),
                          "/queued": ("job.cancelled", second)})

    @staticmethod
    def long() -> dict[str, Any]:
        found = long_job("")
        return {"time": found["time"], "cache": False}

    def test_only_the_ends_that_were_asked_for_are_told(self) -> None:
        quiet = self.server.submit(self.model, cache=False,
                                   notify={"url": self.receiver.url("/a"), "on": ["failed"]})
        loud = self.server.submit(self.model, cache=False,
                                  notify={"url": self.receiver.url("/b"), "on": ["done"]})
        for each in (quiet, loud):
            self.server.wait(each["id"])
        self.settled(self.server, loud["id"], "delivered")
        time.sleep(0.2)
        self.assertEqual([path for path, _, _ in self.receiver.told], ["/b"])
        self.assertIsNone(self.server.job(quiet["id"])["notify"]["state"])
        again = self.server.post_json(f"/v1/jobs/{quiet['id']}/notify", {})
        self.assertEqual(again.status, 409)
        self.assertIn("is done, which its \"notify\" does not ask for", again.json["detail"])

    def test_a_failing_receiver_is_tried_again_with_the_same_delivery(self) -> None:
        self.receiver.script = [500, 503, 404]
        made = self.server.submit(self.model, notify=self.receiver.url())
        found = self.settled(self.server, made["id"])
        self.assertEqual((found["state"], found["attempts"], found["last_code"]),
                         ("delivered", 4, 200))
        told = self.receiver.told
        self.assertEqual(len(told), 4)
        self.assertEqual(len({headers["Bakehouse-Delivery"] for _, headers, _ in told}), 1)
        self.assertEqual(len({body for _, _, body in told}), 1)
        for _, headers, body in told:
            self.assertTrue(verify(SECRET.encode(), headers["Bakehouse-Signature"], body))
        self.assertEqual(self.server.metric('notify_attempts_total{result="retried"}'), 3)

    def test_what_waits_says_when_and_why(self) -> None:
        self.receiver.script = [503]
        self.receiver.headers = {"Retry-After": "120"}
        made = self.server.submit(self.model, notify=self.receiver.url())
        found = wait_until(lambda: (at := self.server.job(made["id"])["notify"])["attempts"] and at,
                           "an attempt")
        self.assertEqual((found["state"], found["last_code"], found["last_error"]),
                         ("pending", 503, "the receiver answered 503"))
        self.assertGreater(found["next"], self.server.job(made["id"])["finished"])
        self.assertEqual(self.server.metric("notify_waiting"), 1)
        # sent again before its time
        self.assertEqual(self.server.post_json(f"/v1/jobs/{made['id']}/notify", {}).status, 202)
        self.assertEqual(self.settled(self.server, made["id"], "delivered")["attempts"], 1)

    def test_a_receiver_that_is_down_is_told_when_it_is_up(self) -> None:
        port = free_port()
        made = self.server.submit(self.model, notify=f"http://127.0.0.1:{port}/late")
        wait_until(lambda: self.server.job(made["id"])["notify"]["attempts"] >= 2, "two attempts")
        found = self.server.job(made["id"])["notify"]
        self.assertEqual(found["last_code"], None)
        self.assertIn("no answer: ", found["last_error"])
        late = self.receive(port=port)
        late.wait()
        self.assertEqual(self.settled(self.server, made["id"])["state"], "delivered")

    def test_attempts_end(self) -> None:
        server = self.serve("--notify-allow", "127.0.0.1", "--notify-attempts", "3")
        self.receiver.script = [500] * 3
        made = server.submit(server.upload(), notify=self.receiver.url())
        found = self.settled(server, made["id"])
        self.assertEqual(found, {"url": self.receiver.url(), "state": "failed", "attempts": 3,
                                 "last_code": 500, "last_error": "the receiver answered 500",
                                 "next": None})
        self.assertEqual(server.metric('notify_attempts_total{result="failed"}'), 1)
        time.sleep(0.3)
        self.assertEqual(len(self.receiver.told), 3)
        # by hand it starts anew, with the same id
        answer = server.post_json(f"/v1/jobs/{made['id']}/notify", {})
        self.assertEqual(answer.status, 202)
        self.assertEqual(self.settled(server, made["id"], "delivered")["attempts"], 1)
        self.assertEqual(len({headers["Bakehouse-Delivery"]
                              for _, headers, _ in self.receiver.told}), 1)

    def test_one_that_is_gone_is_given_up_at_once(self) -> None:
        self.receiver.script = [410]
        made = self.server.submit(self.model, notify=self.receiver.url())
        found = self.settled(self.server, made["id"])
        self.assertEqual((found["state"], found["attempts"], found["last_code"]),
                         ("failed", 1, 410))
        time.sleep(0.3)
        self.assertEqual(len(self.receiver.told), 1)

    def test_redirects_are_not_followed(self) -> None:
        other = self.receive()
        self.receiver.script = [302, 307, 308]
        self.receiver.headers = {"Location": other.url("/elsewhere")}
        server = self.serve("--notify-allow", "127.0.0.1", "--notify-attempts", "3")
        made = server.submit(server.upload(), notify=self.receiver.url())
        found = self.settled(server, made["id"])
        self.assertEqual((found["state"], found["last_code"]), ("failed", 308))
        self.assertIn("redirects are not followed", found["last_error"])
        self.assertEqual(other.told, [])

    def test_a_proxy_of_the_environment_is_not_used(self) -> None:
        proxy = self.receive()
        os.environ["http_proxy"] = os.environ["ALL_PROXY"] = proxy.url("")
        try:
            server = self.serve("--notify-allow", "127.0.0.1")
        finally:
            del os.environ["http_proxy"], os.environ["ALL_PROXY"]
        made = server.submit(server.upload(), notify=self.receiver.url())
        self.assertEqual(self.settled(server, made["id"])["state"], "delivered")
        self.assertEqual((len(self.receiver.told), proxy.told), (1, []))

    def test_a_slow_receiver_holds_up_nobody_else(self) -> None:
        slow = self.receive()
        slow.hold = threading.Event()
        self.server.wait(self.server.submit(self.model)["id"])
        for number in range(12):
            self.server.submit(self.model, name=str(number), notify=slow.url())
        slow.wait(4)
        began = time.monotonic()
        made = self.server.submit(self.model, notify=self.receiver.url())
        self.receiver.wait()
        self.assertLess(time.monotonic() - began, 5)
        self.settled(self.server, made["id"], "delivered")
        time.sleep(0.2)
        self.assertEqual(len(slow.told), 4, "more at once than one receiver gets")
        slow.hold.set()
        slow.wait(12)
        wait_until(lambda: self.server.metric("notify_waiting") == 0, "all to be told")
        self.assertEqual(len({headers["Bakehouse-Delivery"] for _, headers, _ in slow.told}), 12)

    def test_an_endless_answer_is_cut(self) -> None:
        def pour(listener: socket.socket) -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                try:
                    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                    while True:
                        connection.sendall(b"x" * 65536)
                        sent.append(65536)
                except OSError:
                    pass

        sent: list[int] = []
        with socket.create_server(("127.0.0.1", 0)) as listener:
            threading.Thread(target=pour, args=(listener,), daemon=True).start()
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
            made = self.server.submit(self.model, notify=url)
            found = self.settled(self.server, made["id"])
        self.assertEqual((found["state"], found["attempts"]), ("delivered", 1))
        self.assertLess(sum(sent), 64 << 20)

    def test_a_job_that_is_deleted_is_told_all_the_same(self) -> None:
        port = free_port()
        made = self.server.submit(self.model, notify=f"http://127.0.0.1:{port}/")
        self.server.wait(made["id"])
        self.assertEqual(self.server.request("DELETE", f"/v1/jobs/{made['id']}").status, 204)
        self.assertEqual(self.server.metric("notify_waiting"), 1)
        late = self.receive(port=port)
        self.assertEqual(json.loads(late.wait()[0][2])["job"]["id"], made["id"])
        wait_until(lambda: self.server.metric("notify_waiting") == 0, "it to be told")

    def test_a_retried_job_tells_each_of_its_ends(self) -> None:
        made = self.server.submit(self.model, **self.long(), notify=self.receiver.url())["id"]
        self.server.wait(made, "running")
        for _ in range(2):
            self.server.post_json(f"/v1/jobs/{made}/cancel", {})
            self.assertEqual(self.server.wait(made)["state"], "cancelled")
            self.settled(self.server, made, "delivered")
            self.assertEqual(self.server.post_json(f"/v1/jobs/{made}/retry", {}).status, 202)
            self.assertIsNone(self.server.job(made)["notify"]["state"])
            self.server.wait(made, "running")
        self.server.post_json(f"/v1/jobs/{made}/cancel", {})
        told = [json.loads(body) for _, _, body in self.receiver.wait(3)]
        self.assertEqual(len({each["id"] for each in told}), 3)
        self.assertEqual(sorted(each["job"]["attempt"] for each in told), [1, 2, 3])

    def test_telling_again_needs_something_to_tell(self) -> None:
        for path, status, text in (
                ("/v1/jobs/j_00000000000000000000000000/notify", 404, "there is no job"),
                (f"/v1/jobs/{self.server.submit(self.model)['id']}/notify", 409,
                 "has no \"notify\""),
                (f"/v1/jobs/{self.server.submit(self.model, **self.long(), notify=self.receiver.url())['id']}"
                 "/notify", 409, "there is no end to tell yet")):
            answer = self.server.post_json(path, {})
            self.assertEqual(answer.status, status)
            self.assertIn(text, answer.json["detail"])
        for each in self.server.get("/v1/jobs").json["items"]:
            self.server.post_json(f"/v1/jobs/{each['id']}/cancel", {})


class Crash(NotifyTest):
    def test_what_was_not_told_is_told_after_a_restart(self) -> None:
        port = free_port()
        server = self.serve("--notify-allow", "127.0.0.0/8,::1", "--notify-attempts", "100")
        made = server.submit(server.upload(), notify=f"http://127.0.0.1:{port}/{TOKEN}")
        server.wait(made["id"])
        wait_until(lambda: server.job(made["id"])["notify"]["attempts"] >= 1, "an attempt")
        before = server.job(made["id"])
        server.kill()
        receiver = self.receive(port=port)
        server.start()
        told = receiver.wait()
        self.assertEqual(json.loads(told[0][2])["time"], before["finished"])
        found = self.settled(server, made["id"])
        self.assertEqual(found["state"], "delivered")
        self.assertGreaterEqual(found["attempts"], before["notify"]["attempts"])

    def test_one_that_was_being_told_is_told_again_as_the_same(self) -> None:
        receiver = self.receive()
        receiver.hold = threading.Event()
        server = self.serve("--notify-allow", "127.0.0.1")
        made = server.submit(server.upload(), notify=receiver.url())
        receiver.wait()
        server.kill()
        receiver.hold.set()
        receiver.hold = None
        server.start()
        told = receiver.wait(2)
        self.settled(server, made["id"], "delivered")
        self.assertEqual(len({headers["Bakehouse-Delivery"] for _, headers, _ in told}), 1)

    def test_an_end_that_a_restart_makes_is_told(self) -> None:
        receiver = self.receive()
        server = self.serve("--notify-allow", "127.0.0.1", "--workers", "1")
        made = server.submit(server.upload(), **Allowed.long(), notify=receiver.url())
        for _ in range(3):
            server.wait(made["id"], "running")
            server.kill()
            server.start()
        told = json.loads(receiver.wait()[0][2])
        self.assertEqual((told["type"], told["job"]["error"]["status"]), ("job.failed", "io"))

    def test_a_server_that_stops_leaves_what_waits_for_the_next(self) -> None:
        receiver = self.receive()
        receiver.hold = threading.Event()
        server = self.serve("--notify-allow", "127.0.0.1")
        made = server.submit(server.upload(), notify=receiver.url())
        receiver.wait()
        began = time.monotonic()
        self.assertEqual(server.stop(), 0)
        self.assertLess(time.monotonic() - began, 10)
        receiver.hold.set()
        receiver.hold = None
        server.start()
        receiver.wait(2)
        self.settled(server, made["id"], "delivered")

    def test_one_that_is_answered_while_the_server_stops_is_not_told_again(self) -> None:
        receiver = self.receive()
        receiver.hold = threading.Event()
        server = self.serve("--notify-allow", "127.0.0.1")
        made = server.submit(server.upload(), notify=receiver.url())
        receiver.wait()
        threading.Timer(0.5, receiver.hold.set).start()
        self.assertEqual(server.stop(), 0)
        receiver.hold = None
        server.start()
        self.assertEqual(server.job(made["id"])["notify"]["state"], "delivered")
        self.assertEqual(len(receiver.told), 1)


class Denied(NotifyTest):
    """What is not public and not allowed is not called, whatever its name."""

    def setUp(self) -> None:
        super().setUp()
        self.server = self.serve()
        self.receiver = self.receive()
        self.model = self.server.upload()

    def refused(self, notify: Any, pointer: str, text: str, server: Server | None = None) -> None:
        for query in ("", "?validate=true"):
            answer = (server or self.server).post_json(f"/v1/jobs{query}",
                                                       job(self.model, notify=notify))
            self.assertEqual(answer.status, 422, answer.body[:300])
            [fault] = answer.json["errors"]
            self.assertEqual(fault["pointer"], pointer)
            self.assertIn(text, fault["detail"])
            self.assertNotIn(TOKEN, answer.body.decode())

    def test_addresses_in_numbers_are_refused_with_the_job(self) -> None:
        port = self.receiver.port
        for host, kind in (("127.0.0.1", "loopback"), ("127.1", "loopback"),
                           ("2130706433", "loopback"), ("0x7f000001", "loopback"),
                           ("0177.0.0.1", "loopback"), ("[::1]", "loopback"),
                           ("0.0.0.0", "unspecified"), ("[::]", "unspecified"),
                           ("10.1.2.3", "private"), ("172.31.0.1", "private"),
                           ("192.168.1.1", "private"), ("[fd00::1]", "private"),
                           ("169.254.169.254", "metadata"), ("[fd00:ec2::254]", "metadata"),
                           ("169.254.0.1", "link-local"), ("[fe80::1]", "link-local"),
                           ("100.64.0.1", "carrier's"), ("224.0.0.1", "multicast"),
                           ("[ff02::1]", "multicast"), ("[::ffff:127.0.0.1]", "mapped"),
                           ("[::ffff:8.8.8.8]", "mapped"), ("[64:ff9b::7f00:1]", "loopback"),
                           ("255.255.255.255", "reserved"), ("[2001:db8::1]", "reserved")):
            with self.subTest(host):
                self.refused(f"http://{host}:{port}/{TOKEN}", "/notify", f"names a {kind} address")
        self.assertEqual(self.receiver.told, [])

    def test_a_name_for_such_an_address_fails_at_once_when_it_is_called(self) -> None:
        made = self.server.submit(self.model, notify=self.receiver.url(host="localhost"))
        found = self.settled(self.server, made["id"])
        self.assertEqual((found["state"], found["attempts"], found["last_code"]),
                         ("failed", 1, None))
        self.assertEqual(found["last_error"],
                         "the host has a loopback address, which the server does not call")
        self.assertEqual(self.receiver.told, [])
        self.assertTrue(any("notify.failed" in line and f'host="localhost:{self.receiver.port}"' in line
                            for line in self.server.log))

    def test_a_name_can_be_allowed(self) -> None:
        server = self.serve("--notify-allow", "other.example,localhost")
        made = server.submit(server.upload(), notify=self.receiver.url(host="LocalHost"))
        self.assertEqual(self.settled(server, made["id"])["state"], "delivered")
        # ... and not the address by another name
        self.refused(self.receiver.url(), "/notify", "names a loopback address", server)

    def test_a_name_that_is_none_is_tried_again(self) -> None:
        server = self.serve("--notify-attempts", "2")
        made = server.submit(server.upload(), notify="http://no-such-host.invalid/")
        found = self.settled(server, made["id"])
        self.assertEqual((found["state"], found["attempts"]), ("failed", 2))

    def test_urls_are_read_strictly(self) -> None:
        for url, text in (
                (f"http://a.example/{TOKEN}\r\nX-Evil: 1", "must be printable ASCII"),
                (f"http://a.example/{TOKEN}\nX-Evil: 1", "must be printable ASCII"),
                (f"http://a.example\r\nHost: b/{TOKEN}", "must be printable ASCII"),
                (f"http://a.example/{TOKEN} x", "must be printable ASCII"),
                (f"ftp://a.example/{TOKEN}", "must begin with http:// or https://"),
                (f"file:///etc/{TOKEN}", "must begin with http:// or https://"),
                (f"http://me:{TOKEN}@a.example/", "must not hold a user name or password"),
                (f"//a.example/{TOKEN}", "must be a whole URL"),
                ("", "must be a whole URL"),
                ("http://a.example/" + TOKEN + "x" * 2048, "at most 2048 bytes")):
            with self.subTest(url[:60]):
                self.refused(url, "/notify", text)
                self.refused({"url": url}, "/notify/url", text)

    def test_the_object_is_read_strictly(self) -> None:
        url = f"https://a.example/{TOKEN}"
        for value, pointer, text in (
                (7, "/notify", "must be a URL, or an object"),
                ([url], "/notify", "must be a URL, or an object"),
                ({}, "/notify/url", "is missing"),
                ({"url": None}, "/notify/url", "is missing"),
                ({"url": 1}, "/notify/url", "must be text"),
                ({"url": url, "on": []}, "/notify/on", "must have 1 to 3 items"),
                ({"url": url, "on": "done"}, "/notify/on", "must be a list"),
                ({"url": url, "on": ["running"]}, "/notify/on/0", "must be done, failed or"),
                ({"url": url, "when": 1}, "/notify/when", "is not a known field")):
            with self.subTest(str(value)):
                self.refused(value, pointer, text)


class Unsigned(ServerTest):
    def test_without_a_secret_there_is_no_notify(self) -> None:
        model = self.server.upload()
        answer = self.server.post_json("/v1/jobs", job(model, notify="https://a.example/"))
        found = self.check_problem(answer, 422, "invalid", "/notify cannot be used")
        self.assertIn("--notify-secret-file", found["errors"][0]["detail"])
        made = self.server.submit(model)["id"]
        self.check_problem(self.server.post_json(f"/v1/jobs/{made}/notify", {}), 409, "conflict",
                           "no secret")


class Options(unittest.TestCase):
    def fails(self, text: str, *options: str) -> None:
        with tempfile.TemporaryDirectory() as data:
            run = subprocess.run([BINARY, "serve", "--listen", "127.0.0.1:0", "--data", data, *options],
                                 capture_output=True, text=True, timeout=60, check=False)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn(text, run.stderr)

    def test_a_bad_secret_or_list_stops_the_start(self) -> None:
        short, large = secret_file("too short\n"), secret_file("x" * 5000)
        self.addCleanup(os.unlink, short)
        self.addCleanup(os.unlink, large)
        self.fails("must have 16 to 1024 bytes, has 9", "--notify-secret-file", short)
        self.fails("must have 16 to 1024 bytes, has 1025 or more", "--notify-secret-file", large)
        self.fails("could not read the secret", "--notify-secret-file", short + ".none")
        self.fails("--notify-allow must name hosts, addresses or blocks",
                   "--notify-allow", "10.0.0.0/40")


class Secrets(NotifyTest):
    def test_neither_the_secret_nor_the_query_is_anywhere(self) -> None:
        receiver = self.receive()
        receiver.script = [500, 302, 410]
        server = self.serve("--notify-allow", "127.0.0.1", "--verbose")
        model = server.upload()
        for url in (receiver.url(f"/hook?token={TOKEN}#{TOKEN}"),
                    f"http://127.0.0.1:{free_port()}/?{TOKEN}"):
            made = server.submit(model, cache=False, notify=url)
            server.wait(made["id"])
            wait_until(lambda: server.job(made["id"])["notify"]["attempts"] >= 2, "attempts")
            server.post_json(f"/v1/jobs/{made['id']}/notify", {})
            for path in (f"/v1/jobs/{made['id']}", "/v1/jobs", "/metrics",
                         f"/v1/jobs/{made['id']}/measures"):
                text = server.get(path).body.decode()
                self.assertNotIn(TOKEN, text, path)
                self.assertNotIn(SECRET, text, path)
        self.assertNotIn("127.0.0.1", server.get("/metrics").body.decode())
        server.stop()
        log = "".join(server.log)
        self.assertIn("notify.retry", log)
        self.assertIn(f'host="127.0.0.1:{receiver.port}"', log)
        self.assertNotIn(TOKEN, log)
        self.assertNotIn(SECRET, log)
        self.assertNotIn("/hook", log)


if __name__ == "__main__":
    unittest.main()
