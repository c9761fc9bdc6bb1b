// SPDX-License-Identifier: BSD-3-Clause
#include "uct/process/warnings.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <utility>

#include "merkle/hash.h"
#include "uct/process/interposer.h"
#include "uct/process/per_process.h"

namespace verity::uct {

Warnings& warnings() noexcept { return PerProcess<Warnings>::get(); }

bool Warnings::is_first(bool& reported) noexcept {
  const std::lock_guard lock(mutex_);
  return !std::exchange(reported, true);
}

ucs_status_t Warnings::modes_differ(const char* transport) noexcept {
  if (is_first(reported_modes_)) {
    ucs_error(
        "ucx-verity: v%s: a one-sided operation between processes of unlike modes: set "
        "UCX_VERITY_MODE alike in all of the job",
        transport);
  }
  return UCS_ERR_UNSUPPORTED;
}

bool Warnings::is_new_refusal(const char* why) noexcept {
  const uint64_t words = merkle::hash(why, std::strlen(why));
  const std::lock_guard lock(mutex_);
  const auto end = refusals_.begin() + refusal_count_;
  if (end == refusals_.end() || std::find(refusals_.begin(), end, words) != end) return false;
  refusals_[refusal_count_++] = words;
  return true;
}

void Warnings::peer_refused(const char* why) noexcept {
  if (is_new_refusal(why)) ucs_error("ucx-verity: %s", why);
}

void Warnings::trailers_differ(unsigned theirs) noexcept {
  if (!is_first(reported_trailers_)) return;
  ucs_warn(
      "ucx-verity: a peer's libverity_mpi has version %u, ours %u: the datatypes of messages "
      "between them are not checked; "
      "install one version of ucx-verity on all hosts",
      theirs, VERITY_INTERPOSER_VERSION);
}

void Warnings::cannot_verify(const char* transport) noexcept {
  if (!is_first(reported_unverified_)) return;
  ucs_warn(
      "ucx-verity: v%s: no verified transport to the same peer to ask for digests: reads go "
      "UNVERIFIED; name wrapped "
      "transports alone in UCX_TLS (see 'ucx-verity doctor')",
      transport);
}

namespace {

constexpr unsigned kWarnings = 8;

const char* not_again(bool last) noexcept { return last ? " (not reported again)" : ""; }

}  // namespace

// Which warning of changed memory this is, from 1 on; 0: there were enough.
unsigned Warnings::next_of_changed() noexcept {
  const std::lock_guard lock(mutex_);
  return warned_ == kWarnings ? 0 : ++warned_;
}

void Warnings::source_changed(const char* transport, uint64_t peer, const void* data, size_t length,
                              uint64_t watched) noexcept {
  const verity_interposer* interposer = find_interposer();
  if (interposer != nullptr && interposer->changed(data, length, watched) != 0) return;
  const unsigned count = next_of_changed();
  if (count == 0) return;
  ucs_warn(
      "ucx-verity: v%s: source changed: the program wrote to %zu bytes at %p while they went to "
      "interface %016" PRIx64
      ", before their send was complete; the peer gets what was there last%s",
      transport, length, data, peer, not_again(count == kWarnings));
}

void Warnings::read_mismatched(const char* transport, uint64_t peer, uint64_t address,
                               uint64_t length, const char* what, bool by_program) noexcept {
  const unsigned count = by_program ? next_of_changed() : 0;
  if (count == 0) {
    ucs_debug("ucx-verity: v%s: %" PRIu64 " bytes read at 0x%" PRIx64 " of interface %016" PRIx64
              ": %s",
              transport, length, address, peer, what);
    return;
  }
  ucs_warn("ucx-verity: v%s: %" PRIu64 " bytes at 0x%" PRIx64
           " in the process of interface %016" PRIx64
           ": %s: the program "
           "wrote to a buffer before its send was complete, or to memory that others get; what was "
           "there last was received%s",
           transport, length, address, peer, what, not_again(count == kWarnings));
}

}  // namespace verity::uct
