# SPDX-License-Identifier: BSD-3-Clause

# Real UCX and MPI over two virtual machines with soft-RoCE. Apart from `make check`: it fetches a
# distribution, needs root for its disk image, and takes minutes.
EXTRA_PROGRAMS += roce_forwarder roce_tsc
roce_forwarder_SOURCES = test/roce/forwarder.c test/roce/packet.h
roce_tsc_SOURCES = test/roce/tsc.c
CLEANFILES += roce_forwarder$(EXEEXT) roce_tsc$(EXEEXT)
EXTRA_DIST += test/roce/build-guest test/roce/guest-init.sh test/roce/lab.sh test/roce/roce.sh

# Where the machines' image is kept between runs, and, in share/, what they see of this host.
roce_dir = $${VERITY_ROCE_DIR:-$(abs_top_builddir)/roce-guest}
if MPI
roce_mpi_jobs = test/mpi/hello_integrity test/mpi/mixed test/mpi/rma
endif

.PHONY: check-roce
check-roce: all roce_forwarder$(EXEEXT) roce_tsc$(EXEEXT) $(roce_mpi_jobs)
	$(MAKE) $(AM_MAKEFLAGS) install DESTDIR= prefix="$(roce_dir)/share/ucx-verity" > roce-install.log
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS=test/roce/roce.sh check_PROGRAMS=

distclean-local: distclean-roce
.PHONY: distclean-roce
distclean-roce:
	rm -rf '$(abs_top_builddir)/roce-guest' roce-install.log
