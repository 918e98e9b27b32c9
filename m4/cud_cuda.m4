# CUD_CHECK_CUDA: --with-cuda[=DIR|no|yes]; default: the CUDA backend is built if nvcc works.  Asked for and not working is
# an error.
AC_DEFUN([CUD_CHECK_CUDA], [
AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda@<:@=DIR@:>@], [build the CUDA backend (default: if nvcc works)])],
            [], [with_cuda=guess])
AC_ARG_VAR([NVCC], [CUDA compiler])
AC_ARG_VAR([NVCCFLAGS], [flags for NVCC])
AC_ARG_VAR([GENCODE], [nvcc's -gencode options: which GPUs machine code is made for])
cud_have_cuda=no cud_with=
AS_IF([test "x$with_cuda" != xno], [
  cud_path=$PATH$PATH_SEPARATOR/usr/local/cuda/bin
  AS_CASE([$with_cuda], [/*], [cud_path=$with_cuda/bin])
  AC_PATH_PROG([NVCC], [nvcc], [], [$cud_path])
  AS_IF([test -n "$NVCC"], [
    # nvcc may be a link: the toolkit is where the program itself lies.
    cud_dir=`readlink -f "$NVCC"`
    cud_dir=`dirname "$cud_dir"`/..
    AS_IF([test -z "$GENCODE"], [CUD_GENCODE])
    AC_MSG_CHECKING([whether $NVCC compiles a kernel])
    cat > conftest.cu <<_ACEOF
__global__ void k(float *x) { x@<:@0@:>@ = 1; }
int main() { k<<<1, 1>>>(0); return 0; }
_ACEOF
    AS_IF([$NVCC $NVCCFLAGS $GENCODE -std=c++20 -c conftest.cu -o conftest.o >&AS_MESSAGE_LOG_FD 2>&1], [cud_have_cuda=yes])
    rm -f conftest.cu conftest.o
    AC_MSG_RESULT([$cud_have_cuda])])
  AS_IF([test $cud_have_cuda = no && test "x$with_cuda" != xguess],
        [AC_MSG_ERROR([--with-cuda was given, but nvcc does not work (see config.log); give --with-cuda=DIR with the toolkit's folder])])])
AS_IF([test $cud_have_cuda = yes], [
  cud_with=", cuda"
  AC_DEFINE([HAVE_CUDA], [1], [Define if the CUDA backend is built])
  cud_code=`AS_ECHO(["$GENCODE"]) | sed 's/arch=compute_@<:@0-9a-z@:>@*//g' | grep -oE '(sm|compute)_@<:@0-9a-z@:>@+' | tr '\n' ' '`
  AC_DEFINE_UNQUOTED([CUDA_CODE], ["$cud_code"], [The GPUs that code is made for: "sm_80 sm_90 compute_90"])
  AS_IF([test -f "$cud_dir/lib64/libcudart_static.a"], [cud_lib=$cud_dir/lib64], [cud_lib=$cud_dir/targets/x86_64-linux/lib])
  AC_SUBST([CUDA_LIBDIR], [$cud_lib])
  AC_SUBST([CUDA_LIBS], ["-L$cud_lib -lcudart_static -ldl -lrt -lpthread"])
  AC_SUBST([CUDA_CPPFLAGS], ["-isystem $cud_dir/include"])])
AM_CONDITIONAL([HAVE_CUDA], [test $cud_have_cuda = yes])
# Of tests only: the stand-in for cuBLASLt needs its header; kernels compiled at run time need NVRTC.
AC_SUBST([CUDA_INCLUDE], ["$cud_dir/include"])
AC_SUBST([CUDA_LIBDIR], ["$cud_lib"])
AM_CONDITIONAL([HAVE_NVRTC], [test $cud_have_cuda = yes && test -f "$cud_dir/include/nvrtc.h" && test -f "$cud_lib/libnvrtc.so"])
AM_CONDITIONAL([HAVE_CUBLASLT_H], [test $cud_have_cuda = yes && test -f "$cud_dir/include/cublasLt.h"])
# NCCL is opened at run time; its header is for the tests' stand-in.
AM_CONDITIONAL([HAVE_NCCL_H], [test $cud_have_cuda = yes && test -f "$cud_dir/include/nccl.h" -o -f /usr/include/nccl.h])
])

# Machine code for the data-centre GPUs of today that this nvcc knows, and PTX of the newest of them for those to come.
AC_DEFUN([CUD_GENCODE], [
cud_archs=`$NVCC --list-gpu-arch 2>/dev/null | sed -n 's/^compute_//p' | tr '\n' ' '`
cud_last=
for cud_a in 75 80 90 100; do
  AS_CASE([" $cud_archs "], [*" $cud_a "*], [GENCODE="$GENCODE -gencode arch=compute_$cud_a,code=sm_$cud_a"; cud_last=$cud_a])
done
AS_IF([test -n "$cud_last"], [GENCODE="$GENCODE -gencode arch=compute_$cud_last,code=compute_$cud_last"])
])
