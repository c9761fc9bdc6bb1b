# SPDX-License-Identifier: BSD-3-Clause

# What is written in words is read in words (util/words.h).
WORDWISE = -fno-tree-vectorize -fno-tree-slp-vectorize

# Which message belongs to which MPI call: pure.
noinst_LTLIBRARIES += libverity_matching.la
libverity_matching_la_CXXFLAGS = $(AM_CXXFLAGS) $(WORDWISE)
libverity_matching_la_SOURCES = \
	src/mpi/matching/active_sends.cc src/mpi/matching/active_sends.h \
	src/mpi/matching/arrivals.cc src/mpi/matching/arrivals.h \
	src/mpi/matching/endpoint_cache.h \
	src/mpi/matching/message.h \
	src/mpi/matching/open_sends.cc src/mpi/matching/open_sends.h \
	src/mpi/matching/pending_sends.cc src/mpi/matching/pending_sends.h \
	src/mpi/matching/post.cc src/mpi/matching/post.h \
	src/mpi/matching/posted_receives.cc src/mpi/matching/posted_receives.h \
	src/mpi/matching/receive_matcher.cc src/mpi/matching/receive_matcher.h \
	src/mpi/matching/send_matcher.cc src/mpi/matching/send_matcher.h \
	src/mpi/matching/send_numbering.cc src/mpi/matching/send_numbering.h \
	src/mpi/matching/sequence_check.h \
	src/mpi/matching/stamp.h \
	src/mpi/matching/stream_table.cc src/mpi/matching/stream_table.h \
	src/mpi/matching/tag_hash.h \
	src/mpi/matching/tag_stream.cc src/mpi/matching/tag_stream.h

# The interposed UCP calls, and what the plugin calls. Into each interposer (libverity_mpi_*.so).
noinst_LTLIBRARIES += libverity_ucp_calls.la
libverity_ucp_calls_la_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CPPFLAGS)
# A wrapper sees its caller where the others before it hand the call on with a jump.
libverity_ucp_calls_la_CXXFLAGS = $(AM_CXXFLAGS) $(WORDWISE) -foptimize-sibling-calls
libverity_ucp_calls_la_SOURCES = \
	src/mpi/interpose/behind.cc src/mpi/interpose/behind.h \
	src/mpi/interpose/callers.cc src/mpi/interpose/callers.h \
	src/mpi/interpose/modules.cc src/mpi/interpose/modules.h \
	src/mpi/ucp/abi.h \
	src/mpi/ucp/attach.h \
	src/mpi/ucp/plugin_hooks.cc \
	src/mpi/ucp/type_counters.cc src/mpi/ucp/type_counters.h \
	src/mpi/ucp/worker_calls.cc src/mpi/ucp/worker_calls.h \
	src/mpi/ucp/function.cc src/mpi/ucp/function.h \
	src/mpi/ucp/receives.cc \
	src/mpi/ucp/sends.cc \
	src/mpi/ucp/wrap.h \
	src/mpi/ucp/worker.cc src/mpi/ucp/worker.h src/mpi/ucp/lock.h
libverity_ucp_calls_la_LIBADD = libverity_matching.la
