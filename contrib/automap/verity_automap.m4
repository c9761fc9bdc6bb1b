# SPDX-License-Identifier: BSD-3-Clause
#
# VERITY_AUTOMAP: finds verity-types with automap. Sets
#
#   VERITY_TYPES              the program; may be given to configure
#   VERITY_AUTOMAP_CPPFLAGS   where ucx-verity/automap.h is, when not in the compiler's own folders
#   VERITY_AUTOMAP_RULES      rules of GNU make that generate NAME_automap.h and NAME_automap_mpi.h from NAME.h
#
# In Makefile.am, with the @ at the begin of the line:
#
#   @VERITY_AUTOMAP_RULES@
#   BUILT_SOURCES = particles_automap.h
#   CLEANFILES = particles_automap.h particles_automap_mpi.h particles_automap.d
#   AM_CPPFLAGS = -I$(builddir) -I$(srcdir) $(VERITY_AUTOMAP_CPPFLAGS)
#   AUTOMAP_FLAGS = --pointers ignore          # optional: options of verity-types automap
AC_DEFUN([VERITY_AUTOMAP], [
  AC_REQUIRE([AC_PROG_CC])
  AC_ARG_VAR([VERITY_TYPES], [the verity-types program of ucx-verity])
  AC_PATH_PROG([VERITY_TYPES], [verity-types])
  AS_IF([test -z "$VERITY_TYPES"], [AC_MSG_ERROR([verity-types not found: install ucx-verity, or give VERITY_TYPES=])])
  AC_MSG_CHECKING([whether $VERITY_TYPES automap works])
  AS_IF([verity_automap_version=`$VERITY_TYPES automap --version 2>&1`],
    [AC_MSG_RESULT([$verity_automap_version])],
    [AC_MSG_RESULT([no]); AC_MSG_ERROR([$verity_automap_version])])
  VERITY_AUTOMAP_CPPFLAGS=
  verity_automap_prefix=`AS_DIRNAME(["$VERITY_TYPES"])`/..
  AS_IF([test -f "$verity_automap_prefix/include/ucx-verity/automap.h"],
    [VERITY_AUTOMAP_CPPFLAGS="-I`cd "$verity_automap_prefix" && pwd`/include"])
  AC_SUBST([VERITY_AUTOMAP_CPPFLAGS])
  VERITY_AUTOMAP_RULES='
%_automap.h %_automap_mpi.h: %.h
	$(VERITY_TYPES) automap $(<F) --output $(*)_automap --depfile $(*)_automap.d $(AUTOMAP_FLAGS) -- -I$(<D) \
	  $(DEFS) $(DEFAULT_INCLUDES) $(INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS)
-include $(wildcard *_automap.d)
'
  AC_SUBST([VERITY_AUTOMAP_RULES])
  m4_ifdef([AM_SUBST_NOTMAKE], [AM_SUBST_NOTMAKE([VERITY_AUTOMAP_RULES])])
])
