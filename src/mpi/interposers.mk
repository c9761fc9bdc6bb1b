# SPDX-License-Identifier: BSD-3-Clause

# The preloaded interposers, one for each MPI library's binary interface, from the same files.
MPI_INTERPOSER_SOURCES = \
	src/health/text.cc src/health/text.h \
	src/mpi/interpose/next.cc src/mpi/interpose/next.h \
	src/mpi/process/counting.h \
	src/mpi/process/library.cc src/mpi/process/library.h \
	src/mpi/process/lifetime.cc src/mpi/process/lifetime.h \
	src/mpi/process/mpi_api.h \
	src/mpi/process/settings.cc \
	src/mpi/process/this_process.cc src/mpi/process/this_process.h \
	src/mpi/process/thread.h \
	src/mpi/sites/sites.cc src/mpi/sites/sites.h \
	src/mpi/sites/symbolize.cc src/mpi/sites/symbolize.h \
	src/mpi/handles/buffer.h \
	src/mpi/handles/comms.cc src/mpi/handles/comms.h \
	src/mpi/handles/contents.cc src/mpi/handles/contents.h \
	src/mpi/handles/decode.cc \
	src/mpi/handles/ending_handles.h \
	src/mpi/handles/handle_table.h \
	src/mpi/handles/layout.cc src/mpi/handles/layout.h \
	src/mpi/handles/types.cc src/mpi/handles/types.h \
	src/mpi/digest/digest.cc src/mpi/digest/digest.h \
	src/mpi/digest/landings.cc src/mpi/digest/landings.h \
	src/mpi/check/changes.cc src/mpi/check/changes.h \
	src/mpi/check/findings.cc src/mpi/check/findings.h \
	src/mpi/check/posted_receive.cc src/mpi/check/posted_receive.h \
	src/mpi/check/report.cc src/mpi/check/report.h \
	src/mpi/check/send_family.h \
	src/mpi/collectives/collecting.cc src/mpi/collectives/collecting.h \
	src/mpi/collectives/collective.h \
	src/mpi/collectives/ledger.cc src/mpi/collectives/ledger.h \
	src/mpi/collectives/reduction.cc src/mpi/collectives/reduction.h \
	src/mpi/collectives/report.cc src/mpi/collectives/report.h \
	src/mpi/collectives/requests.cc src/mpi/collectives/requests.h \
	src/mpi/pmpi/call.cc src/mpi/pmpi/call.h \
	src/mpi/pmpi/collectives.cc \
	src/mpi/pmpi/completion.cc \
	src/mpi/pmpi/lifecycle.cc \
	src/mpi/pmpi/objects.cc \
	src/mpi/pmpi/onesided.cc \
	src/mpi/pmpi/p2p.cc \
	src/mpi/pmpi/partitioned.cc src/mpi/pmpi/partitioned.h \
	src/mpi/pmpi/persistent.cc \
	src/mpi/pmpi/probe.cc \
	src/mpi/pmpi/receiving.cc src/mpi/pmpi/receiving.h \
	src/mpi/pmpi/requests.cc src/mpi/pmpi/requests.h \
	src/mpi/pmpi/sending.cc src/mpi/pmpi/sending.h \
	src/mpi/pmpi/wrap.h
# As the plugin, but what archives hold is not hidden: the wrappers of UCP's calls come from one. And
# the process's own libgcc: a program's error handler may throw an exception, or end its thread, and
# so unwind these frames. The unwinder's state is no other copy's: that would abort.
MPI_INTERPOSER_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -Wl,-z,now -Wl,-z,defs \
	$(PLUGIN_STATIC_LIBSTDCXX) -Wl,--version-script=$(MPI_INTERPOSER_MAP)
MPI_INTERPOSER_MAP = $(top_srcdir)/src/mpi/interposer.map
MPI_INTERPOSER_CXXFLAGS = $(AM_CXXFLAGS) $(WORDWISE) -fvisibility=hidden -fvisibility-inlines-hidden
EXTRA_DIST += src/mpi/interposer.map src/mpi/README.md

if OPENMPI_COMPANION
preload_LTLIBRARIES += libverity_mpi_openmpi.la
endif
libverity_mpi_openmpi_la_CPPFLAGS = $(AM_CPPFLAGS) $(XXHASH_CFLAGS) $(OPENMPI_CPPFLAGS)
libverity_mpi_openmpi_la_CXXFLAGS = $(MPI_INTERPOSER_CXXFLAGS)
libverity_mpi_openmpi_la_LDFLAGS = $(MPI_INTERPOSER_LDFLAGS)
libverity_mpi_openmpi_la_LIBADD = libverity_ucp_calls.la libverity_normalize.la libverity_signature.la
EXTRA_libverity_mpi_openmpi_la_DEPENDENCIES = $(MPI_INTERPOSER_MAP)
libverity_mpi_openmpi_la_SOURCES = $(MPI_INTERPOSER_SOURCES)

if MPICH_COMPANION
preload_LTLIBRARIES += libverity_mpi_mpich.la
endif
libverity_mpi_mpich_la_CPPFLAGS = $(AM_CPPFLAGS) $(XXHASH_CFLAGS) $(MPICH_CPPFLAGS)
libverity_mpi_mpich_la_CXXFLAGS = $(MPI_INTERPOSER_CXXFLAGS)
libverity_mpi_mpich_la_LDFLAGS = $(MPI_INTERPOSER_LDFLAGS)
libverity_mpi_mpich_la_LIBADD = libverity_ucp_calls.la libverity_normalize.la libverity_signature.la
EXTRA_libverity_mpi_mpich_la_DEPENDENCIES = $(MPI_INTERPOSER_MAP)
libverity_mpi_mpich_la_SOURCES = $(MPI_INTERPOSER_SOURCES)
