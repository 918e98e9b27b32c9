#!/bin/sh
# man.sh CUDIST TEMPLATE: the man page, with the options, kernels and formats that the program itself tells of.
set -eu
LC_ALL=C
export LC_ALL
cudist=$1
template=$2
for name in $(env | sed -n 's/^\(CUDIST_[A-Za-z0-9_]*\)=.*/\1/p'); do
    unset "$name"
done
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$cudist" --help > "$tmp/help"
"$cudist" --list-kernels > "$tmp/kernels"
version=$("$cudist" --version | sed 's/.* //')

cat > "$tmp/roff.awk" <<'END'
# Entries are a term, two blanks or more, and a text that goes on in lines indented as far as it starts.
function roff(s) {
    gsub(/\\/, "\\e", s)
    gsub(/-/, "\\-", s)
    sub(/^[.']/, "\\\\\\&&", s)
    return s
}
# -k, --kernel NAME: options bold, what they take italic.
function term(s,    word, n, i, font, out) {
    n = split(s, word, " ")
    for (i = 1; i <= n; i++) {
        font = word[i] == "=" ? "R" : word[i] ~ /^-/ || i == 1 ? "B" : "I"
        out = out (i > 1 ? " " : "") "\\f" font roff(word[i]) "\\fR"
    }
    return out
}
function flush() {
    if (name != "")
        printf ".TP\n%s\n%s\n", term(name), roff(text)
    name = text = ""
}
function entry(line, column) {
    flush()
    name = substr(line, 1, column - 1)
    text = substr(line, column)
    if (length(line) >= column && name !~ / $/) {       # a long term has a line to itself
        name = line
        text = ""
    }
    gsub(/^ +| +$/, "", name)
}
function more(line) {
    sub(/^ +/, "", line)
    text = text (text == "" || text ~ /=,$/ ? "" : " ") line     # a word cut at a comma
}
END
cat > "$tmp/options.awk" <<'END'
/^Kernels:/ { flush(); exit }
/^[A-Z].*:$/ && !/Formats:$/ { flush(); on = 1; sub(/:$/, ""); printf ".SS %s\n", roff($0); next }
!on || /^$/ { next }
/^ ? ? ? ? ? ?[^ ]/ { entry($0, 27); next }
{ more($0) }
END
cat > "$tmp/formats.awk" <<'END'
/Formats:$/ { on = 1; next }
on && /^$/ { flush(); exit }
on && /^  [^ ]/ { entry($0, 17); next }
on { more($0) }
END
cat > "$tmp/kernels.awk" <<'END'
function close_params() { if (inside) print ".RE"; inside = 0 }
/^[^ ]/ { flush(); close_params(); entry($0, 25); next }
/^    [^ ]/ { flush(); if (!inside) print ".RS"; inside = 1; entry($0, 25); next }
{ more($0) }
END { flush(); close_params() }
END
for part in options formats kernels; do
    input=$tmp/help
    test $part = kernels && input=$tmp/kernels
    awk -f "$tmp/roff.awk" -f "$tmp/$part.awk" "$input" > "$tmp/$part.roff"
    test -s "$tmp/$part.roff" || { echo "man.sh: no $part in the output of $cudist" >&2; exit 1; }
done
sed -e "s/@VERSION@/$version/" -e 's/@GENERATED@/Made by build-aux\/man.sh from docs\/cudist.1.in and cudist --help./' \
    -e "/^@OPTIONS@/{r $tmp/options.roff
d
}" -e "/^@FORMATS@/{r $tmp/formats.roff
d
}" -e "/^@KERNELS@/{r $tmp/kernels.roff
d
}" "$template"
