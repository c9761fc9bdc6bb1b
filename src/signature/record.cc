// SPDX-License-Identifier: BSD-3-Clause
#include "signature/record.h"

#include <cstring>

namespace verity::signature {

namespace {

// Of a message with these classes of elements.
uint8_t flags_for(bool packed, bool byte, bool opaque) noexcept {
  return static_cast<uint8_t>((packed ? kHasPacked : 0) | (byte ? kHasByte : 0) |
                              (opaque ? kHasOpaque : 0));
}

const char* check_homogeneous(const Record& r) noexcept {
  const auto cls = static_cast<Class>(r.basic.cls);
  if (!well_formed(r.basic)) return "basic type: number, class and size do not fit each other";
  if (r.hash != 0) return "hash: not 0 in a message of one basic type";
  if (r.count == 0) return "count: 0 in a message of one basic type";
  const uint8_t has = flags_for(cls == Class::kPacked, cls == Class::kByte, cls == Class::kOpaque);
  if ((r.flags & (kHasPacked | kHasByte | kHasOpaque)) != has)
    return "flags: not those of the basic type";
  return nullptr;
}

const char* check_mixed(const Record& r) noexcept {
  if (r.basic != BasicType{}) return "basic type: set in a message of several";
  if (r.hash >= kPrime) return "hash: out of range";
  if (r.count == 0 && (r.hash != 0 || (r.flags & (kHasPacked | kHasByte | kHasOpaque)) != 0)) {
    return "hash or flags: set in an empty message";
  }
  if (r.count == 1) return "count: 1 in a message of several basic types";
  return nullptr;
}

const char* check(const Record& r) noexcept {
  if (r.version >> 4 != kRecordVersion) return "version: not this one's";
  if ((r.flags & ~kKnownRecordFlags) != 0) return "flags: unknown ones";
  if (r.reserved != 0) return "reserved byte: not 0";
  return r.homogeneous() ? check_homogeneous(r) : check_mixed(r);
}

}  // namespace

Record make_record(const Type& type, uint64_t copies, Level level) noexcept {
  Record record;
  if (level == Level::kNames) record.flags = kNamesHash;
  if (copies == 0 || type.count() == 0) return record;
  record.flags |= flags_for(type.contains(Class::kPacked), type.contains(Class::kByte),
                            type.contains(Class::kOpaque));
  if (type.homogeneous()) {
    record.flags |= kHomogeneous;
    record.basic = type.basic();
    record.count = multiply_counts(type.count(), copies);
  } else {
    const Signature all = type.signature(copies, level);
    record.hash = all.hash;
    record.count = all.count;
  }
  return record;
}

size_t write_record(const Record& record, std::span<const uint8_t> description, void* out,
                    size_t capacity) noexcept {
  if (capacity < sizeof(Record)) return 0;
  if (description.size() > kMaxDescription || description.size() > capacity - sizeof(Record))
    description = {};
  Record copy = record;
  copy.description_length = static_cast<uint8_t>(description.size());
  std::memcpy(out, &copy, sizeof(copy));
  if (!description.empty())
    std::memcpy(static_cast<uint8_t*>(out) + sizeof(copy), description.data(), description.size());
  return sizeof(copy) + description.size();
}

const char* read_record(const void* bytes, size_t length, Record* record_p,
                        std::span<const uint8_t>* description_p) noexcept {
  if (length < sizeof(Record)) return "length: shorter than a record";
  Record record;
  std::memcpy(&record, bytes, sizeof(record));
  if (const char* wrong = check(record)) return wrong;
  if (length != sizeof(Record) + record.description_length)
    return "description length: does not add up to the record's";
  *record_p = record;
  *description_p = {static_cast<const uint8_t*>(bytes) + sizeof(Record), record.description_length};
  return nullptr;
}

}  // namespace verity::signature
