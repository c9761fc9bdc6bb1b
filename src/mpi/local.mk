# SPDX-License-Identifier: BSD-3-Clause

# What is written in words is read in words (util/words.h).
WORDWISE = -fno-tree-vectorize -fno-tree-slp-vectorize

# Which message belongs to which MPI call: pure.
noinst_LTLIBRARIES += libverity_order.la
libverity_order_la_CXXFLAGS = $(AM_CXXFLAGS) $(WORDWISE)
libverity_order_la_SOURCES = \
	src/mpi/arm.h \
	src/mpi/departures.cc src/mpi/departures.h \
	src/mpi/open_sends.cc src/mpi/open_sends.h \
	src/mpi/receive_order.cc src/mpi/receive_order.h \
	src/mpi/stamp.h

# The UCP calls that it is told from, and what the plugin calls. Into each companion (libverity_mpi_*.so).
noinst_LTLIBRARIES += libverity_ucp_calls.la
libverity_ucp_calls_la_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CPPFLAGS)
libverity_ucp_calls_la_CXXFLAGS = $(AM_CXXFLAGS) $(WORDWISE)
libverity_ucp_calls_la_SOURCES = \
	src/mpi/aside.cc src/mpi/aside.h \
	src/mpi/companion.cc \
	src/mpi/type_counters.cc src/mpi/type_counters.h \
	src/mpi/ucp_calls.cc src/mpi/ucp_calls.h \
	src/mpi/ucp_next.cc src/mpi/ucp_next.h \
	src/mpi/ucp_receives.cc \
	src/mpi/ucp_sends.cc \
	src/mpi/ucp_wrap.h \
	src/mpi/worker.cc src/mpi/worker.h
libverity_ucp_calls_la_LIBADD = libverity_order.la
