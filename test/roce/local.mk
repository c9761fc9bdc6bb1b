# SPDX-License-Identifier: BSD-3-Clause

# Links that damage packets and make their checksums fit: TCP between network namespaces, which takes
# seconds, and RoCE between two virtual machines, which is apart from `make check`: it fetches a
# distribution, needs root for a disk image, and takes minutes.
check_PROGRAMS += roce_forwarder
roce_forwarder_SOURCES = \
	test/roce/control.c \
	test/roce/control.h \
	test/roce/forwarder.c \
	test/roce/packet.h \
	test/roce/segment.h
EXTRA_PROGRAMS += roce_tsc
roce_tsc_SOURCES = test/roce/tsc.c
CLEANFILES += roce_tsc$(EXEEXT)
TESTS += test/roce/tcp.sh
EXTRA_DIST += \
	test/roce/acceptance.sh \
	test/roce/build-guest \
	test/roce/guest-init.sh \
	test/roce/health.sh \
	test/roce/lab.sh \
	test/roce/link.sh \
	test/roce/roce.sh \
	test/roce/tcp.sh \
	test/roce/verdicts.sh

# Where the machines' image is kept between runs, and, in share/, what they see of this host.
roce_dir = $${VERITY_ROCE_DIR:-$(abs_top_builddir)/roce-guest}
if MPI
roce_mpi_jobs = test/mpi/hello_integrity test/mpi/mixed test/mpi/rma
endif

# Without room for the installation the test is skipped, as it is without room for the image.
.PHONY: check-roce
check-roce: all roce_forwarder$(EXEEXT) roce_tsc$(EXEEXT) peer_death$(EXEEXT) $(roce_mpi_jobs)
	rm -rf "$(roce_dir)/share/ucx-verity"
	$(MAKE) $(AM_MAKEFLAGS) install DESTDIR= prefix="$(roce_dir)/share/ucx-verity" > roce-install.log 2>&1 || \
	  rm -rf "$(roce_dir)/share/ucx-verity"
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS=test/roce/roce.sh check_PROGRAMS= check_LTLIBRARIES=

distclean-local: distclean-roce
.PHONY: distclean-roce
distclean-roce:
	rm -rf '$(abs_top_builddir)/roce-guest' roce-install.log
