// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "fuzz/targets.h"
#include "uct/extensions/trailers.h"

namespace verity::fuzz {

namespace {

// The trailer that the interposer writes.
const uct::Trailed* to_write = nullptr;

size_t outgoing_message(const verity_outgoing* /*outgoing*/, const void* /*message*/,
                        size_t /*length*/, uint8_t* trailer, size_t room) noexcept {
  const size_t size = to_write->trailer_length, end = size + uct::gap_behind(size);
  require(end <= room, "no room for a trailer that was taken off");
  std::memcpy(trailer, to_write->trailer, size);
  std::memset(trailer + size, 0, end - size);
  return size;
}

void check_pieces(bool leads, const uint8_t* payload, size_t length, const uct::Trailed& taken) {
  const uint8_t* const end = payload + length;
  const uint8_t* const message_end = taken.message + taken.length;
  const uint8_t* const trailer_end = taken.trailer + taken.trailer_length;
  require(taken.am_id < uct::kLeaderId, "a trailer inside of a trailer");
  require(taken.trailer_length >= 1 && taken.trailer_length <= VERITY_MAX_TRAILER,
          "a trailer of a wrong length");
  require(taken.message >= payload && message_end <= end, "the message is not within the payload");
  require(taken.trailer >= payload && trailer_end <= end, "the trailer is not within the payload");
  require(leads ? trailer_end <= taken.message : message_end <= taken.trailer,
          "message and trailer overlap");
  require(
      leads ? taken.trailer == payload + uct::kTrailerEnd : trailer_end + uct::kTrailerEnd <= end,
      "the end word is in one of them");
  require(leads ? message_end == end : taken.message == payload,
          "a part of the message is missing");
}

// The same message with the same trailer, made here; its length, in `out`, of room for it.
size_t make_again(bool leads, const uct::Trailed& taken, std::vector<uint8_t>& out) {
  verity_interposer interposer = {};
  interposer.outgoing = outgoing_message;
  to_write = &taken;
  const verity_outgoing outgoing = {1, nullptr, nullptr, taken.am_id};
  out.resize(taken.length + uct::kTrailerRoom);
  if (leads) {
    const size_t lead = uct::write_leader(interposer, outgoing, out.data(), uct::kTrailerRoom,
                                          taken.message, taken.length);
    std::copy_n(taken.message, taken.length, out.data() + lead);
    return lead + taken.length;
  }
  std::copy_n(taken.message, taken.length, out.data());
  return taken.length + uct::append_trailer(interposer, outgoing, out.data(), taken.length);
}

}  // namespace

// A choice of the id, then the payload. What is taken apart lies within it, and made again it is
// taken apart in the same way; the payload has the same length then, unless its zeros in front of
// the trailer were not those that lead to a word.
void trailer_target(const uint8_t* data, size_t size) {
  if (size == 0) return;
  const bool leads = (data[0] & 1) != 0;
  const uint8_t am_id = leads ? uct::kLeaderId : uct::kTrailerId;
  const size_t length = size - 1;
  const auto payload = std::make_unique<uint8_t[]>(length);  // of just this size
  std::copy_n(data + 1, length, payload.get());
  uct::Trailed taken{};
  if (!uct::split_message(am_id, payload.get(), length, &taken)) return;
  check_pieces(leads, payload.get(), length, taken);
  std::vector<uint8_t> again;
  again.resize(make_again(leads, taken, again));
  again.shrink_to_fit();
  const bool in_words = leads || (taken.trailer - payload.get()) % util::kWord == 0;
  require(!in_words || again.size() == length, "made again it has another length");
  uct::Trailed other{};
  require(uct::split_message(am_id, again.data(), again.size(), &other),
          "made again it is refused");
  check_pieces(leads, again.data(), again.size(), other);
  require(other.am_id == taken.am_id, "another active message");
  require(other.length == taken.length &&
              std::equal(taken.message, taken.message + taken.length, other.message),
          "another message");
  require(other.trailer_length == taken.trailer_length &&
              std::equal(taken.trailer, taken.trailer + taken.trailer_length, other.trailer),
          "another trailer");
}

}  // namespace verity::fuzz
