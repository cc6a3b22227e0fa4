#!/bin/sh
# clang-tidy on sim and server, or on the files given; two at a time, one line a finding.
set -eu
cd "$(dirname "$0")/../.."
cmake --preset dev-clang >/dev/null
[ $# -gt 0 ] || set -- $(find sim server -name '*.c' | sort)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
printf '%s\n' "$@" | xargs -P 2 -n 4 clang-tidy-14 --quiet -p build/dev-clang >"$log" 2>/dev/null ||
    status=1
grep -E ': (error|warning): ' "$log" | sed "s|^$PWD/||" | sort -u || true
exit $status
