#!/bin/sh
# make installcheck: what was installed is all there, and does a job from where it is.
# usage: installed.sh VERSION BINDIR MANDIR JOBSDIR SLURMDIR COMPLETIONDIR MODULEDIR, each with DESTDIR before it
set -u
version=$1 bin=$2 man=$3 jobs=$4 slurm=$5 completion=$6 module=$7
there=$(mktemp -d) || exit 1
trap 'rm -rf "$there"' EXIT
bad=0

check() {                                  # WHAT COMMAND...
    what=$1
    shift
    if "$@" > "$there/out" 2>&1; then
        echo "installcheck: $what"
    else
        echo "installcheck: not $what:" >&2
        cat "$there/out" >&2
        bad=1
    fi
}

says_version() { [ "$("$bin/cudist" --version | sed -n '1s/.* //p')" = "$version" ]; }
runs_job() {
    cd "$there" && "$bin/cudist" -q random:shape=1000x784,dtype=f32 -k copy -o in.npy && "$bin/cudist" -q in.npy -k softmax -o out.npy &&
        [ "$(wc -c < out.npy)" = 3136128 ]
}
job_files() { for file in "$jobs"/*.job; do [ -s "$file" ] || return; done; }
batch_files() { for file in "$slurm"/*.sbatch; do bash -n "$file" || return; done; }
module_loads() {                           # Environment Modules, where they are
    cp "$module/$version" "$there/cudist" && eval "$("$modulecmd" sh load "$there/cudist")" &&
        case :$PATH: in *:"${bin#"$DESTDIR"}":*) ;; *) return 1 ;; esac
}

check "the program says its version" says_version
check "the program does a job" runs_job
check "the man page is there" grep -q '^.TH CUDIST' "$man/man1/cudist.1"
check "job files are there" job_files
check "batch files are there" batch_files
check "bash takes the completion" bash -n "$completion/cudist"
check "the modulefile names the program's folder" grep -qxF "prepend-path PATH ${bin#"$DESTDIR"}" "$module/$version"
for modulecmd in /usr/lib/x86_64-linux-gnu/modulecmd.tcl /usr/share/modules/libexec/modulecmd.tcl; do
    [ -x $modulecmd ] && check "the module loads" module_loads
done
exit $bad
