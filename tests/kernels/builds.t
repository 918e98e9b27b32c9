#!/bin/sh
# The kernels give the same bytes from every compiler at every level: compiles them all, takes minutes, long set only.
[ "$CUDIST_TEST_SET" = long ] || { echo "1..0 # SKIP in make check-long only"; exit 0; }
src=$(cd "${srcdir:-.}" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
kernels=$(sed -n 's|^KERNELS += kernels/\(.*\)\.cu$|\1|p' "$src/tables.am")
host="$src/src/err.c $src/src/number.c $src/src/text.c $src/src/type.c"
n=0 want= first=

# compile CXX FLAGS SUFFIX FILE
compile() {
    $1 -x c++ -std=c++20 -fno-exceptions -fno-rtti -ffp-contract=off -fno-math-errno -w $2 -DCUD_SUFFIX=$3 -I"$src/include" \
        -I"$src/kernels" -c "$src/$4.cu" -o "$work/${4##*/}.o"
}

# build CXX FLAGS SUFFIX: makes $work/bytes; what it prints in $work/got
build() {
    rm -f "$work"/*.o
    compile "$1" "$2" "$3" kernels/convert &      # the one that takes longest
    for k in $kernels; do
        [ $k = convert ] || compile "$1" "$2" "$3" kernels/$k || return 1
    done
    compile "$1" "$2" "$3" tests/kernels/functions || return 1
    wait $! || return 1
    sh "$src/build-aux/tables.sh" kernels cud_kernel _$3 $kernels functions > "$work/tables.inc" || return 1
    ${CC:-cc} -std=c17 -D_GNU_SOURCE -w -O1 -ffp-contract=off -I"$work" -I"$src/include" "$src/tests/kernels/bytes.c" $host \
        "$work"/*.o -lm -o "$work/bytes" || return 1
    "$work/bytes" large > "$work/got" || return 1
}

# check CXX FLAGS SUFFIX
check() {
    n=$((n + 1))
    if ! build "$1" "$2" "$3"; then
        echo "not ok $n - $1 $2 $3: does not build or run"
    elif [ -z "$first" ]; then
        first="$1 $2 $3"
        cp "$work/got" "$work/want"
        echo "ok $n - $first: $(wc -l < "$work/want") cases"
    elif cmp -s "$work/want" "$work/got"; then
        echo "ok $n - $1 $2 $3: the same bytes"
    else
        diff "$work/want" "$work/got" | grep '^>' | head -n 5 | sed 's/^>/# other bytes:/'
        echo "not ok $n - $1 $2 $3: the same bytes"
    fi
}

levels=
case $(uname -m) in
x86_64)
    grep -q '^flags.* avx2 ' /proc/cpuinfo && levels="-march=x86-64-v3"
    grep -q '^flags.* avx512vl' /proc/cpuinfo && grep -q '^flags.* avx512dq' /proc/cpuinfo && levels="$levels -march=x86-64-v4"
    ;;
esac
for cxx in g++ clang++; do
    command -v $cxx > /dev/null || continue
    for o in -O0 -O2 -O3; do
        check $cxx $o cpu_v1
    done
    check $cxx "-O3 -DCUD_LANES_BACKWARDS" cpu_rev
    for level in $levels; do
        check $cxx "-O3 $level" cpu_v3
    done
done
echo "1..$n"
