// SPDX-License-Identifier: BSD-3-Clause
// The process's pool, and how its threads read registered memory: the program goes on meanwhile,
// and may take it away at any moment. What the kernel says before is not enough then.
#include <pthread.h>

#include "uct/idle/hash_pool.h"
#include "uct/memory/own_memory.h"
#include "uct/memory/verity_md.h"
#include "uct/process/fault_guard.h"

namespace verity::uct {

namespace {

template <typename Use>
bool look(const rma::HashSlice& slice, std::vector<uint8_t>& scratch, Use&& use) noexcept {
  const uint8_t* bytes = readable_memory(slice.address, slice.length, scratch.data());
  if (bytes == nullptr) return false;
  if (bytes == scratch.data()) {
    use(bytes);
    return true;
  }
  auto call = [&] { use(bytes); };
  using Call = decltype(call);
  return guarded_access(
      slice.address, slice.length, [](void* arg) { (*static_cast<Call*>(arg))(); }, &call);
}

wire::RmaStatus make(const rma::HashSlice& slice, std::vector<uint8_t>& scratch) {
  try {
    if (scratch.size() < slice.length) scratch.resize(slice.length);
  } catch (const std::bad_alloc&) { return wire::RmaStatus::kBusy; }
  return rma::make(slice, regions(), [&](const auto& use) { return look(slice, scratch, use); });
}

// Never destroyed: interfaces may close after static destructors ran. A child made by fork() begins
// anew: the threads are not in it, and one of them may hold the lock.
HashPool* pool = nullptr;

bool begin() noexcept {
  pool = new HashPool(make);
  return pthread_atfork(nullptr, nullptr, [] { pool = new HashPool(make); }) == 0;
}

}  // namespace

HashPool& hash_pool() noexcept {
  [[maybe_unused]] static const bool begun = begin();
  return *pool;
}

}  // namespace verity::uct
