#!/bin/sh
# Fuzz one target for a while, from its regression corpus on. usage: run.sh TARGET SECONDS
# What breaks it is left in build/fuzz/found/NAME; its fix puts it under tests/fuzz/regression/NAME.
set -eu
target=$1
seconds=$2
name=$(basename "$target")
cd "$(dirname "$0")/../.."
corpus=build/fuzz/corpus/$name
found=build/fuzz/found/$name
regression=tests/fuzz/regression/$name
mkdir -p "$corpus" "$found"
[ -d "$regression" ] || regression=
# shellcheck disable=SC2086
exec "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
    -artifact_prefix="$found/" -verbosity=0 -print_final_stats=1 "$corpus" $regression
