#!/usr/bin/env python3
"""The HTTP interface is what schema/openapi.json says: every path is served, every answer has the
status, media type and form that the document gives it."""

from __future__ import annotations

import json
import re
import unittest
from pathlib import Path
from typing import Any

from support import Answer, Server, sample

API = json.loads((Path(__file__).resolve().parents[2] / "schema/openapi.json").read_text())
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def resolve(schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        found: Any = API
        for part in schema["$ref"][2:].split("/"):
            found = found[part]
        schema = found
    return schema


def is_type(value: Any, name: str) -> bool:
    if name in ("number", "integer"):
        whole = isinstance(value, int) or (isinstance(value, float) and value == int(value))
        return not isinstance(value, bool) and (
            isinstance(value, (int, float)) if name == "number" else whole)
    return isinstance(value, TYPES[name])


def faults(value: Any, schema: dict[str, Any], at: str = "") -> list[str]:
    """What is wrong with a value, as far as the words that the document uses go."""
    schema = resolve(schema)
    found: list[str] = []
    types = schema.get("type", [])
    types = types if isinstance(types, list) else [types]
    if types and not any(is_type(value, name) for name in types):
        return [f"{at or '/'} is {value!r:.60}, not {types}"]
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{at} is {value!r:.60}, not one of {schema['enum']}")
    for word in ("anyOf", "oneOf"):
        if word in schema and all(faults(value, each, at) for each in schema[word]):
            found.append(f"{at} is of none of the forms of {word}")
    for each in schema.get("allOf", []):
        found += faults(value, each, at)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not schema.get("minimum", value) <= value <= schema.get("maximum", value):
            found.append(f"{at} is out of range: {value}")
    if isinstance(value, str) and schema.get("format") == "date-time" and not re.fullmatch(
            r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", value):
        found.append(f"{at} is no time: {value}")
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            found += faults(item, schema["items"], f"{at}/{index}")
    if isinstance(value, dict):
        found += [f"{at}/{key} is missing" for key in schema.get("required", [])
                  if key not in value]
        for key, each in schema.get("properties", {}).items():
            if key in value:
                found += faults(value[key], each, f"{at}/{key}")
    return found


class Contract(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server()
        cls.model = cls.server.request(
            "POST", "/v1/models?name=avatar", sample("avatar"),
            {"Content-Type": "application/octet-stream"}).json["id"]
        job = {"model": cls.model, "animation": {"procedural": "swing"},
               "simulations": [{"type": "chains"}], "tags": {"shot": "a"},
               "gates": {"stretch.p99": {"max": 1000}}}
        cls.body = json.dumps(job).encode()
        cls.json_type = {"Content-Type": "application/json"}
        cls.job = cls.server.request("POST", "/v1/jobs", cls.body, cls.json_type).json["id"]
        cls.server.request("GET", f"/v1/jobs/{cls.job}?wait=30")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.close()

    def check(self, method: str, template: str, answer: Answer) -> None:
        """The answer against what the document says of this operation."""
        operation = API["paths"][template][method.lower()]
        documented = operation["responses"].get(str(answer.status))
        self.assertIsNotNone(
            documented, f"{method} {template}: {answer.status} is not documented: {answer.body[:300]!r}")
        content = documented.get("content")
        if not content:
            self.assertEqual(answer.body, b"")
            return
        media = (answer.headers.get("Content-Type") or "").split(";")[0]
        self.assertIn(media, content, f"{method} {template}")
        if media in ("application/json", "application/problem+json"):
            self.assertEqual(faults(answer.json, content[media]["schema"]), [],
                             f"{method} {template}")

    def call(self, method: str, template: str, query: str = "", body: bytes | None = None,
             expect: int = 200, headers: dict[str, str] | None = None, id: str = "") -> Answer:
        answer = self.server.request(method, template.replace("{id}", id) + query, body, headers)
        self.assertEqual(answer.status, expect, answer.body[:500])
        self.check(method, template, answer)
        return answer

    def test_every_documented_operation_is_served(self) -> None:
        for template, operations in API["paths"].items():
            if template.endswith("events"):
                continue  # they do not end
            for method in operations:
                with self.subTest(f"{method} {template}"):
                    path = template.replace("{id}", "j_00000000000000000000000000")
                    answer = self.server.request(method.upper(), path, b"" if method == "post" else None,
                                                 self.json_type if method == "post" else None)
                    self.assertNotIn(b"there is nothing at", answer.body)
                    self.check(method, template, answer)

    def test_what_any_request_may_get_is_documented_everywhere(self) -> None:
        for template, operations in API["paths"].items():
            for method, operation in operations.items():
                wanted = {"400", "403"} if operation.get("security") == [] else {
                    "400", "401", "403", "429"}
                if "{id}" in template:
                    wanted.add("404")
                self.assertEqual(wanted - operation["responses"].keys(), set(),
                                 f"{method} {template}")

    def test_methods_are_those_of_the_path(self) -> None:
        for template, operations in API["paths"].items():
            path = template.replace("{id}", "j_0")
            allow = self.server.request("OPTIONS", path).headers["Allow"]
            self.assertEqual(sorted(allow.split(", ")),
                             sorted([method.upper() for method in operations] + ["OPTIONS"]), path)

    def test_models_answer_as_documented(self) -> None:
        raw = {"Content-Type": "application/octet-stream"}
        self.call("POST", "/v1/models", "?name=again", sample("avatar"), 200, raw)
        fresh = self.call("POST", "/v1/models", "?unit=m", sample("avatar", "--hair", "layered"), 201,
                          raw)
        self.call("POST", "/v1/models", "", b"no model", 422, raw)
        self.call("GET", "/v1/models", "?limit=1")
        self.call("GET", "/v1/models/{id}", id=self.model)
        self.call("GET", "/v1/models/{id}/content", id=self.model)
        self.call("DELETE", "/v1/models/{id}", id=self.model, expect=409)
        self.call("DELETE", "/v1/models/{id}", id=fresh.json["id"], expect=204)

    def test_jobs_answer_as_documented(self) -> None:
        self.call("GET", "/v1/jobs/{id}", id=self.job)
        self.call("GET", "/v1/jobs", "?state=done&tag=shot:a")
        plan = self.call("POST", "/v1/jobs", "?validate=true", self.body, 200, self.json_type)
        self.assertEqual(faults(plan.json, API["components"]["schemas"]["Plan"]), [])
        cached = self.call("POST", "/v1/jobs", "", self.body, 202, self.json_type)
        self.assertIs(cached.json["cached"], True)
        faulty = json.dumps({"model": self.model, "simulations": [{"type": "chains", "damping": -1}],
                             "x": 1}).encode()
        problem = self.call("POST", "/v1/jobs", "", faulty, 422, self.json_type)
        self.assertEqual({e["pointer"] for e in problem.json["errors"]},
                         {"/simulations/0/damping", "/x"})
        self.call("POST", "/v1/jobs", "", b"{", 400, self.json_type)
        self.call("POST", "/v1/jobs", "", self.body, 415, {"Content-Type": "text/plain"})
        self.call("POST", "/v1/jobs/{id}/cancel", body=b"", id=self.job, expect=409)
        self.call("POST", "/v1/jobs/{id}/retry", body=b"", id=self.job, expect=409)
        self.call("POST", "/v1/jobs/{id}/notify", body=b"", id=self.job, expect=409)

    def test_results_answer_as_documented(self) -> None:
        self.call("GET", "/v1/jobs/{id}/frames", id=self.job)
        text = {"Accept": "application/x-ndjson"}
        self.call("GET", "/v1/jobs/{id}/frames", "?channels=joints", headers=text, id=self.job)
        self.call("GET", "/v1/jobs/{id}/frames", "?channels=bones", id=self.job, expect=400)
        self.call("GET", "/v1/jobs/{id}/measures", id=self.job)
        self.call("GET", "/v1/jobs/{id}/measures", headers={"Accept": "text/csv"}, id=self.job)
        self.call("GET", "/v1/jobs/{id}/fit", id=self.job)
        self.call("GET", "/v1/measures", "?name=stretch.p99")
        self.call("GET", "/v1/measures", "?since=yesterday", expect=400)
        self.call("GET", "/v1/jobs/{id}/export", "?format=glb", id=self.job)
        self.call("GET", "/v1/jobs/{id}/export", "?format=csv", id=self.job)
        self.call("GET", "/v1/jobs/{id}/export", "?format=vrm&reduce=0.01", id=self.job)
        self.call("GET", "/v1/jobs/{id}/export", "?format=exe", id=self.job, expect=422)
        self.call("GET", "/v1/jobs/{id}/sheet.png", id=self.job)

    def test_the_document_is_served_as_it_stands(self) -> None:
        self.assertEqual(self.call("GET", "/v1/openapi.json").json, API)
        self.call("GET", "/v1/version")
        self.call("GET", "/problems/{id}", id="invalid")


if __name__ == "__main__":
    unittest.main(verbosity=2)
