# SPDX-License-Identifier: BSD-3-Clause

# The kernels of newer instruction sets switch the compiler by pragma: no per-file flags, and on
# other architectures they are empty.
merkle_sources = \
	src/merkle/bitmap.h \
	src/merkle/geometry.h \
	src/merkle/hash.cc \
	src/merkle/hash.h \
	src/merkle/kernel.h \
	src/merkle/kernel_avx2.cc \
	src/merkle/kernel_avx512.cc \
	src/merkle/kernel_baseline.cc \
	src/merkle/kernel_impl.h \
	src/merkle/tree.cc \
	src/merkle/tree.h \
	src/merkle/xxh3_stripes.h
libverity_core_la_SOURCES += $(merkle_sources)
