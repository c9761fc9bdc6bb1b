// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/digest/landings.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>

namespace verity::mpi {

namespace {

struct Landing {
  uintptr_t end;
  bool alone;
};
using ByBegin = std::multimap<uintptr_t, Landing>;

struct UnderWay {
  std::mutex mutex;
  ByBegin all;
  std::unordered_map<const void*, ByBegin::iterator> by_owner;
  uintptr_t longest = 0;  // of any so far: how far in front one may begin that reaches here
};
UnderWay& under_way() noexcept {  // never destroyed: messages may arrive while the process ends
  static auto& made = *new UnderWay;
  return made;
}

// Marks those that overlap. Whether there is none.
bool mark_overlaps(UnderWay& all, uintptr_t begin, uintptr_t end) noexcept {
  bool alone = true;
  const uintptr_t from = begin > all.longest ? begin - all.longest : 0;
  for (auto it = all.all.lower_bound(from); it != all.all.end() && it->first < end; ++it) {
    if (it->second.end <= begin) continue;
    it->second.alone = alone = false;
  }
  return alone;
}

}  // namespace

bool Landings::begin(const void* owner, const Layout& layout, const void* address,
                     uint64_t copies) noexcept {
  const auto base = reinterpret_cast<intptr_t>(address);
  const MPI_Aint last =
      layout.extent *
      static_cast<MPI_Aint>(copies - 1);  // where the last copy is, from the first one on
  const auto begin = static_cast<uintptr_t>(base + layout.low + std::min<MPI_Aint>(last, 0));
  const auto end = static_cast<uintptr_t>(base + layout.high + std::max<MPI_Aint>(last, 0));
  UnderWay& all = under_way();
  const std::lock_guard lock(all.mutex);
  try {
    all.longest = std::max(all.longest, end - begin);
    const bool alone = mark_overlaps(all, begin, end);
    all.by_owner[owner] = all.all.emplace(begin, Landing{end, alone});
    return true;
  } catch (...) { return false; }
}

bool Landings::end(const void* owner) noexcept {
  UnderWay& all = under_way();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_owner.find(owner);
  if (found == all.by_owner.end()) return false;
  const bool alone = found->second->second.alone;
  all.all.erase(found->second);
  all.by_owner.erase(found);
  return alone;
}

}  // namespace verity::mpi
