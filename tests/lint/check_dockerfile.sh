#!/bin/sh
# Carries out the Dockerfile without a container engine: each stage is a chroot made by debootstrap,
# COPY and RUN lines are done in it, and at the end the last stage's program is started as its user
# and asked by the HEALTHCHECK. Packages come from the mirror this machine's apt is set to. Needs
# root; 77 where that is missing.
set -eu
cd "$(dirname "$0")/../.."
[ "$(id -u)" = 0 ] || { echo "needs root for chroots"; exit 77; }
command -v debootstrap >/dev/null || { echo "needs debootstrap"; exit 77; }

work=$(mktemp -d)
server=
clean() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    for stage in "$work"/stage*; do
        umount "$stage/proc" 2>/dev/null || true
        umount "$stage/dev" 2>/dev/null || true
    done
    # never delete through a mount that is left
    if ! grep -q " $work/" /proc/mounts; then rm -rf --one-file-system "$work"; fi
}
trap clean EXIT
trap 'exit 1' INT TERM

mirror=$(apt-get indextargets --format '$(SITE) $(CODENAME) $(CREATED_BY)' |
    sed -n 's/^\([^ ]*\) bookworm Packages$/\1/p' | head -n 1)
[ -n "$mirror" ] || { echo "apt knows no mirror of bookworm"; exit 77; }

# a fresh Debian, made once and copied for each stage
fresh() {
    if [ ! -d "$work/base" ]; then
        debootstrap --variant=minbase bookworm "$work/base" "$mirror" >"$work/log" 2>&1 ||
            { tail -n 20 "$work/log"; exit 1; }
        cp -L /etc/resolv.conf "$work/base/etc/resolv.conf"
        apt-config dump Acquire::http::Proxy >"$work/base/etc/apt/apt.conf.d/90proxy"
    fi
    cp -a "$work/base" "$1"
    mount -t proc proc "$1/proc"
    mount --bind /dev "$1/dev"
}

# become COMMAND, inside COMMAND: in the stage, at its folder, as its user
become() {
    exec chroot --userspec="$user" "$root" /usr/bin/env -i PATH="$path" HOME=/ \
        DEBIAN_FRONTEND=noninteractive /bin/sh -c "cd '$folder' && $1"
}
inside() {
    (become "$1")
}
path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# copy [--from=STAGE] SOURCE TARGET, one source as the Dockerfile uses it
copy() {
    source=$PWD
    case $1 in
    --from=*)
        source=$(readlink "$work/name.${1#--from=}")
        shift
        ;;
    esac
    case $2 in
    /*) target=$root$2 ;;
    *) target=$root$folder/$2 ;;
    esac
    if [ -d "$source/$1" ]; then
        mkdir -p "$target"
        tar -C "$source/$1" --exclude=./.git --exclude=./build --exclude=node_modules \
            --exclude=__pycache__ -cf - . | tar -C "$target" --no-same-owner -xf -
    else
        mkdir -p "$(dirname "$target")"
        cp "$source/$1" "$target"
    fi
}

count=0
health=
entry=
sed -e '/^ *#/d' Dockerfile | sed -e ':a' -e '/\\$/{N;s/\\\n *//;ba' -e '}' >"$work/steps"
while read -r word rest; do
    case $word in
    FROM)
        count=$((count + 1))
        root=$work/stage$count
        folder=/
        user=root:root
        case $rest in
        debian:12*) fresh "$root" ;;
        *) echo "no way to make $rest"; exit 1 ;;
        esac
        case $rest in *' AS '*) ln -s "$root" "$work/name.${rest##* AS }" ;; esac
        ;;
    WORKDIR) folder=$rest && mkdir -p "$root$rest" ;;
    USER) user=$rest:$rest ;;
    # shellcheck disable=SC2086
    COPY) copy $rest ;;
    RUN)
        echo "RUN $rest"
        inside "$rest" </dev/null >"$work/log" 2>&1 || { tail -n 40 "$work/log"; exit 1; }
        ;;
    HEALTHCHECK) health=${rest#*CMD } ;;
    ENTRYPOINT) entry=$(echo "$rest" | tr -d '[],"') ;;
    CMD | VOLUME | EXPOSE | STOPSIGNAL | '') ;;
    *) echo "cannot carry out $word"; exit 1 ;;
    esac
done <"$work/steps"

[ -n "$health" ] || { echo "the Dockerfile has no HEALTHCHECK"; exit 1; }
[ "$user" != root:root ] || { echo "the last stage runs as root"; exit 1; }
inside "bakehouse --help" >/dev/null

# on a port of its own and loopback only; everything else as in the image
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
become "exec $(echo "$entry" | sed "s/0\.0\.0\.0:8080/127.0.0.1:$port/")" >"$work/log" 2>&1 &
server=$!
tries=0
until inside "$(echo "$health" | sed "s/:8080/:$port/")" >"$work/health" 2>&1; do
    tries=$((tries + 1))
    if [ $tries = 50 ] || ! kill -0 $server 2>/dev/null; then
        cat "$work/log" "$work/health"
        echo "the server does not become healthy"
        exit 1
    fi
    sleep 0.2
done
kill $server
wait $server || { echo "the server does not end cleanly on SIGTERM"; exit 1; }
server=
echo "healthy and stopped"
