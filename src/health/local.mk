# SPDX-License-Identifier: BSD-3-Clause

libverity_core_la_SOURCES += \
	src/health/account_text.cc src/health/account_text.h \
	src/health/attestation.cc \
	src/health/attestation.h \
	src/health/attestation_io.cc \
	src/health/attestation_io.h \
	src/health/bypass.h \
	src/health/bypass_lanes.cc \
	src/health/bypass_mpi.cc \
	src/health/belief.cc src/health/belief.h \
	src/health/counters.h \
	src/health/fault_kind.h \
	src/health/fault_record.cc \
	src/health/fault_record.h \
	src/health/syndrome.cc \
	src/health/syndrome.h \
	src/health/directory.cc src/health/directory.h \
	src/health/file_pattern.cc src/health/file_pattern.h \
	src/health/identity.cc src/health/identity.h \
	src/health/interface_rows.cc src/health/interface_rows.h \
	src/health/job_log.cc src/health/job_log.h src/health/job_records.cc \
	src/health/layout.h \
	src/health/process_id.cc src/health/process_id.h \
	src/health/reader.cc src/health/reader.h \
	src/health/sampler.h \
	src/health/paths.h \
	src/health/port.cc src/health/port.h \
	src/health/folder.h src/health/segment.cc src/health/segment.h \
	src/health/summary.cc src/health/summary.h \
	src/health/table.cc src/health/table.h \
	src/health/view.cc src/health/view.h \
	src/health/text.cc \
	src/health/text.h

# The layout of the health file, for programs that read it.
verityincludedir = $(includedir)/ucx-verity
verityinclude_HEADERS = include/ucx-verity/health.h
