#!/bin/sh
# schemathesis against a live server on loopback: whatever schema/openapi.json lets a client send, and
# much that it does not, is answered as the document says. Installs it from PyPI into
# build/contract-venv, once a version.
#
#     sh tests/contract/run.sh [SECONDS]    with BAKEHOUSE, the binary under test
set -eu
cd "$(dirname "$0")/../.."
venv=build/contract-venv
wanted=tests/contract/requirements.txt
if ! cmp -s $wanted $venv/installed; then
    python3 -m venv $venv
    $venv/bin/pip install --quiet --disable-pip-version-check -r $wanted
    cp $wanted $venv/installed
fi
exec python3 tests/contract/contract.py "$PWD/$venv/bin/schemathesis" "${1:-300}"
