# SPDX-License-Identifier: BSD-3-Clause

# Datatype normalization: pure, and needed by nothing else of the core.
noinst_LTLIBRARIES += libverity_normalize.la
libverity_normalize_la_SOURCES = \
	src/normalize/calls.cc \
	src/normalize/calls.h \
	src/normalize/canonical.cc \
	src/normalize/canonical.h \
	src/normalize/optimal.cc \
	src/normalize/optimal.h \
	src/normalize/path.cc \
	src/normalize/path.h \
	src/normalize/runs.cc \
	src/normalize/runs.h
