#!/bin/sh
# Every header compiles on its own.
set -eu
cd "$(dirname "$0")/../.."
flags="-std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -Isim -Isim/include -I. -Itests"
flags="$flags -DKERNEL_SET=scalar -DKERNEL_SET_scalar=1 $(pkg-config --cflags libcjson libmicrohttpd libuv sqlite3 nettle libpng libzip)"
failed=0
for header in $(find sim server tests -name '*.h' | sort); do
    echo "#include \"$header\"" | sed 's|"sim/include/|"|; s|"sim/\([a-z]*/\)|"\1|; s|"tests/|"|' |
        gcc $flags -fsyntax-only -x c - || { echo "$header does not compile alone"; failed=1; }
done
exit $failed
