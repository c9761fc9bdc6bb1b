# SPDX-License-Identifier: BSD-3-Clause

libverity_core_la_SOURCES += \
	src/health/attestation.cc \
	src/health/attestation.h \
	src/health/attestation_io.cc \
	src/health/attestation_io.h \
	src/health/bypass.h \
	src/health/bypass_lanes.cc \
	src/health/bypass_mpi.cc \
	src/health/counters.h \
	src/health/fault_kind.h \
	src/health/fault_record.cc \
	src/health/fault_record.h \
	src/health/registry.cc \
	src/health/registry.h \
	src/health/syndrome.cc \
	src/health/syndrome.h \
	src/health/text.cc \
	src/health/text.h
