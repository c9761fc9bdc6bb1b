# SPDX-License-Identifier: BSD-3-Clause

# verity-types-automap, which `verity-types automap` runs. Only parse/ and main.cc need libclang.
noinst_LTLIBRARIES += libverity_automap.la
libverity_automap_la_SOURCES = \
	src/automap/emit/emit.h \
	src/automap/emit/emit_layout.cc \
	src/automap/emit/emit_links.cc \
	src/automap/emit/emit_mpi.cc \
	src/automap/emit/emit_signatures.cc \
	src/automap/emit/emit_text.cc \
	src/automap/emit/signature_of.cc src/automap/emit/signature_of.h \
	src/automap/plan/basic_types.cc src/automap/plan/basic_types.h \
	src/automap/plan/directive.cc src/automap/plan/directive.h \
	src/automap/plan/model.h \
	src/automap/plan/plan.cc src/automap/plan/plan.h \
	src/automap/plan/plan_members.cc src/automap/plan/planner.h

if LIBCLANG
pkglibexec_PROGRAMS += verity-types-automap
endif
verity_types_automap_CPPFLAGS = $(AM_CPPFLAGS) $(CLI11_CFLAGS) $(LIBCLANG_CPPFLAGS)
verity_types_automap_LDADD = libverity_automap.la libverity_signature.la $(LIBCLANG_LIBS)
verity_types_automap_SOURCES = \
	src/automap/parse/clang_comments.cc src/automap/parse/clang_comments.h \
	src/automap/parse/clang_parse.cc \
	src/automap/parse/clang_reader.h \
	src/automap/parse/clang_records.cc \
	src/automap/parse/clang_shapes.cc \
	src/automap/parse/clang_text.h \
	src/automap/parse/front_end.h \
	src/automap/main.cc

# What generated headers include.
verityinclude_HEADERS += include/ucx-verity/automap.h include/ucx-verity/automap_mpi.h

verity_unit_SOURCES += \
	test/unit/automap/case.h \
	test/unit/automap/directive_test.cc \
	test/unit/automap/emit_test.cc \
	test/unit/automap/plan_test.cc

dist_man1_MANS += src/automap/man/verity-types-automap.1
EXTRA_DIST += src/automap/README.md

# What the test of generated code decodes committed datatypes with.
if LIBCLANG
if OPENMPI_COMPANION
check_LTLIBRARIES += libautomap_decode_openmpi.la
endif
if MPICH_COMPANION
check_LTLIBRARIES += libautomap_decode_mpich.la
endif
endif
automap_decode_sources = test/automap/decode.cc src/mpi/handles/contents.cc src/mpi/handles/decode.cc
libautomap_decode_openmpi_la_CPPFLAGS = $(AM_CPPFLAGS) $(OPENMPI_CPPFLAGS)
libautomap_decode_openmpi_la_SOURCES = $(automap_decode_sources)
libautomap_decode_mpich_la_CPPFLAGS = $(AM_CPPFLAGS) $(MPICH_CPPFLAGS)
libautomap_decode_mpich_la_SOURCES = $(automap_decode_sources)

# For projects that use it, with Autotools and with CMake.
aclocaldir = $(datadir)/aclocal
dist_aclocal_DATA = contrib/automap/verity_automap.m4
cmakedir = $(libdir)/cmake/verity-automap
dist_cmake_DATA = contrib/automap/verity-automap-config.cmake

TESTS += test/integration/types/types_automap.sh test/integration/types/types_automap_build.sh test/integration/types/types_automap_headers.sh
EXTRA_DIST += \
	test/automap/check.c \
	test/automap/links.c \
	test/automap/refused.h \
	test/automap/bytes.hh test/automap/refused.hh \
	test/automap/shapes.h \
	test/automap/shapes.hh \
	test/examples/automap-autotools/Makefile.am \
	test/examples/automap-autotools/configure.ac \
	test/examples/automap-autotools/main.c \
	test/examples/automap-autotools/particles.h \
	test/examples/automap-cmake/CMakeLists.txt \
	test/examples/automap-cmake/main.c \
	test/examples/automap-cmake/particles.h \
	test/integration/types/types_automap.sh \
	test/integration/types/types_automap_build.sh \
	test/integration/types/types_automap_headers.sh
