#!/bin/sh
# What needs no ranks, as a user sees it: texts on stdout with code 0, errors as one line on stderr with code 2.
. "${srcdir:-.}/tests/program/whole.sh"
run()
{
    "$cudist" "$@" > "$there/out" 2> "$there/err" < /dev/null
    code=$?
}
# WORD OPTION...: a text with WORD on stdout, nothing on stderr.
tells()
{
    word=$1
    shift
    run "$@"
    [ "$code" = 0 ] && [ ! -s "$there/err" ] && grep -qe "$word" "$there/out"
    result $? "cudist $*"
}
# LINE OPTION...: that line alone on stderr, nothing on stdout, code 2.
refuses()
{
    line=$1
    shift
    run "$@"
    [ "$code" = 2 ] && [ ! -s "$there/out" ] && [ "$(wc -l < "$there/err")" -eq 1 ] && grep -qxe "$line" "$there/err"
    result $? "cudist $*"
}
tells '^Usage: cudist' --help
tells '^Usage: cudist' -h --no-such-option
tells '^cudist [0-9]' --version
tells '^cudist [0-9]' -V
tells '^scale  ' --list-kernels
tells '^window = 3M ' -w 3M --show-config
tells '^# batch = ' --show-config
tells 'f32' --info random:shape=3x4
refuses 'cudist: no INPUT: .*'
refuses "cudist: unknown option '--windw'; did you mean --window?" in.npy --windw 3M
refuses "cudist: --window '3X': not a size.*" in.npy -w 3X
refuses "cudist: --write 'dirct': must be auto, direct or root; did you mean direct?" in.npy --write dirct
refuses "cudist: job file /no/such.job: No such file or directory" --job /no/such.job
printf 'windw = 3M\n' > "$there/x.job"
refuses "cudist: $there/x.job:1: unknown option 'windw'; did you mean window?" --job "$there/x.job"
CUDIST_WINDWO=3M
export CUDIST_WINDWO
refuses 'cudist: environment variable CUDIST_WINDWO is no option of cudist; did you mean CUDIST_WINDOW?' in.npy
unset CUDIST_WINDWO
if [ -w /dev/full ]; then
    "$cudist" --help > /dev/full 2> "$there/err"
    code=$?
    : > "$there/out"
    [ "$code" = 1 ] && [ "$(wc -l < "$there/err")" -eq 1 ]
    result $? 'cudist --help > /dev/full'
fi
# With several ranks all of this is said once.
mpirun=${MPIRUN:-mpirun}
if command -v $mpirun > /dev/null; then
    $mpirun -np 3 "$cudist" --version > "$there/out" 2> "$there/err"
    code=$?
    [ "$code" = 0 ] && [ "$(wc -l < "$there/out")" -eq 1 ]
    result $? 'mpirun cudist --version'
    $mpirun -np 3 "$cudist" --windw > "$there/out" 2> "$there/err"
    code=$?
    [ "$code" = 2 ] && [ "$(grep -c '^cudist: ' "$there/err")" -eq 1 ]
    result $? 'mpirun cudist --windw'
fi
finish
