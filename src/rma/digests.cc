// SPDX-License-Identifier: BSD-3-Clause
// Digests of the owner's memory: made in slices by poll(), or by other threads where there are any,
// and answered.
#include <algorithm>
#include <new>

#include "merkle/tree.h"
#include "rma/server_job.h"

namespace verity::rma {

namespace {

// Looks at unfinished work before the thread that looks is taken for what keeps it from being done.
constexpr uint32_t kPatience = 256;

}  // namespace

// False: not through yet.
bool Server::hash(Job& job, size_t* budget) noexcept {
  if (job.slices != nullptr) return gather(job);
  const merkle::Geometry geometry = job.geometry();
  const auto count = static_cast<uint32_t>(geometry.leaf_count());
  try {
    job.leaves.resize(count);
  } catch (const std::bad_alloc&) {
    job.status = RmaStatus::kBusy;
    return true;
  }
  if (job.hashed == 0 && share_out(job)) return false;
  while (job.hashed < count && *budget != 0) {
    const auto per_slice =
        static_cast<uint32_t>(std::max<size_t>(1, *budget / geometry.segment_size()));
    const uint32_t last = std::min(count, job.hashed + per_slice);
    const uint64_t begin = geometry.leaf_offset(job.hashed);
    const uint64_t length =
        std::min<uint64_t>(geometry.leaf_offset(last), job.request.length) - begin;
    const uint64_t address = job.request.address + begin;
    job.status = memory_.with(job.request.token, address, length, kRead, [&] {
      // The program may have unmapped the memory: the reads are guarded, as those of gets are,
      // because a system call for each slice would cost as much as hashing a part of it.
      return access(address, length, [&] {
        const auto* bytes = reinterpret_cast<const uint8_t*>(address);
        merkle::leaf_digests({length, geometry.segment_size()}, util::Pieces{{{bytes, length}}},
                             std::span(job.leaves).subspan(job.hashed, last - job.hashed));
      });
    });
    if (job.status != RmaStatus::kOk) return true;
    counts(*job.peer).digest_bytes += length;
    hashed_ += length;
    *budget -= std::min<size_t>(*budget, length);
    job.hashed = last;
  }
  job.ready = job.hashed == count;
  return job.ready;
}

// To other threads, if there are any and it is worth their waking.
bool Server::share_out(Job& job) noexcept {
  Hasher* hasher = job.request.length > kShareAbove ? port_.hasher() : nullptr;
  if (hasher == nullptr) return false;
  const merkle::Geometry geometry = job.geometry();
  const auto leaves =
      static_cast<uint32_t>(std::max<size_t>(1, kSharedSlice / geometry.segment_size()));
  const auto count = static_cast<uint32_t>((geometry.leaf_count() + leaves - 1) / leaves);
  std::unique_ptr<HashSlice[]> slices(new (std::nothrow) HashSlice[count]);
  if (slices == nullptr) return false;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t begin = geometry.leaf_offset(i * leaves);
    const uint64_t end =
        std::min<uint64_t>(begin + uint64_t{leaves} * geometry.segment_size(), job.request.length);
    HashSlice& slice = slices[i];
    slice.token = job.request.token;
    slice.address = job.request.address + begin;
    slice.length = static_cast<uint32_t>(end - begin);
    slice.segment_size = static_cast<uint32_t>(geometry.segment_size());
    slice.leaves = job.leaves.data() + size_t{i} * leaves;
  }
  if (!hasher->submit({slices.get(), count})) return false;
  job.slices = std::move(slices);
  job.slice_count = count;
  ++shared_;
  return true;
}

// False: other threads are still at it.
bool Server::gather(Job& job) noexcept {
  const std::span slices(job.slices.get(), job.slice_count);
  if (!std::all_of(slices.begin(), slices.end(),
                   [](const HashSlice& s) { return s.done.load(std::memory_order_acquire); })) {
    if (++job.polls % kPatience == 0) port_.hasher()->give_way();
    return false;
  }
  for (const HashSlice& slice : slices) {
    const bool good = slice.status == RmaStatus::kOk;
    counts(*job.peer).digest_bytes += good ? slice.length : 0;
    hashed_ += good ? slice.length : 0;
    counts(*job.peer).digest_bytes_shared += good ? slice.length : 0;
    if (job.status == RmaStatus::kOk) job.status = slice.status;
  }
  job.slices.reset();
  --shared_;
  job.hashed = static_cast<uint32_t>(job.leaves.size());
  job.ready = true;
  return true;
}

void Server::take_back(Job& job) noexcept {
  if (job.slices == nullptr) return;
  for (HashSlice& slice : std::span(job.slices.get(), job.slice_count))
    port_.hasher()->withdraw(slice);
  job.slices.reset();
  --shared_;
}

// --- answers; false when the link has no room now
// -------------------------------------------------------------------------------

bool Server::answer_hash(Job& job) noexcept {
  const wire::RmaHeader& asked = job.request.header;
  if (job.status != RmaStatus::kOk)
    return answer(*job.peer, {RmaKind::kHashed, job.status, asked.id});
  if (asked.what == wire::kLeaves) {
    if (!answer_leaves(job)) return false;
    const uint32_t known = job.request.known;
    const bool same =
        known == 0 || known == static_cast<uint32_t>(merkle::root_of(job.geometry(), job.leaves));
    if (!same) port_.source_changed(*job.peer, job.request.address, job.request.length);
    return true;
  }
  uint8_t* out = port_.open_message(*job.peer, sizeof(asked) + sizeof(merkle::Digest));
  if (out == nullptr) return false;
  const wire::RmaHeader header{static_cast<uint8_t>(RmaKind::kHashed),
                               static_cast<uint8_t>(RmaStatus::kOk), 0, 0, asked.id};
  const merkle::Digest root = merkle::root_of(job.geometry(), job.leaves);
  std::memcpy(out, &header, sizeof(header));
  std::memcpy(out + sizeof(header), &root, sizeof(root));
  port_.send_message(*job.peer, sizeof(header) + sizeof(root));
  counts(*job.peer).digests_served++;
  return true;
}

bool Server::answer_leaves(Job& job) noexcept {
  const auto count = static_cast<uint32_t>(job.leaves.size());
  const auto most = static_cast<uint32_t>((port_.max_message() - sizeof(wire::RmaLeaves)) /
                                          sizeof(merkle::Digest));
  while (job.answered < count) {
    const uint32_t n = std::min(most, count - job.answered);
    const size_t bytes = n * sizeof(merkle::Digest);
    uint8_t* out = port_.open_message(*job.peer, sizeof(wire::RmaLeaves) + bytes);
    if (out == nullptr) return false;
    const wire::RmaLeaves message{
        {static_cast<uint8_t>(RmaKind::kHashed), static_cast<uint8_t>(RmaStatus::kOk),
         wire::kLeaves, 0, job.request.header.id},
        job.answered};
    std::memcpy(out, &message, sizeof(message));
    std::memcpy(out + sizeof(message), job.leaves.data() + job.answered, bytes);
    port_.send_message(*job.peer, sizeof(message) + bytes);
    job.answered += n;
  }
  counts(*job.peer).digests_served++;
  return true;
}

}  // namespace verity::rma
