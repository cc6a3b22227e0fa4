#!/bin/sh
# gcc -fanalyzer over everything that goes into the binary, with the options of the release build.
set -eu
cd "$(dirname "$0")/../.."
cmake --preset release -B build/analyzer -DCMAKE_C_FLAGS=-fanalyzer >/dev/null
cmake --build build/analyzer --target bakehouse -- -j 2 -k 0 | grep -E 'error|warning|FAILED' && exit 1
exit 0
