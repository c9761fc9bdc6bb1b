# SPDX-License-Identifier: BSD-3-Clause

# The preloaded companions, one for each MPI library's binary interface, from the same files.
MPI_COMPANION_SOURCES = \
	src/health/text.cc src/health/text.h \
	src/mpi/call.h \
	src/mpi/changes.cc src/mpi/changes.h \
	src/mpi/collecting.cc src/mpi/collecting.h \
	src/mpi/collective.h \
	src/mpi/collective_calls.cc \
	src/mpi/collective_ledger.cc src/mpi/collective_ledger.h \
	src/mpi/collective_report.cc src/mpi/collective_report.h \
	src/mpi/comms.cc src/mpi/comms.h \
	src/mpi/completion.cc \
	src/mpi/counting.h \
	src/mpi/contents.cc src/mpi/contents.h \
	src/mpi/decode.cc \
	src/mpi/digest.cc src/mpi/digest.h \
	src/mpi/findings.cc src/mpi/findings.h \
	src/mpi/handle_table.h \
	src/mpi/landings.cc src/mpi/landings.h \
	src/mpi/layout.cc src/mpi/layout.h \
	src/mpi/library.cc src/mpi/library.h \
	src/mpi/lifecycle.cc \
	src/mpi/modules.cc src/mpi/modules.h \
	src/mpi/mpi_api.h \
	src/mpi/next.cc src/mpi/next.h \
	src/mpi/objects.cc \
	src/mpi/onesided.cc \
	src/mpi/p2p.cc \
	src/mpi/partitioned.cc src/mpi/partitioned.h \
	src/mpi/persistent.cc \
	src/mpi/probe.cc \
	src/mpi/receive.cc src/mpi/receive.h \
	src/mpi/reduction.cc src/mpi/reduction.h \
	src/mpi/report.cc src/mpi/report.h \
	src/mpi/requests.cc src/mpi/requests.h \
	src/mpi/send.cc src/mpi/send.h \
	src/mpi/sites.cc src/mpi/sites.h \
	src/mpi/state.cc src/mpi/state.h \
	src/mpi/symbolize.cc \
	src/mpi/types.cc src/mpi/types.h \
	src/mpi/wrap.h
# As the plugin, but what archives hold is not hidden: the wrappers of UCP's calls come from one.
MPI_COMPANION_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -Wl,-z,now -Wl,-z,defs \
	-XCClinker -static-libgcc $(PLUGIN_STATIC_LIBSTDCXX) -Wl,--version-script=$(MPI_COMPANION_MAP)
MPI_COMPANION_MAP = $(top_srcdir)/src/mpi/companion.map
MPI_COMPANION_CXXFLAGS = $(AM_CXXFLAGS) $(WORDWISE) -fvisibility=hidden -fvisibility-inlines-hidden
EXTRA_DIST += src/mpi/companion.map

if OPENMPI_COMPANION
preload_LTLIBRARIES += libverity_mpi_openmpi.la
endif
libverity_mpi_openmpi_la_CPPFLAGS = $(AM_CPPFLAGS) $(XXHASH_CFLAGS) $(OPENMPI_CPPFLAGS)
libverity_mpi_openmpi_la_CXXFLAGS = $(MPI_COMPANION_CXXFLAGS)
libverity_mpi_openmpi_la_LDFLAGS = $(MPI_COMPANION_LDFLAGS)
libverity_mpi_openmpi_la_LIBADD = libverity_ucp_calls.la libverity_signature.la
EXTRA_libverity_mpi_openmpi_la_DEPENDENCIES = $(MPI_COMPANION_MAP)
libverity_mpi_openmpi_la_SOURCES = $(MPI_COMPANION_SOURCES)

if MPICH_COMPANION
preload_LTLIBRARIES += libverity_mpi_mpich.la
endif
libverity_mpi_mpich_la_CPPFLAGS = $(AM_CPPFLAGS) $(XXHASH_CFLAGS) $(MPICH_CPPFLAGS)
libverity_mpi_mpich_la_CXXFLAGS = $(MPI_COMPANION_CXXFLAGS)
libverity_mpi_mpich_la_LDFLAGS = $(MPI_COMPANION_LDFLAGS)
libverity_mpi_mpich_la_LIBADD = libverity_ucp_calls.la libverity_signature.la
EXTRA_libverity_mpi_mpich_la_DEPENDENCIES = $(MPI_COMPANION_MAP)
libverity_mpi_mpich_la_SOURCES = $(MPI_COMPANION_SOURCES)
