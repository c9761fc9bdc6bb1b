# SPDX-License-Identifier: BSD-3-Clause

# VERITY_NEED(WHAT, DEBIAN-PACKAGE)
# Ends configure with the name of the package that is missing.
AC_DEFUN([VERITY_NEED], [AC_MSG_ERROR([$1 not found. On Debian: apt-get install $2])])

# VERITY_LIBTOOL_CXX_DRIVER_LINK
# libtool links C++ libraries with -nostdlib and its own list of run-time libraries, which makes
# -static-libstdc++ and the sanitizers' run-time choice impossible. Let the compiler driver add them.
# (From libtool 2.6 on the flag is in $stdlibflag.)
AC_DEFUN([VERITY_LIBTOOL_CXX_DRIVER_LINK], [
  archive_cmds_CXX=`AS_ECHO(["$archive_cmds_CXX"]) | $SED 's/ -nostdlib / /g; s/ .stdlibflag / /g'`
  archive_expsym_cmds_CXX=`AS_ECHO(["$archive_expsym_cmds_CXX"]) | $SED 's/ -nostdlib / /g; s/ .stdlibflag / /g'`
  predep_objects_CXX=
  postdep_objects_CXX=
  predeps_CXX=
  postdeps_CXX=
])

# VERITY_TRY_FLAG(FLAG, VARIABLE): appends FLAG to VARIABLE when the C++ compiler takes it.
AC_DEFUN([VERITY_TRY_FLAG], [
  AC_LANG_PUSH([C++])
  AS_VAR_PUSHDEF([cache], [verity_cv_flag_$1])
  AC_CACHE_CHECK([whether $CXX takes $1], [cache], [
    verity_saved="$CXXFLAGS"
    CXXFLAGS="$CXXFLAGS -Werror $1"
    AC_LINK_IFELSE([AC_LANG_PROGRAM()], [AS_VAR_SET([cache], [yes])], [AS_VAR_SET([cache], [no])])
    CXXFLAGS="$verity_saved"])
  AS_VAR_IF([cache], [yes], [$2="[$]$2 $1"])
  AS_VAR_POPDEF([cache])
  AC_LANG_POP([C++])
])

# VERITY_CXX20: the GNU dialect, as UCX's headers use typeof.
AC_DEFUN([VERITY_CXX20], [
  VERITY_STD=
  VERITY_TRY_FLAG([-std=gnu++20], [VERITY_STD])
  AS_IF([test -z "$VERITY_STD"], [AC_MSG_ERROR([$CXX does not compile C++20. On Debian: apt-get install g++])])
  CXX="$CXX$VERITY_STD"
])

# VERITY_WARNINGS: sets VERITY_CFLAGS and VERITY_CXXFLAGS, used for every target.
AC_DEFUN([VERITY_WARNINGS], [
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [treat warnings as errors])],
                [], [enable_werror=no])
  VERITY_CFLAGS="-Wall -Wextra -Wshadow"
  AS_IF([test "$enable_werror" = yes], [VERITY_CFLAGS="$VERITY_CFLAGS -Werror"])
  VERITY_CFLAGS="$VERITY_CFLAGS -fvisibility=hidden"
  VERITY_CXXFLAGS="$VERITY_CFLAGS -fvisibility-inlines-hidden"
  # What a message runs through must fit in the processor's caches of instructions beside UCX and the MPI library: no gaps between branches,
  # and functions that share no line (test/bench/typecheck_cost shows it).
  VERITY_TRY_FLAG([-fno-align-jumps], [VERITY_CXXFLAGS])
  VERITY_TRY_FLAG([-fno-align-labels], [VERITY_CXXFLAGS])
  VERITY_TRY_FLAG([-fno-align-loops], [VERITY_CXXFLAGS])
  VERITY_TRY_FLAG([-falign-functions=64], [VERITY_CXXFLAGS])
  # Two counters of a frame next to each other are two instructions, or six when they are made a vector first. The kernels of src/merkle
  # name their vector instructions themselves.
  VERITY_TRY_FLAG([-fno-tree-slp-vectorize], [VERITY_CXXFLAGS])
  AC_SUBST([VERITY_CFLAGS])
  AC_SUBST([VERITY_CXXFLAGS])
])

# VERITY_SANITIZERS: --enable-sanitizers=address,undefined or thread.
AC_DEFUN([VERITY_SANITIZERS], [
  AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers=LIST], [address,undefined (the default list) or thread])],
    [], [enable_sanitizers=no])
  AS_CASE([$enable_sanitizers],
    [no], [verity_sanitizers=],
    [yes], [verity_sanitizers=address,undefined],
    [verity_sanitizers=$enable_sanitizers])
  AS_IF([test -n "$verity_sanitizers"], [
    verity_flags=
    VERITY_TRY_FLAG([-fsanitize=$verity_sanitizers], [verity_flags])
    AS_IF([test -z "$verity_flags"],
          [AC_MSG_ERROR([$CXX does not take -fsanitize=$verity_sanitizers])])
    verity_flags="-fsanitize=$verity_sanitizers -fno-omit-frame-pointer -fno-sanitize-recover=undefined"
    VERITY_CXXFLAGS="$VERITY_CXXFLAGS $verity_flags"
    # The preload takes no part: it must stay without dependencies.
    VERITY_SANITIZER_FLAGS="$verity_flags"])
  AC_SUBST([VERITY_SANITIZER_FLAGS])
  AC_SUBST([VERITY_SANITIZERS], [$verity_sanitizers])
  AM_CONDITIONAL([SANITIZERS], [test -n "$verity_sanitizers"])
])

# VERITY_FUZZERS: libFuzzer, which only clang has.
AC_DEFUN([VERITY_FUZZERS], [
  AC_ARG_ENABLE([fuzzers], [AS_HELP_STRING([--enable-fuzzers], [build the libFuzzer targets (needs clang)])],
                [], [enable_fuzzers=no])
  AS_IF([test "$enable_fuzzers" = yes], [
    AC_LANG_PUSH([C++])
    verity_saved="$CXXFLAGS"
    CXXFLAGS="$CXXFLAGS -fsanitize=fuzzer"
    AC_MSG_CHECKING([whether $CXX has libFuzzer])
    AC_LINK_IFELSE([AC_LANG_SOURCE([[
      #include <cstddef>
      #include <cstdint>
      extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t*, std::size_t) { return 0; }]])],
      [AC_MSG_RESULT([yes])],
      [AC_MSG_RESULT([no])
       AC_MSG_ERROR([--enable-fuzzers needs clang. On Debian: apt-get install clang libclang-rt-dev, then configure with CC=clang CXX=clang++])])
    CXXFLAGS="$verity_saved"
    AC_LANG_POP([C++])
    VERITY_CXXFLAGS="$VERITY_CXXFLAGS -fsanitize=fuzzer-no-link"
    FUZZ_LDFLAGS="-fsanitize=fuzzer"])
  AC_SUBST([FUZZ_LDFLAGS])
  AM_CONDITIONAL([FUZZERS], [test "$enable_fuzzers" = yes])
])
