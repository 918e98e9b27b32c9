# What the scripts that test the whole program share: $cudist, a folder $there (removed at the end), `result`, `finish`.
cudist=${CUDIST:-./cudist}
case $cudist in
/*) ;;
*) cudist=$PWD/$cudist ;;
esac
for name in $(env | sed -n 's/^\(CUDIST_[A-Za-z0-9_]*\)=.*/\1/p'); do
    case $name in
    CUDIST_ISA | CUDIST_LIBS | CUDIST_STRICT) ;;
    *) unset "$name" ;;
    esac
done
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_rmaps_base_oversubscribe OMPI_MCA_mpi_yield_when_idle
there=$(mktemp -d) || exit 1
trap 'rm -rf "$there"' EXIT
n=0
bad=0

# CODE WHAT: the result of a test; where it is bad, with what was said in $there/out and $there/err.
result()
{
    n=$((n + 1))
    if [ "$1" = 0 ]; then
        echo "ok $n - $2"
        return
    fi
    bad=1
    echo "not ok $n - $2"
    head -5 "$there/out" | sed 's/^/# stdout: /'
    head -5 "$there/err" | sed 's/^/# stderr: /'
}

finish()
{
    echo "1..$n"
    exit $bad
}
