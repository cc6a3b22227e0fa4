#!/usr/bin/env python3
"""The server itself: health, figures, who may talk to it, how it starts and stops; hostile bytes."""

import json
import re
import socket
import subprocess
import tempfile
import time
import unittest

from support import BINARY, Server, ServerTest, job, long_job, wait_until


class Service(ServerTest):
    def test_says_how_it_is(self):
        self.assertEqual(self.server.get("/healthz").body, b"ok\n")
        self.assertTrue(self.server.get("/readyz").json["ready"])
        self.assertRegex(self.server.get("/v1/version").json["version"], r"^\d+\.\d+\.\d+$")
        contract = self.server.get("/v1/openapi.json").json
        self.assertTrue(contract["openapi"].startswith("3."))
        text = self.server.get("/metrics").body.decode()
        for line in text.splitlines():
            self.assertRegex(line, r'^(# (HELP|TYPE) .*|bakehouse_\w+(\{(\w+="[\w.+-]+",?)+\})? '
                                   r'-?[\d.]+)$')

    def test_serves_every_route_of_the_contract(self):
        for path, methods in self.server.get("/v1/openapi.json").json["paths"].items():
            for method in methods:
                if method not in ("get", "post", "delete", "put", "patch", "head"):
                    continue
                connection = self.server.connect()
                connection.request(method.upper(), path.replace("{id}", "x_0"))
                answer = connection.getresponse()
                # no such thing, or no body; but never "no such path" or "no such method"
                self.assertNotEqual(answer.status, 405, f"{method} {path}")
                if answer.status != 200:  # what is there may be a stream without an end
                    self.assertNotIn(b"there is nothing at", answer.read(), f"{method} {path}")
                connection.close()

    def test_serves_a_page_that_needs_nothing_else(self):
        page = self.server.get("/")
        self.assertEqual(page.status, 200)
        self.assertIn("default-src 'none'", page.headers["Content-Security-Policy"])
        text = page.body.decode()
        self.assertEqual(re.findall(r'(?:src|href)="(https?:|//)', text), [])
        for path in re.findall(r'(?:src|href)="(/[^"]+)"', text):
            self.assertEqual(self.server.get(path).status, 200, path)

    def test_refuses_foreign_hosts_and_origins(self):
        get = self.server.get
        self.check_problem(get("/v1/jobs", Host="evil.example"), 403, "forbidden", "evil.example")
        self.assertEqual(get("/v1/jobs", Host="localhost:1").status, 200)
        self.check_problem(get("/v1/jobs", Origin="http://evil.example"), 403, "forbidden")
        self.check_problem(get("/v1/jobs", Origin="null"), 403, "forbidden")
        own = f"127.0.0.1:{self.server.port}"
        self.assertEqual(get("/v1/jobs", Host=own, Origin=f"http://{own}").status, 200)
        self.check_problem(get("/v1/jobs", Host=own, Origin="http://127.0.0.1:1"), 403, "forbidden")

    def test_lets_listed_origins_in(self):
        server = Server("--cors-origin", "https://tools.example", "--public-host", "bake.example")
        try:
            answer = server.get("/v1/jobs", Origin="https://tools.example")
            self.assertEqual(answer.headers["Access-Control-Allow-Origin"], "https://tools.example")
            self.assertIn("ETag", answer.headers["Access-Control-Expose-Headers"])
            preflight = server.request("OPTIONS", "/v1/jobs", headers={
                "Origin": "https://tools.example", "Access-Control-Request-Method": "POST"})
            self.assertEqual(preflight.status, 204)
            self.assertIn("POST", preflight.headers["Access-Control-Allow-Methods"])
            self.assertIn("Range", preflight.headers["Access-Control-Allow-Headers"])
            self.assertEqual(server.get("/healthz", Host="bake.example").status, 200)
            self.assertEqual(server.get("/healthz", Origin="https://other.example").status, 403)
        finally:
            server.close()

    def test_survives_hostile_bytes(self):
        host = b"Host: localhost\r\n"
        cases = {
            "garbage": b"\x00\xff\x80garbage\r\n\r\n",
            "no host": b"GET / HTTP/1.1\r\n\r\n",
            "two lengths": b"POST /v1/jobs HTTP/1.1\r\n" + host +
                           b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
            "unknown coding": b"POST /v1/jobs HTTP/1.1\r\n" + host +
                              b"Transfer-Encoding: gzip\r\n\r\n{}",
            "bad length": b"POST /v1/models HTTP/1.1\r\n" + host + b"Content-Length: -5\r\n\r\n",
            "huge length": b"POST /v1/models HTTP/1.1\r\n" + host +
                           b"Content-Length: 99999999999999999999999\r\n\r\n",
            "long uri": b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n" + host + b"\r\n",
            "huge headers": b"GET / HTTP/1.1\r\n" + host + b"X-A: " + b"b" * 100000 + b"\r\n\r\n",
            "bad chunk": b"POST /v1/models HTTP/1.1\r\n" + host +
                         b"Transfer-Encoding: chunked\r\n\r\nzz\r\nxx\r\n0\r\n\r\n",
            "traversal": b"GET /v1/models/../../etc/passwd HTTP/1.1\r\n" + host + b"\r\n",
            "escaped traversal": b"GET /v1/models/%2e%2e%2f%2e%2e/content HTTP/1.1\r\n" + host +
                                 b"\r\n",
            "zero in path": b"GET /v1/models/m_0%00/content HTTP/1.1\r\n" + host + b"\r\n",
            "half a request": b"GET / HTT",
        }
        for name, data in cases.items():
            reply = self.server.raw(data, timeout=1.0)
            if reply:
                status = int(reply.split(b" ", 2)[1])
                self.assertTrue(400 <= status < 500, f"{name}: {reply[:80]!r}")
            self.assertEqual(self.server.get("/healthz").status, 200, name)
        self.assertIsNone(self.server.process.poll())

    def test_drops_clients_that_go_away(self):
        model = self.server.upload()
        for _ in range(30):
            client = socket.create_connection((self.server.host, self.server.port))
            client.sendall(b"POST /v1/models HTTP/1.1\r\nHost: localhost\r\n"
                           b"Content-Length: 100000\r\n\r\nabc")
            client.close()
        body = json.dumps(job(model)).encode()
        for _ in range(20):
            client = socket.create_connection((self.server.host, self.server.port))
            client.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                           b"application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            client.close()
        wait_until(lambda: self.server.metric("uploads") == 0, "the uploads' end")
        for item in self.server.get("/v1/jobs").json["items"]:
            self.assertEqual(self.server.wait(item["id"])["state"], "done")


class Starting(unittest.TestCase):
    def run_serve(self, *options):
        with tempfile.TemporaryDirectory() as data:
            return subprocess.run([BINARY, "serve", "--data", data, *options], capture_output=True,
                                  text=True, timeout=30)

    def test_refuses_to_be_reached_by_others_without_being_told(self):
        for address in ("0.0.0.0:0", "[::]:0", "192.168.1.1:0"):
            ended = self.run_serve("--listen", address)
            self.assertEqual(ended.returncode, 2, ended.stderr)
            self.assertIn("--no-auth", ended.stderr)

    def test_refuses_bad_options_in_one_line(self):
        for options, text in ((["--port", "1"], 'unknown option "--port"'),
                              (["--workers", "x"], "--workers must be a whole number"),
                              (["--workers"], "--workers needs a value"),
                              (["--listen", "nowhere"], "HOST:PORT"),
                              (["--listen", "example.com:1"], "numbers")):
            ended = self.run_serve(*options)
            self.assertEqual(ended.returncode, 2)
            self.assertIn(text, ended.stderr)
            self.assertEqual(ended.stderr.count("\n"), 1)
        self.assertEqual(self.run_serve("--help").returncode, 0)

    def test_health_is_of_the_process_and_readiness_of_what_jobs_need(self):
        server = Server("--reserve-disk-mib", "1048576")
        try:
            self.assertEqual(server.get("/healthz").status, 200)
            ready = server.get("/readyz")
            self.assertEqual((ready.status, ready.json["detail"]), (503, "the disk is full"))
            refused = server.request("POST", "/v1/models?name=a", b"x" * 100)
            self.assertEqual(refused.status, 507, refused.body)
        finally:
            server.close()

    def test_keeps_a_second_server_out_of_its_folder(self):
        server = Server()
        try:
            ended = subprocess.run([BINARY, "serve", "--listen", "127.0.0.1:0", "--data",
                                    server.data], capture_output=True, text=True, timeout=30)
            self.assertEqual(ended.returncode, 3)
            self.assertIn("another server uses", ended.stderr)
        finally:
            server.close()

    def test_stops_at_any_moment_of_its_own_housekeeping(self):
        # now and then a sweep is on its way to the store when the signal comes
        for step in range(24):
            server = Server("--sweep-ms", "20", "--job-heartbeat-ms", "20")
            time.sleep(0.01 * step)
            server.close()

    def test_stops_with_streams_open_and_keeps_its_jobs(self):
        server = Server("--workers", "1", "--drain-ms", "200")
        model = server.upload()
        running = server.post_json("/v1/jobs", long_job(model)).json["id"]
        queued = server.submit(model, cache=False)["id"]
        clients = []
        for path in (f"/v1/jobs/{running}/frames", f"/v1/jobs/{queued}/frames", "/v1/events",
                     f"/v1/jobs/{running}/events", f"/v1/jobs/{queued}?wait=60"):
            client = server.connect()
            client.request("GET", path)
            clients.append(client)
        wait_until(lambda: server.job(running)["frames"] > 0, "frames")
        start = time.monotonic()
        self.assertEqual(server.stop(), 0, server.log[-20:])
        self.assertLess(time.monotonic() - start, 10)
        server.start()
        try:
            put_back = server.wait(running, "queued", "running")
            self.assertGreaterEqual(put_back["attempt"], 1)
            server.request("POST", f"/v1/jobs/{running}/cancel")
            self.assertEqual(server.wait(running)["state"], "cancelled")
            self.assertEqual(server.wait(queued)["state"], "done")
        finally:
            for client in clients:
                client.close()
            server.close()


if __name__ == "__main__":
    unittest.main()
