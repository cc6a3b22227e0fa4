#!/usr/bin/env python3
"""The queue as a whole: stopping it, moving all jobs of a tag; and how the server is set up: its
configuration file, its log as JSON, TLS."""

import itertools
import json
import os
import re
import ssl
import subprocess
import tempfile
import time
import unittest
import http.client

from support import BINARY, Server, job, sample


class Queue(unittest.TestCase):
    def setUp(self):
        self.server = Server("--workers", "1")
        self.addCleanup(self.server.close)
        self.model = self.server.request("POST", "/v1/models", sample("avatar")).json["id"]

    def submit(self, shot, **fields):
        answer = self.server.post_json("/v1/jobs", {**job(self.model), "cache": False,
                                                    "tags": {"shot": shot, "show": "one"}, **fields})
        self.assertEqual(answer.status, 202, answer.body)
        return answer.json["id"]

    def state(self, name, wait=0):
        return self.server.get(f"/v1/jobs/{name}?wait={wait}").json["state"]

    def test_a_stopped_queue_begins_nothing_and_stays_stopped_over_a_restart(self):
        server = self.server
        self.assertEqual(server.request("POST", "/v1/queue/pause").json["paused"], True)
        waiting = self.submit("a")
        time.sleep(0.4)
        self.assertEqual(self.state(waiting), "queued")
        self.assertIn("bakehouse_queue_paused 1", server.get("/metrics").body.decode())
        self.assertTrue(server.get("/readyz").json["paused"])
        server.kill()
        server.start()
        self.assertEqual(server.get("/v1/queue").json,
                         {"paused": True, "queued": 1, "running": 0, "slots": 1, "slots_lost": 0})
        time.sleep(0.4)
        self.assertEqual(self.state(waiting), "queued")
        self.assertEqual(server.request("POST", "/v1/queue/resume").json["paused"], False)
        self.assertEqual(self.state(waiting, 30), "done")

    def test_a_list_has_what_all_its_filters_let_through_page_by_page(self):
        server = self.server
        server.request("POST", "/v1/queue/pause")
        rows = []
        for i in range(30):
            tags = {"shot": "abc"[i * i % 3], "take": str(i // 7 % 2)}
            name = self.submit("", tags=tags)
            if i % 4 == 1:
                server.request("POST", f"/v1/jobs/{name}/cancel")
            rows.insert(0, {"id": name, **tags, "state": "cancelled" if i % 4 == 1 else "queued"})
        for shot, take, state in itertools.product((None, "a", "b", "c"), (None, "0", "1", "2"),
                                                   (None, "queued", "cancelled", "done")):
            wanted = [row["id"] for row in rows if shot in (None, row["shot"])
                      and take in (None, row["take"]) and state in (None, row["state"])]
            query = "".join([f"&tag=shot:{shot}" * bool(shot), f"&tag=take:{take}" * bool(take),
                             f"&state={state}" * bool(state), f"&model={self.model}" * bool(take)])
            found, cursor = [], ""
            while cursor is not None:
                page = server.get(f"/v1/jobs?limit=4{query}{cursor and '&cursor=' + cursor}").json
                found += [item["id"] for item in page["items"]]
                cursor = page["next"]
            self.assertEqual(found, wanted, query)
        self.assertEqual(server.get("/v1/jobs?owner=nobody").json["items"], [])
        self.assertEqual(len(server.get("/v1/jobs?owner=&state=queued").json["items"]), 22)

    def test_all_jobs_of_a_tag_are_counted_cancelled_and_run_again(self):
        server = self.server
        server.request("POST", "/v1/queue/pause")
        chosen = [self.submit("a") for _ in range(7)]
        other = [self.submit("b") for _ in range(2)]
        counts = server.get("/v1/jobs/counts?tag=shot:a").json
        self.assertEqual((counts["queued"], counts["all"]), (7, 7))
        self.assertEqual(server.get("/v1/jobs/counts?tag=show:one&tag=shot:b").json["all"], 2)
        answer = server.request("POST", "/v1/jobs/cancel?tag=shot:a")
        self.assertEqual((answer.status, answer.json), (202, {"moved": 7}))
        self.assertEqual({self.state(name) for name in chosen}, {"cancelled"})
        self.assertEqual({self.state(name) for name in other}, {"queued"})
        self.assertEqual(server.request("POST", "/v1/jobs/retry?tag=shot:a").json, {"moved": 7})
        server.request("POST", "/v1/queue/resume")
        self.assertEqual({self.state(name, 60) for name in chosen + other}, {"done"})
        self.assertEqual(server.get("/v1/jobs/counts?tag=show:one").json["done"], 9)
        for path in ("cancel", "retry", "cancel?tag=shot"):
            self.assertEqual(server.request("POST", f"/v1/jobs/{path}").status, 400)
        self.assertEqual(server.get("/v1/jobs/counts").status, 400)

    def test_a_running_job_of_the_tag_is_stopped(self):
        name = self.submit("a", time={"end": 100, "settle": 60, "fps": 240})
        end = time.monotonic() + 20
        while self.state(name) != "running":
            self.assertLess(time.monotonic(), end)
        self.assertEqual(self.server.request("POST", "/v1/jobs/cancel?tag=shot:a").json, {"moved": 1})
        self.assertEqual(self.state(name, 30), "cancelled")

    def test_a_dashboard_finds_its_figures(self):
        self.assertEqual(self.state(self.submit("a"), 30), "done")
        text = self.server.get("/metrics").body.decode()
        for name in ("http_answer_seconds_bucket{kind=\"read\",le=\"0.05\"}",
                     "http_answer_seconds_sum{kind=\"long_task\"}", "job_wait_seconds_count 1",
                     "run_seconds_count 1", "attempts_total{state=\"done\"} 1",
                     "store_wal_bytes", "store_bytes", "store_commit_seconds_total"):
            self.assertIn("bakehouse_" + name, text)
        for line in text.splitlines():
            self.assertRegex(line, r"^(# (HELP|TYPE) \w+ .+|\w+(\{[^}]*\})? -?[0-9.e+-]+)$")
        # buckets rise
        counts = [int(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                  if line.startswith("bakehouse_run_seconds_bucket")]
        self.assertEqual(counts, sorted(counts))


class Setup(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def fail(self, *options):
        ended = subprocess.run([BINARY, "serve", "--listen", "127.0.0.1:0", "--data",
                                os.path.join(self.folder.name, "data"), *options],
                               capture_output=True, text=True, timeout=30)
        self.assertNotEqual(ended.returncode, 0)
        return ended.stderr

    def test_settings_come_from_a_file_and_flags_win(self):
        path = self.write("conf", "# a studio's\n\nmax-queued = 0003\n  workers=2\nverbose\n"
                          "public-host = farm01\npublic-host = farm02\n")
        server = Server("--config", path, "--workers", "1")
        try:
            self.assertEqual(server.get("/v1/queue").json["slots"], 1)
            self.assertEqual(server.get("/v1/queue", Host="farm02").status, 200)
            self.assertEqual(server.get("/v1/queue", Host="farm03").status, 403)
            self.assertIn("http.request", "".join(server.log))
        finally:
            server.close()
        server = Server("--config", path, "--public-host", "farm09")
        try:
            self.assertEqual(server.get("/v1/queue", Host="farm02").status, 403)
            self.assertEqual(server.get("/v1/queue", Host="farm09").status, 200)
        finally:
            server.close()

    def test_a_file_with_faults_is_refused_with_its_line(self):
        for text, said in (("workers = many\n", "line 1: --workers must be a whole number"),
                           ("\nworker = 1\n", "line 2: there is no setting \"worker\""),
                           ("workers\n", "line 1: workers needs a value"),
                           ("config = other\n", "no setting \"config\""),
                           ("log-format = xml\n", "--log-format must be text or json"),
                           ("x" * 70000, "more than 65536 bytes")):
            self.assertIn(said, self.fail("--config", self.write("bad", text)), text[:40])
        self.assertIn("could not read", self.fail("--config", "/nonexistent"))

    def test_the_log_is_json_where_it_is_wanted(self):
        server = Server("--verbose")
        server.close()
        text = "".join(server.log)
        process = subprocess.Popen([BINARY, "serve", "--listen", "127.0.0.1:0", "--data",
                                    os.path.join(self.folder.name, 'a "b" é'), "--log-format",
                                    "json", "--verbose"], stderr=subprocess.PIPE, text=True)
        first = json.loads(process.stderr.readline())
        while first["event"] != "server.listening":
            first = json.loads(process.stderr.readline())
        port = int(first["address"].rsplit(":", 1)[1])
        self.assertTrue(first["data"].endswith('a "b" é'))
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.putrequest("GET", "/nothing%22%5C%ff%0a/x", skip_host=False)
        connection.endheaders()
        connection.getresponse().read()
        connection.close()
        process.terminate()
        lines = [json.loads(line) for line in process.stderr]
        process.wait()
        process.stderr.close()
        request = next(line for line in lines if line["event"] == "http.request")
        self.assertEqual((request["method"], request["code"], request["level"]),
                         ("GET", 404, "debug"))
        self.assertIsInstance(request["ms"], float)
        self.assertEqual(lines[-1]["event"], "server.stopped")
        self.assertIn(" info  server.stopped seconds=", text)

    def certificate(self):
        cert, key = (os.path.join(self.folder.name, name) for name in ("cert.pem", "key.pem"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key,
                        "-out", cert], check=True, capture_output=True)
        return cert, key

    def test_tls_serves_uploads_jobs_and_live_streams(self):
        cert, key = self.certificate()
        server = Server("--tls-cert", cert, "--tls-key", key)
        try:
            self.assertIn("scheme=https", "".join(server.log))
            context = ssl.create_default_context(cafile=cert)

            def call(method, path, body=None, **headers):
                connection = http.client.HTTPSConnection("localhost", server.port, context=context,
                                                         timeout=60)
                connection.request(method, path, body, headers)
                response = connection.getresponse()
                data = response.read()
                connection.close()
                return response.status, data

            status, data = call("POST", "/v1/models", sample("avatar"))
            self.assertEqual(status, 201)
            body = json.dumps({**job(json.loads(data)["id"]), "cache": False}).encode()
            status, data = call("POST", "/v1/jobs", body, **{"Content-Type": "application/json"})
            self.assertEqual(status, 202)
            name = json.loads(data)["id"]
            live = call("GET", f"/v1/jobs/{name}/frames?channels=joints,positions,segments")[1]
            status, data = call("GET", f"/v1/jobs/{name}?wait=30")
            self.assertEqual(json.loads(data)["state"], "done")
            status, whole = call("GET", f"/v1/jobs/{name}/frames")
            self.assertEqual(len(whole), json.loads(data)["bytes"])
            self.assertGreater(len(live), 1000)
            # plain requests get nothing
            self.assertFalse(re.search(rb"200", server.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")))
        finally:
            server.close()

    def test_tls_without_its_files_is_refused(self):
        cert, _ = self.certificate()
        self.assertIn("come together", self.fail("--tls-cert", cert))
        self.assertIn("not PEM", self.fail("--tls-cert", cert, "--tls-key", self.write("k", "no")))
        self.assertIn("could not listen", self.fail("--tls-cert", cert, "--tls-key", cert))


if __name__ == "__main__":
    unittest.main()
