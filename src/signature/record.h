// SPDX-License-Identifier: BSD-3-Clause
// What travels with a message: its signature, and who sent it from where. Little endian, 48 bytes,
// then the description (describe.h) of the type if it is short enough.
//
//    0       1       2       3       4       5       6       7
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 0 |                             hash                              |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 8 |                             count                             |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 16|                             site                              |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 24|                              uid                              |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 32|             epoch             |           sequence            |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 40|  id   | class |     size      |ver|fam| flags |deslen |   0   |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 48|  description (deslen bytes) ...
//
// hash      of the whole message at the level that the flags say; 0 when homogeneous or empty.
// count     of basic elements; kTooMany when 64 bits do not hold it.
// site      the sender's call site; its meaning is the writer's.
// uid, epoch, sequence   the sending process, its incarnation, and the message's number: the
// writer's too. id, class, size        the basic type of a homogeneous message, else 0. ver high
// nibble: kRecordVersion.   fam  low nibble: family of the operation (point to point, ...), the
// writer's. flags     RecordFlags; the others are 0. deslen    bytes of the description; 0: none.
// The last byte is 0.
#ifndef VERITY_SIGNATURE_RECORD_H
#define VERITY_SIGNATURE_RECORD_H

#include <bit>
#include <cstddef>
#include <cstring>
#include <span>

#include "signature/type.h"
#include "util/words.h"

namespace verity::signature {

static_assert(std::endian::native == std::endian::little, "the wire format is little endian");

inline constexpr uint8_t kRecordVersion = 1;
inline constexpr size_t kMaxDescription = 255;
inline constexpr uint8_t kMaxFamily = 15;

enum RecordFlags : uint8_t {
  kHomogeneous = 1u << 0,  // one basic type: id, class and size
  kHasPacked = 1u << 1,    // contains MPI_PACKED
  kHasByte = 1u << 2,      // contains MPI_BYTE
  kHasOpaque = 1u << 3,    // contains a named type that the sender does not know
  kNamesHash = 1u << 4,    // the hash is of level kNames
  kKnownRecordFlags = kHomogeneous | kHasPacked | kHasByte | kHasOpaque | kNamesHash,
};

struct Record {
  uint64_t hash = 0;
  uint64_t count = 0;
  uint64_t site = 0;
  uint64_t uid = 0;
  uint32_t epoch = 0;
  uint32_t sequence = 0;
  BasicType basic;
  uint8_t version = kRecordVersion << 4;
  uint8_t flags = 0;
  uint8_t description_length = 0;
  uint8_t reserved = 0;

  [[nodiscard]] bool homogeneous() const noexcept { return (flags & kHomogeneous) != 0; }
  [[nodiscard]] Level level() const noexcept {
    return (flags & kNamesHash) != 0 ? Level::kNames : Level::kLayout;
  }
  [[nodiscard]] uint8_t family() const noexcept { return version & 0x0f; }
};
static_assert(sizeof(Record) == 48);
static_assert(offsetof(Record, uid) == 24 && offsetof(Record, sequence) == 36,
              "src/mpi/matching/stamp.h finds them there");
inline constexpr size_t kMaxRecord = sizeof(Record) + kMaxDescription;

// The record of `copies` copies of `type`, with hash, count, basic and flags set and the rest as in
// Record{}. A homogeneous message costs no hash, any other one repetition. Does not allocate;
// thread-safe.
[[nodiscard]] Record make_record(const Type& type, uint64_t copies, Level level) noexcept;

// Sets the family of the operation, 0 to kMaxFamily.
inline void set_family(Record* record, uint8_t family) noexcept {
  record->version = static_cast<uint8_t>(kRecordVersion << 4 | (family & 0x0f));
}

// Writes the record and the description to `out` and returns the length in bytes. A description
// that is longer than kMaxDescription or does not fit `capacity` is left out. 0 when not even the
// record fits: nothing is written.
[[nodiscard]] size_t write_record(const Record& record, std::span<const uint8_t> description,
                                  void* out, size_t capacity) noexcept;

// The same with the sender's own fields (epoch: in front of the sequence, which is 0) set and
// without the description's bytes, word by word: `record` is as make_record() gave it, `out` has
// room for a Record.
inline void write_words(const Record& record, uint64_t site, uint32_t epoch, uint8_t family,
                        uint8_t description_length, void* out) noexcept {
  util::write_word(out, offsetof(Record, hash), record.hash);
  util::write_word(out, offsetof(Record, count), record.count);
  util::write_word(out, offsetof(Record, site), site);
  util::write_word(out, offsetof(Record, uid), 0);
  util::write_word(out, offsetof(Record, epoch), epoch);
  const uint64_t others = uint64_t{family} << 32 | uint64_t{description_length} << 48;
  util::write_word(out, offsetof(Record, basic),
                   util::read_word(&record, offsetof(Record, basic)) | others);
}

// What says() needs of `own`.
[[nodiscard]] inline bool can_say(const Record& own) noexcept {
  return (own.flags & (kHasPacked | kHasOpaque)) == 0 && own.count != kTooMany;
}
// The bytes are a record, with its description, of just what `own` is of, and everything in it can
// be compared: the types agree, and there is nothing to look for. As read_record() and then
// compare() would find, for a record from make_record(), whatever is written into its other fields.
// Precondition: can_say(own).
[[nodiscard]] inline bool says(const uint8_t* bytes, size_t length, const Record& own) noexcept {
  if (length < sizeof(Record)) return false;
  // The last word: basic type, version and family, flags, length of the description, reserved byte.
  constexpr size_t kLast = offsetof(Record, basic);
  static_assert(offsetof(Record, version) == kLast + 4 &&
                offsetof(Record, description_length) == kLast + 6);
  constexpr uint64_t kFamilyAndLength = uint64_t{0x0f} << 32 | uint64_t{0xff} << 48;
  const uint64_t last = util::read_word(bytes, kLast);
  const uint64_t differing = ((last ^ util::read_word(&own, kLast)) & ~kFamilyAndLength) |
                             (util::read_word(bytes, offsetof(Record, hash)) ^ own.hash) |
                             (util::read_word(bytes, offsetof(Record, count)) ^ own.count);
  return differing == 0 && length == sizeof(Record) + (last >> 48 & 0xff);
}

// Reads a record of exactly `length` bytes, which may be anything. Returns nullptr and sets
// *record_p and *description_p, which points into `bytes`; or the name of the field that is wrong
// and why (static storage), and sets nothing. The description's own bytes are checked by decode().
[[nodiscard]] const char* read_record(const void* bytes, size_t length, Record* record_p,
                                      std::span<const uint8_t>* description_p) noexcept;

}  // namespace verity::signature

#endif
