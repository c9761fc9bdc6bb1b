# SPDX-License-Identifier: BSD-3-Clause

# The tables of the papers on signatures, for comparison: in verity-types and its unit tests, used by nothing else.
types_tables_sources = \
	src/types/tables/census.cc src/types/tables/census.h \
	src/types/tables/crc.cc src/types/tables/crc.h \
	src/types/tables/galois.cc src/types/tables/galois.h \
	src/types/tables/hash.cc src/types/tables/hash.h \
	src/types/tables/polynomial.cc src/types/tables/polynomial.h \
	src/types/tables/rotate.cc src/types/tables/rotate.h \
	src/types/tables/samples.cc src/types/tables/samples.h \
	src/types/tables/timing.cc src/types/tables/timing.h

verity_unit_SOURCES += test/unit/types/tables_test.cc
