#!/bin/sh
# The house rules that a machine can check (CONTRIBUTING.md has them in words).
cd "${srcdir:-.}" || exit 99
n=0
bad=0
tab=$(printf '\t')

# WHAT FOUND: what breaks the rule, a line each; none is right.
none() {
    n=$((n + 1))
    if [ -z "$2" ]; then
        echo "ok $n - $1"
        return
    fi
    bad=1
    echo "not ok $n - $1"
    echo "$2" | sed 's/^/# /'
}

host=$(find src include -name '*.[ch]' | sort)
kernels=$(find kernels -name '*.cu' -o -name '*.h' | sort)
# This file itself holds the words that it looks for.
tests=$(find tests -type f -regex '.*\.\([cht]\|cpp\|cu\)' ! -name house.t | sort)
scripts=$(find scripts .ci slurm -type f | sort)
texts=$(find README.md CONTRIBUTING.md docs jobs completions -type f | sort)

none 'mpi.h is in src/rank*.c and their own header alone' \
    "$(grep -l '[<"]mpi\.h[>"]' $host $kernels | grep -v '^src/rank[a-z_]*\.c$' | grep -vx src/rank_own.h)"
none 'rank_own.h is for src/rank*.c alone' \
    "$(grep -l '"rank_own\.h"' $host | grep -v '^src/rank[a-z_]*\.c$')"
none "CUDA's headers are in src/device/cuda.c and kernels/on_cuda.h alone" \
    "$(grep -lE '[<"]cuda[a-z_]*\.h[>"]' $host $kernels | grep -vx -e src/device/cuda.c -e kernels/on_cuda.h)"
waits='Wait|Waitall|Waitany|Waitsome|Barrier|Send|Ssend|Bsend|Rsend|Recv|Mrecv|Sendrecv|Sendrecv_replace|Probe|Mprobe'
meets='Bcast|Reduce|Allreduce|Gatherv?|Allgatherv?|Scatterv?|Alltoall[vw]?|Scan|Exscan|Reduce_scatter|Reduce_scatter_block'
none 'no MPI call that blocks' "$(grep -nE "\<MPI_($waits|$meets)\>" $host)"
none 'no MPI-IO' "$(grep -nE '\<MPI_File_' $host)"
none 'MPI_Abort is called in one place' "$(grep -n '\<MPI_Abort *(' $host | sed 1d)"
none 'only the registry and the build ask for HAVE_CUDA' "$(grep -l HAVE_CUDA $host $kernels | grep -vx src/registry.c)"
none "kernels use the shim's words only" "$(grep -nE '\<(threadIdx|blockIdx|__syncthreads|__CUDACC__)\>' kernels/*.cu)"
none 'no flag that changes results' \
    "$(grep -nE -e '-ffast-math|-Ofast|-march=native|-use_fast_math' Makefile.am configure.ac m4/*.m4)"

# The order is the block of docs/how-it-works.md that begins with "main": a name includes its like, and what comes after it.
# src/x_y.c goes by x_y if that is there, else by x; headers beside a format or a device by the folder's name.
order=$(awk '/^```/ { on = 0 } $1 == "main" { on = 1 } on' docs/how-it-works.md | tr '\n' ' ')
none 'who includes whom: the order of docs/how-it-works.md' "$(awk -v order="$order" '
    BEGIN { n = split(order, word, " "); for (i = 1; i <= n; i++) if (word[i] == ">") level++; else place[word[i]] = level + 1 }
    function where(name) {
        if (name ~ /cudist\//) return place["cudist"]
        if (name ~ /format\//) return place["format"]
        if (name ~ /device\//) return place["device"]
        sub(/.*\//, "", name)
        sub(/\.[a-z]+$/, "", name)
        if (!(name in place)) sub(/_.*/, "", name)
        return place[name]
    }
    FNR == 1 && !where(FILENAME) { print FILENAME ": is not in the order" }
    /^#include "/ {
        split($0, part, "\"")
        name = part[2]
        if (name == "config.h" || name == "tables.inc" || name == "operators.inc") next
        if (FILENAME ~ /(format|device)\// && system("test -f src/format/" name " || test -f src/device/" name) == 0) next
        if (where(name) < where(FILENAME)) print FILENAME ":" FNR ": " $0
    }' $(echo "$host" | grep ^src/))"

listed() { grep -qE "(^|[ $tab=])$1([ $tab]|\$)" Makefile.am tables.am tests/*/rules.am; }
unlisted() { for f in "$@"; do listed "$f" || echo "$f"; done; }
none 'every source has its row in Makefile.am or tables.am' "$(unlisted $host $kernels)"
none 'every file of the tests has its row' \
    "$(unlisted $(find tests -type f ! -name '*.c' ! -name '*.cu' ! -name '*.pyc' ! -name rules.am)
    for f in tests/*.c tests/*/*.c; do listed "$f" || unlisted "${f%.c}.t"; done)"
none 'every script and text is distributed' "$(unlisted $scripts docs/* completions/*)"
none 'every kernel has its witness, tests/kernels/K.tsv or tests/unit/kernels_K.c' \
    "$(for f in kernels/*.cu; do
        k=$(basename "$f" .cu)
        [ -f "tests/kernels/$k.tsv" ] || [ -f "tests/unit/kernels_$k.c" ] || echo "$k"
    done)"

all="$host $kernels $tests $scripts Makefile.am tables.am configure.ac"
none 'files of at most 600 lines' "$(awk 'FNR == 601 { print FILENAME }' $all)"
none 'lines of at most 160 columns' "$(awk 'length($0) > 160 { print FILENAME ":" FNR ": " length($0) }' $all)"
none 'no marks of an unfinished merge' "$(grep -nE '^(<<<<<<<|>>>>>>>) ' $all ./*.md docs/* .ci/run m4/*.m4)"
none 'no tabs but in make files' "$(grep -n "$tab" $host $kernels $tests $scripts)"
none 'no blanks at the end of a line' "$(grep -nE ' $' $all $texts)"
macros='TH|SH|SS|TP|PP|RS|RE|br|B|I|BI|BR|IB|IR|RB|RI|\\"'
none 'what begins with a dot in the man page is a macro' \
    "$(grep -nE "^['.]" docs/cudist.1.in | grep -vE "^[0-9]+:\.($macros)( |\$)")"
none 'nothing is left for later' "$(grep -nwE 'TODO|FIXME|XXX' $all $texts)"
echo "1..$n"
exit $bad
