#!/bin/sh
# Chains beside an independent program, in one run on one core: the same scenes, one step at 60 Hz.
# Prints nanoseconds per joint and step, joints per second, and how many times the peer's.
set -eu
cd "$(dirname "$0")/../.."
sh clients/install.sh build bench
cmake --preset bench >/dev/null
cmake --build --preset bench --target bench_chains -- -j 2 >/dev/null
(cd tests/bench/peer && [ -d node_modules/three ] || (cd tests/bench/peer && npm install --no-audit --no-fund --silent))

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
one_core=
command -v taskset >/dev/null && one_core="taskset -c 0"
$one_core node tests/bench/peer/bench.js >"$folder/peer.json"
$one_core build/bench/tests/bench_chains >"$folder/chains.csv"
python3 tests/bench/table.py "$folder/peer.json" "$folder/chains.csv"
