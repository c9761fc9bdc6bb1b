// SPDX-License-Identifier: BSD-3-Clause
//
// Memory that UCX releases. The same from 1.13 to 1.23.
#ifndef VERITY_UCT_COMPAT_INTERNAL_MEMORY_H
#define VERITY_UCT_COMPAT_INTERNAL_MEMORY_H

#include <cstddef>

extern "C" {
void* ucs_malloc(size_t size, const char* name);
void* ucs_calloc(size_t count, size_t size, const char* name);
void ucs_free(void* memory);
}

#endif
