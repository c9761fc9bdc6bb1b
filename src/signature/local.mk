# SPDX-License-Identifier: BSD-3-Clause

# Its own library: the interposer and the datatype tools link it without the rest of the core.
noinst_LTLIBRARIES += libverity_signature.la
libverity_signature_la_SOURCES = \
	src/signature/algebra.cc \
	src/signature/algebra.h \
	src/signature/basic.cc \
	src/signature/basic.h \
	src/signature/describe.cc \
	src/signature/describe.h \
	src/signature/prefix.cc \
	src/signature/record.cc \
	src/signature/record.h \
	src/signature/rules.cc \
	src/signature/rules.h \
	src/signature/type.cc \
	src/signature/type.h
