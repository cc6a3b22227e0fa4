#!/usr/bin/env python3
"""The table of tests/bench/run.sh: our scenes beside the peer's.

usage: table.py PEER.json OURS.csv     OURS has the columns scene, joints, steps,
ns_per_joint_step, step_p95_ms (nearest rank over the steps) and, where a scene was timed for
several instruction sets, level.
"""

import csv
import json
import sys


def main() -> int:
    with open(sys.argv[1], encoding="utf-8") as file:
        peer = json.load(file)
    with open(sys.argv[2], encoding="utf-8") as file:
        ours = list(csv.DictReader(file))
    theirs = {row["scene"]: row["ns_per_joint_step"] for row in peer["scenes"]}
    if not theirs.keys() <= {row["scene"] for row in ours}:
        print("table.py: the peer has scenes that we did not time", file=sys.stderr)
        return 1
    print(f"{peer['program']} {peer['version']}, node {peer['node']}: "
          + ", ".join(f"{scene} {ns:g} ns" for scene, ns in theirs.items()))
    print(f"{'scene':24} {'level':8} {'joints':>7} {'ns':>9} {'M joints/s':>11} {'times peer':>11} "
          f"{'p95 ms':>8}")
    for row in ours:
        ns = float(row["ns_per_joint_step"])
        ratio = f"{theirs[row['scene']] / ns:.1f}" if row["scene"] in theirs else "-"
        print(f"{row['scene']:24} {row.get('level') or '-':8} {row['joints']:>7} {ns:9.2f} "
              f"{1e3 / ns:11.2f} {ratio:>11} {row['step_p95_ms']:>8}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
