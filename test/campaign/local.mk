# SPDX-License-Identifier: BSD-3-Clause

# Hours of others' programs under the datatype checks: no part of any check target, run by hand.
EXTRA_DIST += \
	test/campaign/case \
	test/campaign/explained \
	test/campaign/fetch.sh \
	test/campaign/run \
	test/campaign/situations \
	test/campaign/suites/cp2k.sh \
	test/campaign/suites/hpcc.sh \
	test/campaign/suites/hypre.sh \
	test/campaign/suites/lammps.sh \
	test/campaign/suites/mpi4py.sh \
	test/campaign/suites/mpich.sh \
	test/campaign/suites/mumps.sh \
	test/campaign/suites/netpipe.sh \
	test/campaign/suites/nwchem.sh \
	test/campaign/suites/openmpi.sh \
	test/campaign/suites/own.sh \
	test/campaign/suites/petsc.sh \
	test/campaign/suites/pnetcdf.sh \
	test/campaign/suites/scalapack.sh \
	test/campaign/summary \
	test/campaign/ucx-gtest \
	test/campaign/ucx-gtest-compare \
	test/campaign/ucx-gtest-names.c \
	test/campaign/ucx-gtest.differ \
	test/campaign/ucx-gtest.mk
