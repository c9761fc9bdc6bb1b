# SPDX-License-Identifier: BSD-3-Clause

# Plain MPI programs; test/integration runs them with Open MPI, and compiles them for MPICH as well.
mpi_test_programs = \
	test/mpi/bsend \
	test/mpi/collectives \
	test/mpi/compute \
	test/mpi/digest \
	test/mpi/early_ends \
	test/mpi/fibers \
	test/mpi/file_views \
	test/mpi/file_waits \
	test/mpi/finalize \
	test/mpi/forks \
	test/mpi/gaps \
	test/mpi/halves \
	test/mpi/hello_integrity \
	test/mpi/jump \
	test/mpi/legal \
	test/mpi/looked_up \
	test/mpi/mismatch \
	test/mpi/mixed \
	test/mpi/onesided_model \
	test/mpi/order \
	test/mpi/partitioned \
	test/mpi/passive \
	test/mpi/psend_waits \
	test/mpi/refused \
	test/mpi/released \
	test/mpi/reused \
	test/mpi/rma \
	test/mpi/scribble \
	test/mpi/spawned \
	test/mpi/stack_sends \
	test/mpi/storm \
	test/mpi/thread_bsends \
	test/mpi/thread_puts \
	test/mpi/thread_windows \
	test/mpi/threads \
	test/mpi/two_groups \
	test/mpi/typecheck_cost \
	test/mpi/types \
	test/mpi/unconnected \
	test/mpi/vanish \
	test/mpi/windows
mpi_test_files = \
	test/mpi/bsend.c \
	test/mpi/content.h \
	test/mpi/datatypes/collectives.c \
	test/mpi/datatypes/ending.c \
	test/mpi/datatypes/exchange.py \
	test/mpi/datatypes/fibers.c \
	test/mpi/datatypes/file_waits.c \
	test/mpi/datatypes/freed_comm.c \
	test/mpi/datatypes/from_group.c \
	test/mpi/datatypes/gaps.c \
	test/mpi/datatypes/halves.c \
	test/mpi/datatypes/jump.c \
	test/mpi/datatypes/legal.c \
	test/mpi/datatypes/looked_up.c \
	test/mpi/datatypes/mismatch.c \
	test/mpi/datatypes/no_type.c \
	test/mpi/datatypes/partitioned.c \
	test/mpi/datatypes/psend_waits.c \
	test/mpi/datatypes/refused.c \
	test/mpi/datatypes/released.c \
	test/mpi/datatypes/reused.c \
	test/mpi/datatypes/session.c \
	test/mpi/datatypes/stack_sends.c \
	test/mpi/datatypes/storm.c \
	test/mpi/datatypes/throws.cc \
	test/mpi/datatypes/tool.c \
	test/mpi/datatypes/two_groups.c \
	test/mpi/datatypes/typecheck_cost.c \
	test/mpi/datatypes/types.c \
	test/mpi/datatypes/types.h \
	test/mpi/datatypes/types_ends.c \
	test/mpi/datatypes/types_fortran.f90 \
	test/mpi/datatypes/types_fortran08.f90 \
	test/mpi/datatypes/types_kinds.c \
	test/mpi/datatypes/types_onesided.c \
	test/mpi/datatypes/types_p2p.c \
	test/mpi/datatypes/unconnected.c \
	test/mpi/digest.c \
	test/mpi/ends/compute.c \
	test/mpi/ends/finalize.c \
	test/mpi/ends/forks.c \
	test/mpi/ends/spawned.c \
	test/mpi/ends/vanish.c \
	test/mpi/hello_integrity.c \
	test/mpi/model/onesided_model.c \
	test/mpi/model/onesided_model.h \
	test/mpi/model/onesided_model_apply.c \
	test/mpi/model/onesided_model_check.c \
	test/mpi/model/onesided_model_contend.c \
	test/mpi/model/onesided_model_issue.c \
	test/mpi/model/onesided_model_layout.c \
	test/mpi/model/onesided_model_order.c \
	test/mpi/model/onesided_model_plan.c \
	test/mpi/model/onesided_model_program.c \
	test/mpi/model/onesided_model_run.c \
	test/mpi/model/onesided_model_text.c \
	test/mpi/onesided/order.c \
	test/mpi/onesided/passive.c \
	test/mpi/onesided/rma.c \
	test/mpi/onesided/shmem.c \
	test/mpi/onesided/windows.c \
	test/mpi/scribble.c \
	test/mpi/threading/early_ends.c \
	test/mpi/threading/file_views.c \
	test/mpi/threading/own_workers.c \
	test/mpi/threading/thread_bsends.c \
	test/mpi/threading/thread_puts.c \
	test/mpi/threading/thread_sessions.c \
	test/mpi/threading/thread_windows.c \
	test/mpi/threading/threads.c \
	test/mpi/traffic/mixed.c \
	test/mpi/traffic/mixed.h \
	test/mpi/traffic/mixed_account.c \
	test/mpi/traffic/mixed_collective.c \
	test/mpi/traffic/mixed_exact.c \
	test/mpi/traffic/mixed_p2p.c \
	test/mpi/traffic/mixed_plan.c \
	test/mpi/traffic/mixed_ring.c \
	test/mpi/traffic/mixed_wild.c \
	test/mpi/watch.h
EXTRA_DIST += test/mpi/README.md $(mpi_test_files)

# The program NAME is NAME.c and each NAME_*.c, here or in a folder, compiled as a user would.
if MPI
check_DATA += $(mpi_test_programs)
endif
CLEANFILES += $(mpi_test_programs)
$(mpi_test_programs): $(mpi_test_files)
	$(AM_V_GEN)$(MKDIR_P) test/mpi && $(MPICC) $(VERITY_CFLAGS) -O2 -g -I$(srcdir)/test/mpi -o $@ \
	  $(if $(filter %/early_ends,$@),-rdynamic) \
	  $$(find $(srcdir)/test/mpi -name '$(@F).c' -o -name '$(@F)_*.c')
