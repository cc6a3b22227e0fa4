#!/bin/sh
# Chains beside an independent program, in one run on one core: the same scenes, one step at 60 Hz.
# Prints nanoseconds per joint and step, joints per second, and how many times the peer's. The
# scenes and their names are described in peer/bench.js. 77 where there is nothing to time.
set -eu
cd "$(dirname "$0")/../.."
[ -f tests/bench/bench_chains.c ] || { echo "there is no bench_chains.c"; exit 77; }
sh clients/install.sh build test bench
cmake --preset bench >/dev/null
cmake --build --preset bench --target bench_chains -- -j 2 >/dev/null
(cd tests/bench/peer && npm install --no-audit --no-fund --silent)

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
taskset -c 0 node tests/bench/peer/bench.js >"$folder/peer.json"
taskset -c 0 build/bench/tests/bench_chains >"$folder/ours.csv"
python3 tests/bench/table.py "$folder/peer.json" "$folder/ours.csv"
