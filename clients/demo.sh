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
# demonstration picks what looks like hair, ears or a tail, and says so. BAKEHOUSE names a binary that
# is there already, and nothing is built.
set -eu

start=$(pwd)
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
        sed -n '2,14s/^# \{0,1\}//p' "$0"
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
case ${BAKEHOUSE:-/} in
/*) ;;
*) BAKEHOUSE=$start/$BAKEHOUSE ;;
esac
case $out in
/* | build/demo) ;;
*) out=$start/$out ;;
esac
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

if [ -n "${BAKEHOUSE:-}" ]; then
    sh clients/install.sh demo
    bakehouse=$BAKEHOUSE
else
    say "building"
    sh clients/install.sh build demo
    if ! cmake --workflow --preset release >"$work/build.log" 2>&1; then
        tail -n 40 "$work/build.log" >&2
        exit 1
    fi
    bakehouse=$root/build/release/bakehouse
fi
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
# a character the size of a house or a thumb was made in another unit: take the one it suggests
unit=$(python3 - "$work/summary.json" <<'PYTHON'
import json, re, sys

for warning in json.load(open(sys.argv[1]))["warnings"]:
    found = re.search(r"unit=(\S+)", warning["detail"])
    if warning["code"] == "unit_suspect" and found:
        print(found.group(1))
        break
PYTHON
)
if [ -n "$unit" ]; then
    echo "its size suggests that its unit is $unit"
    "$bakehouse" inspect "$file" --unit "$unit" >"$work/summary.json"
fi
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

    words = {"hair", "ponytail", "pony", "braid", "tail", "ear", "ears", "bang", "bangs", "lock",
             "skirt", "cape", "feather", "antenna"}

    def is_hair(key):
        return any(word.lower() in words for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", key))

    unknown = [n for n in named if n not in nodes]
    if unknown:
        sys.exit("the model has no node \"%s\"; `bakehouse inspect` lists its nodes" % unknown[0])
    roots = named or [k for k, n in nodes.items()
                      if is_hair(k) and n["parent"] and length(k) >= 2
                      and not is_hair(n["parent"])][:16]
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
"$bakehouse" serve --listen "127.0.0.1:$port" --data "$work/data" </dev/null \
    >"$work/server.log" 2>&1 &
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
print(urllib.parse.quote(sys.argv[1]))' "$name")${unit:+&unit=$unit}" -H 'Content-Type: application/octet-stream' \
    --data-binary "@$upload" >"$work/model.json"
model=$(value id <"$work/model.json")
echo "uploaded: $model"

# --- the steps

# describe STEP REST CONTACT VELOCITY: the job of a step, in $work/job.json
describe() {
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
}

# post: the job in $work/job.json; prints its id
post() {
    call POST /v1/jobs -H 'Content-Type: application/json' --data-binary "@$work/job.json" \
        >"$work/posted.json" || return 1
    value id <"$work/posted.json"
}

# bake STEP REST CONTACT VELOCITY: posts it, waits for its end, prints its id
bake() {
    describe "$@"
    id=$(post) || return 1
    finished "$id" "$1" || return 1
    echo "$id"
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
before=$(bake before parent endpoint naive)
rest=$(bake rest attachment endpoint naive)
contact=$(bake contact attachment auto naive)
echo "baked: $before $rest $contact"

say "after: the same with what the method adds, frames as they are made"
describe after attachment auto rebuilt
python3 - "$url" "$work/job.json" "$work/after.id" <<'PYTHON'
import http.client, json, sys, time, urllib.parse

url, job, out = sys.argv[1:]
where = urllib.parse.urlsplit(url).netloc
posting, streaming = http.client.HTTPConnection(where), http.client.HTTPConnection(where)
posting.connect()
streaming.connect()
start = time.monotonic()
posting.request("POST", "/v1/jobs", open(job, "rb").read(), {"Content-Type": "application/json"})
answer = posting.getresponse()
body = answer.read()
if answer.status // 100 != 2:
    sys.exit("POST /v1/jobs: %d\n%s" % (answer.status, body.decode()))
accepted = time.monotonic() - start
id = json.loads(body)["id"]
streaming.request("GET", "/v1/jobs/%s/frames" % id, headers={"Accept": "application/x-ndjson"})
lines = streaming.getresponse()
count, total, shown = 0, "?", 0
for line in lines:
    if not line.strip():  # a heartbeat
        continue
    record = json.loads(line)
    if "frame" not in record:
        total = record.get("frames", total)
        continue
    count += 1
    if count == 1:
        print("accepted after %.0f ms, first frame after %.0f ms" % (
            1000 * accepted, 1000 * (time.monotonic() - start)))
    if sys.stdout.isatty() and time.monotonic() - shown > 0.03:
        print("\rframe %d of %s " % (count, total), end="", flush=True)
        shown = time.monotonic()
print("%s%d frames in %.0f ms" % ("\r" if sys.stdout.isatty() else "", count,
                                  1000 * (time.monotonic() - start)))
open(out, "w").write(id)
PYTHON
after=$(cat "$work/after.id")
finished "$after" after

# --- what was measured

say "stretch of the edges that hair moves, greatest over time"
python3 - "$work" <<'PYTHON'
import json, sys

work = sys.argv[1]
steps = [("before", "before: rest of the bent parent, endpoint, naive"),
         ("rest", "+ rest arc in the frame of the attachment"),
         ("contact", "+ swept segments against colliders"),
         ("after", "+ velocity rebuilt without the push-out = after")]
print("%-56s %8s %8s %8s" % ("", "p99", "worst", "inside"))
for name, title in steps:
    rows = {(r["name"], r["target"]): r["value"]
            for r in json.load(open("%s/%s.json" % (work, name)))["summary"]}

    def show(measure, form, scale):
        value = rows.get((measure, "*"))
        return "-" if value is None else form % (scale * value)

    print("%-56s %8s %8s %8s" % (title, show("stretch.p99", "%.1f %%", 100),
                                 show("stretch.max", "%.1f %%", 100),
                                 show("penetration.max", "%.1f mm", 1000)))
measures = json.load(open(work + "/after.json"))
for row in measures["summary"]:
    if row["name"] in ("settle.speed", "cost.realtime") and row["target"] == "*":
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
