// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_UCT_MEMORY_OWN_MEMORY_H
#define VERITY_UCT_MEMORY_OWN_MEMORY_H

#include <cstddef>
#include <cstdint>

namespace verity::uct {

// `length` bytes of this process's memory at `address`, which the program may have unmapped, or
// whose file it may have cut short: a pointer to them, be it to a copy in `scratch`; nullptr when
// they cannot be read. Does not raise a signal, but for another thread that takes the memory away
// meanwhile, where the kernel has MADV_POPULATE_READ (Linux 5.14). Any thread.
[[nodiscard]] const uint8_t* readable_memory(uint64_t address, size_t length,
                                             uint8_t* scratch) noexcept;

}  // namespace verity::uct

#endif
