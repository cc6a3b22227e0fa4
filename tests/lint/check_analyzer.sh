#!/bin/sh
# gcc -fanalyzer over everything that goes into the binary, without optimisation: it loses its way in
# inlined code. What it says of uninitialised values is left out: it does not see memcpy write.
set -eu
cd "$(dirname "$0")/../.."
cmake --preset dev -B build/analyzer \
    -DCMAKE_C_FLAGS="-fanalyzer -Wno-analyzer-use-of-uninitialized-value" >/dev/null
cmake --build build/analyzer --target bakehouse -- -j 2 -k 0
