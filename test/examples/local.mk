# SPDX-License-Identifier: BSD-3-Clause

# Programs for users to copy: not installed, built by their test as a user would.
TESTS += test/integration/libraries/examples.sh
EXTRA_DIST += test/integration/libraries/examples.sh test/examples/README.md test/examples/checkpoint.c test/examples/corruption.c test/examples/halo.c \
	test/examples/forest.c test/examples/forest.h
