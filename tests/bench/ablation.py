#!/usr/bin/env python3
"""README's table: stretch, p99 / worst, from before to after, one switch a row.

    tests/bench/ablation.py build/release/bakehouse FILE...
"""

import json
import subprocess
import sys

STEPS = [
    # title, rest, contact, contact_velocity, colliders
    ("before", "parent", "endpoint", "naive", "file"),
    ("rest arc in the frame of the head", "attachment", "endpoint", "naive", "file"),
    ("swept segments, where the rule asks for them", "attachment", "auto", "naive", "file"),
    ("after: velocity without the push-out", "attachment", "auto", "rebuilt", "file"),
    ("after, colliders ignored", "attachment", "none", "rebuilt", "file"),
    ("after, colliders fitted to the body", "attachment", "auto", "rebuilt", "fitted"),
    ("after, with the body's surface", "attachment", "auto", "rebuilt", "surface"),
    ("the published algorithm", None, None, None, "file"),
]


def measure(binary, file, rest, contact, velocity, colliders):
    """(p99, worst) in percent, of all edges that the chains move."""
    options = ["--mode", "vrm"] if rest is None else [
        "--set", f"simulations.0.rest={rest}", "--set", f"simulations.0.contact={contact}",
        "--set", f"simulations.0.contact_velocity={velocity}",
        "--set", f"simulations.0.colliders={colliders}"]
    result = subprocess.run([binary, "bake", file, "--procedural", "head_turn", "--json", *options],
                            capture_output=True, text=True, check=True)
    rows = {(row["name"], row["target"]): row["value"]
            for row in json.loads(result.stdout)["measures"]["summary"]}
    return 100 * rows["stretch.p99", "*"], 100 * rows["stretch.max", "*"]


def main():
    binary, *files = sys.argv[1:]
    for title, *switches in STEPS:
        named = [s for s in switches if s != "file"]
        how = " ".join(f"`{s}`" for s in named) if switches[0] else "mode `vrm`"
        cells = ["%.1f / %.1f %%" % measure(binary, file, *switches) for file in files]
        print("| " + " | ".join([title, how, *cells]) + " |")


if __name__ == "__main__":
    main()
