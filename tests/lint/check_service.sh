#!/bin/sh
# The systemd unit: systemd reads it without a word, and its sandbox is tight. With the build
# folder; a skip (77) without systemd-analyze.
set -eu
build=$(realpath "${1:-build/dev}")
command -v systemd-analyze >/dev/null || {
    echo "systemd-analyze is not installed"
    exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# the binary as it is before it is installed
sed "s|^ExecStart=[^ ]*|ExecStart=$build/bakehouse|" \
    "$build/bakehouse.service" >"$folder/bakehouse.service"
said=$(systemd-analyze verify --man=no "$folder/bakehouse.service" 2>&1 |
    grep -F bakehouse.service || true)
[ -z "$said" ] || {
    echo "$said"
    exit 1
}
# 0 is no exposure at all, 100 is no sandbox
said=$(systemd-analyze security --offline=yes --threshold=20 --no-pager \
    "$folder/bakehouse.service" 2>&1) || {
    echo "$said"
    exit 1
}
