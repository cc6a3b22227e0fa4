#!/bin/sh
# cppcheck with what cannot be told from style left out.
set -eu
cd "$(dirname "$0")/../.."
cppcheck --quiet -j 2 --std=c11 --error-exitcode=1 --inline-suppr \
    --enable=warning,performance,portability --suppress=missingIncludeSystem \
    --suppressions-list=tests/lint/cppcheck.supp --library=posix -D_GNU_SOURCE -D__x86_64__ -I sim -I sim/include -I . sim server
