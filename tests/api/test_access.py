#!/usr/bin/env python3
"""Tokens: who may do what, and that nobody else may."""

import json
import os
import re
import subprocess
import tempfile
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


if __name__ == "__main__":
    unittest.main()
