#!/usr/bin/env python3
"""Resumable uploads (tus 1.0.0): pieces, checksums, crashes, and what becomes of them."""

import base64
import hashlib
import os
import socket
import time
import unittest

from support import Server, sample

TUS = {"Tus-Resumable": "1.0.0"}


class Uploads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--max-upload-mib", "8", "--idle-ms", "2000")
        cls.file = sample("avatar")

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def begin(self, size, **headers):
        answer = self.server.request("POST", "/v1/uploads", None,
                                     {**TUS, "Upload-Length": str(size), **headers})
        self.assertEqual(answer.status, 201, answer.body)
        self.assertRegex(answer.headers["Location"], r"^/v1/uploads/u_[0-9a-z]{26}$")
        return answer.headers["Location"]

    def patch(self, path, offset, piece, **headers):
        return self.server.request("PATCH", path, piece, {
            **TUS, "Content-Type": "application/offset+octet-stream", "Upload-Offset": str(offset),
            **headers})

    def offset(self, path):
        answer = self.server.request("HEAD", path, None, TUS)
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.headers["Cache-Control"], "no-store")
        return int(answer.headers["Upload-Offset"])

    def test_a_file_in_pieces_becomes_the_model_that_it_is_in_one(self):
        path = self.begin(len(self.file), **{"Upload-Metadata": "filename YS5nbGI="})
        at = 0
        for size in (1, 1000, 0, 1 << 20, len(self.file)):
            piece = self.file[at:at + size]
            answer = self.patch(path, at, piece)
            self.assertEqual(answer.status, 204, answer.body)
            at += len(piece)
            self.assertEqual(int(answer.headers["Upload-Offset"]), at)
            self.assertEqual(self.offset(path), at)
        self.assertEqual(at, len(self.file))
        head = self.server.request("HEAD", path, None, TUS)
        self.assertEqual(head.headers["Upload-Metadata"], "filename YS5nbGI=")
        self.assertEqual(int(head.headers["Upload-Length"]), at)
        self.assertTrue(head.headers["Upload-Expires"].endswith(" GMT"))
        made = self.server.request("POST", f"/v1/models?upload={path[12:]}&name=pieces")
        self.assertEqual(made.status, 201, made.body)
        self.assertEqual(made.json["sha256"], hashlib.sha256(self.file).hexdigest())
        self.assertEqual(self.server.request("POST", "/v1/models", self.file).json["id"],
                         made.json["id"])
        content = self.server.get(f"/v1/models/{made.json['id']}/content")
        self.assertEqual(content.body, self.file)
        self.assertEqual(self.server.request("HEAD", path, None, TUS).status, 404)

    def test_what_a_broken_connection_brought_stays(self):
        path = self.begin(len(self.file))
        with socket.create_connection((self.server.host, self.server.port)) as connection:
            connection.sendall((f"PATCH {path} HTTP/1.1\r\nHost: localhost\r\n"
                                "Tus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\n"
                                "Content-Type: application/offset+octet-stream\r\n"
                                f"Content-Length: {len(self.file)}\r\n\r\n").encode())
            connection.sendall(self.file[:200000])
            self.wait_for(lambda: self.offset(path) == 200000)
            # while it comes in, nobody else can write
            answer = self.patch(path, 200000, b"x")
            self.assertEqual(answer.status, 409)
            self.assertIn("another piece", answer.json["detail"])
        self.wait_for(lambda: self.patch(path, 200000, b"").status == 204)
        self.assertEqual(self.patch(path, 200000, self.file[200000:]).status, 204)
        made = self.server.request("POST", f"/v1/models?upload={path[12:]}")
        self.assertIn(made.status, (200, 201))
        self.assertEqual(made.json["sha256"], hashlib.sha256(self.file).hexdigest())

    def test_a_piece_that_is_not_what_its_checksum_says_is_taken_back(self):
        for kind in ("sha1", "sha256"):
            path = self.begin(1000)
            right = base64.b64encode(hashlib.new(kind, b"a" * 400).digest()).decode()
            self.assertEqual(self.patch(path, 0, b"a" * 400,
                                        **{"Upload-Checksum": f"{kind} {right}"}).status, 204)
            answer = self.patch(path, 400, b"b" * 400, **{"Upload-Checksum": f"{kind} {right}"})
            self.assertEqual(answer.status, 460)
            self.assertEqual(answer.json["type"], "/problems/checksum")
            self.assertEqual(self.offset(path), 400)
        for wrong in ("md5 " + right, "sha256", "sha256 !!!", "sha1 " + right, "sha256 " + "A" * 400):
            self.assertEqual(self.patch(path, 400, b"b", **{"Upload-Checksum": wrong}).status, 400)
        # half a piece cannot be checked: it does not stay
        with socket.create_connection((self.server.host, self.server.port)) as connection:
            connection.sendall((f"PATCH {path} HTTP/1.1\r\nHost: localhost\r\n"
                                "Tus-Resumable: 1.0.0\r\nUpload-Offset: 400\r\n"
                                f"Upload-Checksum: sha256 {right}\r\n"
                                "Content-Type: application/offset+octet-stream\r\n"
                                "Content-Length: 400\r\n\r\n").encode() + b"a" * 300)
            self.wait_for(lambda: self.offset(path) == 700)
        self.wait_for(lambda: self.offset(path) == 400)

    def test_uploads_survive_a_crash_and_expire(self):
        server = Server("--upload-hours", "1")
        try:
            self_server, type(self).server = type(self).server, server
            path, old = self.begin(len(self.file)), self.begin(10)
            self.assertEqual(self.patch(path, 0, self.file[:500000]).status, 204)
            self.assertEqual(self.patch(old, 0, b"12345").status, 204)
            server.kill()
            folder = os.path.join(server.data, "partial")
            past = time.time() - 3700
            os.utime(os.path.join(folder, old[12:]), (past, past))
            server.start()
            self.assertEqual(self.offset(path), 500000)
            self.wait_for(lambda: self.server.request("HEAD", old, None, TUS).status == 404)
            self.assertEqual(self.patch(path, 500000, self.file[500000:]).status, 204)
            made = server.request("POST", f"/v1/models?upload={path[12:]}")
            self.assertEqual(made.status, 201)
            self.assertEqual(os.listdir(folder), [])
        finally:
            type(self).server = self_server
            server.close()

    def test_what_is_wrong_is_said(self):
        server = self.server
        path = self.begin(100)
        rows = (
            ("POST", "/v1/uploads", {**TUS}, None, 400, "Upload-Length"),
            ("POST", "/v1/uploads", {"Upload-Length": "5"}, None, 412, "Tus-Resumable"),
            ("POST", "/v1/uploads", {"Upload-Length": "5", "Tus-Resumable": "0.2"}, None, 412, "1.0.0"),
            ("POST", "/v1/uploads", {**TUS, "Upload-Length": "-5"}, None, 400, "Upload-Length"),
            ("POST", "/v1/uploads", {**TUS, "Upload-Length": "0"}, None, 400, "above 0"),
            ("POST", "/v1/uploads", {**TUS, "Upload-Length": str(9 << 20)}, None, 413, "max-upload-mib"),
            ("POST", "/v1/uploads", {**TUS, "Upload-Length": "9" * 30}, None, 413, "max-upload-mib"),
            ("POST", "/v1/uploads", {**TUS, "Upload-Length": "5"}, b"12345", 400, "without a body"),
            ("POST", "/v1/uploads", {**TUS, "Upload-Length": "5", "Upload-Metadata": "x" * 2000}, None,
             400, "Upload-Metadata"),
            ("PATCH", path, {**TUS, "Upload-Offset": "0"}, b"x", 415, "offset+octet-stream"),
            ("PATCH", path, {}, b"x", 412, "Tus-Resumable"),
            ("PATCH", "/v1/uploads/u_1", {**TUS, "Upload-Offset": "0"}, b"x", 404, "no upload"),
            ("HEAD", path, {}, None, 412, None),
            ("GET", "/v1/uploads/..%2fx", {}, None, 404, ""),
            ("DELETE", path, {}, None, 412, "1.0.0"),
            ("POST", "/v1/models?upload=" + path[12:], {}, None, 409, "0 of 100 bytes"),
            ("POST", "/v1/models?upload=" + path[12:], {}, b"x", 400, "not both"),
            ("POST", "/v1/models?upload=../../etc/passwd", {}, None, 422, "no upload"),
        )
        for method, target, headers, body, code, said in rows:
            if method == "PATCH" and code not in (415,):
                headers = {**headers, "Content-Type": "application/offset+octet-stream"}
            answer = server.request(method, target, body, headers)
            self.assertEqual(answer.status, code, (method, target, headers, answer.body))
            if said is not None:
                self.assertIn(said, answer.json["detail"])
        for offset, piece, code in ((1, b"x", 409), (0, b"x" * 101, 413), ("-1", b"x", 400),
                                    ("x", b"x", 400), (2**62, b"x", 409)):
            self.assertEqual(self.patch(path, offset, piece).status, code, (offset, piece))
        self.assertEqual(self.offset(path), 0)

    def test_a_client_learns_what_is_spoken_here(self):
        answer = self.server.request("OPTIONS", "/v1/uploads", None, {})
        self.assertEqual(answer.status, 204)
        self.assertEqual(answer.headers["Tus-Version"], "1.0.0")
        self.assertEqual(answer.headers["Tus-Extension"], "creation,expiration,checksum,termination")
        self.assertEqual(answer.headers["Tus-Checksum-Algorithm"], "sha1,sha256")
        self.assertEqual(int(answer.headers["Tus-Max-Size"]), 8 << 20)

    def test_an_upload_can_be_given_up(self):
        path = self.begin(100)
        override = {**TUS, "X-HTTP-Method-Override": "DELETE"}
        self.assertEqual(self.server.request("POST", path, None, override).status, 204)
        self.assertEqual(self.server.request("HEAD", path, None, TUS).status, 404)

    def test_a_file_with_faults_can_be_taken_again(self):
        path = self.begin(5)
        self.assertEqual(self.patch(path, 0, b"hello").status, 204)
        answer = self.server.request("POST", f"/v1/models?upload={path[12:]}")
        self.assertEqual(answer.status, 422)
        self.assertEqual(self.offset(path), 5)

    def test_no_more_than_so_many_are_unfinished(self):
        server = Server("--max-unfinished", "2")
        try:
            codes = [server.request("POST", "/v1/uploads", None, {**TUS, "Upload-Length": "5"})
                     for _ in range(3)]
            self.assertEqual([answer.status for answer in codes], [201, 201, 429])
            self.assertIn("2 uploads are unfinished already", codes[2].json["detail"])
            self.assertIn("Retry-After", codes[2].headers)
        finally:
            server.close()

    def wait_for(self, happened):
        end = time.monotonic() + 20
        while not happened():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)


if __name__ == "__main__":
    unittest.main()
