# CUD_CHECK_ISA: which instruction sets kernels are compiled for.  x86-64 and two more of its levels on such a machine whose
# compiler knows them; else one build for what the compiler makes by default.
AC_DEFUN([CUD_CHECK_ISA], [
AC_LANG_PUSH([C++])
cud_isas=base cud_levels=no
AS_CASE([$host_cpu], [x86_64], [
  AC_MSG_CHECKING([whether $CXX knows -march=x86-64-v4])
  cud_save=$CXXFLAGS
  CXXFLAGS="-march=x86-64-v4"
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])], [cud_levels=yes cud_isas="x86-64 x86-64-v3 x86-64-v4"])
  CXXFLAGS=$cud_save
  AC_MSG_RESULT([$cud_levels])])
AC_LANG_POP([C++])
AS_IF([test $cud_levels = yes], [AC_DEFINE([HAVE_X86_LEVELS], [1], [Define if kernels are compiled for x86-64-v3 and -v4 too])])
AM_CONDITIONAL([HAVE_X86_LEVELS], [test $cud_levels = yes])
])

# CUD_CHECK_MPI: the flags of mpicc, so that CC stays the user's.
AC_DEFUN([CUD_CHECK_MPI], [
AC_ARG_VAR([MPICC], [MPI's compiler wrapper, asked for its flags (default: mpicc)])
AC_ARG_VAR([MPI_CFLAGS], [compiler flags for MPI, instead of asking MPICC])
AC_ARG_VAR([MPI_LIBS], [linker flags for MPI, instead of asking MPICC])
AC_PATH_PROGS([MPICC], [${MPICC:-mpicc}], [no])
AS_IF([test -z "$MPI_LIBS"], [
  AS_IF([test "$MPICC" = no], [AC_MSG_ERROR([no mpicc: install Open MPI with its headers (Debian: libopenmpi-dev), or set MPICC])])
  AS_IF([MPI_CFLAGS=`$MPICC --showme:compile 2>/dev/null`], [MPI_LIBS=`$MPICC --showme:link`],
    [for word in `$MPICC -show | sed 's/^@<:@^ @:>@* *//'`; do     # MPICH's: the whole command of compiling and linking
       AS_CASE([$word], [-l* | -L* | -Wl,*], [MPI_LIBS="$MPI_LIBS $word"], [MPI_CFLAGS="$MPI_CFLAGS $word"])
     done])])
cud_save_CPPFLAGS=$CPPFLAGS cud_save_LIBS=$LIBS
CPPFLAGS="$CPPFLAGS $MPI_CFLAGS" LIBS="$MPI_LIBS $LIBS"
AC_MSG_CHECKING([whether an MPI program links])
AC_LINK_IFELSE([AC_LANG_PROGRAM([@%:@include <mpi.h>], [MPI_Init(0, 0)])], [AC_MSG_RESULT([yes])],
  [AC_MSG_RESULT([no]); AC_MSG_ERROR([MPI does not link (see config.log); set MPICC, or MPI_CFLAGS and MPI_LIBS])])
CPPFLAGS=$cud_save_CPPFLAGS LIBS=$cud_save_LIBS
])

# CUD_NEED_LIB(HEADER, FUNCTION, LIBRARY, DEBIAN PACKAGE)
AC_DEFUN([CUD_NEED_LIB], [
AC_CHECK_HEADER([$1], [], [AC_MSG_ERROR([$1 is missing: install it (Debian: $4)])])
AC_SEARCH_LIBS([$2], [$3], [], [AC_MSG_ERROR([lib$3 is missing: install it (Debian: $4)])])
])

# CUD_WANT_LIB(NAME, HEADER, FUNCTION, DEBIAN PACKAGE, WHAT IT IS FOR): --with-NAME; by default taken where it is.  NAME is the library's
# too; HAVE_NAME.
AC_DEFUN([CUD_WANT_LIB], [
AC_ARG_WITH([$1], [AS_HELP_STRING([--without-$1], [do without lib$1: $5])], [], [with_$1=guess])
cud_have_$1=no
AS_IF([test "x$with_$1" != xno], [
  AC_CHECK_HEADER([$2], [AC_SEARCH_LIBS([$3], [$1], [cud_have_$1=yes])])
  AS_IF([test $cud_have_$1$with_$1 = noguess], [AC_MSG_NOTICE([lib$1 (Debian: $4) is not there; it goes without: $5])],
    [test $cud_have_$1 = no], [AC_MSG_ERROR([--with-$1 was given, but lib$1 is not there: install it (Debian: $4)])])])
AS_IF([test $cud_have_$1 = yes], [AC_DEFINE(AS_TR_CPP([HAVE_$1]), [1], [Define if lib$1 is used])])
])

AC_DEFUN([CUD_CHECK_SANITIZE], [
AC_ARG_ENABLE([sanitize], [AS_HELP_STRING([--enable-sanitize@<:@=LIST@:>@], [build with sanitizers (default list: address,undefined)])],
  [], [enable_sanitize=no])
AS_CASE([$enable_sanitize], [no], [SANITIZE=], [yes], [SANITIZE="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"],
  [SANITIZE="-fsanitize=$enable_sanitize -fno-omit-frame-pointer"])
AC_SUBST([SANITIZE])
])

AC_DEFUN([CUD_CHECK_WERROR], [
AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [warnings are errors])], [], [enable_werror=no])
AS_IF([test "x$enable_werror" = xyes], [WERROR=-Werror])
AC_SUBST([WERROR])
])
