# SPDX-License-Identifier: BSD-3-Clause

verity_unit_SOURCES += \
	src/uct/memory/fault_guard.cc src/uct/memory/fault_guard.h \
	test/unit/fault_guard_test.cc \
	test/unit/blame_suspects_test.cc \
	test/unit/blame_trust_test.cc \
	test/unit/blame_verdict_test.cc \
	test/unit/health_attestation_test.cc \
	test/unit/health_belief_test.cc \
	test/unit/health_bypass_test.cc \
	test/unit/health_counters_test.cc \
	test/unit/health_fault_record_test.cc \
	test/unit/health_identity_test.cc \
	test/unit/health_summary_test.cc \
	test/unit/health_syndrome_test.cc \
	test/unit/health_directory_test.cc \
	test/unit/health_file.h \
	test/unit/health_port_test.cc \
	test/unit/health_reader_test.cc \
	test/unit/health_table_test.cc \
	test/unit/health_text_test.cc \
	test/unit/link_compact_test.cc \
	test/unit/link_diagnose_test.cc \
	test/unit/link_exchange_test.cc \
	test/unit/link_hello_test.cc \
	test/unit/link_modes_test.cc \
	test/unit/link_nack_test.cc \
	test/unit/link_pair.h \
	test/unit/link_parts_test.cc \
	test/unit/link_pool_test.cc \
	test/unit/link_repair_test.cc \
	test/unit/link_state_test.cc \
	test/unit/link_timer_test.cc \
	test/unit/link_zero_copy_test.cc \
	test/unit/merkle_bitmap_test.cc \
	test/unit/merkle_bytes.h \
	test/unit/merkle_geometry_test.cc \
	test/unit/merkle_hash_test.cc \
	test/unit/merkle_tree_test.cc \
	test/unit/mpi_matching_parts_test.cc \
	test/unit/mpi_open_sends_test.cc \
	test/unit/mpi_receive_case.h \
	test/unit/mpi_receive_matcher_test.cc \
	test/unit/mpi_receive_random_test.cc \
	test/unit/mpi_receive_whole_test.cc \
	test/unit/mpi_send_matcher_test.cc \
	test/unit/mpi_send_tails_test.cc \
	src/mpi/process/this_process.cc \
	src/mpi/sites/modules.cc \
	src/mpi/sites/sites.cc \
	src/mpi/sites/symbolize.cc \
	test/unit/mpi_handle_table_test.cc \
	test/unit/mpi_sites_test.cc \
	test/unit/normalize_test.cc \
	test/unit/rma_client_test.cc \
	test/unit/rma_diagnose_test.cc \
	test/unit/rma_digests_test.cc \
	test/unit/rma_ends_test.cc \
	test/unit/rma_hasher_test.cc \
	test/unit/rma_order_test.cc \
	test/unit/rma_pair.h \
	test/unit/rma_regions_test.cc \
	test/unit/rma_repair_test.cc \
	test/unit/rma_server_case.h \
	test/unit/rma_server_test.cc \
	test/unit/rma_time_test.cc \
	test/unit/signature_algebra_test.cc \
	test/unit/signature_basic_test.cc \
	test/unit/signature_case.h \
	test/unit/signature_describe_test.cc \
	test/unit/signature_oracle_test.cc \
	test/unit/signature_random.h \
	test/unit/signature_record_test.cc \
	test/unit/signature_rules_test.cc \
	test/unit/signature_type_test.cc \
	test/unit/uct_trailers_test.cc \
	test/unit/util_bytes_test.cc \
	test/unit/wire_test.cc

if GTEST
check_PROGRAMS += verity_threads
TESTS += verity_threads
endif
verity_threads_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test $(XXHASH_CFLAGS) $(GTEST_CFLAGS)
verity_threads_LDADD = libverity_core.la libverity_signature.la -lgtest_main $(GTEST_LIBS) -lpthread
verity_threads_SOURCES = \
	src/uct/idle/hash_pool.cc src/uct/idle/hash_pool.h \
	test/unit/hash_pool_test.cc \
	test/unit/link_pair.h \
	test/unit/threads_test.cc
