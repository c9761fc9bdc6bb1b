# SPDX-License-Identifier: BSD-3-Clause

noinst_LTLIBRARIES += libverity_policy.la
libverity_policy_la_CPPFLAGS = $(AM_CPPFLAGS) -DVERITY_SYSCONFDIR=\"$(sysconfdir)\"
libverity_policy_la_SOURCES = \
	src/policy/policy.cc src/policy/policy.h \
	src/policy/policy_file.cc src/policy/policy_file.h \
	src/policy/quantity.cc src/policy/quantity.h
EXTRA_DIST += src/policy/README.md
