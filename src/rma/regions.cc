// SPDX-License-Identifier: BSD-3-Clause
#include "rma/regions.h"

#include <mutex>

namespace verity::rma {

namespace {

uint64_t random_seed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace

Regions::Regions() : tokens_(random_seed()) {}

uint64_t Regions::add(uint64_t base, uint64_t length, unsigned access) {
  const std::unique_lock lock(mutex_);
  for (;;) {
    const uint64_t token = tokens_();
    if (token != 0 && regions_.try_emplace(token, Region{base, length, access}).second) return token;
  }
}

void Regions::revoke(uint64_t token) noexcept {
  const std::unique_lock lock(mutex_);
  regions_.erase(token);
}

}  // namespace verity::rma
