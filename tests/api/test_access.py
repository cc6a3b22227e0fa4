#!/usr/bin/env python3
"""Tokens: who may do what, and that nobody else may."""

import json
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest

from support import BINARY, ROOT, Server, job, sample

OPEN = ("/healthz", "/readyz", "/v1/version", "/v1/openapi.json", "/", "/page.js", "/page.css",
        "/problems/unauthorized")


def make(role, name, *options):
    made = subprocess.run([BINARY, "token", "new", role, name, *options], capture_output=True,
                          text=True, check=True)
    return made.stdout.strip(), made.stderr


class Access(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.file = os.path.join(cls.folder.name, "tokens")
        cls.token = {role: make(role, f"{role}-bot", "--token-file", cls.file)[0]
                     for role in ("read", "submit", "admin")}
        cls.server = Server("--token-file", cls.file, "--verbose")

    @classmethod
    def tearDownClass(cls):
        cls.server.close()
        cls.folder.cleanup()

    def call(self, role, method, path, body=None, **headers):
        if role:
            headers["Authorization"] = f"Bearer {self.token.get(role, role)}"
        return self.server.request(method, path, body, headers)

    def test_a_token_is_printed_once_and_kept_as_its_hash(self):
        token, said = make("read", "me")
        self.assertRegex(token, r"^bh_[0-9a-z]{52}$")
        self.assertRegex(said, r"\nread me [0-9a-f]{64}\n$")
        self.assertNotEqual(token, make("read", "me")[0])
        with open(self.file, encoding="ascii") as file:
            text = file.read()
        self.assertEqual(len(text.splitlines()), 3)
        self.assertEqual(os.stat(self.file).st_mode & 0o777, 0o600)
        for role in self.token.values():
            self.assertNotIn(role, text)

    def test_what_watches_the_server_needs_no_token(self):
        for path in OPEN:
            self.assertEqual(self.call(None, "GET", path).status, 200, path)

    def test_everything_else_needs_one_that_is_known(self):
        for role in (None, "bh_0", "", self.token["admin"][:-1], self.token["admin"] + "x"):
            for method, path in (("GET", "/v1/jobs"), ("POST", "/v1/jobs"), ("POST", "/v1/models"),
                                 ("DELETE", "/v1/models/m_1"), ("HEAD", "/v1/models")):
                answer = self.call(role, method, path, b"{}" if method == "POST" else None)
                self.assertEqual(answer.status, 401, (role, method, path))
                self.assertTrue(answer.headers["WWW-Authenticate"].startswith("Bearer"))
        for header in ("Basic YTpi", "Bearer", self.token["read"]):
            answer = self.server.request("GET", "/v1/jobs", None, {"Authorization": header})
            self.assertEqual(answer.status, 401, header)

    def test_the_contract_says_of_every_route_whether_it_is_open(self):
        with open(ROOT / "schema" / "openapi.json", encoding="utf-8") as file:
            paths = json.load(file)["paths"]
        for path, operations in paths.items():
            for method in {"get", "post", "delete"} & operations.keys():
                is_open = operations[method].get("security") == []
                answer = self.call(None, method.upper(), path.replace("{id}", "invalid"))
                self.assertEqual(answer.status == 401, not is_open, (method, path, answer.status))

    def test_a_role_allows_what_it_says_and_no_more(self):
        model = self.call("submit", "POST", "/v1/models", sample("avatar")).json["id"]
        answer = self.call("read", "POST", "/v1/models", sample("avatar"))
        self.assertEqual(answer.status, 403)
        self.assertIn("a token of the role submit, yours has read", answer.json["detail"])
        self.assertEqual(self.call("read", "GET", f"/v1/models/{model}").status, 200)
        self.assertEqual(self.call("submit", "DELETE", f"/v1/models/{model}").status, 403)
        json_type = {"Content-Type": "application/json"}
        body = json.dumps(job(model)).encode()
        self.assertEqual(self.call("read", "POST", "/v1/jobs", body, **json_type).status, 403)
        made = self.call("submit", "POST", "/v1/jobs", body, **json_type)
        self.assertEqual(made.status, 202)
        done = self.call("read", "GET", f"/v1/jobs/{made.json['id']}?wait=30").json
        self.assertEqual(done["state"], "done")
        self.assertEqual(self.call("submit", "DELETE", f"/v1/jobs/{done['id']}").status, 204)
        self.assertEqual(self.call("admin", "DELETE", f"/v1/models/{model}").status, 204)

    def test_no_token_is_logged(self):
        self.call("read", "GET", "/v1/jobs")
        self.call("bh_secret", "GET", "/v1/jobs")
        log = "".join(self.server.log)
        self.assertIn("http.request", log)
        self.assertFalse(re.search("bh_[0-9a-z]+", log))

    def test_a_file_with_faults_is_refused_with_its_line(self):
        for text, said in (("", "has no tokens"), ("# none\n\n", "has no tokens"),
                           ("read a\n", "line 1"), ("# x\nroot a " + "0" * 64 + "\n", "line 2"),
                           ("read a " + "0" * 63 + "\n", "line 1"),
                           ("read a " + "0" * 64 + " more\n", "line 1"),
                           ("read a " + "0" * 64 + " queued=x\n", "line 1"),
                           ("read a " + "0" * 64 + " queued=-1\n", "line 1"),
                           ("read a " + "0" * 64 + " requests=1000001\n", "line 1"),
                           ("read " + "a" * 600 + "\n", "line 1: is too long")):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "tokens")
                with open(path, "w", encoding="ascii") as file:
                    file.write(text)
                ended = subprocess.run([BINARY, "serve", "--listen", "127.0.0.1:0", "--data", folder,
                                        "--token-file", path], capture_output=True, text=True,
                                       timeout=30)
                self.assertNotEqual(ended.returncode, 0)
                self.assertIn(said, ended.stderr)

    def test_the_command_says_what_is_wrong(self):
        for arguments, said in ((["new", "root", "me"], "read, submit or admin"),
                                (["old", "read", "me"], '"new" only'),
                                (["new", "read", "a b"], "the name must be"),
                                (["new", "read"], "usage")):
            ended = subprocess.run([BINARY, "token", *arguments], capture_output=True, text=True)
            self.assertIn(ended.returncode, (1, 2))
            self.assertIn(said, ended.stderr)
            self.assertEqual(ended.stdout, "")


class Limits(unittest.TestCase):
    """What one token may use, by its line of the file."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.file = os.path.join(self.folder.name, "tokens")

    def serve(self, *options, **limits):
        """A server with a token for each name, with these limits in its line."""
        self.token = {name: make("submit", name, "--token-file", self.file)[0] for name in limits}
        with open(self.file, encoding="ascii") as file:
            lines = file.read().splitlines()
        with open(self.file, "w", encoding="ascii") as file:
            for line, limit in zip(lines, limits.values()):
                file.write(f"{line} {limit}\n")
        server = Server("--token-file", self.file, *options)
        self.addCleanup(server.close)
        return server

    def call(self, server, name, method, path, body=None, **headers):
        headers["Authorization"] = f"Bearer {self.token[name]}"
        return server.request(method, path, body, headers)

    def submit(self, server, name, model, **headers):
        return self.call(server, name, "POST", "/v1/jobs",
                         json.dumps({**job(model), "cache": False}).encode(),
                         **{"Content-Type": "application/json", **headers})

    def test_a_job_and_a_file_belong_to_the_token_that_sent_them(self):
        server = self.serve(ann="", bob="")
        made = self.call(server, "ann", "POST", "/v1/models", sample("avatar")).json
        self.assertEqual(made["owner"], "ann")
        again = self.call(server, "bob", "POST", "/v1/models", sample("avatar")).json
        self.assertEqual(again["owner"], "ann")
        first = self.submit(server, "ann", made["id"]).json
        second = self.submit(server, "bob", made["id"]).json
        self.assertEqual((first["owner"], second["owner"]), ("ann", "bob"))
        listed = self.call(server, "bob", "GET", "/v1/jobs?owner=ann").json["items"]
        self.assertEqual([item["id"] for item in listed], [first["id"]])

    def test_the_same_idempotency_key_of_two_tokens_means_two_jobs(self):
        server = self.serve(ann="", bob="")
        model = self.call(server, "ann", "POST", "/v1/models", sample("avatar")).json["id"]
        ids = [self.submit(server, name, model, **{"Idempotency-Key": "shot-1"}).json["id"]
               for name in ("ann", "bob", "ann")]
        self.assertEqual(ids[0], ids[2])
        self.assertNotEqual(ids[0], ids[1])

    def test_jobs_that_wait_are_counted_by_token(self):
        server = self.serve("--workers", "1", ann="queued=2", bob="")
        model = self.call(server, "ann", "POST", "/v1/models", sample("avatar")).json["id"]
        admin = [self.submit(server, "ann", model) for _ in range(6)]
        refused = [answer for answer in admin if answer.status == 429]
        self.assertGreaterEqual(len(refused), 2)
        self.assertIn('2 jobs of the token "ann" wait already', refused[0].json["detail"])
        self.assertIn("Retry-After", refused[0].headers)
        self.assertEqual(self.submit(server, "bob", model).status, 202)

    def test_requests_are_counted_by_token(self):
        server = self.serve(ann="requests=5", bob="requests=0")
        codes = [self.call(server, "ann", "GET", "/v1/jobs") for _ in range(20)]
        refused = [answer for answer in codes if answer.status == 429]
        self.assertTrue(5 <= len(refused) <= 10, len(refused))
        self.assertIn('more than 5 requests a second of the token "ann"', refused[0].json["detail"])
        self.assertEqual(refused[0].headers["Retry-After"], "1")
        for _ in range(20):
            self.assertEqual(self.call(server, "bob", "GET", "/v1/jobs").status, 200)
        self.assertEqual(self.call(server, "ann", "GET", "/healthz").status, 200)
        time.sleep(1.1)
        self.assertEqual(self.call(server, "ann", "GET", "/v1/jobs").status, 200)

    def test_stored_files_are_counted_by_token(self):
        server = self.serve(ann="upload-mib=7", bob="")
        file = sample("avatar")
        room = (7 << 20) // len(file)
        self.assertTrue(1 <= room <= 4)
        self.assertEqual(self.call(server, "bob", "POST", "/v1/models", file).status, 201)
        # the same bytes with other options are another model
        answers = [self.call(server, "ann", "POST", f"/v1/models?unit={1 + i / 100}", file)
                   for i in range(1, room + 3)]
        self.assertEqual([answer.status for answer in answers], [201] * room + [422] * 2)
        self.assertIn('the token "ann" may store 7 MiB', answers[-1].json["detail"])

    def test_the_file_is_read_again_without_a_restart(self):
        server = self.serve(ann="")
        self.assertEqual(self.call(server, "ann", "GET", "/v1/jobs").status, 200)
        with open(self.file, encoding="ascii") as file:
            before = file.read()
        self.token["bob"] = make("read", "bob", "--token-file", self.file)[0]
        self.assertEqual(self.call(server, "bob", "GET", "/v1/jobs").status, 401)
        server.process.send_signal(signal.SIGHUP)
        self.wait_for(lambda: self.call(server, "bob", "GET", "/v1/jobs").status == 200)
        with open(self.file, "w", encoding="ascii") as file:
            file.write("nonsense\n")
        server.process.send_signal(signal.SIGHUP)
        self.wait_for(lambda: "tokens.kept" in "".join(server.log))
        self.assertEqual(self.call(server, "bob", "GET", "/v1/jobs").status, 200)
        with open(self.file, "w", encoding="ascii") as file:
            file.write(before)
        server.process.send_signal(signal.SIGHUP)
        self.wait_for(lambda: self.call(server, "bob", "GET", "/v1/jobs").status == 401)

    def wait_for(self, happened):
        end = time.monotonic() + 20
        while not happened():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)


if __name__ == "__main__":
    unittest.main()
