# SPDX-License-Identifier: BSD-3-Clause

# libverity_autolink: linked structures as messages; libverity_autolink_openmpi and _mpich: over MPI. These are linked neither with MPI nor
# with libverity_autolink: the program is. (A library that needs another one could be installed into configure's prefix alone.)
autolink_sources = \
	include/ucx-verity/autolink.h \
	src/autolink/aggregate.cc src/autolink/aggregate.h \
	src/autolink/autolink.cc \
	src/autolink/expand.cc src/autolink/expand.h \
	src/autolink/flat_map.h \
	src/autolink/graph.cc src/autolink/graph.h \
	src/autolink/link.h \
	src/autolink/packet.cc src/autolink/packet.h \
	src/autolink/places.cc src/autolink/places.h \
	src/autolink/schema.cc src/autolink/schema.h
AUTOLINK_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -XCClinker -static-libgcc $(PLUGIN_STATIC_LIBSTDCXX) \
	-Wl,--exclude-libs,ALL -Wl,--version-script=$(AUTOLINK_MAP)
AUTOLINK_MAP = $(top_srcdir)/src/autolink/autolink.map
verityinclude_HEADERS += include/ucx-verity/autolink.h include/ucx-verity/autolink_mpi.h \
	include/ucx-verity/autolink_ucp.h

lib_LTLIBRARIES += libverity_autolink.la
pkgconfig_DATA += verity-autolink.pc
libverity_autolink_la_CPPFLAGS = $(AM_CPPFLAGS) $(XXHASH_CFLAGS)
libverity_autolink_la_LDFLAGS = $(AUTOLINK_LDFLAGS)
EXTRA_libverity_autolink_la_DEPENDENCIES = $(AUTOLINK_MAP)
libverity_autolink_la_SOURCES = $(autolink_sources) $(merkle_sources)

if OPENMPI_COMPANION
lib_LTLIBRARIES += libverity_autolink_openmpi.la
pkgconfig_DATA += verity-autolink-openmpi.pc
endif
libverity_autolink_openmpi_la_CPPFLAGS = $(AM_CPPFLAGS) $(OPENMPI_CPPFLAGS)
libverity_autolink_openmpi_la_LDFLAGS = $(AUTOLINK_LDFLAGS)
EXTRA_libverity_autolink_openmpi_la_DEPENDENCIES = $(AUTOLINK_MAP)
libverity_autolink_openmpi_la_SOURCES = include/ucx-verity/autolink_mpi.h src/autolink/mpi.cc src/autolink/mpi_collective.cc src/autolink/mpi_messages.h src/autolink/mpi_requests.cc src/autolink/mpi_requests.h

if MPICH_COMPANION
lib_LTLIBRARIES += libverity_autolink_mpich.la
pkgconfig_DATA += verity-autolink-mpich.pc
endif
libverity_autolink_mpich_la_CPPFLAGS = $(AM_CPPFLAGS) $(MPICH_CPPFLAGS)
libverity_autolink_mpich_la_LDFLAGS = $(AUTOLINK_LDFLAGS)
EXTRA_libverity_autolink_mpich_la_DEPENDENCIES = $(AUTOLINK_MAP)
libverity_autolink_mpich_la_SOURCES = include/ucx-verity/autolink_mpi.h src/autolink/mpi.cc src/autolink/mpi_collective.cc src/autolink/mpi_messages.h src/autolink/mpi_requests.cc src/autolink/mpi_requests.h

# Over UCX's public UCP, which the program is linked with as well.
lib_LTLIBRARIES += libverity_autolink_ucp.la
pkgconfig_DATA += verity-autolink-ucp.pc
libverity_autolink_ucp_la_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CPPFLAGS)
libverity_autolink_ucp_la_LDFLAGS = $(AUTOLINK_LDFLAGS)
EXTRA_libverity_autolink_ucp_la_DEPENDENCIES = $(AUTOLINK_MAP)
libverity_autolink_ucp_la_SOURCES = include/ucx-verity/autolink_ucp.h \
	src/autolink/ucp.cc \
	src/autolink/ucp_channel.cc src/autolink/ucp_channel.h \
	src/autolink/ucp_requests.h

library_pc = $(SED) -e 's|@prefix[@]|$(prefix)|' -e 's|@libdir[@]|$(libdir)|' -e 's|@includedir[@]|$(includedir)|' -e 's|@VERSION[@]|$(VERSION)|'
verity-autolink.pc: src/validate/verity-library.pc.in Makefile
	$(AM_V_GEN)$(library_pc) -e 's|@library[@]|autolink|' -e 's|@name[@]|verity-autolink|' -e 's|@what[@]|Linked structures as messages|' $< > $@
verity-autolink-ucp.pc: src/validate/verity-library.pc.in Makefile
	$(AM_V_GEN)$(library_pc) -e 's|@library[@]|autolink_ucp -lverity_autolink|' -e 's|@name[@]|verity-autolink-ucp|' \
	  -e 's|@what[@]|Linked structures over UCX|' $< > $@
verity-autolink-%.pc: src/validate/verity-library.pc.in Makefile
	$(AM_V_GEN)$(library_pc) -e 's|@library[@]|autolink_$* -lverity_autolink|' -e 's|@name[@]|verity-autolink-$*|' \
	  -e 's|@what[@]|Linked structures over MPI|' $< > $@
CLEANFILES += verity-autolink.pc verity-autolink-openmpi.pc verity-autolink-mpich.pc verity-autolink-ucp.pc

# What unit tests and fuzz targets link of the libraries for programs, which export their interfaces alone.
EXTRA_LTLIBRARIES += libverity_libraries.la
libverity_libraries_la_CPPFLAGS = $(AM_CPPFLAGS) $(XXHASH_CFLAGS)
libverity_libraries_la_SOURCES = $(autolink_sources) $(validate_pure_sources) src/validate/tree.cc include/ucx-verity/tree.h
verity_unit_SOURCES += test/unit/autolink/graph.h test/unit/autolink/graph_test.cc \
	test/unit/autolink/messages_test.cc test/unit/autolink/places_test.cc
dist_man3_MANS += src/autolink/man/verity_autolink.3
TESTS += test/integration/libraries/autolink.sh test/integration/libraries/autolink_ucp.sh test/integration/libraries/autolink_compare.sh \
	test/integration/libraries/autolink_damaged.sh
EXTRA_DIST += test/integration/libraries/autolink.sh test/integration/libraries/autolink_ucp.sh test/mpi/libraries/autolink.c test/mpi/libraries/autolink_order.c src/autolink/autolink.map src/autolink/README.md test/mpi/libraries/autolink_list.h test/mpi/libraries/autolink_node.h test/mpi/libraries/autolink_node_automap.h \
	test/integration/libraries/autolink_damaged.sh test/integration/libraries/autolink_compare.sh test/bench/autolink_compare test/bench/autolink_compare_job.cc test/bench/autolink_shapes.h

check_PROGRAMS += autolink_ucp
autolink_ucp_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test $(UCX_CPPFLAGS)
autolink_ucp_LDADD = libucx_peer.la libverity_autolink_ucp.la libverity_autolink.la $(UCX_LIBS)
autolink_ucp_SOURCES = test/ucx/autolink.cc test/mpi/libraries/autolink_list.h test/mpi/libraries/autolink_node.h test/mpi/libraries/autolink_node_automap.h
