# SPDX-License-Identifier: BSD-3-Clause

# For comparison only, so no part of what the plugin loads: the unit tests and verity-types compile it.
signature_published_sources = \
	src/signature/published/crc.cc src/signature/published/crc.h \
	src/signature/published/galois.cc src/signature/published/galois.h \
	src/signature/published/hash.cc src/signature/published/hash.h \
	src/signature/published/polynomial.cc src/signature/published/polynomial.h \
	src/signature/published/rotate.cc src/signature/published/rotate.h

verity_unit_SOURCES += $(signature_published_sources) \
	test/unit/signature_published_test.cc
