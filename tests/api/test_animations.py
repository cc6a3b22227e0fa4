#!/usr/bin/env python3
"""Clips of other files on a character: BVH captures, roles from names and from the job."""

from __future__ import annotations

import json
import unittest

from support import Server, job

# a person as mocopi-like captures have it; x is the person's left
JOINTS = [("root", -1, (0, 90, 0)), ("torso_1", 0, (0, 20, 0)), ("neck_1", 1, (0, 25, 0)),
          ("head", 2, (0, 10, 0)),
          ("l_up_arm", 1, (16, 18, 0)), ("l_low_arm", 4, (28, 0, 0)), ("l_hand", 5, (24, 0, 0)),
          ("r_up_arm", 1, (-16, 18, 0)), ("r_low_arm", 7, (-28, 0, 0)), ("r_hand", 8, (-24, 0, 0)),
          ("l_up_leg", 0, (9, -4, 0)), ("l_low_leg", 10, (0, -40, 0)), ("l_foot", 11, (0, -40, 0)),
          ("r_up_leg", 0, (-9, -4, 0)), ("r_low_leg", 13, (0, -40, 0)), ("r_foot", 14, (0, -40, 0))]


def bvh(joints=JOINTS, frames: int = 31) -> bytes:
    """One second; the left arm is raised by 60 degrees, the root goes 30 cm forward."""
    lines = ["HIERARCHY"]
    order = []

    def write(index: int) -> None:
        name, parent, offset = joints[index]
        order.append(name)
        lines.append(("ROOT " if parent < 0 else "JOINT ") + name + "\n{\nOFFSET %g %g %g" % offset)
        lines.append("CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation"
                     if parent < 0 else "CHANNELS 3 Zrotation Xrotation Yrotation")
        for child, (_, above, _) in enumerate(joints):
            if above == index:
                write(child)
        lines.append("}")
    write(0)
    lines.append(f"MOTION\nFrames: {frames}\nFrame Time: {1 / (frames - 1)}")
    for frame in range(frames):
        u = frame / (frames - 1)
        row = [0, 90, 30 * u, 0, 0, 0]
        for name in order[1:]:
            row += [60 * u if name == joints[4][0] else 0, 0, 0]
        lines.append(" ".join("%g" % number for number in row))
    return "\n".join(lines).encode()


class Animations(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server()
        cls.model = cls.server.upload()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.close()

    def upload(self, data: bytes, query: str = "") -> dict:
        answer = self.server.request("POST", "/v1/animations?name=walk" + query, data)
        self.assertIn(answer.status, (200, 201), answer.body)
        return answer.json

    def bake(self, animation: str, **fields) -> dict:
        spec = job(self.model, output={"channels": ["joints"], "precision": 32})
        spec["animation"] = {"animation": animation, **fields}
        done = self.server.wait(self.server.post_json("/v1/jobs", spec).json["id"])
        self.assertEqual(done["state"], "done", done["error"])
        return done

    def frame(self, done: dict, index: int) -> dict:
        frames = self.server.get(f"/v1/jobs/{done['id']}/frames", Accept="application/x-ndjson")
        return json.loads(frames.body.splitlines()[index])["joints"]

    def last_frame(self, done: dict) -> dict:
        return self.frame(done, -1)

    def test_a_capture_moves_a_character(self):
        found = self.upload(bvh())
        self.assertEqual(found["summary"]["format"], "bvh")
        humanoid = found["summary"]["humanoid"]
        self.assertEqual((humanoid["guessed"], humanoid["missing"]), (True, []))
        self.assertEqual(humanoid["found"]["hips"], "root")
        done = self.bake(found["id"])
        measures = self.server.get(f"/v1/jobs/{done['id']}/measures").json
        self.assertNotIn("retarget_animation_lacks",
                         [warning["code"] for warning in measures["warnings"]])
        roles = self.server.get(f"/v1/models/{self.model}").json["summary"]["humanoid"]["found"]
        joints = self.last_frame(done)
        # raised by 60 degrees from a T-pose, whatever pose the model rests in
        self.assertNotEqual(joints[roles["leftUpperArm"]], joints[roles["rightUpperArm"]])
        # the hips went 30 cm of a person whose legs are 80 cm
        first, hips = self.frame(done, 1), roles["hips"]
        self.assertGreater(joints[hips][2] - first[hips][2], 0.2)
        self.assertLess(joints[hips][2] - first[hips][2], 0.4)

    def test_a_job_says_what_names_do_not(self):
        strange = [(f"knochen{index}", *rest) for index, (_, *rest) in enumerate(JOINTS)]
        known = self.last_frame(self.bake(self.upload(bvh())["id"]))
        found = self.upload(bvh(strange))
        self.assertEqual(found["summary"]["humanoid"]["found"], {})
        names = ["hips", "spine", "neck", "head", "leftUpperArm", "leftLowerArm", "leftHand",
                 "rightUpperArm", "rightLowerArm", "rightHand", "leftUpperLeg", "leftLowerLeg",
                 "leftFoot", "rightUpperLeg", "rightLowerLeg", "rightFoot"]
        roles = {role: strange[index][0] for index, role in enumerate(names)}
        done = self.bake(found["id"], retarget={"roles": roles})
        self.assertEqual(self.last_frame(done), known)
        self.assertEqual(done["job"]["animation"]["retarget"]["roles"],
                         {role: [name] for role, name in roles.items()})

    def test_what_is_wrong_with_a_capture_is_said_with_its_line(self):
        broken = bvh().replace(b"OFFSET 0 20 0", b"OFFSET 0 twenty 0")
        answer = self.server.request("POST", "/v1/animations?name=x", broken)
        self.assertEqual(answer.status, 422)
        self.assertIn('BVH, line 8: expected a number, found "twenty"', answer.json["detail"])

    def test_units_and_axes_can_be_said(self):
        metres = self.upload(bvh(), "&unit=m")
        self.assertNotEqual(metres["id"], self.upload(bvh())["id"])
        lying = [(name, parent, (x, -z, y)) for name, parent, (x, y, z) in JOINTS]
        warned = self.upload(bvh(lying))
        self.assertIn("up_suspect", [w["code"] for w in warned["summary"]["warnings"]])
        stood = self.upload(bvh(lying), "&up=z")
        self.assertNotIn("up_suspect", [w["code"] for w in stood["summary"]["warnings"]])


if __name__ == "__main__":
    unittest.main()
