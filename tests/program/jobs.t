#!/bin/sh
# Every example works: those of jobs/, on the input that they name, and what --show-config makes of them, with the same result;
# and the commands of --help.
. "${srcdir:-.}/tests/program/whole.sh"
jobs=$(cd "${srcdir:-.}/jobs" && pwd) || exit 1
cd "$there" || exit 1
digest()
{
    sed -n 's/.*"digest": *"\([^"]*\)".*/\1/p' "$1"
}
for job in "$jobs"/*.job; do
    name=$(basename "$job" .job)
    # What a job says of its output is kept; the result goes to a file in each case.
    "$cudist" --job "$job" -d cpu -f --result "$name.json" > out 2> err && [ -n "$(digest "$name.json")" ]
    result $? "$name runs"
    "$cudist" --job "$job" -d cpu -f --result again.json --show-config > "$name.job" 2> err
    result $? "$name as --show-config shows it"
    "$cudist" --job "$name.job" > out 2> err && [ "$(digest again.json)" = "$(digest "$name.json")" ]
    result $? "$name as shown gives the same"
    rm -f again.json ./*.npy
done

# The commands of --help end at two blanks, where a remark follows.
mkdir bin
ln -s "$cudist" bin/cudist
PATH=$there/bin:$PATH
"$cudist" random:shape=1000x16,dist=normal -k copy -o in.npy -q > out 2> err && head -c 7840000 /dev/zero > images.bin
result $? 'inputs for the examples of --help'
"$cudist" --help | sed -n '/^Examples:/,/^$/s/^  \([^ ]\( \{0,1\}[^ ]\)*\).*/\1/p' > examples
[ "$(wc -l < examples)" -ge 4 ]
result $? '--help has examples'
while read -r command; do
    case $command in
    mpirun*)
        command -v ${MPIRUN:-mpirun} > /dev/null || continue
        command="${MPIRUN:-mpirun} ${command#mpirun}" ;;
    esac
    sh -c "$command" < /dev/null > out 2> err
    result $? "$command"
    rm -f in.out.npy*
done < examples
finish
