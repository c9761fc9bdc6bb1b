# SPDX-License-Identifier: BSD-3-Clause

# What is written in words is read in words (util/words.h).
WORDWISE = -fno-tree-vectorize -fno-tree-slp-vectorize

# Which message belongs to which MPI call: pure.
noinst_LTLIBRARIES += libverity_order.la
libverity_order_la_CXXFLAGS = $(AM_CXXFLAGS) $(WORDWISE)
libverity_order_la_SOURCES = \
	src/mpi/matching/departures.cc src/mpi/matching/departures.h \
	src/mpi/matching/message.h \
	src/mpi/matching/open_sends.cc src/mpi/matching/open_sends.h \
	src/mpi/matching/receive_order.cc src/mpi/matching/receive_order.h \
	src/mpi/matching/stamp.h

# The UCP calls that it is told from, and what the plugin calls. Into each companion (libverity_mpi_*.so).
noinst_LTLIBRARIES += libverity_ucp_calls.la
libverity_ucp_calls_la_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CPPFLAGS)
libverity_ucp_calls_la_CXXFLAGS = $(AM_CXXFLAGS) $(WORDWISE)
libverity_ucp_calls_la_SOURCES = \
	src/mpi/interpose/behind.cc src/mpi/interpose/behind.h \
	src/mpi/ucp/attach.h \
	src/mpi/ucp/plugin_hooks.cc \
	src/mpi/ucp/type_counters.cc src/mpi/ucp/type_counters.h \
	src/mpi/ucp/worker_calls.cc src/mpi/ucp/worker_calls.h \
	src/mpi/ucp/function.cc src/mpi/ucp/function.h \
	src/mpi/ucp/receives.cc \
	src/mpi/ucp/sends.cc \
	src/mpi/ucp/wrap.h \
	src/mpi/ucp/worker.cc src/mpi/ucp/worker.h
libverity_ucp_calls_la_LIBADD = libverity_order.la
