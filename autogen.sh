#!/bin/sh
# Makes configure and Makefile.in.  Needs autoconf, automake.
cd "$(dirname "$0")" && exec autoreconf --install --warnings=all,no-portability "$@"
