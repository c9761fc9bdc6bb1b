# SPDX-License-Identifier: BSD-3-Clause

# VERITY_UCX: the installed UCX, by pkg-config; --with-ucx=PREFIX for a private one.
# Sets UCX_CPPFLAGS, UCX_LIBS, UCX_INFO, VERITY_UCX_VERSION, VERITY_UCX_PREFIX.
AC_DEFUN([VERITY_UCX], [
  AC_ARG_WITH([ucx], [AS_HELP_STRING([--with-ucx=PREFIX], [UCX installed under PREFIX instead of the system's])],
              [], [with_ucx=yes])
  AS_CASE([$with_ucx],
    [no], [AC_MSG_ERROR([ucx-verity is a UCX plugin: --without-ucx makes no sense])],
    [yes], [],
    [/*], [
      verity_pc=
      for verity_dir in "$with_ucx"/lib*/pkgconfig "$with_ucx"/lib/*/pkgconfig; do
        AS_IF([test -f "$verity_dir/ucx.pc"], [verity_pc="$verity_dir"])
      done
      AS_IF([test -z "$verity_pc"], [AC_MSG_ERROR([no ucx.pc below $with_ucx])])
      PKG_CONFIG_PATH="$verity_pc${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
      export PKG_CONFIG_PATH],
    [AC_MSG_ERROR([--with-ucx needs an absolute path])])
  PKG_CHECK_MODULES([UCX], [ucx >= 1.13], [], [VERITY_NEED([UCX 1.13 or newer (ucx.pc)], [libucx-dev ucx-utils])])
  UCX_CPPFLAGS="$UCX_CFLAGS"
  PKG_CHECK_VAR([VERITY_UCX_PREFIX], [ucx], [prefix])
  PKG_CHECK_VAR([verity_ucx_libdir], [ucx], [libdir])
  # The command asks the UCX it was built for, wherever that is; LD_LIBRARY_PATH still goes first.
  AS_CASE([$with_ucx], [/*], [UCX_LIBS="$UCX_LIBS -R$verity_ucx_libdir"])
  # That of another UCX would tell how that one was built.
  AS_CASE([$with_ucx], [/*], [verity_info_path=$VERITY_UCX_PREFIX/bin], [verity_info_path=$VERITY_UCX_PREFIX/bin:$PATH])
  AC_PATH_PROG([UCX_INFO], [ucx_info], [], [$verity_info_path])
  AS_IF([test -z "$UCX_INFO"], [VERITY_NEED([ucx_info (in $verity_info_path)], [ucx-utils])])
  # ucx_info speaks for the library it runs with, so this is the run-time version, not a header's.
  verity_run_ucx="env LD_LIBRARY_PATH=$verity_ucx_libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} $UCX_INFO"
  AC_MSG_CHECKING([for the version of the installed UCX])
  VERITY_UCX_VERSION=`$verity_run_ucx -v | $SED -n 's/^# *\(Library version:\|Version\) *\(@<:@0-9@:>@@<:@0-9.@:>@*\).*/\2/p' | $SED 1q`
  AC_MSG_RESULT([$VERITY_UCX_VERSION])
  AS_IF([test -z "$VERITY_UCX_VERSION"], [AC_MSG_ERROR([$UCX_INFO -v names no version])])
  # What differs between releases is in src/uct/compat: a release is admitted here when that folder has it.
  AS_CASE([$VERITY_UCX_VERSION], [1.1@<:@3-9@:>@|1.1@<:@3-9@:>@.*|1.2@<:@0-3@:>@|1.2@<:@0-3@:>@.*], [],
    [AC_MSG_ERROR([UCX $VERITY_UCX_VERSION is installed: this release of ucx-verity is for UCX 1.13 to 1.23.
Give the prefix of one of these with --with-ucx=PREFIX; src/uct/compat/README.md tells how a release is admitted.])])
  AC_SUBST([UCX_CPPFLAGS])
  AC_SUBST([VERITY_UCX_VERSION])
  AC_DEFINE_UNQUOTED([VERITY_UCX_VERSION], ["$VERITY_UCX_VERSION"], [UCX version this build is for.])
  AC_DEFINE_UNQUOTED([VERITY_UCX_MAJOR], [`AS_ECHO(["$VERITY_UCX_VERSION"]) | cut -d. -f1`], [Its major number.])
  AC_DEFINE_UNQUOTED([VERITY_UCX_MINOR], [`AS_ECHO(["$VERITY_UCX_VERSION"]) | cut -d. -f2`], [Its minor number.])
  AC_DEFINE_UNQUOTED([VERITY_UCX_PATCH], [`AS_ECHO(["$VERITY_UCX_VERSION"]) | cut -d. -f3`], [Its release number.])
])

# VERITY_UCX_INTERNALS: what a transport needs to know of UCX besides the installed headers, which src/uct/compat/internal
# declares: those headers are there and of the library's release, and how that library was built. After VERITY_UCX.
# Sets UCX_INTERNAL_CPPFLAGS.
AC_DEFUN([VERITY_UCX_INTERNALS], [
  # As system headers: their warnings are not ours.
  UCX_INTERNAL_CPPFLAGS=`AS_ECHO([" $UCX_CPPFLAGS"]) | $SED 's/ -I */ -isystem /g'`
  AC_SUBST([UCX_INTERNAL_CPPFLAGS])
  AC_MSG_CHECKING([for the headers of UCX $VERITY_UCX_VERSION])
  verity_saved=$CPPFLAGS
  CPPFLAGS="$CPPFLAGS $UCX_INTERNAL_CPPFLAGS"
  AC_PREPROC_IFELSE([AC_LANG_SOURCE([[
      #include <ucs/async/async_fwd.h>
      #include <ucs/config/parser.h>
      #include <ucs/debug/log_def.h>
      #include <ucs/type/class.h>
      #include <ucs/type/spinlock.h>
      #include <uct/api/uct.h>]])],
    [], [AC_MSG_RESULT([no])
    VERITY_NEED([headers of UCX, uct/api/uct.h and ucs/type/class.h among them], [libucx-dev])])
  AC_PREPROC_IFELSE([AC_LANG_SOURCE([[
      #include <uct/api/version.h>
      #if UCT_VERNO_MAJOR != VERITY_UCX_MAJOR || UCT_VERNO_MINOR != VERITY_UCX_MINOR || UCT_VERNO_PATCH != VERITY_UCX_PATCH
      #error other headers
      #endif]])],
    [], [AC_MSG_RESULT([no])
    AC_MSG_ERROR([the headers of UCX are not those of the library, which is $VERITY_UCX_VERSION by $UCX_INFO.
Give the prefix of the UCX to build for with --with-ucx=PREFIX.])])
  CPPFLAGS=$verity_saved
  AC_MSG_RESULT([yes])

  # What the library was compiled with: part of it decides the layout of its structures.
  AC_MSG_CHECKING([how UCX was built])
  $verity_run_ucx -b > conftest.ucx 2> /dev/null
  AS_IF([grep -q '^#define HAVE_ALLOCA' conftest.ucx], [], [AC_MSG_RESULT([unknown])
    AC_MSG_ERROR([$UCX_INFO -b prints no configuration: the one that belongs to this UCX is needed (ucx-utils)])])
  verity_assertions=`grep -c '^#define ENABLE_ASSERT ' conftest.ucx`
  verity_statistics=`grep -c '^#define ENABLE_STATS ' conftest.ucx`
  verity_log_level=`$SED -n 's/^#define UCS_MAX_LOG_LEVEL  *//p' conftest.ucx`
  rm -f conftest.ucx
  AC_MSG_RESULT([assertions $verity_assertions, statistics $verity_statistics, ${verity_log_level:=UCS_LOG_LEVEL_LAST}])
  AC_DEFINE_UNQUOTED([VERITY_UCX_ASSERTIONS], [$verity_assertions], [1: UCX was built with assertions.])
  AC_DEFINE_UNQUOTED([VERITY_UCX_STATISTICS], [$verity_statistics], [1: UCX was built with statistics.])
  AC_DEFINE_UNQUOTED([VERITY_UCX_MAX_LOG_LEVEL], [$verity_log_level], [Messages of a higher level are not compiled.])
])

# VERITY_UCX_SOURCE: a source tree of UCX that src/uct/compat/internal is compared with. Not needed to build.
# Sets UCX_SOURCE; empty: none.
AC_DEFUN([VERITY_UCX_SOURCE], [
  AC_ARG_WITH([ucx-source],
    [AS_HELP_STRING([--with-ucx-source=DIR], [compare what the plugin knows of UCX with the source of the installed release])],
    [], [with_ucx_source=no])
  AS_CASE([$with_ucx_source],
    [no], [UCX_SOURCE=],
    [yes], [AC_MSG_ERROR([--with-ucx-source needs a folder])],
    [/*], [UCX_SOURCE="$with_ucx_source"],
    [UCX_SOURCE="`pwd`/$with_ucx_source"])
  AC_SUBST([UCX_SOURCE])
  AS_IF([test -n "$UCX_SOURCE"], [
    AC_MSG_CHECKING([the structures of UCX $VERITY_UCX_VERSION in $UCX_SOURCE])
    AS_IF([test ! -f "$UCX_SOURCE/src/uct/base/uct_iface.h"], [
      AC_MSG_RESULT([no])
      AC_MSG_ERROR([no UCX source at $UCX_SOURCE])])
    verity_source_version=`"$srcdir/contrib/build-aux/ucx-source-version" "$UCX_SOURCE"`
    AS_IF([test "$verity_source_version" != "$VERITY_UCX_VERSION"], [
      AC_MSG_RESULT([no])
      AC_MSG_ERROR([the source at $UCX_SOURCE is UCX $verity_source_version, but UCX $VERITY_UCX_VERSION is installed])])
    AS_IF([CXX="$CXX" "$srcdir/contrib/check-ucx-layout" "$UCX_SOURCE" > conftest.layout 2>&1],
      [AC_MSG_RESULT([as known])],
      [AC_MSG_RESULT([different])
      cat conftest.layout >&2
      rm -f conftest.layout
      AC_MSG_ERROR([the structures of $UCX_SOURCE are not as src/uct/compat/internal declares them])])
    rm -f conftest.layout])
])

# VERITY_XXHASH: headers only (XXH_INLINE_ALL), so nothing is linked.
AC_DEFUN([VERITY_XXHASH], [
  PKG_CHECK_MODULES([XXHASH], [libxxhash >= 0.8.1], [],
                    [VERITY_NEED([xxHash 0.8.1 or newer], [libxxhash-dev])])
])

# VERITY_HEADER_LIBS: the command-line and JSON libraries of the ucx-verity command, headers only.
AC_DEFUN([VERITY_HEADER_LIBS], [
  PKG_CHECK_MODULES([CLI11], [CLI11 >= 2.0], [], [VERITY_NEED([CLI11], [libcli11-dev])])
  PKG_CHECK_MODULES([JSON], [nlohmann_json >= 3.9], [],
                    [VERITY_NEED([the JSON library of nlohmann], [nlohmann-json3-dev])])
])

# VERITY_GTEST: for `make check`; --without-gtest to build without it.
AC_DEFUN([VERITY_GTEST], [
  AC_ARG_WITH([gtest], [AS_HELP_STRING([--without-gtest], [no unit tests])], [], [with_gtest=yes])
  verity_have_gtest=no
  AS_IF([test "$with_gtest" != no], [
    PKG_CHECK_MODULES([GTEST], [gtest >= 1.12], [verity_have_gtest=yes],
      [VERITY_NEED([GoogleTest (or give --without-gtest)], [libgtest-dev])])])
  AM_CONDITIONAL([GTEST], [test "$verity_have_gtest" = yes])
])

# VERITY_MPI: Open MPI's compiler, for tests and the benchmark only.
# --with-mpi=PREFIX or --with-mpi demand it, --without-mpi leaves it out, the default takes it if there.
AC_DEFUN([VERITY_MPI], [
  AC_ARG_WITH([mpi], [AS_HELP_STRING([--with-mpi@<:@=PREFIX@:>@], [MPI compiler for the tests (default: if there)])],
              [], [with_mpi=check])
  AC_ARG_VAR([MPICC], [MPI C compiler])
  AS_CASE([$with_mpi],
    [no], [MPICC=],
    [yes|check], [AC_PATH_PROGS([MPICC], [mpicc.openmpi mpicc])],
    [AC_PATH_PROG([MPICC], [mpicc], [], [$with_mpi/bin])])
  AS_IF([test -z "$MPICC" && test "$with_mpi" != no && test "$with_mpi" != check],
        [VERITY_NEED([mpicc], [libopenmpi-dev openmpi-bin])])
  AM_CONDITIONAL([MPI], [test -n "$MPICC"])
])

# VERITY_MPI_COMPANIONS: the MPI libraries whose calls libverity_mpi_* wraps, told by their compilers: only their headers are used.
# Sets OPENMPI_CPPFLAGS and MPICH_CPPFLAGS, and the conditionals OPENMPI_COMPANION and MPICH_COMPANION. After VERITY_MPI.
AC_DEFUN([VERITY_MPI_COMPANIONS], [
  VERITY_MPI_HEADER([OPENMPI], [OPEN_MPI], [$MPICC mpicc.openmpi mpicc])
  VERITY_MPI_HEADER([MPICH], [MPICH_VERSION], [mpicc.mpich $MPICC mpicc])
])

# VERITY_MPI_HEADER(PREFIX, MACRO, COMPILERS): the first compiler whose mpi.h defines the macro.
AC_DEFUN([VERITY_MPI_HEADER], [
  AC_MSG_CHECKING([for the header of an MPI with $2])
  $1_CPPFLAGS= verity_found=no
  AS_IF([test "$with_mpi" != no], [
    for verity_mpicc in $3; do
      # Both -show a command line; its include folders are system headers to us.
      verity_includes=`$verity_mpicc -show 2> /dev/null | tr ' ' '\n' | $SED -n 's/^-I/-isystem /p' | tr '\n' ' '`
      verity_saved=$CPPFLAGS
      CPPFLAGS="$CPPFLAGS $verity_includes"
      AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>]], [[
        #ifndef $2
        #error another MPI
        #endif]])],
        [verity_found=$verity_mpicc $1_CPPFLAGS=$verity_includes])
      CPPFLAGS=$verity_saved
      test "$verity_found" = no || break
    done])
  AC_MSG_RESULT([$verity_found])
  AC_SUBST([$1_CPPFLAGS])
  AM_CONDITIONAL([$1_COMPANION], [test "$verity_found" != no])
])

# VERITY_LIBCLANG: for verity-types automap only. --with-libclang or --with-libclang=PREFIX demand it, --without-libclang leaves it out, the
# default takes it if there. Sets LIBCLANG_CPPFLAGS, LIBCLANG_LIBS and the conditional LIBCLANG.
AC_DEFUN([VERITY_LIBCLANG], [
  AC_ARG_WITH([libclang],
    [AS_HELP_STRING([--with-libclang@<:@=PREFIX@:>@], [libclang for verity-types automap, of the LLVM in PREFIX (default: if there)])],
    [], [with_libclang=check])
  # Debian has each version in a folder of its own: the newest is taken.
  AS_CASE([$with_libclang],
    [no], [verity_prefixes=],
    [yes|check], [verity_prefixes="system `ls -d /usr/lib/llvm-* /usr/lib64/llvm* 2> /dev/null | sort -V -r | tr '\n' ' '`"],
    [/*], [verity_prefixes=$with_libclang],
    [AC_MSG_ERROR([--with-libclang needs an absolute path])])
  AC_MSG_CHECKING([for libclang])
  verity_have_libclang=no LIBCLANG_CPPFLAGS= LIBCLANG_LIBS=
  AC_LANG_PUSH([C++])
  verity_saved="$CPPFLAGS" verity_saved_libs="$LIBS"
  for verity_prefix in $verity_prefixes; do
    AS_IF([test "$verity_prefix" = system],
      [verity_flags= verity_libs="-lclang"],
      [verity_flags="-isystem $verity_prefix/include" verity_libs="-L$verity_prefix/lib -lclang"])
    CPPFLAGS="$verity_saved $verity_flags" LIBS="$verity_libs $verity_saved_libs"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <clang-c/Index.h>]], [[
        return clang_Type_visitFields(CXType(), nullptr, nullptr) + clang_Cursor_isAnonymousRecordDecl(CXCursor());]])],
      [verity_have_libclang=$verity_prefix LIBCLANG_CPPFLAGS=$verity_flags LIBCLANG_LIBS=$verity_libs])
    test "$verity_have_libclang" = no || break
  done
  CPPFLAGS="$verity_saved" LIBS="$verity_saved_libs"
  AC_LANG_POP([C++])
  AC_MSG_RESULT([$verity_have_libclang])
  AS_CASE([$verity_have_libclang:$with_libclang],
    [no:no|no:check], [],
    [no:*], [VERITY_NEED([libclang], [libclang-dev])],
    [*:/*], [LIBCLANG_LIBS="$LIBCLANG_LIBS -R$with_libclang/lib"])
  AC_SUBST([LIBCLANG_CPPFLAGS])
  AC_SUBST([LIBCLANG_LIBS])
  AM_CONDITIONAL([LIBCLANG], [test "$verity_have_libclang" != no])
])
