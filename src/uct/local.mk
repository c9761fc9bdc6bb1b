# SPDX-License-Identifier: BSD-3-Clause

# The generic wrapper, also used by the corrupting test transport: each plugin has its own copy.
UCT_WRAP_SOURCES = \
	src/uct/compat/callbacks.h \
	src/uct/compat/component.cc \
	src/uct/compat/component.h \
	src/uct/compat/internal/async.h \
	src/uct/compat/internal/component.h \
	src/uct/compat/internal/iface.h \
	src/uct/compat/internal/installed.h \
	src/uct/compat/internal/log.h \
	src/uct/compat/internal/md.h \
	src/uct/compat/internal/memory.h \
	src/uct/compat/internal/params.h \
	src/uct/compat/internal/perf.h \
	src/uct/compat/internal/release.h \
	src/uct/compat/internal/time.h \
	src/uct/compat/internal/transport.h \
	src/uct/compat/internal/worker.h \
	src/uct/compat/internal_ops.cc \
	src/uct/compat/internal_ops.h \
	src/uct/compat/load_check.cc \
	src/uct/compat/load_check.h \
	src/uct/compat/md_ops.cc \
	src/uct/compat/md_ops.h \
	src/uct/compat/segments.h \
	src/uct/compat/transports.cc \
	src/uct/compat/transports.h \
	src/uct/compat/ucp_errors.h \
	src/uct/compat/ucp_ids.h \
	src/uct/compat/ucx.h \
	src/uct/wrap/devices.cc \
	src/uct/wrap/devices.h \
	src/uct/wrap/ep.cc \
	src/uct/wrap/ep.h \
	src/uct/wrap/forward.h \
	src/uct/wrap/iface.cc \
	src/uct/wrap/iface.h \
	src/uct/wrap/lower.cc \
	src/uct/wrap/lower.h \
	src/uct/wrap/md.cc \
	src/uct/wrap/md.h \
	src/uct/wrap/passthrough.cc \
	src/uct/wrap/passthrough.h \
	src/uct/wrap/registry.cc \
	src/uct/wrap/registry.h \
	src/uct/wrap/transparency.h

# The plugin: the only place that knows UCX's inside.
plugin_LTLIBRARIES += libuct_verity.la
libuct_verity_la_CPPFLAGS = $(AM_CPPFLAGS) $(XXHASH_CFLAGS) $(UCX_INTERNAL_CPPFLAGS) \
	-DVERITY_VERSION=\"$(PACKAGE_VERSION)\"
# nodelete: UCX keeps pointers to the component until the end of the process.
libuct_verity_la_LDFLAGS = $(PLUGIN_LDFLAGS) -Wl,-z,nodelete
libuct_verity_la_LIBADD = libverity_policy.la libverity_core.la $(UCX_LIBS)
EXTRA_libuct_verity_la_DEPENDENCIES = $(PLUGIN_DEPS)
libuct_verity_la_SOURCES = $(UCT_WRAP_SOURCES) \
	src/uct/plugin.cc \
	src/uct/process/clock.h \
	src/uct/process/fault_guard.cc \
	src/uct/process/fault_guard.h \
	src/uct/process/fault_log.cc \
	src/uct/process/fault_log.h \
	src/uct/process/interposer.cc \
	src/uct/process/interposer.h \
	src/uct/process/option_table.cc \
	src/uct/process/option_table.h \
	src/uct/process/options.cc \
	src/uct/process/options.h \
	src/uct/process/per_process.h \
	src/uct/process/process.cc \
	src/uct/process/process.h \
	src/uct/process/process_end.cc \
	src/uct/process/ucx_log.cc \
	src/uct/process/ucx_log.h \
	src/uct/process/site_policy.cc \
	src/uct/process/site_policy.h \
	src/uct/process/spent_numbers.cc \
	src/uct/process/spent_numbers.h \
	src/uct/process/type_checks.cc \
	src/uct/process/type_checks.h \
	src/uct/process/warnings.cc \
	src/uct/process/warnings.h \
	src/uct/memory/own_memory.cc \
	src/uct/memory/own_memory.h \
	src/uct/memory/verity_md.cc \
	src/uct/memory/verity_md.h \
	src/uct/extensions/extensions.cc \
	src/uct/extensions/extensions.h \
	src/uct/extensions/trailers.h \
	src/uct/idle/hash_memory.cc \
	src/uct/idle/hash_pool.cc \
	src/uct/idle/hash_pool.h \
	src/uct/idle/idle_progress.cc \
	src/uct/idle/idle_progress.h \
	src/uct/idle/thread_rules.h \
	src/uct/idle/wakeup_timer.cc \
	src/uct/idle/wakeup_timer.h \
	src/uct/links/addresses.cc \
	src/uct/links/addresses.h \
	src/uct/links/fault_report.h \
	src/uct/links/flush_queue.h \
	src/uct/links/iface_core.h \
	src/uct/links/lanes.h \
	src/uct/links/link_ep.h \
	src/uct/links/link_set.cc \
	src/uct/links/link_set.h \
	src/uct/links/patience.cc \
	src/uct/links/patience.h \
	src/uct/links/uct_link.cc \
	src/uct/links/uct_link.h \
	src/uct/links/worker_group.cc \
	src/uct/links/worker_group.h \
	src/uct/sending/check_cost.h \
	src/uct/sending/checks.cc \
	src/uct/sending/checks.h \
	src/uct/sending/completions.cc \
	src/uct/sending/completions.h \
	src/uct/sending/frame_limits.cc \
	src/uct/sending/frame_limits.h \
	src/uct/sending/frame_sender.cc \
	src/uct/sending/frame_sender.h \
	src/uct/sending/late_copy.cc \
	src/uct/sending/late_copy.h \
	src/uct/sending/zero_copy.cc \
	src/uct/sending/zero_copy.h \
	src/uct/onesided/fences.cc \
	src/uct/onesided/fences.h \
	src/uct/onesided/onesided.cc \
	src/uct/onesided/onesided.h \
	src/uct/onesided/port.cc \
	src/uct/onesided/read_iface.cc \
	src/uct/onesided/read_iface.h \
	src/uct/receiving/delivery.cc \
	src/uct/receiving/delivery.h \
	src/uct/progress/flusher.cc \
	src/uct/progress/flusher.h \
	src/uct/progress/lingering_close.cc \
	src/uct/progress/lingering_close.h \
	src/uct/progress/link_upkeep.cc \
	src/uct/progress/link_upkeep.h \
	src/uct/progress/lower_completions.cc \
	src/uct/progress/lower_completions.h \
	src/uct/progress/worker_callback.h \
	src/uct/iface/am_ops.cc \
	src/uct/iface/attributes.cc \
	src/uct/iface/control_ops.cc \
	src/uct/iface/link_port.cc \
	src/uct/iface/link_port.h \
	src/uct/iface/ops.h \
	src/uct/iface/progress.cc \
	src/uct/iface/rma_ops.cc \
	src/uct/iface/verity_ep.cc \
	src/uct/iface/verity_ep.h \
	src/uct/iface/verity_iface.cc \
	src/uct/iface/verity_iface.h
nodist_EXTRA_libuct_verity_la_SOURCES = cxx.cc
all-local: modules/libuct_verity.so.0

dist_check_SCRIPTS += test/integration/transport/wrap.sh test/integration/transport/transparent.sh
TESTS += test/integration/transport/wrap.sh test/integration/transport/transparent.sh

EXTRA_DIST += src/uct/README.md src/uct/compat/README.md
