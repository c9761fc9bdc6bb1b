# SPDX-License-Identifier: BSD-3-Clause

# libverity_tree: Merkle trees for programs. libverity_validate_*: buffers compared and repaired between ranks, one library for each MPI
# library's binary interface; not linked with MPI: the program is.
validate_pure_sources = \
	src/validate/buffer.cc src/validate/buffer.h \
	src/validate/message.cc src/validate/message.h \
	src/validate/session.cc src/validate/session.h
VALIDATE_SOURCES = $(validate_pure_sources) $(merkle_sources) \
	include/ucx-verity/validate.h \
	src/typelib/build.cc src/typelib/contents.h src/typelib/handle.h \
	src/typelib/shape.cc src/typelib/shape.h \
	src/validate/collective.cc src/validate/collective.h \
	src/validate/p2p.cc src/validate/p2p.h \
	src/validate/typed.cc src/validate/typed.h \
	src/validate/validate.cc
VALIDATE_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -XCClinker -static-libgcc $(PLUGIN_STATIC_LIBSTDCXX) \
	-Wl,--exclude-libs,ALL -Wl,--version-script=$(VALIDATE_MAP)
VALIDATE_MAP = $(top_srcdir)/src/validate/validate.map
verityinclude_HEADERS += include/ucx-verity/tree.h include/ucx-verity/validate.h

lib_LTLIBRARIES += libverity_tree.la
pkgconfig_DATA += verity-tree.pc
libverity_tree_la_CPPFLAGS = $(AM_CPPFLAGS) $(XXHASH_CFLAGS)
libverity_tree_la_LDFLAGS = $(VALIDATE_LDFLAGS)
EXTRA_libverity_tree_la_DEPENDENCIES = $(VALIDATE_MAP)
libverity_tree_la_SOURCES = $(merkle_sources) include/ucx-verity/tree.h src/validate/tree.cc

if OPENMPI_COMPANION
lib_LTLIBRARIES += libverity_validate_openmpi.la
pkgconfig_DATA += verity-validate-openmpi.pc
endif
libverity_validate_openmpi_la_CPPFLAGS = $(AM_CPPFLAGS) $(XXHASH_CFLAGS) $(OPENMPI_CPPFLAGS)
libverity_validate_openmpi_la_LDFLAGS = $(VALIDATE_LDFLAGS)
libverity_validate_openmpi_la_LIBADD = libverity_normalize.la
EXTRA_libverity_validate_openmpi_la_DEPENDENCIES = $(VALIDATE_MAP)
libverity_validate_openmpi_la_SOURCES = $(VALIDATE_SOURCES)

if MPICH_COMPANION
lib_LTLIBRARIES += libverity_validate_mpich.la
pkgconfig_DATA += verity-validate-mpich.pc
endif
libverity_validate_mpich_la_CPPFLAGS = $(AM_CPPFLAGS) $(XXHASH_CFLAGS) $(MPICH_CPPFLAGS)
libverity_validate_mpich_la_LDFLAGS = $(VALIDATE_LDFLAGS)
libverity_validate_mpich_la_LIBADD = libverity_normalize.la
EXTRA_libverity_validate_mpich_la_DEPENDENCIES = $(VALIDATE_MAP)
libverity_validate_mpich_la_SOURCES = $(VALIDATE_SOURCES)

verity-validate-%.pc: src/validate/verity-library.pc.in Makefile
	$(AM_V_GEN)$(SED) -e 's|@prefix[@]|$(prefix)|' -e 's|@libdir[@]|$(libdir)|' -e 's|@includedir[@]|$(includedir)|' \
	  -e 's|@VERSION[@]|$(VERSION)|' -e 's|@library[@]|validate_$*|' -e 's|@name[@]|verity-validate-$*|' \
	  -e 's|@what[@]|Validation and repair of MPI buffers|' $< > $@
verity-tree.pc: src/validate/verity-library.pc.in Makefile
	$(AM_V_GEN)$(SED) -e 's|@prefix[@]|$(prefix)|' -e 's|@libdir[@]|$(libdir)|' -e 's|@includedir[@]|$(includedir)|' \
	  -e 's|@VERSION[@]|$(VERSION)|' -e 's|@library[@]|tree|' -e 's|@name[@]|verity-tree|' -e 's|@what[@]|Merkle trees of XXH3|' $< > $@
CLEANFILES += verity-validate-openmpi.pc verity-validate-mpich.pc verity-tree.pc

verity_unit_SOURCES += \
	test/unit/validate/buffer_test.cc \
	test/unit/validate/session_test.cc \
	test/unit/validate/tree_test.cc

dist_man3_MANS += src/validate/man/verity_tree_build.3 src/validate/man/verity_validate_send.3
TESTS += test/integration/libraries/validate.sh test/integration/libraries/validate_faults.sh
EXTRA_DIST += src/validate/validate.map src/validate/verity-library.pc.in src/validate/README.md test/integration/libraries/lib.sh test/integration/libraries/validate.sh test/integration/libraries/validate_faults.sh test/mpi/libraries/validate.c test/mpi/libraries/validate_faults.c test/mpi/libraries/validate_types.c test/mpi/libraries/validate_types.h
