# SPDX-License-Identifier: BSD-3-Clause

# The simulated wire; verity_unit uses it too.
sim_sources = \
	test/sim/channel.cc \
	test/sim/channel.h \
	test/sim/message.h \
	test/sim/node.cc \
	test/sim/node.h \
	test/sim/node_port.cc \
	test/sim/rng.h \
	test/sim/world.cc \
	test/sim/world.h

if GTEST
check_PROGRAMS += verity_sim
TESTS += verity_sim
endif
verity_sim_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test $(XXHASH_CFLAGS) $(GTEST_CFLAGS)
verity_sim_LDADD = libverity_core.la -lgtest_main $(GTEST_LIBS)
verity_sim_SOURCES = $(sim_sources) \
	test/sim/restart_test.cc \
	test/sim/sim_test.cc \
	test/unit/link/pair.h
