# SPDX-License-Identifier: BSD-3-Clause

# The generic wrapper, also used by the corrupting test transport: each plugin has its own copy.
UCT_WRAP_SOURCES = \
	src/uct/wrap/compat.h \
	src/uct/wrap/devices.cc src/uct/wrap/devices.h \
	src/uct/wrap/ep.cc src/uct/wrap/ep.h \
	src/uct/wrap/forward.h \
	src/uct/wrap/iface.cc src/uct/wrap/iface.h \
	src/uct/wrap/load_check.cc src/uct/wrap/load_check.h \
	src/uct/wrap/lower.cc src/uct/wrap/lower.h src/uct/wrap/segments.h \
	src/uct/wrap/md.cc src/uct/wrap/md.h \
	src/uct/wrap/passthrough.cc src/uct/wrap/passthrough.h \
	src/uct/wrap/registry.cc src/uct/wrap/registry.h

# The plugin: the only place that includes UCX's internal headers.
plugin_LTLIBRARIES += libuct_verity.la
libuct_verity_la_CPPFLAGS = $(AM_CPPFLAGS) $(XXHASH_CFLAGS) $(UCX_INTERNAL_CPPFLAGS) \
	-DVERITY_VERSION=\"$(PACKAGE_VERSION)\"
# nodelete: UCX keeps pointers to the component until the end of the process.
libuct_verity_la_LDFLAGS = $(PLUGIN_LDFLAGS) -Wl,-z,nodelete
libuct_verity_la_LIBADD = libverity_core.la $(UCX_LIBS)
EXTRA_libuct_verity_la_DEPENDENCIES = $(PLUGIN_DEPS)
libuct_verity_la_SOURCES = $(UCT_WRAP_SOURCES) \
	src/uct/apart.cc \
	src/uct/checks.cc \
	src/uct/checks.h \
	src/uct/closing.cc \
	src/uct/events.cc \
	src/uct/fault_guard.cc src/uct/fault_guard.h \
	src/uct/fault_log.cc src/uct/fault_log.h \
	src/uct/faults.cc \
	src/uct/fence.cc src/uct/lanes.h \
	src/uct/flush.cc src/uct/flush_queue.h \
	src/uct/hash_memory.cc \
	src/uct/hash_pool.cc src/uct/hash_pool.h \
	src/uct/onesided.cc src/uct/onesided.h \
	src/uct/onesided_ops.cc \
	src/uct/options.cc src/uct/options.h \
	src/uct/own_memory.cc src/uct/own_memory.h \
	src/uct/plugin.cc \
	src/uct/port.cc \
	src/uct/process.cc src/uct/process.h \
	src/uct/process_end.cc \
	src/uct/progress.cc \
	src/uct/read_iface.cc src/uct/read_iface.h \
	src/uct/quiet_lower.cc \
	src/uct/quiet_lower.h \
	src/uct/receive.cc \
	src/uct/send.cc \
	src/uct/trailers.cc src/uct/trailers.h \
	src/uct/type_checks.cc src/uct/type_checks.h \
	src/uct/uct_link.cc src/uct/uct_link.h \
	src/uct/verity_ep.cc src/uct/verity_ep.h \
	src/uct/verity_iface.cc src/uct/verity_iface.h \
	src/uct/verity_md.cc src/uct/verity_md.h \
	src/uct/worker_group.cc src/uct/worker_group.h
nodist_EXTRA_libuct_verity_la_SOURCES = cxx.cc
all-local: modules/libuct_verity.so.0

dist_check_SCRIPTS += test/integration/wrap.sh
TESTS += test/integration/wrap.sh
