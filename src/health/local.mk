# SPDX-License-Identifier: BSD-3-Clause

libverity_core_la_SOURCES += \
	src/health/counters.h \
	src/health/file_pattern.cc src/health/file_pattern.h \
	src/health/identity.cc src/health/identity.h \
	src/health/paths.h \
	src/health/process_id.cc src/health/process_id.h \
	src/health/sampler.h \
	src/health/text.cc src/health/text.h \
	src/health/faults/fault_kind.h \
	src/health/faults/fault_record.cc src/health/faults/fault_record.h \
	src/health/faults/port.cc src/health/faults/port.h \
	src/health/faults/syndrome.cc src/health/faults/syndrome.h \
	src/health/files/belief.cc src/health/files/belief.h \
	src/health/files/directory.cc src/health/files/directory.h \
	src/health/files/folder.h \
	src/health/files/interface_rows.cc src/health/files/interface_rows.h \
	src/health/files/layout.h \
	src/health/files/reader.cc src/health/files/reader.h \
	src/health/files/segment.cc src/health/files/segment.h \
	src/health/files/table.cc src/health/files/table.h \
	src/health/files/view.cc src/health/files/view.h \
	src/health/report/account_text.cc src/health/report/account_text.h \
	src/health/report/attestation.cc src/health/report/attestation.h \
	src/health/report/attestation_io.cc src/health/report/attestation_io.h \
	src/health/report/bypass.h src/health/report/bypass_lanes.cc src/health/report/bypass_mpi.cc \
	src/health/report/job_log.cc src/health/report/job_log.h src/health/report/job_records.cc \
	src/health/report/summary.cc src/health/report/summary.h

# The layout of the health file, for programs that read it.
verityincludedir = $(includedir)/ucx-verity
verityinclude_HEADERS = include/ucx-verity/health.h
