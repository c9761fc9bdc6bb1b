# SPDX-License-Identifier: BSD-3-Clause
#
# Builds UCX's own tests of UCT and UCP against the installed libraries, for test/campaign/ucx-gtest, which sets
#   SOURCE  UCX's source tree, of the installed version
#   CONFIG  the folder with the installed build's config.h
#   NAMES   the source of the library that renames transports
# What reaches into one lower transport's structures (uct/ib, uct/tcp, uct/test_mm.cc) or needs InfiniBand's tag matching
# (uct/test_tag.cc) is left out, and so are the tests of UCX's own utilities.
CC = gcc
CXX = g++
# The assertions of the tests are in macros with long functions: optimising them takes three times as long and finds nothing.
FLAGS = -O0 -w -fopenmp -DHAVE_CONFIG_H -DHAVE_GTEST=1 -DGTEST_UCM_HOOK_LIB_DIR='"."' -DTOP_SRCDIR='"$(SOURCE)"' \
	-I$(CONFIG) -I$(SOURCE)/src -I$(SOURCE)/test -I$(SOURCE)/test/gtest -I$(SOURCE)/test/gtest/common
# InfiniBand's own functions, which a few tests ask for by address, are in a module of UCX's and stay unresolved.
LIBS = -lucp -luct -lucs -lucm -ldl -lpthread -lrt -lm

gtest_dir = $(SOURCE)/test/gtest
left_out = %/gtest_main.cc %/test_mm.cc %/uct/test_tag.cc
sources = $(filter-out $(left_out),$(wildcard $(gtest_dir)/common/*.cc $(gtest_dir)/common/googletest/*.cc \
	$(gtest_dir)/uct/*.cc $(gtest_dir)/uct/v2/*.cc $(gtest_dir)/ucp/*.cc))
perf = $(addprefix $(SOURCE)/src/tools/perf/lib/,libperf.c libperf_memory.c libperf_thread.c uct_tests.cc ucp_tests.cc)
objects = $(patsubst $(SOURCE)/%,objects/%.o,$(sources) $(perf))

all: gtest libnames.so

gtest: $(objects)
	$(CXX) -fopenmp -Wl,--unresolved-symbols=ignore-in-object-files -o $@ $(objects) $(LIBS)

libnames.so: $(NAMES)
	$(CC) -O1 -Wall -Wextra -fPIC -shared -I$(CONFIG) -I$(SOURCE)/src -o $@ $(NAMES) -ldl

objects/%.cc.o: $(SOURCE)/%.cc
	@mkdir -p $(@D)
	$(CXX) -std=c++11 $(FLAGS) -c -o $@ $<

objects/%.c.o: $(SOURCE)/%.c
	@mkdir -p $(@D)
	$(CC) -std=gnu99 $(FLAGS) -c -o $@ $<
