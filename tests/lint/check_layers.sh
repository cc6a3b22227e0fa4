#!/bin/sh
# Arrows point one way: every #include "..." of ours must lead to a folder that the including folder
# may see (the table in README.md, "Layers").
set -eu
cd "$(dirname "$0")/../.."
failed=0

allowed() {
    case $1 in
    sim/base) echo base/ ;;
    sim/math) echo base/ math/ sim/ ;;
    sim/include/sim) echo base/ math/ sim/ ;;
    sim/rig) echo base/ math/ sim/ rig/ ;;
    sim/core) echo base/ math/ sim/ rig/ core/ ;;
    sim/solvers) echo base/ math/ sim/ rig/ core/ solvers/ ;;
    sim/formats) echo base/ math/ sim/ rig/ formats/ ;;
    sim/frames) echo base/ math/ sim/ frames/ ;;
    sim/picture) echo base/ math/ sim/ rig/ core/collide.h picture/ ;;
    sim/samples) echo base/ math/ sim/ samples/ formats/glb_writer.h ;;
    server) echo base/ sim/ server/ math/vec3.h ;;
    tests) echo base/ math/ sim/ rig/ core/ solvers/ formats/ frames/ picture/ samples/ server/ support/ unit/ ;;
    esac
}

for file in $(find sim server tests -name '*.[ch]' | sort); do
    case $file in
    sim/include/sim/*) folder=sim/include/sim ;;
    sim/*) folder=$(echo "$file" | cut -d/ -f1-2) ;;
    *) folder=$(echo "$file" | cut -d/ -f1) ;;
    esac
    places=$(allowed "$folder")
    for include in $(sed -n 's/^ *# *include "\([^"]*\)".*/\1/p' "$file"); do
        ok=0
        for place in $places; do
            case $include in "$place"*) ok=1 ;; esac
        done
        if [ "$ok" = 0 ]; then
            echo "$file includes $include: $folder may include only: $places"
            failed=1
        fi
    done
done
exit "$failed"
