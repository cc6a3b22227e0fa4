#!/bin/sh
# The main job in one command, on a bare Debian 12 too: build, serve, upload a character, bake its
# hair through a head turn, watch the frames arrive, and compare what the mesh stretched before and
# after each step of the method.
#
#     sh clients/demo.sh                 the built-in character
#     sh clients/demo.sh avatar.vrm      a character of your own (VRM, GLB, glTF)
#     sh clients/demo.sh --keep          leave the server running at the end
#     sh clients/demo.sh --out FOLDER    where the files go (build/demo)
#
# For a file without spring bones: --chain NODE names the node that moves first (repeatable), or the
# demonstration picks what looks like hair, ears or a tail, and says so.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
file=
keep=no
out=
chains=
while [ $# -gt 0 ]; do
    case $1 in
    --keep) keep=yes ;;
    --out | --chain)
        [ $# -gt 1 ] || { echo "demo.sh: $1 needs a value" >&2; exit 2; }
        if [ "$1" = --out ]; then out=$2; else chains="$chains$2
"; fi
        shift
        ;;
    -h | --help)
        sed -n '2,13s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    -*)
        echo "demo.sh: there is no option $1" >&2
        exit 2
        ;;
    *)
        [ -z "$file" ] || { echo "demo.sh: one FILE at a time" >&2; exit 2; }
        file=$1
        ;;
    esac
    shift
done
if [ -n "$file" ]; then
    [ -f "$file" ] || { echo "demo.sh: there is no file \"$file\"" >&2; exit 1; }
    file=$(cd "$(dirname "$file")" && pwd)/$(basename "$file")
fi

cd "$root"
out=${out:-build/demo}
work=$(mktemp -d)
server=
finish() {
    code=$?
    trap - EXIT INT TERM
    if [ -n "$server" ] && { [ $keep = no ] || [ $code != 0 ]; }; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
        server=
    fi
    [ -n "$server" ] || rm -rf "$work"
    exit $code
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() {
    printf '\n== %s\n' "$*"
}

# --- what it needs

say "building"
sh clients/install.sh build demo
if ! cmake --workflow --preset release >"$work/build.log" 2>&1; then
    tail -n 40 "$work/build.log" >&2
    exit 1
fi
bakehouse=$root/build/release/bakehouse
"$bakehouse" --version
mkdir -p "$out"
out=$(cd "$out" && pwd)

# value PATH: a value of the JSON on standard input, its members and indices separated by dots
value() {
    python3 -c '
import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1].split("."):
    value = value[int(key)] if isinstance(value, list) else value.get(key)
    if value is None:
        break
print("" if value is None else value)' "$1"
}

# --- the character

if [ -z "$file" ]; then
    file=$out/avatar.vrm
    "$bakehouse" sample avatar -o "$file"
fi
say "the character: $file"
"$bakehouse" inspect "$file" >"$work/summary.json"
python3 - "$work" "$chains" <<'PYTHON'
import json, re, sys

work, named = sys.argv[1], [n for n in sys.argv[2].split("\n") if n]
summary = json.load(open(work + "/summary.json"))
counts = summary["counts"]
print("%s, %.2f m tall: %d joints, %d vertices, %d clips, %d spring chains, %d colliders" % (
    summary["format"], summary["height"], counts["joints"], counts["vertices"], counts["clips"],
    counts["springs"], counts["colliders"]))
for warning in summary["warnings"][:8]:
    print("warning: %(code)s: %(detail)s" % warning)

springs = [s for s in summary["springs"] if s["simulated"]]
define = []
if not springs or named:
    nodes = {n["key"]: n for n in summary["nodes"]}
    children = {}
    for n in summary["nodes"]:
        children.setdefault(n["parent"], []).append(n["key"])

    def length(key):
        count = 1
        while children.get(key):
            key, count = children[key][0], count + 1
        return count

    words = re.compile(r"hair|pony|braid|tail|ear|bang|lock|skirt|cape|feather|antenna", re.I)
    unknown = [n for n in named if n not in nodes]
    if unknown:
        sys.exit("the model has no node \"%s\"; `bakehouse inspect` lists its nodes" % unknown[0])
    roots = named or [k for k, n in nodes.items()
                      if words.search(k) and n["parent"] and length(k) >= 2
                      and not words.search(n["parent"])][:16]
    for key in roots:
        define.append({"name": key, "root": key})
    if not define:
        leaves = [k for k in nodes if length(k) >= 3][:12]
        sys.exit("This file has no spring bones, and no node that is called like hair, ears or a "
                 "tail.\nName the node that moves first: sh clients/demo.sh FILE --chain NODE\n"
                 "Nodes with at least two below them: " + ", ".join(leaves))
    print("%s: making chains from %s" % (
        "chains as asked for" if named else "no spring bones in this file",
        ", ".join(d["name"] for d in define)))
json.dump(define, open(work + "/define.json", "w"))
PYTHON

# a glTF is uploaded with what stands beside it
upload=$file
case $file in
*.gltf)
    upload=$work/bundle.zip
    python3 - "$file" "$upload" <<'PYTHON'
import json, os, sys, urllib.parse, zipfile

path, bundle = sys.argv[1:]
document = json.load(open(path))
with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive:
    archive.write(path, os.path.basename(path))
    for thing in document.get("buffers", []) + document.get("images", []):
        name = urllib.parse.unquote(thing.get("uri") or "")
        beside = os.path.join(os.path.dirname(path), name)
        if name and not name.startswith("data:") and os.path.isfile(beside):
            archive.write(beside, name)
PYTHON
    ;;
esac

# --- the server

say "the server"
port=$(python3 -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
url=http://127.0.0.1:$port
"$bakehouse" serve --listen "127.0.0.1:$port" --data "$work/data" 2>"$work/server.log" &
server=$!
tries=0
until curl -fsS -o "$work/ready" "$url/readyz" 2>/dev/null; do
    tries=$((tries + 1))
    if [ $tries -gt 100 ] || ! kill -0 "$server" 2>/dev/null; then
        cat "$work/server.log" >&2
        exit 1
    fi
    sleep 0.1
done
echo "$url"

# call METHOD PATH [curl options]: the answer; a problem is shown and ends the demonstration
call() {
    method=$1
    path=$2
    shift 2
    code=$(curl -sS -X "$method" -o "$work/answer" -w '%{http_code}' "$@" "$url$path")
    case $code in
    2*) cat "$work/answer" ;;
    *)
        echo "$method $path: $code" >&2
        cat "$work/answer" >&2
        return 1
        ;;
    esac
}

name=$(basename "$file")
call POST "/v1/models?name=$(python3 -c 'import sys, urllib.parse
print(urllib.parse.quote(sys.argv[1]))' "$name")" -H 'Content-Type: application/octet-stream' \
    --data-binary "@$upload" >"$work/model.json"
model=$(value id <"$work/model.json")
echo "uploaded: $model"

# --- the steps

# post STEP REST CONTACT VELOCITY: prints the job's id
post() {
    python3 - "$work" "$model" "$@" <<'PYTHON' >"$work/job.json"
import json, sys

work, model, step, rest, contact, velocity = sys.argv[1:]
chains = {"type": "chains", "rest": rest, "contact": contact, "contact_velocity": velocity}
define = json.load(open(work + "/define.json"))
if define:
    chains["define"] = define
print(json.dumps({"model": model, "name": step, "animation": {"procedural": "head_turn"},
                  "simulations": [chains], "tags": {"demo": "head_turn", "step": step}}))
PYTHON
    call POST /v1/jobs -H 'Content-Type: application/json' --data-binary "@$work/job.json" \
        >"$work/posted.json" || return 1
    value id <"$work/posted.json"
}

# finished ID STEP: waits for the end and keeps the measures
finished() {
    while :; do
        call GET "/v1/jobs/$1?wait=30" >"$work/state.json" || return 1
        state=$(value state <"$work/state.json")
        case $state in
        done) break ;;
        queued | running) ;;
        *)
            echo "job $1: $state: $(value error.detail <"$work/state.json")" >&2
            return 1
            ;;
        esac
    done
    call GET "/v1/jobs/$1/measures" >"$work/$2.json"
}

say "before: a head turn of 4 s and 8 s of rest, hair that follows its bent parent"
before=$(post before parent endpoint naive)
finished "$before" before
rest=$(post rest attachment endpoint naive)
finished "$rest" rest
contact=$(post contact attachment auto naive)
finished "$contact" contact
echo "baked: $before $rest $contact"

say "after: frames as they are made"
after=$(post after attachment auto rebuilt)
curl -sSN -H 'Accept: application/x-ndjson' "$url/v1/jobs/$after/frames" | python3 -c '
import json, sys, time

start, count, total, last = time.monotonic(), 0, 0, 0
for line in sys.stdin:
    record = json.loads(line)
    now = time.monotonic()
    if "frame" not in record:
        total = record.get("frame_count", record.get("frames", total))
        continue
    count += 1
    if count == 1:
        print("first frame after %.0f ms" % (1000 * (now - start)))
    if sys.stdout.isatty() and now - last > 0.03:
        print("\rframe %d of %s " % (count, total or "?"), end="", flush=True)
        last = now
print("\r%d frames in %.2f s" % (count, time.monotonic() - start))'
finished "$after" after

# --- what was measured

say "stretch of the edges that hair moves, greatest over time"
python3 - "$work" <<'PYTHON'
import json, sys

work = sys.argv[1]
steps = [("before", "before: rest from the bent parent, endpoints, naive velocity"),
         ("rest", "+ rest arc in the frame of the attachment"),
         ("contact", "+ swept segments against colliders"),
         ("after", "+ velocity rebuilt without the push-out = after")]
print("%-62s %8s %8s" % ("", "p99", "worst"))
for name, title in steps:
    rows = {(r["name"], r["target"]): r["value"]
            for r in json.load(open("%s/%s.json" % (work, name)))["summary"]}
    shown = [rows.get((measure, "*")) for measure in ("stretch.p99", "stretch.max")]
    print("%-62s %8s %8s" % (title, *("-" if v is None else "%.1f %%" % (100 * v) for v in shown)))
measures = json.load(open(work + "/after.json"))
for row in measures["summary"]:
    if row["name"] in ("settle.speed", "penetration.max", "cost.realtime") and row["target"] == "*":
        value = "-" if row["value"] is None else "%.3g" % row["value"]
        print("%s: %s %s" % (row["name"], value, "" if row["unit"] == "1" else row["unit"]))
for warning in measures["warnings"][:6]:
    print("warning: %(code)s: %(detail)s" % warning)
PYTHON

# --- files

call GET "/v1/jobs/$before/export?format=glb" >"$out/before.glb"
call GET "/v1/jobs/$after/export?format=glb" >"$out/after.glb"
call GET "/v1/jobs/$before/sheet.png" >"$out/before.png"
call GET "/v1/jobs/$after/sheet.png" >"$out/after.png"
call GET "/v1/jobs/$after/frames" >"$out/after.frames"
cp "$work/after.json" "$out/measures.json"
say "files"
ls -l "$out/before.glb" "$out/after.glb" "$out/before.png" "$out/after.png" "$out/after.frames" \
    "$out/measures.json" | awk '{print $5 " bytes  " $NF}'
if [ $keep = yes ]; then
    say "the server runs on: $url (kill $server ends it; its data is in $work/data)"
fi
