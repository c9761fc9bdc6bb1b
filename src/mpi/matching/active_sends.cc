// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/matching/active_sends.h"

#include <cstring>

#include "mpi/matching/stamp.h"

namespace verity::mpi {

void ActiveSends::begin(std::string_view bytes, const uint8_t* signature, size_t length) noexcept {
  in_call_ = true;
  call_ = alike_.end();
  if (disabled_ || bytes.empty() || bytes.size() > kMostBytes) return;
  try {
    if (requests_.size() >= kMost) return disable();
    call_ = alike_.try_emplace(std::string(bytes)).first;
  } catch (...) { return disable(); }
  Alike& alike = call_->second;
  alike.length = alike.sends++ == 0 && length <= kMaxSignature ? length : 0;
  if (alike.length != 0) std::memcpy(alike.signature, signature, length);
}

void ActiveSends::end(const void* request) noexcept {
  in_call_ = false;
  if (call_ == alike_.end()) return;
  if (request == nullptr) return leave(call_);
  try {
    complete(request);  // an older one's
    requests_.emplace(request, call_);
  } catch (...) { disable(); }
}

void ActiveSends::complete(const void* request) noexcept {
  const auto found = requests_.find(request);
  if (found == requests_.end()) return;
  leave(found->second);
  requests_.erase(found);
}

void ActiveSends::leave(ByBytes::iterator place) noexcept {
  if (--place->second.sends != 0) return;
  if (last_ == &place->second) last_ = nullptr;
  alike_.erase(place);
}

// One that is not kept may be transmitted yet, and would be taken for a later one.
void ActiveSends::disable() noexcept {
  disabled_ = true;
  last_ = nullptr;
  requests_.clear();
  alike_.clear();
  call_ = alike_.end();
}

size_t ActiveSends::match(std::string_view bytes, uint8_t* out, size_t room) noexcept {
  last_ = nullptr;
  if (alike_.empty() || bytes.size() > kMostBytes) return 0;
  const auto found = alike_.find(bytes);
  if (found == alike_.end()) return 0;
  Alike& alike = found->second;
  if (alike.length == 0 || alike.transmitted || in_words(alike.length) > room) return 0;
  std::memcpy(out, alike.signature, alike.length);
  std::memset(out + alike.length, 0, in_words(alike.length) - alike.length);
  alike.transmitted = true;
  last_ = &alike;
  return alike.length;
}

bool ActiveSends::undo_match() noexcept {
  if (last_ == nullptr) return false;
  last_->transmitted = false;
  last_ = nullptr;
  return true;
}

}  // namespace verity::mpi
