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
	test/mpi/rma \
	test/mpi/scribble \
	test/mpi/spawned \
	test/mpi/storm \
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
	test/mpi/digest.c \
	test/mpi/content.h \
	test/mpi/finalize.c \
	test/mpi/forks.c \
	test/mpi/exchange.py \
	test/mpi/gaps.c \
	test/mpi/jump.c \
	test/mpi/legal.c \
	test/mpi/mismatch.c \
	test/mpi/mixed.c \
	test/mpi/mixed.h \
	test/mpi/mixed_account.c \
	test/mpi/mixed_collective.c \
	test/mpi/mixed_exact.c \
	test/mpi/mixed_p2p.c \
	test/mpi/mixed_plan.c \
	test/mpi/mixed_ring.c \
	test/mpi/mixed_wild.c \
	test/mpi/onesided_model.c \
	test/mpi/onesided_model.h \
	test/mpi/onesided_model_apply.c \
	test/mpi/onesided_model_check.c \
	test/mpi/onesided_model_contend.c \
	test/mpi/onesided_model_issue.c \
	test/mpi/onesided_model_layout.c \
	test/mpi/onesided_model_order.c \
	test/mpi/onesided_model_plan.c \
	test/mpi/onesided_model_program.c \
	test/mpi/onesided_model_run.c \
	test/mpi/onesided_model_text.c \
	test/mpi/order.c \
	test/mpi/partitioned.c \
	test/mpi/passive.c \
	test/mpi/rma.c \
	test/mpi/scribble.c \
	test/mpi/session.c \
	test/mpi/spawned.c \
	test/mpi/storm.c \
	test/mpi/thread_windows.c \
	test/mpi/threads.c \
	test/mpi/typecheck_cost.c \
	test/mpi/tool.c \
	test/mpi/types.c \
	test/mpi/types.h \
	test/mpi/types_ends.c \
	test/mpi/types_fortran.f90 \
	test/mpi/types_fortran08.f90 \
	test/mpi/types_kinds.c \
	test/mpi/types_onesided.c \
	test/mpi/types_p2p.c \
	test/mpi/unconnected.c \
	test/mpi/watch.h \
	test/mpi/vanish.c \
	test/mpi/windows.c
EXTRA_DIST += test/mpi/README.md $(mpi_test_files)

# Those of several files: whatever is named NAME_* belongs to it.
test/mpi/mixed test/mpi/onesided_model test/mpi/types: $(mpi_test_files)
	$(AM_V_GEN)$(MKDIR_P) test/mpi && $(MPICC) $(VERITY_CFLAGS) -O2 -g -o $@ \
	  $(srcdir)/$@.c $(srcdir)/$@_*.c
test/mpi/bsend \
test/mpi/collectives \
test/mpi/compute \
test/mpi/finalize \
test/mpi/legal \
test/mpi/order \
test/mpi/partitioned \
test/mpi/passive \
test/mpi/rma \
test/mpi/scribble \
test/mpi/storm \
test/mpi/unconnected \
test/mpi/thread_windows \
test/mpi/threads: \
	test/mpi/content.h test/mpi/watch.h
