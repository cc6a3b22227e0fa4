#!/bin/sh
# Every test in one command, on a bare Debian 12 too.
#
#     sh tests/run.sh          what a change must pass: gcc, clang with sanitizers, api, lint
#     sh tests/run.sh --all    adds tsan, optimised builds, thousands of clients, analyzer, fuzzing,
#                              10,000 law cases, the contract by schemathesis, the Dockerfile,
#                              exports in other programs, benches
#     sh tests/run.sh --soak [HOURS]   only this: everything at once for 8 hours, and whether memory
#                              and descriptors stay flat (tests/soak/soak.py)
#
# Real files are looked for in BAKEHOUSE_TEST_DATA; tests that need them are skipped, by name,
# without. The last line is "N passed, N failed, N skipped", and the exit code 0 only without
# failures.
set -u
cd "$(dirname "$0")/.."
all=no
soak=
while [ $# -gt 0 ]; do
    case $1 in
    --all) all=yes ;;
    --soak)
        soak=${2:-8}
        [ $# = 1 ] || shift
        ;;
    *)
        echo "usage: sh tests/run.sh [--all | --soak [HOURS]]" >&2
        exit 2
        ;;
    esac
    shift
done

logs=build/test-logs
passed=0
failed=0
skipped=0
failures=
rm -rf $logs
mkdir -p $logs

say() {
    printf '%s %s\n' "$(date +%H:%M:%S)" "$*"
}

finish() {
    [ -z "$failures" ] || printf '\nfailed:%b\n' "$failures"
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
    exit
}

# record NAME CODE: one result of a command; 77 is a skip
record() {
    case $2 in
    0) passed=$((passed + 1)) ;;
    77) skipped=$((skipped + 1)) ;;
    *)
        failed=$((failed + 1))
        failures="$failures\n  $1"
        ;;
    esac
}

# step NAME COMMAND...: run it, show its output only when it fails
step() {
    name=$1
    shift
    "$@" >"$logs/$name.log" 2>&1
    code=$?
    record "$name" $code
    case $code in
    0) say "$name: ok" ;;
    77) say "$name: skipped: $(tail -n 1 "$logs/$name.log")" ;;
    *)
        say "$name: FAILED"
        tail -n 60 "$logs/$name.log"
        ;;
    esac
    return $code
}

# tests NAME CTEST-ARGUMENTS...: counts the single tests inside the suites
tests() {
    name=$1
    shift
    ctest "$@" --no-tests=error -V >"$logs/$name.log" 2>&1
    code=$?
    # prints "passed failed skipped", then a line for each failure and skip
    awk -f tests/count.awk "$logs/$name.log" >"$logs/$name.counts"
    read -r good bad left <"$logs/$name.counts"
    if [ "$code" != 0 ] && [ "$bad" = 0 ]; then
        bad=1
        echo "  FAILED ctest itself" >>"$logs/$name.counts"
        tail -n 20 "$logs/$name.log"
    fi
    say "$name: $good passed, $bad failed, $left skipped"
    sed 1d "$logs/$name.counts"
    if [ "$bad" != 0 ]; then
        grep -vE '(RUN|OK) +\]|^test [0-9]|UpdateCTestConf|^ *$' "$logs/$name.log" | tail -n 80
        failures="$failures$(sed -n "s/^  FAILED \(.*\)/\\\\n  $name: \1/p" "$logs/$name.counts" |
            tr -d '\n')"
    fi
    passed=$((passed + good))
    failed=$((failed + bad))
    skipped=$((skipped + left))
}

build() {
    preset=$1
    shift
    step "build-$preset" sh -c "cmake --preset $preset $* && cmake --build --preset $preset -- -j 2"
}

# api BUILD [VARIANT]: every executable tests/api/test_*, BAKEHOUSE naming the binary under test.
# What unittest ran is counted test by test, other programs once.
api() {
    for script in tests/api/test_*; do
        [ -x "$script" ] || continue
        name=$(basename "$1")${2:+-$2}.$(basename "$script")
        BAKEHOUSE="$PWD/$1/bakehouse" timeout 900 "$script" >"$logs/$name.log" 2>&1
        code=$?
        ran=$(sed -n 's/^Ran \([0-9]*\) tests\{0,1\} in .*/\1/p' "$logs/$name.log" | tail -n 1)
        if [ -z "$ran" ]; then
            record "$name" $code
        else
            result=$(grep -E '^(OK|FAILED)' "$logs/$name.log" | tail -n 1)
            left=$(echo "$result" | sed -n 's/.*skipped=\([0-9]*\).*/\1/p')
            bad=$(echo "$result" | grep -oE '(failures|errors)=[0-9]+' | cut -d= -f2 |
                awk '{n += $1} END {print n + 0}')
            left=${left:-0}
            [ "$code" = 0 ] || [ "$bad" != 0 ] || bad=1
            good=$((ran - left - bad))
            [ $good -ge 0 ] || good=0
            passed=$((passed + good))
            failed=$((failed + bad))
            skipped=$((skipped + left))
            [ "$bad" = 0 ] || failures="$failures\n  $name"
        fi
        say "$name: $(tail -n 1 "$logs/$name.log")"
        [ $code = 0 ] || [ $code = 77 ] || tail -n 60 "$logs/$name.log"
    done
}

groups="build test"
[ $all = no ] || groups="$groups bench image contract"
# shellcheck disable=SC2086
sh clients/install.sh $groups || {
    record install 1
    failures="$failures\n  install"
    finish
}
if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache
fi

if [ -n "$soak" ]; then
    build release &&
        step soak env BAKEHOUSE="$PWD/build/release/bakehouse" python3 tests/soak/soak.py "$soak" &&
        tail -n 2 $logs/soak.log
    finish
fi
build dev && {
    tests dev --preset dev
    api build/dev
}
build asan && {
    tests asan --preset asan
    api build/asan
}
tests lint --test-dir build/dev -L lint
build release && [ -x build/release/bakehouse ] &&
    step same-bytes sh tests/golden/same_bytes.sh build/dev/bakehouse build/asan/bakehouse \
        build/release/bakehouse

if [ $all = yes ]; then
    # every job in a process of its own
    export BAKEHOUSE_ISOLATE=1
    api build/dev isolated
    unset BAKEHOUSE_ISOLATE
    build tsan && {
        tests tsan --preset tsan
        api build/tsan
    }
    build dev-clang && tests dev-clang --preset dev-clang
    # the optimised build: golden scenes and laws
    build bench && BAKEHOUSE_LAW_CASES=10000 tests release-law-10000 --preset bench
    [ -x build/bench/bakehouse ] && step scale env BAKEHOUSE_SCALE=full \
        BAKEHOUSE="$PWD/build/bench/bakehouse" tests/api/test_scale.py && cat $logs/scale.log
    build release-clang && step same-bytes-all sh tests/golden/same_bytes.sh build/dev/bakehouse \
        build/dev-clang/bakehouse build/release/bakehouse build/release-clang/bakehouse
    # two hundred kills where a change gets twenty
    step crash-200 env BAKEHOUSE_KILLS=200 BAKEHOUSE="$PWD/build/dev/bakehouse" \
        timeout 3600 python3 tests/api/test_crash.py UnderLoad
    step contract env BAKEHOUSE="$PWD/build/dev/bakehouse" sh tests/contract/run.sh 300
    step analyzer sh tests/lint/check_analyzer.sh
    step dockerfile sh tests/lint/check_dockerfile.sh
    build fuzz && for target in build/fuzz/tests/fuzz_*; do
        [ -x "$target" ] && [ -f "$target" ] || continue
        step "$(basename "$target")" sh tests/fuzz/run.sh "$target" 60
    done
    step exports sh tests/exports/run.sh build/release/bakehouse
    [ -f $logs/exports.log ] && cat $logs/exports.log
    step bench sh tests/bench/run.sh
    [ -f $logs/bench.log ] && cat $logs/bench.log
fi
finish
