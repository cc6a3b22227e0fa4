#!/bin/sh
# The same bake gives the same frame bytes from every compiler, optimisation level and instruction
# set. usage: same_bytes.sh BINARY ...   e.g. build/dev/bakehouse build/asan/bakehouse
set -eu
[ $# -gt 0 ] || { echo "usage: same_bytes.sh BINARY ..." >&2; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

levels="scalar"
for set in avx2 avx512; do
    flag=$set
    [ $set = avx512 ] && flag=avx512f
    if grep -qw "$flag" /proc/cpuinfo; then levels="$levels $set"; fi
done

# bake NAME BINARY LEVEL ARGUMENTS: prints the hash of the frame file
bake() {
    name=$1 binary=$2 level=$3
    shift 3
    rm -f "$folder/out.frames"
    if ! BAKEHOUSE_SIMD=$level "$binary" bake "$@" -o "$folder/out.frames" >"$folder/log" 2>&1; then
        cat "$folder/log" >&2
        echo "$name: $binary ($level) could not bake" >&2
        return 1
    fi
    sha256sum <"$folder/out.frames" | cut -d' ' -f1
}

# same NAME ARGUMENTS: bakes with every binary and level
same() {
    name=$1
    shift
    first=
    for binary in $binaries; do
        for level in $levels; do
            hash=$(bake "$name" "$binary" "$level" "$@") || { failed=1; continue; }
            [ -n "$first" ] || first=$hash
            if [ "$hash" != "$first" ]; then
                echo "$name: $binary ($level) gives $hash, the first gave $first"
                failed=1
            fi
        done
    done
    echo "$name $first"
}

binaries=$*
for sample in "avatar" "layered"; do
    options=
    [ $sample = layered ] && options="--hair layered"
    first=
    for binary in $binaries; do
        # shellcheck disable=SC2086
        "$binary" sample avatar $options -o "$folder/$sample.vrm" >/dev/null
        hash=$(sha256sum <"$folder/$sample.vrm" | cut -d' ' -f1)
        [ -n "$first" ] || first=$hash
        [ "$hash" = "$first" ] || { echo "sample $sample differs: $binary"; failed=1; }
    done
done
same head_turn "$folder/avatar.vrm" --procedural head_turn
same walk "$folder/avatar.vrm" --clip walk
same layered "$folder/layered.vrm" --procedural turn
same fitted "$folder/layered.vrm" --procedural turn --set 'simulations.0.colliders="fitted"'
same surface "$folder/avatar.vrm" --clip walk --set 'simulations.0.colliders="surface"'
exit $failed
