#!/usr/bin/env python3
"""A table of hostile requests, each sent through a socket of its own as it stands.

What reaches a handler gets its problem document; what does not is ended within --idle-ms and
counted; what only looks odd is read as it was meant. After all of it the server answers, and holds
no more descriptors and hardly more memory than before.
"""

from __future__ import annotations

import http.client
import io
import json
import os
import re
import socket
import subprocess
import tempfile
import time
import unittest
import zipfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from support import BINARY, Server, sample, wait_until

IDLE_MS = 1000
ENDS_WITHIN = IDLE_MS / 1000 + 4  # seconds: a slow machine is no fault
HOST = b"Host: localhost\r\n"
JSON = b"Content-Type: application/json\r\n"
MIB = 1 << 20
TUS = b"Tus-Resumable: 1.0.0"
PIECE = b"Content-Type: application/offset+octet-stream"
FIRST = b"Upload-Offset: 0"
# stand for the ids that the test gets, and are as long
MODEL = b"m_" + b"0" * 32
UPLOAD = b"u_" + b"0" * 26
SPEC = b'{"model": "%b", "simulations": [{"type": "chains"}]}' % MODEL
GLTF = b'{"asset": {"version": "2.0"}}'


def ask(line: str | bytes, *headers: bytes, host: bytes = HOST) -> bytes:
    """A request without a body; `line` is "GET /healthz"."""
    text = line if isinstance(line, bytes) else line.encode()
    return text + b" HTTP/1.1\r\n" + host + b"".join(h + b"\r\n" for h in headers) + b"\r\n"


def send(target: str, body: bytes, *headers: bytes, length: bytes | None = None) -> bytes:
    """A POST with a body; jobs are JSON unless the headers say otherwise."""
    kind = [] if target != "/v1/jobs" or any(h.startswith(b"Content-Type") for h in headers) else [
        JSON[:-2]]
    size = b"Content-Length: " + (b"%d" % len(body) if length is None else length)
    return ask(f"POST {target}", *kind, size, *headers) + body


def chunked(target: str, body: bytes, *headers: bytes) -> bytes:
    return ask(f"POST {target}", *headers, b"Transfer-Encoding: chunked") + body


def submit(**fields: object) -> bytes:
    """A job for the model that the test uploads."""
    return send("/v1/jobs", json.dumps({"model": MODEL.decode(), **fields}).encode())


def begin(*headers: bytes) -> bytes:
    """The beginning of an upload in pieces."""
    return ask("POST /v1/uploads", b"Content-Length: 0", *headers)


def patch(*headers: bytes, body: bytes = b"x", kind: bytes = PIECE) -> bytes:
    """A piece of the upload that the test begins, of 100 bytes."""
    return ask(b"PATCH /v1/uploads/" + UPLOAD, TUS, kind, b"Content-Length: %d" % len(body),
               *headers) + body


def bundle(*entries: tuple[str, bytes], count: int = 0) -> bytes:
    """An upload of a zip file with these entries and `count` empty ones."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries:
            archive.writestr(name, data)
        for index in range(count):
            archive.writestr(str(index), b"")
    return send("/v1/models", out.getvalue())


def bundle_saying(size: int) -> bytes:
    """An entry of more than 10,000 bytes that says it has `size`."""
    data = bytearray(bundle(("a.gltf", GLTF + b" " * 10000)))
    for sign, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        at = data.index(sign) + offset
        data[at:at + 4] = size.to_bytes(4, "little")
    return bytes(data)


class Refused(NamedTuple):
    """Reaches a handler: a problem document of this status and name, that says this."""
    name: str
    data: bytes
    status: int
    problem: str
    says: str = ""


REFUSED = [
    # --- the head: two ways to read it ---
    Refused("length and chunks", ask("POST /v1/jobs", JSON[:-2], b"Content-Length: 2",
                                     b"Transfer-Encoding: chunked") + b"2\r\n{}\r\n0\r\n\r\n",
            400, "malformed", "length"),
    Refused("unknown coding", ask("POST /v1/jobs", b"Transfer-Encoding: gzip") + b"{}",
            400, "malformed", "length"),
    Refused("two codings", ask("POST /v1/jobs", b"Transfer-Encoding: gzip, chunked") + b"0\r\n\r\n",
            400, "malformed", "length"),
    Refused("coding twice", ask("POST /v1/jobs", b"Transfer-Encoding: chunked",
                                b"Transfer-Encoding: identity") + b"0\r\n\r\n",
            400, "malformed", "Transfer-Encoding is there twice"),
    Refused("two lengths", ask("POST /v1/jobs", JSON[:-2], b"Content-Length: 2",
                               b"Content-Length: 40") + b"{}",
            400, "malformed", "Content-Length is there twice"),
    Refused("the same length twice", ask("POST /v1/jobs", JSON[:-2], b"Content-Length: 2",
                                         b"Content-Length: 2") + b"{}",
            400, "malformed", "Content-Length is there twice"),
    Refused("space before the colon", ask("POST /v1/jobs", JSON[:-2], b"Content-Length : 2") +
            b"{}", 400, "malformed", "name of a header"),
    Refused("odd name of a header", ask("GET /healthz", b"X(1): a"), 400, "malformed",
            "name of a header"),
    Refused("name of a header that is not ASCII", ask("GET /healthz", b"X\xc3\xa4: a"), 400,
            "malformed", "name of a header"),
    Refused("bare CR in a header", ask("GET /healthz", b"X-A: 1\rContent-Length: 5"), 400,
            "malformed", "characters"),
    Refused("control characters in a header", ask("GET /healthz", b"X-A: \x01\x1b[31m"), 400,
            "malformed", "X-A"),
    Refused("bad UTF-8 in a header that is read", ask("GET /healthz", b"Origin: http://\xff\xfe"),
            400, "malformed", "Origin"),
    Refused("two tokens", ask("GET /v1/jobs", b"Authorization: Bearer a",
                              b"Authorization: Bearer b"),
            400, "malformed", "Authorization is there twice"),
    Refused("two types", send("/v1/jobs", b"{}", JSON[:-2], b"Content-Type: text/plain"),
            400, "malformed", "Content-Type is there twice"),
    Refused("two keys", send("/v1/jobs", b"{}", b"Idempotency-Key: a", b"Idempotency-Key: b"),
            400, "malformed", "Idempotency-Key is there twice"),
    Refused("two ranges", ask("GET /v1/jobs", b"Range: bytes=0-1", b"Range: bytes=2-3"),
            400, "malformed", "Range is there twice"),
    # --- who asks, and for whom ---
    Refused("no Host", ask("GET /healthz", host=b""), 400, "malformed", "no Host"),
    Refused("no Host in HTTP/1.0", b"GET /healthz HTTP/1.0\r\n\r\n", 400, "malformed", "no Host"),
    Refused("two Hosts", ask("GET /healthz", b"Host: localhost"), 400, "malformed",
            "Host is there twice"),
    Refused("Hosts in one", ask("GET /healthz", host=b"Host: localhost, evil.example\r\n"), 403,
            "forbidden", "host"),
    Refused("empty Host", ask("GET /healthz", host=b"Host:\r\n"), 403, "forbidden", "host"),
    Refused("foreign Host", ask("GET /healthz", host=b"Host: evil.example\r\n"), 403, "forbidden",
            "evil.example"),
    Refused("Host that begins well", ask("GET /healthz", host=b"Host: localhost.evil.example\r\n"),
            403, "forbidden", "host"),
    Refused("Host with credentials", ask("GET /healthz", host=b"Host: me:pw@localhost\r\n"), 403,
            "forbidden", "host"),
    Refused("Host with a path", ask("GET /healthz", host=b"Host: localhost/x\r\n"), 403,
            "forbidden", "host"),
    Refused("Host with a word for a port", ask("GET /healthz", host=b"Host: localhost:http\r\n"),
            403, "forbidden", "host"),
    Refused("Host of half an address", ask("GET /healthz", host=b"Host: [::1\r\n"), 403,
            "forbidden", "host"),
    Refused("foreign Origin", ask("GET /v1/jobs", b"Origin: https://evil.example"), 403,
            "forbidden", "evil.example"),
    Refused("Origin null", ask("GET /v1/jobs", b"Origin: null"), 403, "forbidden", "null"),
    Refused("Origin that begins well", ask("GET /v1/jobs", b"Origin: http://localhost.evil.example"),
            403, "forbidden", "origin"),
    Refused("foreign preflight", ask("OPTIONS /v1/jobs", b"Origin: https://evil.example",
                                     b"Access-Control-Request-Method: POST"),
            403, "forbidden", "evil.example"),
    # --- methods ---
    *[Refused(f"{method} where it is not", ask(f"{method} /healthz"), 405, "method-not-allowed",
              "/healthz")
      for method in ("POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "get", "BREW", "G\x07T")],
    Refused("CONNECT to elsewhere", ask("CONNECT evil.example:443"), 400, "malformed", "path"),
    Refused("a long method", ask("A" * 5000 + " /healthz"), 405, "method-not-allowed"),
    # --- targets ---
    Refused("a whole URL", ask("GET http://evil.example/v1/jobs"), 400, "malformed", "path"),
    Refused("no slash", ask("GET healthz"), 400, "malformed", "path"),
    Refused("zero byte in the path", ask("GET /healthz%00.txt"), 400, "malformed", "zero"),
    Refused("zero byte in the query", ask("GET /v1/jobs?state=done%00x"), 400, "malformed", "zero"),
    Refused("half an escape", ask("GET /healthz%2"), 400, "malformed", "hex"),
    Refused("no escape at all", ask("GET /v1/jobs?state=%zz"), 400, "malformed", "hex"),
    Refused("bad UTF-8 in the path", ask(b"GET /v1/jobs/\xff\xfe"), 400, "malformed", "UTF-8"),
    Refused("escaped bad UTF-8 in the path", ask("GET /v1/jobs/%ff%fe"), 400, "malformed", "UTF-8"),
    Refused("overlong slash", ask("GET /v1/models/..%c0%af..%c0%afetc"), 400, "malformed", "UTF-8"),
    Refused("surrogate in the query", ask("GET /v1/jobs?tag=a:%ed%a0%80"), 400, "malformed",
            "UTF-8"),
    Refused("space in the path", ask("GET /healthz /x"), 400, "malformed", "escaped"),
    Refused("control character in the path", ask("GET /health\x1bz"), 400, "malformed", "escaped"),
    Refused("traversal", ask("GET /v1/models/../../etc/passwd"), 404, "not-found"),
    Refused("escaped traversal", ask("GET /v1/models/%2e%2e%2f%2e%2e%2fetc%2fpasswd"), 404,
            "not-found"),
    Refused("traversal as an id", ask("GET /v1/models/%2e%2e/content"), 404, "not-found"),
    Refused("escaped twice", ask("GET /v1/models/%252e%252e%252fx"), 404, "not-found"),
    Refused("backslashes", ask("GET /v1/models/..%5c..%5cx"), 404, "not-found"),
    Refused("a slash behind", ask("GET /v1/jobs/"), 404, "not-found"),
    Refused("two slashes", ask("GET //v1/jobs"), 404, "not-found"),
    Refused("an id that is no id", ask("GET /v1/jobs/j_'%20OR%201=1--"), 404,
            "not-found"),
    Refused("a long id", ask("GET /v1/jobs/j_" + "0" * 4000), 404, "not-found"),
    Refused("files of the page", ask("GET /page.js/../schema/openapi.json"), 404, "not-found"),
    # --- queries ---
    *[Refused(f"limit={value}", ask(f"GET /v1/jobs?limit={value}"), 400, "malformed", "limit must")
      for value in ("0", "-1", "1001", "1e3", "99999999999999999999", "", "%205", "+5", "5%20",
                    "0x10", "NaN", "%D9%A3")],
    *[Refused(f"cursor={value}", ask(f"GET /v1/models?cursor={value}"), 400, "malformed", "cursor")
      for value in ("", "-1", "x", "1" + "0" * 18, "9223372036854775808", "1;2")],
    Refused("two limits", ask("GET /v1/jobs?limit=1&limit=1000"), 400, "malformed",
            "limit is there twice"),
    Refused("too many tags", ask("GET /v1/jobs?" + "&".join(["tag=a:b"] * 400)), 400, "malformed",
            "tag"),
    Refused("a tag of one half", ask("GET /v1/jobs?tag=shot"), 400, "malformed", "KEY:VALUE"),
    Refused("unknown state", ask("GET /v1/jobs?state=gone"), 400, "malformed", "state"),
    Refused("frames that end before they begin", ask("GET /v1/jobs/j_0/frames?from=2&to=1"), 400,
            "malformed", "to"),
    Refused("a long wait", ask("GET /v1/jobs/j_0?wait=3600"), 400, "malformed", "wait"),
    Refused("unknown topics", ask("GET /v1/events?topics=passwords"), 400, "malformed", "topics"),
    Refused("thousands of topics", ask("GET /v1/events?topics=" + "job:j_0," * 3000), 400,
            "malformed", "topics"),
    *[Refused(f"Last-Event-ID: {value}", ask("GET /v1/events", b"Last-Event-ID: " + value.encode()),
              400, "malformed", "Last-Event-ID")
      for value in ("", "-1", "x", "99999999999999999999", "1 2", "+1")],
    Refused("a time that is none", ask("GET /v1/measures?since=9999-99-99T99:99:99Z"), 400,
            "malformed", "time"),
    *[Refused(f"validate={value}", ask(f"POST /v1/jobs?validate={value}", JSON[:-2],
                                       b"Content-Length: %d" % len(SPEC)) + SPEC, 400, "malformed",
              "validate")
      for value in ("", "1", "yes", "TRUE")],
    *[Refused(f"channels={value}", ask(f"GET /v1/jobs/j_0/frames?channels={value}"), 400,
              "malformed", "channels")
      for value in ("", ",", "joints,", ",joints", "joints,,curves", "joints%20", "x" * 5000)],
    # --- bodies ---
    Refused("more than a job may have", send("/v1/jobs", b" " * (MIB + 1)), 413, "too-large",
            "1048576"),
    Refused("the same in chunks", chunked("/v1/jobs", b"100001\r\n" + b" " * 0x100001 +
                                          b"\r\n0\r\n\r\n", JSON[:-2]), 413, "too-large", "1048576"),
    Refused("more than a file may have", send("/v1/models", bytes(3 * MIB + 1)), 413, "too-large",
            "3145728"),
    Refused("the same in chunks, to a file", chunked("/v1/models", b"300001\r\n" + b" " * 0x300001 +
                                                     b"\r\n0\r\n\r\n"), 413, "too-large", "max-upload-mib"),
    Refused("a refusal before the body", send("/v1/models", b"", b"Expect: 100-continue",
                                              length=b"999999999"), 413, "too-large"),
    Refused("the greatest length", send("/v1/models", b"", length=b"18446744073709551614"), 413,
            "too-large"),
    Refused("a length beyond 63 bits", send("/v1/models", b"", length=b"9223372036854775808"), 413,
            "too-large"),
    Refused("JSON as text", send("/v1/jobs", b"{}", b"Content-Type: text/plain"), 415,
            "media-type"),
    Refused("JSON as a form", send("/v1/jobs", b"a=b",
                                   b"Content-Type: application/x-www-form-urlencoded"),
            415, "media-type"),
    Refused("a type that begins well", send("/v1/jobs", b"{}",
                                            b"Content-Type: application/jsonx"), 415, "media-type"),
    Refused("multipart", send("/v1/models", b"x", b"Content-Type: multipart/form-data; boundary=a"),
            415, "media-type"),
    Refused("compressed", send("/v1/models", zlib.compress(b"x"), b"Content-Encoding: deflate"),
            415, "media-type"),
    Refused("no body at all", send("/v1/jobs", b""), 400, "malformed"),
    Refused("half a document", send("/v1/jobs", b'{"model": "m_'), 400, "malformed"),
    Refused("two documents", send("/v1/jobs", b"{}{}"), 400, "malformed"),
    Refused("deep JSON", send("/v1/jobs", b"[" * 500000), 400, "malformed"),
    Refused("deep JSON that is whole", send("/v1/jobs", b"[" * 200 + b"]" * 200), 400,
            "malformed"),
    Refused("deep objects", send("/v1/jobs", b'{"a":' * 100000 + b"1" + b"}" * 100000), 400,
            "malformed"),
    Refused("bad UTF-8 in JSON", send("/v1/jobs", b'{"model": "\xff\xfe"}'), 400, "malformed",
            "UTF-8"),
    Refused("half a surrogate in JSON", send("/v1/jobs", b'{"model": "\\ud800"}'), 400,
            "malformed"),
    Refused("UTF-16", send("/v1/jobs", '{"model": "m"}'.encode("utf-16")), 400, "malformed"),
    Refused("zero byte in JSON", send("/v1/jobs", b'{"model": "m\0"}'), 400, "malformed"),
    Refused("escaped zero byte in JSON", send("/v1/jobs", b'{"model": "m\\u0000"}'), 400,
            "malformed"),
    Refused("zero byte behind JSON", send("/v1/jobs", b"{}\0"), 400, "malformed"),
    Refused("the same key twice", send("/v1/jobs", b'{"model": "a", "model": "b"}'), 400,
            "malformed", "model"),
    Refused("the same key twice, escaped", send("/v1/jobs", b'{"model": "a", "mod\\u0065l": "b"}'),
            400, "malformed", "twice"),
    Refused("a number that is not finite", send("/v1/jobs", b'{"priority": 1e999}'), 400,
            "malformed"),
    Refused("a number that is no JSON", send("/v1/jobs", b'{"priority": NaN}'), 400, "malformed"),
    Refused("a long number", send("/v1/jobs", b'{"priority": ' + b"9" * 100000 + b"}"), 400,
            "malformed"),
    Refused("a model that is not there", submit(model="m_" + "1" * 32,
                                                simulations=[{"type": "chains"}]), 422, "invalid",
            "/model"),
    Refused("a great number", submit(simulations=[{"type": "chains"}], priority=10**15), 422,
            "invalid", "/priority"),
    Refused("half a number", submit(simulations=[{"type": "chains"}], priority=0.5), 422,
            "invalid", "/priority"),
    Refused("many faults", submit(**{f"x{i}": i for i in range(20000)}), 422, "invalid"),
    Refused("many simulations", submit(simulations=[{"type": "chains"}] * 20000), 422, "invalid",
            "simulations"),
    Refused("a list for a job", send("/v1/jobs", b"[]"), 422, "invalid"),
    Refused("an empty key of a repeat", send("/v1/jobs", SPEC, b"Idempotency-Key: "), 400,
            "malformed", "Idempotency-Key"),
    Refused("a long key of a repeat", send("/v1/jobs", b"{}", b"Idempotency-Key: " + b"k" * 201),
            400, "malformed", "Idempotency-Key"),
    Refused("traversal as a model", send("/v1/jobs", b'{"model": "../../etc/passwd", '
                                         b'"simulations": [{"type": "chains"}]}'), 422, "invalid",
            "model"),
    # --- files ---
    Refused("an empty file", send("/v1/models", b""), 422, "invalid", "empty"),
    Refused("a file of noise", send("/v1/models", bytes(range(256)) * 16), 422, "invalid"),
    Refused("a long name", send("/v1/models?name=" + "n" * 201, b"x"), 400, "malformed", "name"),
    *[Refused(f"unit={value}", send(f"/v1/models?unit={value}", b"x"), 400, "malformed", "unit")
      for value in ("", "-1", "inf", "nan", "%201", "0x1p3", "1e999", "1e-999", "1m", "+1")],
    Refused("a bundle of nothing", bundle(), 422, "invalid"),
    Refused("a bundle that swells", bundle(("a.gltf", b" " * (2 * MIB))), 422, "invalid",
            "200 times its size"),
    Refused("a bundle that says it swells beyond all", bundle_saying(2**32 - 2), 422, "invalid",
            "bytes unpacked"),
    Refused("a bundle of many", bundle(*[(f"{i}.bin", os.urandom(MIB // 8).hex().encode())
                                         for i in range(16)]), 422, "invalid", "bytes unpacked"),
    Refused("a bundle of thousands", bundle(count=5000), 422, "invalid", "the limit is 256"),
    Refused("a bundle that lies", bundle_saying(10), 422, "invalid", "a.gltf"),
    Refused("a bundle that leaves its folder", bundle(("../../a.gltf", GLTF)), 422, "invalid",
            "leads outside"),
    Refused("a bundle with a path from the root", bundle(("/etc/a.gltf", GLTF)), 422, "invalid",
            "leads outside"),
    Refused("a bundle with backslashes", bundle(("..\\a.gltf", GLTF)), 422, "invalid",
            "leads outside"),
    Refused("a model that names a file", send("/v1/models", json.dumps(
        {"asset": {"version": "2.0"}, "buffers": [{"byteLength": 4,
                                                   "uri": "../../etc/passwd"}]}).encode()),
            422, "invalid"),
    Refused("half a glb", send("/v1/models", sample("avatar")[:5000]), 422, "invalid"),
    Refused("an odd export", ask("GET /v1/jobs/j_0/export?format=../../x"), 404, "not-found"),
    # --- files in pieces ---
    *[Refused(f"Upload-Length: {value[:30]}", begin(TUS, b"Upload-Length: " + value.encode()), code,
              name, says)
      for value, code, name, says in (
          ("", 400, "malformed", "Upload-Length"), ("0", 400, "malformed", "Upload-Length"),
          ("-1", 400, "malformed", "Upload-Length"), ("+1", 400, "malformed", "Upload-Length"),
          ("1e3", 400, "malformed", "Upload-Length"), ("1 2", 400, "malformed", "Upload-Length"),
          ("3145729", 413, "too-large", "max-upload-mib"),
          ("9223372036854775807", 413, "too-large", "max-upload-mib"),
          ("9" * 400, 413, "too-large", "max-upload-mib"))],
    *[Refused(f"Upload-Metadata: {value[:30]!r}",
              begin(TUS, b"Upload-Length: 5", b"Upload-Metadata: " + value), 400, "malformed",
              "Upload-Metadata")
      for value in (b",", b"a b,", b"a b,,c d", b"a !", b"a b c", b"\xff YQ==", b"a Y\tQ", b"a " + b"Y" * 2000,
                    b"a" * 2000)],
    Refused("a version of tus where none is needed", ask(
        b"GET /v1/uploads/" + UPLOAD, b"Tus-Resumable: {}"), 412, "precondition", "Tus-Resumable"),
    Refused("no version of tus", begin(b"Upload-Length: 5"), 412, "precondition", "Tus-Resumable"),
    Refused("another version of tus", begin(b"Tus-Resumable: 9.9.9", b"Upload-Length: 5"), 412,
            "precondition", "1.0.0"),
    Refused("two versions of tus", begin(TUS, TUS, b"Upload-Length: 5"), 400, "malformed",
            "Tus-Resumable is there twice"),
    Refused("two sizes", begin(TUS, b"Upload-Length: 5", b"Upload-Length: 6"), 400, "malformed",
            "Upload-Length is there twice"),
    Refused("no size", begin(TUS), 400, "malformed", "Upload-Length"),
    Refused("a size that comes later", begin(TUS, b"Upload-Defer-Length: 1"), 400, "malformed",
            "Upload-Length"),
    Refused("an upload with a body", send("/v1/uploads", b"12345", TUS, b"Upload-Length: 5"), 400,
            "malformed", "without a body"),
    *[Refused(f"Upload-Offset: {value[:30]}", patch(b"Upload-Offset: " + value.encode()), code, name)
      for value, code, name in (
          ("", 400, "malformed"), ("-1", 400, "malformed"), ("+0", 400, "malformed"),
          ("0x0", 400, "malformed"), ("0, 0", 400, "malformed"), ("1", 409, "conflict"),
          ("9223372036854775807", 409, "conflict"), ("9" * 400, 409, "conflict"))],
    Refused("no offset", patch(), 400, "malformed", "Upload-Offset"),
    Refused("two offsets", patch(FIRST, FIRST), 400, "malformed", "Upload-Offset is there twice"),
    Refused("a piece of another type", patch(FIRST, kind=JSON[:-2]), 415, "media-type"),
    Refused("a piece that is compressed", patch(FIRST, b"Content-Encoding: gzip"), 415, "media-type"),
    Refused("a piece that is too long", patch(FIRST, body=b"x" * 101), 413, "too-large", "100"),
    Refused("a piece that is too long, in chunks", ask(
        b"PATCH /v1/uploads/" + UPLOAD, TUS, PIECE, FIRST, b"Transfer-Encoding: chunked") +
            b"65\r\n" + b"x" * 101 + b"\r\n0\r\n\r\n", 413, "too-large", "100"),
    *[Refused(f"Upload-Checksum: {value[:30]!r}", patch(FIRST, b"Upload-Checksum: " + value), 400,
              "malformed", "Upload-Checksum")
      for value in (b"", b"sha256", b"sha256 ", b"sha256 !!!!", b"md5 rL0Y20zC+Fzt72VPzMSk2A==",
                    b"sha256 YQ==", b"sha1 " + b"A" * 4000, b"\xff")],
    Refused("a wrong checksum", patch(FIRST, b"Upload-Checksum: sha1 " + b"A" * 27 + b"="), 460,
            "checksum"),
    *[Refused(f"{method} of {name!r} as an upload", ask(f"{method} /v1/uploads/{name}", TUS, PIECE,
                                                      FIRST), 404, "not-found")
      for name in ("..%2f..%2fetc", "u_..%2fx", "u_", "u_" + "1" * 26, "u_" + "0" * 26 + ".about")
      for method in ("GET", "PATCH", "DELETE")],
    Refused("a method in a header, too odd", ask("POST /v1/uploads/u_0", TUS,
                                                 b"X-HTTP-Method-Override: BREW"),
            405, "method-not-allowed"),
    Refused("a method in a header, elsewhere", ask("POST /healthz",
                                                   b"X-HTTP-Method-Override: DELETE"),
            405, "method-not-allowed"),
    Refused("an upload that is not whole", ask(b"POST /v1/models?upload=" + UPLOAD), 409, "conflict",
            "0 of 100 bytes"),
    *[Refused(f"the upload {name!r}", ask(f"POST /v1/models?upload={name}"), 422, "invalid")
      for name in ("", "..%2f..%2fetc%2fpasswd", "u_" + "1" * 26, "u_%2e%2e")],
    # --- all jobs of a tag, and the queue ---
    *[Refused(f"{line} with {query!r:.30}", ask(f"{line}?{query}"), 400, "malformed", "tag")
      for line in ("GET /v1/jobs/counts", "POST /v1/jobs/cancel", "POST /v1/jobs/retry")
      for query in ("", "tag", "tag=", "tag=a", "tag=:", "tag=:a", "tags=a:b", "tag=a:b&" * 300,
                    "tag=" + "a" * 5000 + ":b")],
    *[Refused(f"GET {path}", ask(f"GET {path}"), 405, "method-not-allowed")
      for path in ("/v1/queue/pause", "/v1/queue/resume", "/v1/jobs/cancel", "/v1/jobs/retry")],
    Refused("DELETE of what is no job", ask("DELETE /v1/jobs/counts"), 405, "method-not-allowed"),
    Refused("a body for the queue", send("/v1/queue", b"{}"), 405, "method-not-allowed"),
]


class Ended(NamedTuple):
    """Never reaches a handler, or never in full: the connection ends, with or without an answer of
    the library's, and is counted. What is a list is sent piece by piece until the end."""
    name: str
    data: bytes | list[bytes]


def slowly(data: bytes) -> list[bytes]:
    """Byte by byte; a tenth of a second lies between two."""
    return [data[i:i + 1] for i in range(len(data))]


ENDED = [
    Ended("nothing", b""),
    Ended("garbage", b"\x00\xff\x80garbage\r\n\r\n"),
    Ended("garbage without an end", os.urandom(2000).replace(b"\n", b"x")),
    Ended("a TLS hello", bytes.fromhex("16030100c8010000c40303") + bytes(range(1, 190))),
    Ended("an HTTP/2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9)),
    Ended("HTTP/0.9", b"GET /healthz\r\n"),
    Ended("HTTP/0.9 by name", b"GET /healthz HTTP/0.9\r\n\r\n"),
    Ended("HTTP/3.1", b"GET /healthz HTTP/3.1\r\n" + HOST + b"\r\n"),
    Ended("no such protocol", b"GET /healthz FTP/1.1\r\n" + HOST + b"\r\n"),
    Ended("only a word", b"QUIT\r\n\r\n"),
    Ended("SSH", b"SSH-2.0-OpenSSH_9.2\r\n"),
    Ended("half a line", b"GET /heal"),
    Ended("half a head", b"GET /healthz HTTP/1.1\r\nHost: local"),
    Ended("a head without its end", b"GET /healthz HTTP/1.1\r\n" + HOST),
    Ended("a header without a colon", ask("GET /healthz", b"nonsense")),
    Ended("a zero byte in a header's name", ask("GET /healthz", b"X\0Y: 1")),
    Ended("a long target", ask("GET /" + "a" * 100000)),
    Ended("a long query", ask("GET /v1/jobs?tag=" + "a" * 100000)),
    Ended("a long header", ask("GET /healthz", b"X-A: " + b"b" * 100000)),
    Ended("a long token", ask("GET /v1/jobs", b"Authorization: Bearer " + b"b" * 100000)),
    Ended("many headers", ask("GET /healthz", *[b"X-%d: 1" % i for i in range(5000)])),
    Ended("a negative length", send("/v1/models", b"", length=b"-5")),
    Ended("a length with a sign", send("/v1/models", b"x", length=b"+1")),
    Ended("a length in words", send("/v1/models", b"x", length=b"one")),
    Ended("two lengths in one", send("/v1/models", b"x", length=b"1, 1")),
    Ended("a length beyond 64 bits", send("/v1/models", b"", length=b"9" * 30)),
    Ended("no length where one is named", send("/v1/models", b"x", length=b"")),
    Ended("a chunk of an odd size", chunked("/v1/models", b"zz\r\nxx\r\n0\r\n\r\n")),
    Ended("a chunk of a negative size", chunked("/v1/models", b"-1\r\nxx\r\n0\r\n\r\n")),
    Ended("a chunk beyond 64 bits", chunked("/v1/models", b"f" * 17 + b"\r\nxx\r\n0\r\n\r\n")),
    Ended("a chunk longer than it says", chunked("/v1/models", b"1\r\nxxxx\r\n0\r\n\r\n")),
    Ended("chunks without an end", chunked("/v1/models", b"2\r\nxx\r\n")),
    Ended("half a body", send("/v1/models", b"abc", length=b"100000")),
    Ended("half a job", send("/v1/jobs", b"{", length=b"100")),
    Ended("a refused body that never comes", ask("POST /healthz", b"Content-Length: 1000")),
    Ended("a head byte by byte", slowly(ask("GET /healthz", *[b"X-%d: 1" % i for i in range(99)]))),
    Ended("a head line by line", [b"GET /healthz HTTP/1.1\r\n"] + [b"X: 1\r\n"] * 1000),
    Ended("a body byte by byte", [send("/v1/models", b"", length=b"4000")] + [b"x"] * 4000),
    Ended("a job byte by byte", [send("/v1/jobs", b"", length=b"4000")] + [b" "] * 4000),
    Ended("chunks of a byte", [chunked("/v1/models", b"")] + [b"1\r\nx\r\n"] * 4000),
    Ended("a refused body byte by byte", [ask("POST /healthz", b"Content-Length: 4000")] +
          [b"x"] * 4000),
]


class Read(NamedTuple):
    """Odd, and read in one way only: these codes come back, then the connection ends."""
    name: str
    data: bytes
    codes: list[int]


CLOSE = b"Connection: close"

READ = [
    Read("bare line feeds", b"GET /healthz HTTP/1.1\nHost: localhost\n\n", [200]),
    Read("empty lines before", b"\r\n\r\n" + ask("GET /healthz"), [200]),
    Read("a header in two lines", ask("GET /healthz", b"X-A: 1\r\n 2"), [200]),
    Read("a Host in capitals", ask("GET /healthz", host=b"HOST: LOCALHOST:80\r\n"), [200]),
    Read("an address for a Host", ask("GET /healthz", host=b"Host: [::1]:1\r\n"), [200]),
    Read("UTF-8 as it is", ask("GET /v1/jobs?tag=shot:\u00e4"), [200]),
    Read("HTTP/1.0", b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n", [200]),
    Read("HTTP/1.9", b"GET /healthz HTTP/1.9\r\nHost: localhost\r\n\r\n", [200]),
    Read("HEAD", ask("HEAD /healthz"), [200]),
    Read("HEAD of events", ask("HEAD /v1/events"), [200]),
    Read("HEAD of no job", ask("HEAD /v1/jobs/j_0"), [404]),
    Read("OPTIONS", ask("OPTIONS /v1/jobs"), [204]),
    Read("a body where none is wanted", ask("GET /healthz", b"Content-Length: 2") + b"{}", [200]),
    Read("two requests at once", ask("GET /healthz") * 2, [200, 200]),
    Read("a hundred requests at once", ask("GET /healthz") * 100, [200] * 100),
    Read("chunks with extensions", chunked("/v1/jobs", b"2;a=b\r\n{}\r\n0\r\nX: y\r\n\r\n",
                                           JSON[:-2]), [422]),
    # what comes behind a refused body is never taken for a request
    Read("a request behind two lengths", ask("POST /v1/jobs", b"Content-Length: 0",
                                             b"Content-Length: 9") + ask("GET /healthz"), [400]),
    Read("a request behind length and chunks",
         chunked("/v1/jobs", b"0\r\n\r\n" + ask("GET /healthz"), b"Content-Length: 5"), [400]),
    Read("a request behind a hidden length", ask("POST /v1/jobs", b"Content-Length : 5") +
         ask("GET /healthz"), [400]),
    Read("a request for a body that is too large",
         send("/v1/models", ask("GET /healthz"), length=b"999999999"), [413]),
    Read("a request behind a body that was asked for", send("/v1/models", b"",
         b"Expect: 100-continue", length=b"999999999") + ask("GET /healthz"), [413]),
    Read("a request behind a short refused body", send("/healthz", b"12345") + ask("GET /healthz"),
         [405, 200]),
    # ranges are a wish
    *[Read(f"Range: {value}", ask("GET /v1/version", b"Range: " + value.encode()), [200])
      for value in ("bytes=0-0", "bytes=-1", "lines=1", "bytes=" + "0-1," * 1000)],
]

# of a file of 2,000 bytes and more: the code, and how many bytes come, None for all
RANGES = [
    ("bytes=0-0", 206, 1), ("bytes=-1", 206, 1), ("bytes=10-", 206, -10),
    ("bytes=0-99999999999999999999", 200, None), ("bytes=99999999999-", 416, 0),
    ("bytes=-0", 416, 0), ("bytes=2-1", 200, None), ("bytes=-", 200, None), ("bytes=a-b", 200, None),
    ("bytes=0-1,5-6", 200, None), ("bytes=" + "0-," * 5000, 200, None), ("bytes=-99999999", 206, 0),
    ("bytes=0x0-0x5", 200, None), ("bytes= 0-1", 200, None), ("bytes=--1", 200, None),
]


class Wrong(NamedTuple):
    """An Authorization header that is not the one."""
    name: str
    header: bytes | None
    code: int


def exchange(server: Server, data: bytes | list[bytes]) -> tuple[bytes, float]:
    """What comes back until the server ends the connection, and how long that took."""
    pieces = data if isinstance(data, list) else [data]
    got = b""
    with socket.create_connection((server.host, server.port), timeout=ENDS_WITHIN) as caller:
        began = time.monotonic()
        caller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for index, piece in enumerate(pieces):
                caller.sendall(piece)
                if len(pieces) > 1:
                    caller.settimeout(0.1)
                    if index and time.monotonic() - began > ENDS_WITHIN:
                        raise AssertionError("may send for ever")
                    try:
                        more = caller.recv(65536)
                    except TimeoutError:
                        continue
                    got += more
                    if not more:
                        return got, time.monotonic() - began
            caller.settimeout(ENDS_WITHIN)
            while more := caller.recv(65536):
                got += more
        except (ConnectionResetError, BrokenPipeError):
            pass
        except TimeoutError:
            raise AssertionError("the connection does not end") from None
        return got, time.monotonic() - began


class Reply:
    def __init__(self, code: int, headers: dict[str, str], body: bytes) -> None:
        self.code, self.headers, self.body = code, headers, body


def replies(got: bytes, is_head: bool = False) -> list[Reply]:
    """The answers in what came back; fails where it is not a row of answers."""
    found = []
    while got:
        head, end, got = got.partition(b"\r\n\r\n")
        lines = head.decode("ascii").split("\r\n")
        assert end and lines[0].startswith("HTTP/1."), head[:200]
        code = int(lines[0].split(" ")[1])
        headers = {name.lower(): value.strip() for name, _, value in
                   (line.partition(":") for line in lines[1:])}
        if code == 100:
            continue
        size = 0 if is_head else int(headers.get("content-length", len(got)))
        assert len(got) >= size, "the body is cut"
        found.append(Reply(code, headers, got[:size]))
        got = got[size:]
    return found


def at_once(call, rows):
    """call(row) for all rows, some at a time; what each gave, or the failure it ended with."""
    def try_one(row):
        try:
            return call(row)
        except AssertionError as failure:
            return failure
    with ThreadPoolExecutor(128) as pool:
        return list(zip(rows, pool.map(try_one, rows)))


def make_token(path: str, role: str) -> str:
    made = subprocess.run([BINARY, "token", "new", role, role, "--token-file", path], check=True,
                          capture_output=True, text=True)
    return made.stdout.strip()


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        # what a sanitizer keeps is no leak
        os.environ.setdefault("ASAN_OPTIONS", "quarantine_size_mb=4")
        cls.server = Server("--idle-ms", str(IDLE_MS), "--max-upload-mib", "3",
                            "--max-uploads", "64", "--max-unfinished", "100", "--workers", "1")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.close()

    def count(self, name: str) -> int:
        """A counter; "refused" is all of bakehouse_refused_total by reason."""
        return int(self.server.metric(name))

    def refused(self) -> dict[str, int]:
        text = self.server.get("/metrics").body.decode()
        found = re.findall(r'^bakehouse_refused_total\{reason="([a-z-]+)"\} (\d+)$', text, re.M)
        return {reason: int(count) for reason, count in found}

    def check_alive(self) -> None:
        self.assertIsNone(self.server.process.poll())
        self.assertEqual(self.server.get("/healthz").status, 200)

    def test_each_refusal_is_a_problem_document_and_counted(self) -> None:
        model = self.server.upload()

        def fill(data: bytes) -> bytes:
            """Each piece is for an upload of its own."""
            if UPLOAD in data:
                begun = self.server.request("POST", "/v1/uploads", None, {
                    "Tus-Resumable": "1.0.0", "Upload-Length": "100"})
                data = data.replace(UPLOAD, begun.json["id"].encode())
            return data.replace(MODEL, model.encode())

        before = self.refused()
        wanted: dict[str, int] = {}
        for row, outcome in at_once(lambda row: exchange(self.server, fill(row.data)), REFUSED):
            wanted[row.problem] = wanted.get(row.problem, 0) + 1
            with self.subTest(row.name):
                if isinstance(outcome, AssertionError):
                    raise outcome
                found = replies(outcome[0])
                self.assertEqual(len(found), 1, outcome[0][:300])
                self.assertEqual(found[0].headers["content-type"], "application/problem+json")
                document = json.loads(found[0].body)
                self.assertEqual((found[0].code, document["status"], document["type"]),
                                 (row.status, row.status, f"/problems/{row.problem}"), document)
                self.assertTrue(document["title"])
                self.assertIn(row.says, json.dumps(document, ensure_ascii=False))
                if row.status == 405:
                    self.assertRegex(found[0].headers["allow"], "GET|POST")
        after = self.refused()
        self.assertEqual({reason: after[reason] - before[reason] for reason in after
                          if after[reason] != before[reason]}, wanted)
        self.check_alive()

    def test_what_reaches_no_handler_is_ended_and_counted(self) -> None:
        before = self.count("http_refused_below_total")
        for row, outcome in at_once(lambda row: exchange(self.server, row.data), ENDED):
            with self.subTest(row.name):
                if isinstance(outcome, AssertionError):
                    raise outcome
                # the library sends some heads twice: its first line must do
                self.assertRegex(outcome[0][:13], rb"^$|^HTTP/1\.1 [45]\d\d ")
                self.assertLess(outcome[1], ENDS_WITHIN)
        wait_until(lambda: self.count("http_connections") == 1, "the connections' end")
        self.assertEqual(self.count("http_refused_below_total") - before, len(ENDED))
        self.check_alive()

    def test_what_is_odd_is_read_in_one_way(self) -> None:
        for row, outcome in at_once(lambda row: exchange(self.server, row.data), READ):
            with self.subTest(row.name):
                if isinstance(outcome, AssertionError):
                    raise outcome
                found = replies(outcome[0], row.data.startswith(b"HEAD"))
                self.assertEqual([reply.code for reply in found], row.codes)
        self.check_alive()

    def test_the_second_request_of_a_connection_owes_its_head_too(self) -> None:
        before = self.count("http_refused_below_total")
        for rest in (b"GET /heal", b"GET /healthz HTTP/1.1\r\nHost: l"):
            got, seconds = exchange(self.server, ask("GET /healthz") + rest)
            self.assertEqual([reply.code for reply in replies(got)], [200])
            self.assertLess(seconds, ENDS_WITHIN)
        # the first may be a byte that was in the way: only a whole line is known to be a request
        self.assertGreaterEqual(self.count("http_refused_below_total") - before, 1)

    def test_a_slow_upload_that_goes_on_is_taken(self) -> None:
        body = sample("avatar")[:6000]
        pieces = [send("/v1/models", b"", length=b"%d" % len(body))]
        pieces += [body[i:i + 250] for i in range(0, len(body), 250)]
        got, seconds = exchange(self.server, pieces)
        self.assertEqual([reply.code for reply in replies(got)], [422])
        self.assertGreater(seconds, 2 * IDLE_MS / 1000)

    def test_ranges_of_a_file(self) -> None:
        model = self.server.upload()
        size = len(sample("avatar"))
        for value, code, count in RANGES:
            with self.subTest(value[:40]):
                answer = self.server.get(f"/v1/models/{model}/content", Range=value)
                self.assertEqual(answer.status, code)
                if code == 416:
                    self.assertEqual(answer.headers["Content-Range"], f"bytes */{size}")
                    continue
                wanted = size if count is None else count if count > 0 else size + count
                self.assertEqual(len(answer.body), wanted)

    def test_wrong_tokens(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "tokens")
            token = make_token(path, "read").encode()
            rows = [
                Wrong("none", None, 401), Wrong("empty", b"", 401), Wrong("a scheme", b"Bearer", 401),
                Wrong("a scheme and a space", b"Bearer ", 401),
                Wrong("no scheme", token, 401), Wrong("another scheme", b"Basic " + token, 401),
                Wrong("cut", b"Bearer " + token[:-1], 401),
                Wrong("longer", b"Bearer " + token + b"0", 401),
                Wrong("in capitals", b"Bearer " + token.upper(), 401),
                Wrong("two in one", b"Bearer " + token + b", Bearer " + token, 401),
                Wrong("twice", b"Bearer " + token + b"\r\nAuthorization: Bearer " + token, 400),
                Wrong("not ASCII", b"Bearer \xff\xfe", 400),
                Wrong("of a lesser role", b"Bearer " + token, 403),
            ]
            server = Server("--token-file", path, "--idle-ms", str(IDLE_MS))
            try:
                for row in rows:
                    with self.subTest(row.name):
                        headers = [] if row.header is None else [b"Authorization: " + row.header]
                        got, _ = exchange(server, ask("DELETE /v1/models/m_0", *headers, CLOSE))
                        found = replies(got)
                        self.assertEqual([reply.code for reply in found], [row.code], got)
                        self.assertNotIn(token, got)
                        self.assertEqual("www-authenticate" in found[0].headers, row.code == 401)
            finally:
                server.close()
            self.assertNotIn(token.decode(), "".join(server.log))

    def holdings(self) -> tuple[int, int]:
        """Descriptors, but for those of the store, which threads open when they need it, and KiB of
        memory of the server."""
        process = Path(f"/proc/{self.server.process.pid}")
        memory = re.search(r"VmRSS:\s+(\d+)", (process / "status").read_text())
        files = [os.readlink(file) for file in (process / "fd").iterdir() if file.is_symlink()]
        return len([name for name in files if "store.sqlite" not in name]), int(memory.group(1))

    def test_nothing_leaks(self) -> None:
        def all_of_it() -> None:
            rows = [row.data for row in [*REFUSED, *READ]] + [
                row.data for row in ENDED if isinstance(row.data, bytes)]
            at_once(lambda data: exchange(self.server, data), rows)
            wait_until(lambda: self.count("http_connections") == 1, "the connections' end")
            wait_until(lambda: self.count("uploads") == 0, "the uploads' end")

        for _ in range(2):
            all_of_it()
        files, memory = self.holdings()
        for _ in range(3):
            all_of_it()
        files_after, memory_after = self.holdings()
        self.assertLessEqual(files_after, files + 2)  # our own connections
        self.assertLess(memory_after, memory * 1.2 + 8 * 1024)
        self.assertEqual(os.listdir(os.path.join(self.server.data, "uploads")), [])
        self.check_alive()


if __name__ == "__main__":
    unittest.main(verbosity=2)
