# SPDX-License-Identifier: BSD-3-Clause

# Plain MPI programs; test/integration runs them with Open MPI, and compiles them again for MPICH.
mpi_test_programs += \
	test/mpi/bsend \
	test/mpi/collectives \
	test/mpi/compute \
	test/mpi/digest \
	test/mpi/finalize \
	test/mpi/forks \
	test/mpi/gaps \
	test/mpi/jump \
	test/mpi/legal \
	test/mpi/mismatch \
	test/mpi/mixed \
	test/mpi/onesided_model \
	test/mpi/order \
	test/mpi/partitioned \
	test/mpi/passive \
	test/mpi/released \
	test/mpi/rma \
	test/mpi/scribble \
	test/mpi/spawned \
	test/mpi/storm \
	test/mpi/thread_puts \
	test/mpi/thread_windows \
	test/mpi/threads \
	test/mpi/typecheck_cost \
	test/mpi/types \
	test/mpi/unconnected \
	test/mpi/vanish \
	test/mpi/windows
mpi_test_files = \
	test/mpi/bsend.c \
	test/mpi/collectives.c \
	test/mpi/compute.c \
	test/mpi/content.h \
	test/mpi/datatypes/exchange.py \
	test/mpi/datatypes/jump.c \
	test/mpi/datatypes/mismatch.c \
	test/mpi/datatypes/session.c \
	test/mpi/datatypes/tool.c \
	test/mpi/datatypes/types.c \
	test/mpi/datatypes/types.h \
	test/mpi/datatypes/types_ends.c \
	test/mpi/datatypes/types_fortran.f90 \
	test/mpi/datatypes/types_fortran08.f90 \
	test/mpi/datatypes/types_kinds.c \
	test/mpi/datatypes/types_onesided.c \
	test/mpi/datatypes/types_p2p.c \
	test/mpi/digest.c \
	test/mpi/finalize.c \
	test/mpi/forks.c \
	test/mpi/gaps.c \
	test/mpi/legal.c \
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
	test/mpi/order.c \
	test/mpi/partitioned.c \
	test/mpi/passive.c \
	test/mpi/released.c \
	test/mpi/rma.c \
	test/mpi/scribble.c \
	test/mpi/spawned.c \
	test/mpi/storm.c \
	test/mpi/thread_puts.c \
	test/mpi/thread_windows.c \
	test/mpi/threads.c \
	test/mpi/traffic/mixed.c \
	test/mpi/traffic/mixed.h \
	test/mpi/traffic/mixed_account.c \
	test/mpi/traffic/mixed_collective.c \
	test/mpi/traffic/mixed_exact.c \
	test/mpi/traffic/mixed_p2p.c \
	test/mpi/traffic/mixed_plan.c \
	test/mpi/traffic/mixed_ring.c \
	test/mpi/traffic/mixed_wild.c \
	test/mpi/typecheck_cost.c \
	test/mpi/unconnected.c \
	test/mpi/vanish.c \
	test/mpi/watch.h \
	test/mpi/windows.c
EXTRA_DIST += test/mpi/README.md $(mpi_test_files)

# Those in folders, some of several files: whatever is named NAME_*.c beside NAME.c belongs to it.
test/mpi/mixed test/mpi/onesided_model test/mpi/types test/mpi/mismatch test/mpi/jump: $(mpi_test_files)
	$(AM_V_GEN)$(MKDIR_P) test/mpi && $(MPICC) $(VERITY_CFLAGS) -O2 -g -I$(srcdir)/test/mpi -o $@ \
	  $(srcdir)/test/mpi/*/$(@F).c $$(find $(srcdir)/test/mpi -name '$(@F)_*.c')
test/mpi/bsend \
test/mpi/collectives \
test/mpi/compute \
test/mpi/finalize \
test/mpi/legal \
test/mpi/order \
test/mpi/partitioned \
test/mpi/passive \
test/mpi/released \
test/mpi/rma \
test/mpi/scribble \
test/mpi/storm \
test/mpi/unconnected \
test/mpi/thread_windows \
test/mpi/threads: \
	test/mpi/content.h test/mpi/watch.h
