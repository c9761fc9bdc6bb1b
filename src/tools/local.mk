# SPDX-License-Identifier: BSD-3-Clause

# The ucx-verity command. What has no edge is a library, as the unit tests and fuzz targets link it too.
noinst_LTLIBRARIES += libverity_tools.la
libverity_tools_la_CPPFLAGS = $(AM_CPPFLAGS) $(JSON_CFLAGS) $(tools_cppflags)
libverity_tools_la_SOURCES = $(blame_sources) \
	src/tools/devices.cc src/tools/devices.h \
	src/tools/hex.cc src/tools/hex.h \
	src/tools/html.cc src/tools/html.h \
	src/tools/lines.cc src/tools/lines.h \
	src/tools/subprocess.cc src/tools/subprocess.h src/tools/variable.h \
	src/tools/temporary_folder.cc src/tools/temporary_folder.h \
	src/tools/acceptance/html.cc \
	src/tools/acceptance/results.cc src/tools/acceptance/results.h \
	src/tools/acceptance/text.cc \
	src/tools/bench/clock.h \
	src/tools/bench/cpus.cc src/tools/bench/cpus.h \
	src/tools/bench/hashing.cc src/tools/bench/hashing.h \
	src/tools/bench/html.cc \
	src/tools/bench/report.cc src/tools/bench/report.h \
	src/tools/bench/result.cc src/tools/bench/result.h \
	src/tools/bench/stack.cc src/tools/bench/stack.h \
	src/tools/bench/statistics.cc src/tools/bench/statistics.h \
	src/tools/doctor/checks/diagnosis.cc src/tools/doctor/checks/diagnosis.h \
	src/tools/doctor/checks/findings.cc src/tools/doctor/checks/findings.h \
	src/tools/doctor/checks/host.h src/tools/doctor/checks/host_diagnosis.cc \
	src/tools/doctor/checks/protocols.cc src/tools/doctor/checks/protocols.h \
	src/tools/doctor/checks/shell_diagnosis.cc \
	src/tools/doctor/checks/shell_open_mpi.cc \
	src/tools/doctor/checks/shell_settings.cc src/tools/doctor/checks/shell_settings.h \
	src/tools/doctor/checks/variable_names.cc src/tools/doctor/checks/variable_names.h \
	src/tools/doctor/job/host_report.cc src/tools/doctor/job/host_report.h \
	src/tools/doctor/job/job.cc src/tools/doctor/job/job.h src/tools/doctor/job/job_launch.cc \
	src/tools/env/environment.cc src/tools/env/environment.h \
	src/tools/env/install.cc src/tools/env/install.h \
	src/tools/env/site.cc src/tools/env/site.h \
	src/tools/env/shell.cc src/tools/env/shell.h \
	src/tools/env/transports.cc src/tools/env/transports.h \
	src/tools/export/check_text.cc src/tools/export/check_text.h \
	src/tools/export/exposition.cc src/tools/export/exposition.h \
	src/tools/export/gather.cc src/tools/export/gather.h \
	src/tools/export/ledger.cc src/tools/export/ledger.h src/tools/export/ledger_json.cc \
	src/tools/health/collected.cc src/tools/health/collected.h \
	src/tools/health/status_text.cc src/tools/health/status_text.h \
	src/tools/health/top_view.cc src/tools/health/top_view.h \
	src/tools/report/common.cc \
	src/tools/report/html.cc \
	src/tools/report/json.cc \
	src/tools/report/records.cc src/tools/report/records.h \
	src/tools/report/render.h \
	src/tools/report/switches.cc src/tools/report/switches.h \
	src/tools/report/text.cc \
	src/tools/report/topology.cc src/tools/report/topology.h
tools_cppflags = -DVERITY_LIBDIR='"$(veritydir)"' -DVERITY_BINDIR='"$(bindir)"' -DVERITY_STATEDIR='"$(localstatedir)/lib/ucx-verity"'

bin_PROGRAMS += ucx-verity
ucx_verity_CPPFLAGS = -Isrc $(AM_CPPFLAGS) $(UCX_CPPFLAGS) $(CLI11_CFLAGS) $(JSON_CFLAGS) $(tools_cppflags)
ucx_verity_LDADD = libverity_tools.la libverity_policy.la libverity_core.la $(UCX_LIBS)
ucx_verity_SOURCES = \
	src/tools/commands.h \
	src/tools/main.cc \
	src/tools/quiet_stdout.cc src/tools/quiet_stdout.h \
	src/tools/ucp_end.cc src/tools/ucp_end.h \
	src/tools/ucx_query.cc src/tools/ucx_query.h \
	src/tools/acceptance/acceptance.cc \
	src/tools/acceptance/traffic.cc src/tools/acceptance/traffic.h \
	src/tools/bench/bench.cc \
	src/tools/bench/measure.cc src/tools/bench/measure.h \
	src/tools/bench/mpi.cc \
	src/tools/bench/pair.cc src/tools/bench/pair.h \
	src/tools/bench/ucp_stack.cc src/tools/bench/uct_stack.cc \
	src/tools/doctor/doctor.cc \
	src/tools/doctor/facts/doctor_facts.cc src/tools/doctor/facts/doctor_facts.h \
	src/tools/doctor/facts/exchange.cc src/tools/doctor/facts/exchange.h \
	src/tools/doctor/facts/host_facts.cc src/tools/doctor/facts/host_facts.h \
	src/tools/doctor/facts/probe.cc \
	src/tools/doctor/facts/protocol_facts.cc src/tools/doctor/facts/protocol_facts.h \
	src/tools/doctor/facts/selftest.cc src/tools/doctor/facts/selftest.h \
	src/tools/doctor/facts/shell_facts.cc src/tools/doctor/facts/shell_facts.h \
	src/tools/doctor/job/run_job.cc src/tools/doctor/job/run_job.h \
	src/tools/env/env.cc src/tools/env/env.h \
	src/tools/export/check.cc src/tools/export/export.cc \
	src/tools/export/trust.cc src/tools/export/trust.h \
	src/tools/health/status.cc \
	src/tools/health/terminal.cc src/tools/health/terminal.h \
	src/tools/health/top.cc \
	src/tools/report/report.cc

# The MPI ping-pong travels within the command, as a C++ string: the site's own MPI compiles it.
EXTRA_DIST += src/tools/bench/mpi_pingpong.c
BUILT_SOURCES += src/tools/bench/mpi_pingpong.inc
CLEANFILES += src/tools/bench/mpi_pingpong.inc
src/tools/bench/mpi_pingpong.inc: src/tools/bench/mpi_pingpong.c
	$(AM_V_GEN)$(MKDIR_P) src/tools/bench && \
	{ echo 'R"mpi('; cat $(srcdir)/src/tools/bench/mpi_pingpong.c; echo ')mpi"'; } > $@.new && \
	mv $@.new $@
src/tools/bench/ucx_verity-mpi.$(OBJEXT): src/tools/bench/mpi_pingpong.inc

# So do the scripts of `ucx-verity acceptance`, and an MPI program.
acceptance_files = src/tools/acceptance/run.sh src/tools/acceptance/steps.sh src/tools/acceptance/node.sh
acceptance_inc = src/tools/acceptance/run.inc src/tools/acceptance/steps.inc src/tools/acceptance/node.inc \
	src/tools/acceptance/program.inc
EXTRA_DIST += $(acceptance_files)
BUILT_SOURCES += $(acceptance_inc)
CLEANFILES += $(acceptance_inc)
# $(call carry,FILE)
carry = $(AM_V_GEN)$(MKDIR_P) src/tools/acceptance && \
	{ echo 'R"carried('; cat $(srcdir)/$(1); echo ')carried"'; } > $@.new && mv $@.new $@
src/tools/acceptance/run.inc: src/tools/acceptance/run.sh
	$(call carry,src/tools/acceptance/run.sh)
src/tools/acceptance/steps.inc: src/tools/acceptance/steps.sh
	$(call carry,src/tools/acceptance/steps.sh)
src/tools/acceptance/node.inc: src/tools/acceptance/node.sh
	$(call carry,src/tools/acceptance/node.sh)
src/tools/acceptance/program.inc: test/mpi/hello_integrity.c
	$(call carry,test/mpi/hello_integrity.c)
src/tools/acceptance/ucx_verity-acceptance.$(OBJEXT): $(acceptance_inc)

# The names of the plugin's variables, from the table that UCX's parser gets.
BUILT_SOURCES += include/variable_names.inc
CLEANFILES += include/variable_names.inc
include/variable_names.inc: src/uct/process/option_table.cc
	$(AM_V_GEN)$(MKDIR_P) include && \
	$(SED) -n 's/^    {"\([A-Z][A-Z_]*\)".*/"UCX_VERITY_\1",/p' $(srcdir)/src/uct/process/option_table.cc > $@.new && \
	grep -q UCX_VERITY_MODE $@.new && mv $@.new $@
$(libverity_tools_la_OBJECTS): | include/variable_names.inc

verity_unit_CPPFLAGS += $(tools_cppflags) $(JSON_CFLAGS)
verity_unit_SOURCES += \
	test/unit/tools/acceptance_test.cc \
	test/unit/tools/bench_test.cc \
	test/unit/tools/diagnosis_test.cc \
	test/unit/tools/diagnosis_host_test.cc \
	test/unit/tools/doctor_job_test.cc \
	test/unit/tools/doctor_protocols_test.cc \
	test/unit/tools/healthy_facts.h \
	test/unit/tools/totals.h \
	test/unit/tools/environment_test.cc \
	test/unit/tools/health_test.cc \
	test/unit/tools/export_test.cc \
	test/unit/tools/ledger_clock_test.cc \
	test/unit/tools/ledger_growth_test.cc \
	test/unit/tools/ledger_test.cc \
	test/unit/tools/install_test.cc \
	test/unit/tools/report_records_test.cc \
	test/unit/tools/report_render_test.cc \
	test/unit/tools/report_topology_test.cc \
	test/unit/tools/transports_test.cc

TESTS += test/integration/tools/acceptance.sh test/integration/tools/acceptance_damaging.sh test/integration/tools/acceptance_slurm.sh test/integration/tools/acceptance_ssh.sh test/integration/tools/bench.sh test/integration/tools/completion.sh test/integration/tools/doctor.sh test/integration/tools/doctor_job.sh test/integration/tools/doctor_processes.sh test/integration/tools/doctor_setups.sh test/integration/tools/env.sh test/integration/tools/policy.sh
EXTRA_DIST += test/integration/tools/acceptance.sh test/integration/tools/acceptance_damaging.sh test/integration/tools/acceptance_slurm.sh test/integration/tools/acceptance_ssh.sh test/integration/tools/bench.sh test/integration/tools/completion.sh test/integration/tools/doctor.sh test/integration/tools/doctor_job.sh test/integration/tools/doctor_processes.sh test/integration/tools/doctor_setups.sh test/integration/tools/env.sh test/integration/tools/policy.sh

dist_man1_MANS += \
	src/tools/man/ucx-verity.1 \
	src/tools/man/ucx-verity-acceptance.1 \
	src/tools/man/ucx-verity-bench.1 \
	src/tools/man/ucx-verity-check.1 \
	src/tools/man/ucx-verity-doctor.1 \
	src/tools/man/ucx-verity-env.1 \
	src/tools/man/ucx-verity-export.1 \
	src/tools/man/ucx-verity-report.1 \
	src/tools/man/ucx-verity-status.1 \
	src/tools/man/ucx-verity-top.1
dist_man7_MANS = \
	src/tools/man/ucx-verity.7 \
	src/tools/man/ucx-verity-attestation.7 \
	src/tools/man/ucx-verity-config.7 \
	src/tools/man/ucx-verity-health.7 \
	src/tools/man/ucx-verity-launch.7 \
	src/tools/man/ucx-verity-site.7 \
	src/tools/man/ucx-verity-types.7
TESTS += test/integration/build/man.sh
EXTRA_DIST += test/integration/build/man.sh

# Completion for bash, by the command's name, and zsh.
bashcompletiondir = $(datadir)/bash-completion/completions
dist_bashcompletion_DATA = contrib/completion/ucx-verity contrib/completion/verity-types
zshcompletiondir = $(datadir)/zsh/site-functions
dist_zshcompletion_DATA = contrib/completion/_ucx-verity
