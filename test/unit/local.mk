# SPDX-License-Identifier: BSD-3-Clause

verity_unit_SOURCES += \
	src/uct/process/fault_guard.cc src/uct/process/fault_guard.h \
	test/unit/uct/fault_guard_test.cc \
	test/unit/blame/suspects_test.cc \
	test/unit/blame/trust_test.cc \
	test/unit/blame/verdict_test.cc \
	test/unit/health/attestation_test.cc \
	test/unit/health/belief_test.cc \
	test/unit/health/bypass_test.cc \
	test/unit/health/counters_test.cc \
	test/unit/health/fault_record_test.cc \
	test/unit/health/identity_test.cc \
	test/unit/health/job_failures_test.cc \
	test/unit/health/job_log_test.cc \
	test/unit/health/summary_test.cc \
	test/unit/health/syndrome_test.cc \
	test/unit/health/collect_test.cc \
	test/unit/health/directory_test.cc \
	test/unit/health/process.h \
	test/unit/health/file.h test/unit/health/job.h \
	test/unit/health/port_test.cc \
	test/unit/health/process_id_test.cc \
	test/unit/health/reader_test.cc \
	test/unit/health/table_test.cc \
	test/unit/health/text_test.cc \
	test/unit/policy/limit_test.cc test/unit/policy/policy_test.cc \
	test/unit/link/compact_test.cc \
	test/unit/link/diagnose_test.cc \
	test/unit/link/control_frames_test.cc \
	test/unit/link/exchange.h \
	test/unit/link/exchange_test.cc \
	test/unit/link/hello_test.cc \
	test/unit/link/modes_test.cc \
	test/unit/link/nack_test.cc \
	test/unit/link/pair.h \
	test/unit/link/parts_test.cc \
	test/unit/link/pool_test.cc \
	test/unit/link/repair_test.cc \
	test/unit/link/send_window_test.cc \
	test/unit/link/state_test.cc \
	test/unit/link/timer_test.cc \
	test/unit/link/wire_frame.h \
	test/unit/link/zero_copy_test.cc \
	test/unit/merkle/bitmap_test.cc \
	test/unit/merkle/bytes.h \
	test/unit/merkle/geometry_test.cc \
	test/unit/merkle/hash_test.cc \
	test/unit/merkle/tree_test.cc \
	test/unit/mpi/active_sends_test.cc \
	test/unit/mpi/callers_test.cc \
	test/unit/mpi/matching_parts_test.cc \
	test/unit/mpi/open_sends_test.cc \
	test/unit/mpi/receive_case.h \
	test/unit/mpi/receive_matcher_test.cc \
	test/unit/mpi/receive_random_test.cc \
	test/unit/mpi/receive_whole_test.cc \
	test/unit/mpi/send_case.h \
	test/unit/mpi/send_matcher_test.cc \
	test/unit/mpi/send_named_test.cc \
	test/unit/mpi/send_own_memory_test.cc \
	test/unit/mpi/send_tails_test.cc \
	test/unit/mpi/sequence_check_test.cc \
	src/mpi/interpose/behind.cc \
	src/mpi/interpose/callers.cc \
	src/mpi/interpose/modules.cc \
	src/mpi/process/this_process.cc \
	src/mpi/sites/sites.cc \
	src/mpi/sites/symbolize.cc \
	test/unit/mpi/handle_table_test.cc \
	test/unit/mpi/sites_test.cc \
	test/unit/normalize/normalize_test.cc \
	test/unit/normalize/runs_test.cc \
	test/unit/rma/client_test.cc \
	test/unit/rma/diagnose_test.cc \
	test/unit/rma/digests_test.cc \
	test/unit/rma/end.h \
	test/unit/rma/ends_test.cc \
	test/unit/rma/fetch_test.cc \
	test/unit/rma/hasher_test.cc \
	test/unit/rma/order_test.cc \
	test/unit/rma/pair.h \
	test/unit/rma/regions_test.cc \
	test/unit/rma/repair_test.cc \
	test/unit/rma/server_case.h \
	test/unit/rma/server_test.cc \
	test/unit/rma/time_test.cc \
	test/sim/read_time.h \
	test/unit/signature/algebra_test.cc \
	test/unit/signature/basic_test.cc \
	test/unit/signature/case.h \
	test/unit/signature/describe_test.cc \
	test/unit/signature/oracle_test.cc \
	test/unit/signature/random.h \
	test/unit/signature/record_test.cc \
	test/unit/signature/rules_test.cc \
	test/unit/signature/type_test.cc \
	test/unit/uct/trailers_test.cc \
	test/unit/util/bytes_test.cc test/unit/util/write_all_test.cc \
	test/unit/wire/release_test.cc \
	test/unit/wire/wire_test.cc

if GTEST
check_PROGRAMS += verity_threads
TESTS += verity_threads
endif
verity_threads_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test $(XXHASH_CFLAGS) $(GTEST_CFLAGS)
verity_threads_LDADD = libverity_core.la libverity_signature.la -lgtest_main $(GTEST_LIBS) -lpthread
verity_threads_SOURCES = \
	src/uct/idle/hash_pool.cc src/uct/idle/hash_pool.h \
	test/unit/uct/hash_pool_test.cc \
	test/unit/link/pair.h \
	test/unit/uct/threads_test.cc

# Parts of the plugin that stand on UCX's internal headers.
if GTEST
check_PROGRAMS += uct_unit
TESTS += uct_unit
endif
uct_unit_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_INTERNAL_CPPFLAGS) $(GTEST_CFLAGS)
uct_unit_LDADD = -lgtest_main $(GTEST_LIBS) $(UCX_LIBS)
uct_unit_SOURCES = \
	src/uct/compat/internal_ops.cc src/uct/compat/internal_ops.h \
	src/uct/process/ucx_log.cc src/uct/process/ucx_log.h \
	src/uct/progress/lower_completions.cc src/uct/progress/lower_completions.h \
	test/unit/uct/flush_queue_test.cc \
	test/unit/uct/lower_completions_test.cc \
	test/unit/uct/read_owner_test.cc \
	test/unit/uct/ucx_log_test.cc \
	test/unit/uct/transparency_test.cc

# Compiled once and run for seconds: with UNIT_CXXFLAGS=-O0 in the environment that takes half of the time. With
# UNIT_PCH=test/unit/prefix.h.gch, too, what nearly all of them include is compiled once.
test/unit/%.$(OBJEXT): CXXFLAGS += $(UNIT_CXXFLAGS) $(UNIT_PCH:%.gch=-include %)
$(verity_unit_OBJECTS) $(verity_threads_OBJECTS) $(uct_unit_OBJECTS): $(UNIT_PCH)
test/unit/prefix.h.gch: test/unit/prefix.h
	$(AM_V_GEN)$(MKDIR_P) $(@D) && cp '$(top_srcdir)/test/unit/prefix.h' $(@D)/ && \
	  $(CXX) $(DEFS) $(DEFAULT_INCLUDES) $(INCLUDES) $(verity_unit_CPPFLAGS) $(CPPFLAGS) $(AM_CXXFLAGS) $(CXXFLAGS) $(UNIT_CXXFLAGS) \
	  -x c++-header -o $@ $(@D)/prefix.h
EXTRA_DIST += test/unit/prefix.h
CLEANFILES += test/unit/prefix.h.gch
