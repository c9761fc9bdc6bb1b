# SPDX-License-Identifier: BSD-3-Clause

# The verity-types command: datatypes and signatures. It needs neither UCX nor MPI.
# What the unit tests link too.
noinst_LTLIBRARIES += libverity_datatypes.la
libverity_datatypes_la_SOURCES = $(types_tables_sources) \
	src/types/expression.cc src/types/expression.h \
	src/types/layout.cc src/types/layout.h

bin_PROGRAMS += verity-types
verity_types_CPPFLAGS = $(AM_CPPFLAGS) $(CLI11_CFLAGS) $(JSON_CFLAGS) -DVERITY_LIBEXECDIR='"$(pkglibexecdir)"'
verity_types_LDADD = libverity_datatypes.la libverity_normalize.la libverity_signature.la
verity_types_SOURCES = \
	src/tools/bench/clock.h \
	src/tools/bench/statistics.cc src/tools/bench/statistics.h \
	src/types/automap.cc \
	src/types/commands.h \
	src/types/main.cc \
	src/types/measure.cc src/types/measure.h \
	src/types/normalize.cc \
	src/types/of.cc \
	src/types/tables/report.cc src/types/tables/report.h \
	src/types/sig.cc

verity_unit_SOURCES += \
	test/unit/types/expression_test.cc \
	test/unit/types/layout_test.cc \
	test/unit/types/sig_test.cc

dist_man1_MANS += src/types/man/verity-types.1
TESTS += test/integration/types/types_normalize.sh test/integration/types/types_sig.sh
EXTRA_DIST += test/integration/types/types_normalize.sh test/integration/types/types_sig.sh
