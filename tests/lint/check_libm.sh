#!/bin/sh
# What a bake is computed with calls nothing of libm but functions whose result is exact, and so the
# same on every machine. usage: check_libm.sh BUILD_FOLDER
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build/dev}
exact="sqrt fma fabs floor ceil trunc rint copysign frexp ldexp"
libm=$(gcc -print-file-name=libm.so.6)
known=$(mktemp)
used=$(mktemp)
trap 'rm -f "$known" "$used"' EXIT
nm -D --defined-only "$libm" | sed 's/.* //; s/@.*//' | sort -u >"$known"
for archive in libbase.a libbase_json.a libsim.a libformats.a; do
    nm -A -u "$build/$archive" 2>/dev/null | sed -n 's/^\(.*\): *U \(.*\)$/\2 \1/p'
done | sort -u >"$used"
for name in $exact; do
    sed -i "/^${name}f\{0,1\} /d" "$used"
done
found=$(join "$known" "$used")
[ -z "$found" ] && exit 0
echo "$found" | sed 's/^\([^ ]*\) \(.*\)$/\2 calls \1/'
exit 1
