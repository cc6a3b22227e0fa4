#!/bin/sh
# Installs the Debian 12 packages that a task needs and that are missing; says nothing when all are
# there. The one list of them, for clients/demo.sh, tests/run.sh and Dockerfile.
#
#     sh clients/install.sh build|run|health|demo|test|bench|exports|image|contract ...
#     sh clients/install.sh --list build ...            only print the packages
set -eu

packages() {
    case $1 in
    build) echo gcc libc6-dev cmake ninja-build pkg-config libmicrohttpd-dev libuv1-dev \
        libsqlite3-dev libcjson-dev libmeshoptimizer-dev libzstd-dev nettle-dev libpng-dev \
        libzip-dev libcurl4-gnutls-dev ;;
    run) echo libmicrohttpd12 libuv1 libsqlite3-0 libcjson1 libmeshoptimizer2d libzstd1 \
        libnettle8 libpng16-16 libzip4 libcurl3-gnutls ca-certificates ;;
    # what asks a container for its health
    health) echo curl ;;
    # what the demonstration and the API tests talk with
    demo) echo curl python3 ;;
    test) echo clang libclang-rt-14-dev llvm clang-format clang-tidy cppcheck libcmocka-dev curl jq python3 binutils ;;
    # npm may have come with node from elsewhere
    bench) command -v npm >/dev/null || echo nodejs npm ;;
    exports)
        command -v npm >/dev/null || echo nodejs npm
        echo python3 python3-venv blender python3-numpy ;;
    image) echo debootstrap ;;
    # installs the tool of tests/contract
    contract) python3 -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv ;;
    *)
        echo "install.sh: no group \"$1\"" >&2
        return 2
        ;;
    esac
}

only_list=no
if [ "${1:-}" = --list ]; then
    only_list=yes
    shift
fi
wanted=
for group in "$@"; do
    wanted="$wanted $(packages "$group")"
done
if [ "$only_list" = yes ]; then
    echo "$wanted" | tr -s ' ' '\n' | sed '/^$/d'
    exit 0
fi

missing=
for package in $wanted; do
    case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
    installed) ;;
    *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
    if ! sudo -n true 2>/dev/null; then
        echo "missing packages; as root: apt-get install -y --no-install-recommends$missing" >&2
        exit 1
    fi
    as_root="sudo -n"
fi
echo "installing$missing" >&2
log=$(mktemp)
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
if ! $as_root apt-get update >"$log" 2>&1 ||
    ! $as_root apt-get install -y --no-install-recommends $missing >>"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    exit 1
fi
rm -f "$log"
