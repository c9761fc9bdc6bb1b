# SPDX-License-Identifier: BSD-3-Clause

# Instruction counts of the hot paths; each layer adds its cases file. merkle_bench is for people.
check_PROGRAMS += perf_counts
perf_counts_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test $(XXHASH_CFLAGS)
perf_counts_LDADD = libverity_core.la
perf_counts_SOURCES = \
	test/perf_counts/case.h \
	test/perf_counts/driver.cc \
	test/perf_counts/health_cases.cc \
	test/perf_counts/link_cases.cc \
	test/perf_counts/merkle_cases.cc
TESTS += test/integration/instructions.sh test/integration/baseline_symbols.sh test/integration/kernel_code.sh
EXTRA_DIST += \
	test/integration/baseline_symbols.sh \
	test/integration/instructions.sh \
	test/integration/kernel_code.sh \
	test/perf_counts/instructions.table

noinst_PROGRAMS += merkle_bench
merkle_bench_CPPFLAGS = $(AM_CPPFLAGS) $(XXHASH_CFLAGS)
merkle_bench_LDADD = libverity_core.la
merkle_bench_SOURCES = test/bench/merkle_bench.cc
EXTRA_DIST += test/bench/typecheck_cost

TESTS += test/integration/repair.sh test/integration/give_up.sh test/integration/options.sh test/integration/pairs.sh
EXTRA_DIST += test/integration/repair.sh test/integration/give_up.sh test/integration/options.sh test/integration/pairs.sh

# Real UCX and MPI runs, with what test/mpi and test/ucx build.
include test/mpi/local.mk
include test/ucx/local.mk
INTEGRATION_RUNS = \
	test/integration/alloc_count.sh \
	test/integration/association.sh \
	test/integration/attestation.sh \
	test/integration/summary.sh \
	test/integration/contexts.sh \
	test/integration/fault_records.sh \
	test/integration/fault_syslog.sh \
	test/integration/health.sh \
	test/integration/host_names.sh \
	test/integration/lanes.sh \
	test/integration/injected.sh \
	test/integration/large_read.sh \
	test/integration/memory_hooks.sh \
	test/integration/missing_plugin.sh \
	test/integration/mpi_buffered.sh \
	test/integration/mpi_collectives.sh \
	test/integration/mpi_digest.sh \
	test/integration/mpi_finalize.sh \
	test/integration/mpi_mixed.sh \
	test/integration/mpi_partitioned.sh \
	test/integration/mpi_rma.sh \
	test/integration/mpi_rma_order.sh \
	test/integration/mpi_threads.sh \
	test/integration/mpi_tools.sh \
	test/integration/mpi_types.sh \
	test/integration/mpich_suite.sh \
	test/integration/onesided_model.sh \
	test/integration/peer_death.sh \
	test/integration/perftest.sh \
	test/integration/progress_thread.sh \
	test/integration/reads.sh \
	test/integration/segment_sizes.sh \
	test/integration/top.sh \
	test/integration/two_workers.sh \
	test/integration/typecheck_clean.sh \
	test/integration/typecheck_instructions.sh \
	test/integration/uct_am.sh \
	test/integration/wakeup.sh \
	test/integration/windows.sh
TESTS += $(INTEGRATION_RUNS)
EXTRA_DIST += $(INTEGRATION_RUNS) test/integration/lib.sh test/integration/thread_sanitizer.sh
include test/campaign/local.mk

# What mpich_suite.sh fetched and built.
clean-local: clean-suites
.PHONY: clean-suites
clean-suites:
	rm -rf suites
