#!/bin/sh
# Writes the C side of one list of tables.am: a NULL-terminated array of the structs that the files export.
# usage: tables.sh ARRAY TYPE SUFFIX FILE...
#   tables.sh kernels_cuda cud_kernel _cuda kernels/relu.cu   makes   extern const struct cud_kernel cud_kernel_relu_cuda; ...
array=$1 type=$2 suffix=$3
shift 3
for f in "$@"; do n=${f##*/}; echo "extern const struct $type ${type}_${n%.*}$suffix;"; done
echo "static const struct $type *const $array[] = {"
for f in "$@"; do n=${f##*/}; echo "    &${type}_${n%.*}$suffix,"; done
echo "    NULL"
echo "};"
