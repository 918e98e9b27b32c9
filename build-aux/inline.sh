#!/bin/sh
# Writes a header, and what it includes with quotes, as one array of characters: what is compiled while running begins with it.
# Files for the host (cudist/...) and for the CPU (on_cpu.h), and the system's, are left out.
# usage: inline.sh ARRAY FILE
inline()
{
    case " $seen " in *" $1 "*) return ;; esac
    seen="$seen $1"
    while IFS= read -r line; do
        case $line in
        '#include "cudist/'* | '#include "on_cpu.h"' | '#include <'*) ;;
        '#include "'*)
            name=${line#*\"}
            inline "$(cd "$(dirname "$1")/$(dirname "${name%\"*}")" && pwd)/$(basename "${name%\"*}")" ;;
        *) printf '%s\n' "$line" ;;
        esac
    done < "$1"
}
seen=
echo "static const char $1[] = {"
inline "$(cd "$(dirname "$2")" && pwd)/$(basename "$2")" | od -An -v -t d1 | sed 's/\([0-9]\) /\1,/g; s/$/,/'
echo "    0};"
