# SPDX-License-Identifier: BSD-3-Clause

# The corrupting transport, for tests and for 'ucx-verity doctor --selftest'; README.md explains how to use it. It is installed in a
# folder of its own, under a name that UCX does not look for: no job loads it by accident.
FAULT_CORE_SOURCES = \
	test/fault/damage.cc test/fault/damage.h \
	test/fault/injector.cc test/fault/injector.h \
	test/fault/kinds.h \
	test/fault/report.cc test/fault/report.h \
	test/fault/settings.cc test/fault/settings.h

selftestdir = $(plugindir)/selftest
selftest_LTLIBRARIES = libuct_fault.la
check_DATA += modules/libuct_fault.so.0
libuct_fault_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test $(UCX_INTERNAL_CPPFLAGS)
# ThreadSanitizer looks at what stands above it: it does not see by what UCX's own code keeps the asynchronous thread out of this.
libuct_fault_la_CXXFLAGS = $(AM_CXXFLAGS) -fno-sanitize=thread
# nodelete: as for the plugin.
libuct_fault_la_LDFLAGS = $(PLUGIN_LDFLAGS) -Wl,-z,nodelete
libuct_fault_la_LIBADD = $(UCX_LIBS)
EXTRA_libuct_fault_la_DEPENDENCIES = $(PLUGIN_DEPS)
libuct_fault_la_SOURCES = $(UCT_WRAP_SOURCES) $(FAULT_CORE_SOURCES) \
	test/fault/async.cc \
	test/fault/config.cc test/fault/config.h \
	test/fault/frames.cc \
	test/fault/iface.h \
	test/fault/owned.cc test/fault/owned.h \
	test/fault/peers.cc \
	test/fault/plugin.cc \
	test/fault/queue.cc \
	test/fault/rma.cc \
	test/fault/rx.cc \
	test/fault/tx.cc

verity_unit_SOURCES += $(FAULT_CORE_SOURCES) test/fault/fault_test.cc

# Sends messages through plain UCP and checks every byte.
check_PROGRAMS += ucp_check
ucp_check_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CPPFLAGS)
ucp_check_LDADD = $(UCX_LIBS)
ucp_check_SOURCES = test/fault/ucp_check.cc

dist_check_SCRIPTS += test/integration/transport/fault_self.sh
TESTS += test/integration/transport/fault_self.sh

EXTRA_DIST += test/fault/README.md
