#!/usr/bin/env python3
"""Uploaded files: stored once, listed, given back, removed."""

import hashlib
import os
import threading
import unittest
from pathlib import Path

from support import Server, ServerTest, job, sample


class Models(ServerTest):
    def test_takes_a_file_and_summarises_it(self):
        answer = self.server.request("POST", "/v1/models?name=one&unit=0.3", sample("avatar"))
        self.assertEqual(answer.status, 201, answer.body[:300])
        model = answer.json
        self.assertEqual(answer.headers["Location"], f"/v1/models/{model['id']}")
        self.assertEqual(model["sha256"], hashlib.sha256(sample("avatar")).hexdigest())
        self.assertEqual(model["size"], len(sample("avatar")))
        self.assertEqual(model["format"], "vrm1")
        self.assertRegex(model["id"], r"^m_[0-9a-f]{32}$")
        self.assertEqual(self.server.get(f"/v1/models/{model['id']}").json, model)

    def test_stores_the_same_bytes_once(self):
        first = self.server.request("POST", "/v1/models?name=a", sample("avatar"))
        again = self.server.request("POST", "/v1/models?name=b", sample("avatar"))
        self.assertEqual(again.status, 200)
        self.assertEqual(again.json["id"], first.json["id"])
        other = self.server.request("POST", "/v1/models?unit=0.5", sample("avatar"))
        self.assertEqual(other.status, 201)
        self.assertNotEqual(other.json["id"], first.json["id"])
        stored = Path(self.server.data, "assets", first.json["sha256"])
        self.assertEqual(stored.read_bytes(), sample("avatar"))
        self.assertEqual(os.listdir(Path(self.server.data, "uploads")), [])

    def test_gives_ranges_and_etags(self):
        model = self.server.upload()
        path, data = f"/v1/models/{model}/content", sample("avatar")
        whole = self.server.get(path)
        self.assertEqual((whole.status, whole.body), (200, data))
        etag = whole.headers["ETag"]
        self.assertEqual(self.server.get(path, If_None_Match=etag).status, 304)
        self.assertEqual(self.server.get(path, If_None_Match='"other"').status, 200)
        size = len(data)
        for text, first, last in (("bytes=0-0", 0, 0), ("bytes=10-19", 10, 19),
                                  (f"bytes={size - 3}-", size - 3, size - 1),
                                  ("bytes=-5", size - 5, size - 1),
                                  (f"bytes=5-{size + 99}", 5, size - 1)):
            part = self.server.get(path, Range=text)
            self.assertEqual((part.status, part.body), (206, data[first:last + 1]), text)
            self.assertEqual(part.headers["Content-Range"], f"bytes {first}-{last}/{size}")
        outside = self.server.get(path, Range=f"bytes={size}-")
        self.check_problem(outside, 416, "range")
        self.assertEqual(outside.headers["Content-Range"], f"bytes */{size}")
        self.assertEqual(self.server.get(path, Range="bytes=0-3", If_Range='"other"').status, 200)
        head = self.server.request("HEAD", path)
        self.assertEqual((head.status, head.body), (200, b""))
        self.assertEqual(head.headers["Content-Length"], str(size))

    def test_refuses_what_is_no_model(self):
        for data, text in ((b"nonsense", ""), (b"", "empty"), (sample("avatar")[:1000], "")):
            answer = self.server.request("POST", "/v1/models", data)
            self.check_problem(answer, 422, "invalid", text)
        self.assertEqual(os.listdir(Path(self.server.data, "uploads")), [])
        self.check_problem(self.server.request("POST", "/v1/models?up=x", sample("avatar")), 400,
                           "malformed", "up must be")
        self.check_problem(self.server.request("POST", "/v1/models?unit=-1", sample("avatar")), 400,
                           "malformed", "unit must be")
        multipart = self.server.request("POST", "/v1/models", b"x",
                                        {"Content-Type": "multipart/form-data; boundary=x"})
        self.check_problem(multipart, 415, "media-type")

    def test_lists_by_pages(self):
        ids = set()
        for unit in ("0.11", "0.12", "0.13"):
            ids.add(self.server.request("POST", f"/v1/models?unit={unit}",
                                        sample("avatar")).json["id"])
        seen, cursor, pages = [], "", 0
        while cursor is not None:
            page = self.server.get("/v1/models?limit=2" + (f"&cursor={cursor}" if cursor else ""))
            seen += [item["id"] for item in page.json["items"]]
            cursor, pages = page.json["next"], pages + 1
        self.assertEqual(len(seen), len(set(seen)))
        self.assertLessEqual(ids, set(seen))
        self.assertGreater(pages, 1)

    def test_deletes_what_no_job_uses(self):
        model = self.server.request("POST", "/v1/models?unit=0.2", sample("avatar")).json["id"]
        self.assertEqual(self.server.request("DELETE", f"/v1/models/{model}").status, 204)
        self.check_problem(self.server.get(f"/v1/models/{model}"), 404, "not-found", model)
        self.check_problem(self.server.request("DELETE", f"/v1/models/{model}"), 404, "not-found")
        # the server had it in memory: nothing can be asked of it any more
        for query in ("", "?validate=true"):
            answer = self.server.post_json("/v1/jobs" + query, job(model))
            self.check_problem(answer, 422, "invalid", f"/model names the model \"{model}\"")

    def test_keeps_animations_apart(self):
        answer = self.server.request("POST", "/v1/animations?name=walk", sample("avatar"))
        self.assertEqual(answer.status, 201, answer.body[:300])
        self.assertRegex(answer.json["id"], r"^a_[0-9a-f]{32}$")
        listed = [item["id"] for item in self.server.get("/v1/animations").json["items"]]
        self.assertEqual(listed, [answer.json["id"]])
        self.assertEqual(self.server.get(f"/v1/models/{answer.json['id']}").status, 404)


class Concurrent(unittest.TestCase):
    def test_ten_uploads_of_one_file_store_it_once(self):
        server = Server("--max-uploads", "10")
        try:
            data, answers = sample("avatar"), []

            def upload():
                answers.append(server.request("POST", "/v1/models", data))

            threads = [threading.Thread(target=upload) for _ in range(10)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(sorted(a.status for a in answers), [200] * 9 + [201])
            self.assertEqual(len({a.json["id"] for a in answers}), 1)
            self.assertEqual(len(os.listdir(Path(server.data, "assets"))), 1)
            self.assertEqual(os.listdir(Path(server.data, "uploads")), [])
        finally:
            server.close()

    def test_uploads_above_the_limits_are_refused_and_leave_nothing(self):
        server = Server("--max-upload-mib", "1", "--max-uploads", "1")
        try:
            big = b"x" * ((1 << 20) + 1)
            answer = server.request("POST", "/v1/models", big)
            self.assertEqual(answer.status, 413)
            self.assertEqual(answer.json["type"], "/problems/too-large")
            # without a length: found out while it comes
            chunk = b"%x\r\n" % (1 << 16) + b"x" * (1 << 16) + b"\r\n"
            reply = server.raw(b"POST /v1/models HTTP/1.1\r\nHost: localhost\r\n"
                               b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 17 + b"0\r\n\r\n")
            self.assertTrue(reply.startswith(b"HTTP/1.1 413"), reply[:100])
            # one upload that hangs takes the only place
            slow = server.connect()
            slow.putrequest("POST", "/v1/models")
            slow.putheader("Content-Length", "100")
            slow.endheaders(b"x" * 10)
            end_states = set()
            for _ in range(200):
                answer = server.request("POST", "/v1/models", b"nonsense")
                end_states.add(answer.status)
                if answer.status == 429:
                    break
            self.assertIn(429, end_states)
            self.assertTrue(answer.headers["Retry-After"])
            slow.close()
        finally:
            server.close()


if __name__ == "__main__":
    unittest.main()
