#!/bin/sh
# The bash completion, word by word, as bash calls it.
command -v bash > /dev/null || { echo '1..0 # SKIP no bash'; exit 0; }
cudist=${CUDIST:-./cudist}
export CUDIST_TEST_PROGRAM="$cudist"
exec bash -s "${srcdir:-.}/completions/cudist" << 'END'
. "$1" || { echo 'Bail out! the completion does not load'; exit 1; }
n=0 bad=0
# WANT WORD...: what is offered at the last WORD.
offers()
{
    local want=$1
    shift
    COMP_WORDS=("$CUDIST_TEST_PROGRAM" "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _cudist 2>/dev/null
    n=$((n + 1))
    if [[ "${COMPREPLY[*]}" == "$want" ]]; then
        echo "ok $n - $*"
    else
        bad=1
        echo "not ok $n - $*"
        echo "# offered: ${COMPREPLY[*]}"
        echo "# wanted:  $want"
    fi
}
cd "$(dirname "$CUDIST_TEST_PROGRAM")" || exit 1
CUDIST_TEST_PROGRAM=./$(basename "$CUDIST_TEST_PROGRAM")
there=$(mktemp -d)
trap 'rm -rf "$there"' EXIT
touch "$there/a file.npy" "$there/b.npy"
offers '--window' --win
offers '--shape --share-gpus --show-config' --s
offers '--share-gpus' in.npy --shar
offers 'auto direct root' --write ''
offers 'direct' --write d
offers 'auto direct root' --write =
offers 'root' --write = r
offers 'auto cpu cuda' -d ''
offers 'bool bf16' -f --out-dtype b
offers 'softmax' -k softm
offers 'scale' --kernel sca
offers '' --window ''
offers "$there/a file.npy" -f "$there/a"
offers "$there/b.npy" -o "$there/b"
offers 'random:shape=' random:s
echo "1..$n"
exit $bad
END
