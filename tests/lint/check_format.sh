#!/bin/sh
# Every C file of ours is as clang-format leaves it.
set -eu
cd "$(dirname "$0")/../.."
find sim server tests -name '*.[ch]' -print0 | xargs -0 clang-format-14 --dry-run -Werror
