#!/bin/sh
# Exports judged by the programs that they are for: Khronos's glTF validator (npm), Pixar's USD
# library (PyPI), Blender (Debian). Installs what is missing. Characters: the built-in one, and real
# files of BAKEHOUSE_TEST_DATA where it is set. Prints figures; exit code 0 when all agree.
#
#     sh tests/exports/run.sh BINARY
set -eu
cd "$(dirname "$0")/../.."
binary=$1
tools=build/exports-tools
work=build/exports

sh clients/install.sh exports
mkdir -p $tools
[ -d $tools/node_modules/gltf-validator ] ||
    npm install --silent --no-audit --no-fund --prefix $tools gltf-validator@2.0.0-dev.3.10 >&2
[ -x $tools/usd/bin/python ] || python3 -m venv $tools/usd
$tools/usd/bin/python -c 'import pxr' 2>/dev/null ||
    $tools/usd/bin/pip install --quiet --disable-pip-version-check usd-core==26.11 >&2

rm -rf $work
mkdir -p $work
failed=0
echo "--- re-read"
python3 tests/exports/bake.py "$binary" $work || failed=1
echo "--- gltf-validator"
node tests/exports/validate.mjs $tools $work || failed=1
echo "--- usd-core"
$tools/usd/bin/python tests/exports/check_usd.py $work || failed=1
echo "--- Blender"
if blender -b --factory-startup --python-exit-code 1 --python tests/exports/check_blender.py \
    -- $work >$work/blender.log 2>&1; then
    grep ' off by ' $work/blender.log
else
    tail -n 30 $work/blender.log
    failed=1
fi
rm -rf $work
exit $failed
