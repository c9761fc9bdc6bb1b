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
TESTS += test/integration/transport/instructions.sh test/integration/build/baseline_symbols.sh test/integration/build/kernel_code.sh
TESTS += test/integration/build/aarch64.sh
EXTRA_DIST += \
	test/integration/build/aarch64.sh \
	test/integration/build/baseline_symbols.sh \
	test/integration/transport/instructions.sh \
	test/integration/build/kernel_code.sh \
	test/perf_counts/instructions.table

noinst_PROGRAMS += merkle_bench
merkle_bench_CPPFLAGS = $(AM_CPPFLAGS) $(XXHASH_CFLAGS)
merkle_bench_LDADD = libverity_core.la
merkle_bench_SOURCES = test/bench/merkle_bench.cc

# The table of UCX_VERITY_THREADS in ucx-verity-config(7).
noinst_PROGRAMS += hash_threads
hash_threads_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test $(XXHASH_CFLAGS)
hash_threads_LDADD = libverity_core.la
hash_threads_SOURCES = test/bench/hash_threads.cc test/sim/read_time.h
# What hashes leave of the bandwidth of shared memory.
noinst_PROGRAMS += shared_ring
shared_ring_CPPFLAGS = $(AM_CPPFLAGS) $(XXHASH_CFLAGS)
shared_ring_LDADD = libverity_core.la
shared_ring_LDFLAGS = -pthread
shared_ring_SOURCES = test/bench/shared_ring.cc
noinst_PROGRAMS += runs_bench
runs_bench_CPPFLAGS = $(AM_CPPFLAGS) $(XXHASH_CFLAGS)
runs_bench_LDADD = libverity_normalize.la
runs_bench_SOURCES = test/bench/runs_bench.cc
TESTS += test/integration/types/layouts.sh
EXTRA_DIST += test/bench/typecheck_cost test/bench/layouts test/bench/layouts_job.c test/integration/types/layouts.sh

TESTS += test/integration/transport/repair.sh test/integration/transport/give_up.sh test/integration/transport/options.sh test/integration/transport/pairs.sh
EXTRA_DIST += test/integration/transport/repair.sh test/integration/transport/give_up.sh test/integration/transport/options.sh test/integration/transport/pairs.sh

# Real UCX and MPI runs, with what test/mpi and test/ucx build.
include test/mpi/local.mk
include test/ucx/local.mk
INTEGRATION_RUNS = \
	test/integration/transport/alloc_count.sh \
	test/integration/types/association.sh \
	test/integration/health/attestation.sh \
	test/integration/health/summary.sh \
	test/integration/transport/contexts.sh \
	test/integration/transport/failover.sh \
	test/integration/health/fault_records.sh \
	test/integration/health/fault_syslog.sh \
	test/integration/health/health.sh \
	test/integration/health/host_names.sh \
	test/integration/transport/lanes.sh \
	test/integration/health/injected.sh \
	test/integration/onesided/large_read.sh \
	test/integration/health/memory_hooks.sh \
	test/integration/build/missing_plugin.sh \
	test/integration/mpi/launchers.sh \
	test/integration/mpi/mpi_buffered.sh \
	test/integration/types/mpi_collectives.sh \
	test/integration/types/mpi_digest.sh \
	test/integration/mpi/mpi_finalize.sh \
	test/integration/mpi/mpi_mixed.sh \
	test/integration/types/mpi_partitioned.sh \
	test/integration/onesided/mpi_rma.sh \
	test/integration/onesided/mpi_rma_order.sh \
	test/integration/mpi/mpi_threads.sh \
	test/integration/mpi/releases.sh \
	test/integration/types/mpi_tools.sh \
	test/integration/types/mpi_types.sh \
	test/integration/types/own_workers.sh \
	test/integration/mpi/mpich_suite.sh \
	test/integration/onesided/onesided_model.sh \
	test/integration/transport/peer_death.sh \
	test/integration/transport/perftest.sh \
	test/integration/transport/progress_thread.sh \
	test/integration/onesided/openshmem.sh \
	test/integration/onesided/reads.sh \
	test/integration/transport/segment_sizes.sh \
	test/integration/health/top.sh \
	test/integration/transport/two_workers.sh \
	test/integration/onesided/ucp_order.sh \
	test/integration/types/typecheck_clean.sh \
	test/integration/types/typecheck_instructions.sh \
	test/integration/transport/uct_am.sh \
	test/integration/transport/wakeup.sh \
	test/integration/onesided/windows.sh
TESTS += $(INTEGRATION_RUNS)
EXTRA_DIST += $(INTEGRATION_RUNS) test/integration/lib.sh test/integration/mpi/two_hosts.sh test/integration/build/thread_sanitizer.sh
include test/campaign/local.mk

# What mpich_suite.sh fetched and built.
clean-local: clean-suites
.PHONY: clean-suites
clean-suites:
	rm -rf suites
