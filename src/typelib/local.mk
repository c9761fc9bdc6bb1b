# SPDX-License-Identifier: BSD-3-Clause

# libverity_types_*: datatype normalization for programs, one library for each MPI library's binary interface. Not linked with MPI: the
# program is.
TYPELIB_SOURCES = \
	include/ucx-verity/types.h \
	src/typelib/build.cc \
	src/typelib/contents.h \
	src/typelib/handle.h \
	src/typelib/normalize.cc \
	src/typelib/shape.cc \
	src/typelib/shape.h
TYPELIB_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -XCClinker -static-libgcc $(PLUGIN_STATIC_LIBSTDCXX) \
	-Wl,--exclude-libs,ALL -Wl,--version-script=$(TYPELIB_MAP)
TYPELIB_MAP = $(top_srcdir)/src/typelib/typelib.map
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA =
verityinclude_HEADERS += include/ucx-verity/types.h

if OPENMPI_COMPANION
lib_LTLIBRARIES += libverity_types_openmpi.la
pkgconfig_DATA += verity-types-openmpi.pc
endif
libverity_types_openmpi_la_CPPFLAGS = $(AM_CPPFLAGS) $(OPENMPI_CPPFLAGS)
libverity_types_openmpi_la_LDFLAGS = $(TYPELIB_LDFLAGS)
libverity_types_openmpi_la_LIBADD = libverity_normalize.la
EXTRA_libverity_types_openmpi_la_DEPENDENCIES = $(TYPELIB_MAP)
libverity_types_openmpi_la_SOURCES = $(TYPELIB_SOURCES)

if MPICH_COMPANION
lib_LTLIBRARIES += libverity_types_mpich.la
pkgconfig_DATA += verity-types-mpich.pc
endif
libverity_types_mpich_la_CPPFLAGS = $(AM_CPPFLAGS) $(MPICH_CPPFLAGS)
libverity_types_mpich_la_LDFLAGS = $(TYPELIB_LDFLAGS)
libverity_types_mpich_la_LIBADD = libverity_normalize.la
EXTRA_libverity_types_mpich_la_DEPENDENCIES = $(TYPELIB_MAP)
libverity_types_mpich_la_SOURCES = $(TYPELIB_SOURCES)

verity-types-%.pc: src/typelib/verity-types.pc.in Makefile
	$(AM_V_GEN)$(SED) -e 's|@prefix[@]|$(prefix)|' -e 's|@libdir[@]|$(libdir)|' -e 's|@includedir[@]|$(includedir)|' \
	  -e 's|@VERSION[@]|$(VERSION)|' -e 's|@mpi[@]|$*|' $< > $@
CLEANFILES += verity-types-openmpi.pc verity-types-mpich.pc

# Compiled by the user, with the compiler of the program: module files are no common format.
fortrandir = $(includedir)/ucx-verity
dist_fortran_DATA = src/typelib/verity_types.f90
dist_man3_MANS += src/typelib/man/verity_type_normalize.3
EXTRA_DIST += src/typelib/typelib.map src/typelib/verity-types.pc.in

TESTS += test/integration/types/type_normalize.sh
EXTRA_DIST += test/integration/types/type_normalize.sh test/mpi/libraries/type_normalize.c
