# SPDX-License-Identifier: BSD-3-Clause

# The preload: plain C, no dependency, none of the sanitizers' run time.
preload_LTLIBRARIES += libverity_preload.la
libverity_preload_la_CPPFLAGS = $(AM_CPPFLAGS) -DVERITY_SYSCONFDIR=\"$(sysconfdir)\"
libverity_preload_la_SOURCES = src/loader/preload.c src/loader/unused.c \
	src/loader/site_value.c src/loader/site_value.h
libverity_preload_la_LDFLAGS = -module -avoid-version -shared -Wl,-z,defs \
	-Wl,--version-script=$(PRELOAD_MAP)
EXTRA_libverity_preload_la_DEPENDENCIES = $(PRELOAD_MAP)
PRELOAD_MAP = $(top_srcdir)/src/loader/preload.map
EXTRA_DIST += src/loader/preload.map

TESTS += test/integration/build/loader.sh
EXTRA_DIST += test/tap.sh test/integration/build/loader.sh
