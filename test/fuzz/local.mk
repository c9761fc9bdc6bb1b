# SPDX-License-Identifier: BSD-3-Clause

# verity_fuzz runs the targets for a few seconds under any compiler. With --enable-fuzzers there are libFuzzer programs too, which
# libfuzzer.sh runs for VERITY_FUZZ_TOTAL seconds in all; or one of them by hand:
#   ./fuzz_hub -max_total_time=600 FOLDER
# The targets, once: libFuzzer's programs differ in their entry, and link what their target needs.
EXTRA_LTLIBRARIES += libfuzz_targets.la
libfuzz_targets_la_CPPFLAGS = $(fuzz_cppflags)
libfuzz_targets_la_SOURCES = \
	test/fuzz/autolink_target.cc \
	test/fuzz/compact_target.cc \
	test/fuzz/health_target.cc \
	test/fuzz/hostile_frames.cc \
	test/fuzz/hostile_frames.h \
	test/fuzz/hub_target.cc \
	test/fuzz/job_target.cc \
	test/fuzz/policy_target.cc \
	test/fuzz/report_target.cc \
	test/fuzz/rma_target.cc \
	test/fuzz/rma_world.cc \
	test/fuzz/rma_world.h \
	test/fuzz/shapes_target.cc \
	test/fuzz/signature_target.cc \
	test/fuzz/targets.h \
	test/fuzz/text_target.cc \
	test/fuzz/trailer_target.cc \
	test/fuzz/validate_target.cc \
	test/fuzz/wire_target.cc \
	test/mpi/libraries/autolink_node.h \
	test/mpi/libraries/autolink_node_automap.h
fuzz_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/test $(XXHASH_CFLAGS)
fuzz_libraries = libfuzz_targets.la libverity_automap.la libverity_datatypes.la libverity_tools.la libverity_libraries.la libverity_policy.la libverity_core.la \
	libverity_normalize.la libverity_signature.la

if GTEST
check_PROGRAMS += verity_fuzz
TESTS += verity_fuzz
endif
verity_fuzz_CPPFLAGS = $(fuzz_cppflags) $(GTEST_CFLAGS)
verity_fuzz_LDADD = $(fuzz_libraries) -lgtest_main $(GTEST_LIBS)
verity_fuzz_SOURCES = \
	test/fuzz/fuzz_test.cc \
	test/sim/rng.h

if FUZZERS
noinst_PROGRAMS += fuzz_autolink fuzz_validate fuzz_compact fuzz_health fuzz_hub fuzz_job fuzz_policy fuzz_report fuzz_rma fuzz_shapes fuzz_signature fuzz_text fuzz_trailer fuzz_wire
endif
fuzz_autolink_CPPFLAGS = $(fuzz_cppflags) -DVERITY_FUZZ_TARGET=autolink_target
fuzz_autolink_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
fuzz_autolink_LDADD = $(fuzz_libraries)
fuzz_autolink_SOURCES = test/fuzz/entry.cc test/fuzz/targets.h
fuzz_validate_CPPFLAGS = $(fuzz_cppflags) -DVERITY_FUZZ_TARGET=validate_target
fuzz_validate_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
fuzz_validate_LDADD = $(fuzz_libraries)
fuzz_validate_SOURCES = test/fuzz/entry.cc test/fuzz/targets.h
fuzz_compact_CPPFLAGS = $(fuzz_cppflags) -DVERITY_FUZZ_TARGET=compact_target
fuzz_compact_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
fuzz_compact_LDADD = $(fuzz_libraries)
fuzz_compact_SOURCES = test/fuzz/entry.cc test/fuzz/targets.h
fuzz_health_CPPFLAGS = $(fuzz_cppflags) -DVERITY_FUZZ_TARGET=health_target
fuzz_health_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
fuzz_health_LDADD = $(fuzz_libraries)
fuzz_health_SOURCES = test/fuzz/entry.cc test/fuzz/targets.h
fuzz_hub_CPPFLAGS = $(fuzz_cppflags) -DVERITY_FUZZ_TARGET=hub_target
fuzz_hub_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
fuzz_hub_LDADD = $(fuzz_libraries)
fuzz_hub_SOURCES = test/fuzz/entry.cc test/fuzz/targets.h
fuzz_job_CPPFLAGS = $(fuzz_cppflags) -DVERITY_FUZZ_TARGET=job_target
fuzz_job_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
fuzz_job_LDADD = $(fuzz_libraries)
fuzz_job_SOURCES = test/fuzz/entry.cc test/fuzz/targets.h
fuzz_policy_CPPFLAGS = $(fuzz_cppflags) -DVERITY_FUZZ_TARGET=policy_target
fuzz_policy_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
fuzz_policy_LDADD = $(fuzz_libraries)
fuzz_policy_SOURCES = test/fuzz/entry.cc test/fuzz/targets.h
fuzz_report_CPPFLAGS = $(fuzz_cppflags) -DVERITY_FUZZ_TARGET=report_target
fuzz_report_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
fuzz_report_LDADD = $(fuzz_libraries)
fuzz_report_SOURCES = test/fuzz/entry.cc test/fuzz/targets.h
fuzz_rma_CPPFLAGS = $(fuzz_cppflags) -DVERITY_FUZZ_TARGET=rma_target
fuzz_rma_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
fuzz_rma_LDADD = $(fuzz_libraries)
fuzz_rma_SOURCES = test/fuzz/entry.cc test/fuzz/targets.h
fuzz_shapes_CPPFLAGS = $(fuzz_cppflags) -DVERITY_FUZZ_TARGET=shapes_target
fuzz_shapes_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
fuzz_shapes_LDADD = $(fuzz_libraries)
fuzz_shapes_SOURCES = test/fuzz/entry.cc test/fuzz/targets.h
fuzz_signature_CPPFLAGS = $(fuzz_cppflags) -DVERITY_FUZZ_TARGET=signature_target
fuzz_signature_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
fuzz_signature_LDADD = $(fuzz_libraries)
fuzz_signature_SOURCES = test/fuzz/entry.cc test/fuzz/targets.h
fuzz_text_CPPFLAGS = $(fuzz_cppflags) -DVERITY_FUZZ_TARGET=text_target
fuzz_text_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
fuzz_text_LDADD = $(fuzz_libraries)
fuzz_text_SOURCES = test/fuzz/entry.cc test/fuzz/targets.h
fuzz_trailer_CPPFLAGS = $(fuzz_cppflags) -DVERITY_FUZZ_TARGET=trailer_target
fuzz_trailer_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
fuzz_trailer_LDADD = $(fuzz_libraries)
fuzz_trailer_SOURCES = test/fuzz/entry.cc test/fuzz/targets.h
fuzz_wire_CPPFLAGS = $(fuzz_cppflags) -DVERITY_FUZZ_TARGET=wire_target
fuzz_wire_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
fuzz_wire_LDADD = $(fuzz_libraries)
fuzz_wire_SOURCES = test/fuzz/entry.cc test/fuzz/targets.h

TESTS += test/fuzz/libfuzzer.sh
EXTRA_DIST += test/fuzz/libfuzzer.sh test/fuzz/corpus/hub/empty_piece_written_behind \
	test/fuzz/corpus/rma/aborted_requests_never_answered \
	test/fuzz/corpus/rma/fetch_behind_aborted_requests
