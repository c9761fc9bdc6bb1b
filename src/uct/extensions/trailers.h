// SPDX-License-Identifier: BSD-3-Clause
//
// Trailers: what the MPI interposer (util/interposer.h) adds to the messages that begin a tagged
// message. They are part of the frame's payload, so they are checked, kept and sent again with it;
// the frame's active message id says that there is one.
//
//   kTrailerId   | message ... | 0 | trailer | 0 | end |      copied messages
//   kLeaderId    | end | trailer | 0 | message ...            zero copy: the user's pieces come
//   last
//
//   end   | id | n | g | 0 0 0 0 0 |
//
// id  the upper active message (1 byte)      n  bytes of the trailer (1 byte)      g  zeros in
// front of it (1 byte)
//
// All of it lies in words, counted from the payload's begin, and what is behind it too: bytes that
// have just been written in words are read in the same words by the hash.
#ifndef VERITY_UCT_EXTENSIONS_TRAILERS_H
#define VERITY_UCT_EXTENSIONS_TRAILERS_H

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "util/interposer.h"
#include "util/words.h"
#include "wire/am_ids.h"

namespace verity::uct {

using wire::kLeaderId;
using wire::kTrailerId;
inline constexpr size_t kTrailerEnd = util::kWord;
inline constexpr size_t kTrailerRoom = (util::kWord - 1) + VERITY_MAX_TRAILER + kTrailerEnd;
static_assert(VERITY_MAX_TRAILER % util::kWord == 0);

// Bytes up to the next word.
[[nodiscard]] constexpr size_t gap_behind(size_t length) noexcept {
  return -length & (util::kWord - 1);
}

inline void write_end(uint8_t* out, uint8_t am_id, size_t size, size_t gap) noexcept {
  util::write_word(out, 0, uint64_t{am_id} | uint64_t{size} << 8 | uint64_t{gap} << 16);
}

// Lets the interposer write the trailer of the message at `message` behind it, where kTrailerRoom
// bytes are. The bytes added; 0: none, the message stays what it is.
[[nodiscard]] inline size_t append_trailer(const verity_interposer& interposer,
                                           const verity_outgoing& outgoing, uint8_t* message,
                                           size_t length) noexcept {
  const size_t gap = gap_behind(length);
  uint8_t* trailer = message + length + gap;
  const size_t size = interposer.outgoing(&outgoing, message, length, trailer, VERITY_MAX_TRAILER);
  if (size == 0) return 0;
  if (gap != 0) std::memset(message + length, 0, gap);
  const size_t end = size + gap_behind(size);
  write_end(trailer + end, outgoing.am_id, size, gap);
  return gap + end + kTrailerEnd;
}
// Lets it write a leader at `out`, at most `room` bytes in all, for a message that begins with the
// `length` bytes at `message`.
[[nodiscard]] inline size_t write_leader(const verity_interposer& interposer,
                                         const verity_outgoing& outgoing, uint8_t* out, size_t room,
                                         const void* message, size_t length) noexcept {
  if (room <= kTrailerEnd) return 0;
  const size_t most =
      room - kTrailerEnd < VERITY_MAX_TRAILER ? room - kTrailerEnd : VERITY_MAX_TRAILER;
  const size_t size = interposer.outgoing(&outgoing, message, length, out + kTrailerEnd, most);
  if (size == 0) return 0;
  write_end(out, outgoing.am_id, size, 0);
  return kTrailerEnd + size + gap_behind(size);
}

// A received message without its trailer.
struct Trailed {
  uint8_t am_id;
  uint8_t* message;
  size_t length;
  const uint8_t* trailer;
  size_t trailer_length;
};
// The end word of a payload of that length: false when it is none. `both`: bytes of the trailer and
// all that belongs to it.
[[nodiscard]] inline bool read_end(uint64_t end, size_t length, Trailed* out, size_t* gap,
                                   size_t* both) noexcept {
  const size_t size = end >> 8 & 0xff;
  *gap = end >> 16;
  *both = *gap + size + gap_behind(size) + kTrailerEnd;
  out->am_id = static_cast<uint8_t>(end);
  out->trailer_length = size;
  return out->am_id < kLeaderId && size - 1 < VERITY_MAX_TRAILER && *gap < util::kWord &&
         *both <= length;
}
// Splits a payload with kTrailerId. False: it is too short, or was not made here.
[[nodiscard]] inline bool take_trailer(uint8_t* payload, size_t length, Trailed* out) noexcept {
  size_t gap, both;
  if (length < kTrailerEnd ||
      !read_end(util::read_word(payload, length - kTrailerEnd), length, out, &gap, &both))
    return false;
  out->message = payload;
  out->length = length - both;
  out->trailer = payload + out->length + gap;
  return true;
}
// The same for kLeaderId.
[[nodiscard]] inline bool take_leader(uint8_t* payload, size_t length, Trailed* out) noexcept {
  size_t gap, both;
  if (length < kTrailerEnd || !read_end(util::read_word(payload, 0), length, out, &gap, &both) ||
      gap != 0)
    return false;
  out->message = payload + both;
  out->length = length - both;
  out->trailer = payload + kTrailerEnd;
  return true;
}

[[nodiscard]] inline bool split_message(uint8_t am_id, uint8_t* payload, size_t length,
                                        Trailed* out) noexcept {
  return am_id == kTrailerId ? take_trailer(payload, length, out)
                             : take_leader(payload, length, out);
}

}  // namespace verity::uct

#endif
