// SPDX-License-Identifier: BSD-3-Clause
#include "signature/record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>

#include "signature/describe.h"
#include "unit/signature/random.h"

namespace verity::signature {
namespace {

using Bytes = std::vector<uint8_t>;

Type leaf(const char* name) { return Type::leaf(named(name)); }

Type mixed() {
  const Type::Item items[] = {{leaf("MPI_INT"), 1}, {leaf("MPI_DOUBLE"), 3}};
  return Type::sequence(items);
}

Bytes written(const Record& record, std::span<const uint8_t> description = {}) {
  Bytes bytes(kMaxRecord);
  bytes.resize(write_record(record, description, bytes.data(), bytes.size()));
  return bytes;
}

// What read_record() says is wrong; "" for nothing.
std::string wrong_with(const Bytes& bytes) {
  Record record;
  record.site = 4711;
  std::span<const uint8_t> description;
  const char* wrong = read_record(bytes.data(), bytes.size(), &record, &description);
  if (wrong != nullptr) { EXPECT_EQ(record.site, 4711u) << "the output is set only on success"; }
  return wrong == nullptr ? "" : wrong;
}

TEST(SignatureRecord, OfEachKindOfMessage) {
  const Record same = make_record(Type::repeat(leaf("MPI_INT"), 5), 20, Level::kNames);
  EXPECT_TRUE(same.homogeneous());
  EXPECT_EQ(same.hash, 0u);
  EXPECT_EQ(same.count, 100u);
  EXPECT_EQ(same.basic, named("MPI_INT"));
  EXPECT_EQ(same.level(), Level::kNames);
  const Record several = make_record(mixed(), 50, Level::kLayout);
  EXPECT_FALSE(several.homogeneous());
  EXPECT_EQ((Signature{several.hash, several.count}), mixed().signature(50, Level::kLayout));
  EXPECT_EQ(several.basic, BasicType{});
  EXPECT_EQ(several.level(), Level::kLayout);
  for (const Record& empty :
       {make_record(mixed(), 0, Level::kLayout), make_record(Type(), 9, Level::kLayout)}) {
    EXPECT_EQ(empty.count, 0u);
    EXPECT_FALSE(empty.homogeneous());
  }
  EXPECT_EQ(make_record(leaf("MPI_PACKED"), 3, Level::kLayout).flags, kHomogeneous | kHasPacked);
  EXPECT_EQ(make_record(leaf("MPI_BYTE"), 3, Level::kLayout).flags, kHomogeneous | kHasByte);
  const Type::Item items[] = {{Type::leaf(*make_basic(id_OPAQUE, 2)), 1}, {leaf("MPI_BYTE"), 1}};
  EXPECT_EQ(make_record(Type::sequence(items), 3, Level::kNames).flags,
            kHasOpaque | kHasByte | kNamesHash);
}

// The layout that is drawn in record.h: changing it needs a new kRecordVersion.
TEST(SignatureRecord, BytesStay) {
  Record r = make_record(leaf("MPI_INT"), 0x0102030405060708, Level::kNames);
  r.site = 0x1112131415161718;
  r.uid = 0x2122232425262728;
  r.epoch = 0x31323334;
  r.sequence = 0x41424344;
  set_family(&r, 5);
  const uint8_t description[] = {0x81, id_MPI_INT, 4};
  const Bytes wanted{0,    0,    0,    0,    0,    0,    0,    0,    0x08, 0x07, 0x06, 0x05, 0x04,
                     0x03, 0x02, 0x01, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x28, 0x27,
                     0x26, 0x25, 0x24, 0x23, 0x22, 0x21, 0x34, 0x33, 0x32, 0x31, 0x44, 0x43, 0x42,
                     0x41, 9,    1,    4,    0,    0x15, 0x11, 3,    0,    0x81, 9,    4};
  EXPECT_EQ(written(r, description), wanted);
  EXPECT_EQ(r.family(), 5);
}

TEST(SignatureRecord, RoundTrips) {
  sim::Rng rng(1);
  for (unsigned round = 0; round < 3000; ++round) {
    const Sample s = random_sample(rng, 5, 100, true);
    Record r =
        make_record(s.type, rng.below(1000), rng.below(2) == 0 ? Level::kLayout : Level::kNames);
    r.site = rng.next();
    r.uid = rng.next();
    r.epoch = static_cast<uint32_t>(rng.next());
    r.sequence = static_cast<uint32_t>(rng.next());
    set_family(&r, static_cast<uint8_t>(rng.below(16)));
    uint8_t text[kMaxDescription];
    const size_t length = encode(s.type, text, sizeof(text));
    const Bytes bytes = written(r, {text, length});
    Record back;
    std::span<const uint8_t> description;
    ASSERT_EQ(read_record(bytes.data(), bytes.size(), &back, &description), nullptr);
    r.description_length = static_cast<uint8_t>(length);
    ASSERT_EQ(std::memcmp(&back, &r, sizeof(r)), 0);
    ASSERT_TRUE(std::equal(description.begin(), description.end(), text, text + length));
  }
}

TEST(SignatureRecord, WhatDoesNotFitIsLeftOut) {
  const Record r = make_record(mixed(), 1, Level::kLayout);
  const Bytes description(kMaxDescription + 1, 0);
  Bytes out(1000);
  EXPECT_EQ(write_record(r, {}, out.data(), sizeof(Record) - 1), 0u);
  EXPECT_EQ(write_record(r, {description.data(), 10}, out.data(), sizeof(Record) + 9),
            sizeof(Record));
  EXPECT_EQ(out[46], 0) << "the length of the description";
  EXPECT_EQ(write_record(r, {description.data(), 10}, out.data(), sizeof(Record) + 10),
            sizeof(Record) + 10);
  EXPECT_EQ(write_record(r, description, out.data(), out.size()), sizeof(Record));
  EXPECT_EQ(write_record(r, {description.data(), kMaxDescription}, out.data(), out.size()),
            kMaxRecord);
}

TEST(SignatureRecord, TheErrorNamesTheField) {
  const auto refused = [](const Record& from, const char* field,
                          const std::function<void(Record&)>& change) {
    Bytes bytes = written(from);
    Record r;
    std::memcpy(&r, bytes.data(), sizeof(r));
    change(r);
    std::memcpy(bytes.data(), &r, sizeof(r));
    const std::string wrong = wrong_with(bytes);
    return wrong.rfind(field, 0) == 0 ? testing::AssertionSuccess()
                                      : testing::AssertionFailure() << "says: " << wrong;
  };
  const Record one = make_record(leaf("MPI_INT"), 5, Level::kLayout);
  const Record many = make_record(mixed(), 5, Level::kLayout);
  const Record none = make_record(Type(), 0, Level::kLayout);
  EXPECT_TRUE(refused(one, "version", [](Record& r) { r.version = 0x20; }));
  EXPECT_TRUE(refused(one, "version", [](Record& r) { r.version = 0; }));
  EXPECT_TRUE(refused(one, "flags", [](Record& r) { r.flags |= 0x20; }));
  EXPECT_TRUE(refused(one, "reserved", [](Record& r) { r.reserved = 1; }));
  EXPECT_TRUE(refused(one, "hash", [](Record& r) { r.hash = 1; }));
  EXPECT_TRUE(refused(one, "count", [](Record& r) { r.count = 0; }));
  EXPECT_TRUE(refused(one, "flags", [](Record& r) { r.flags |= kHasByte; }));
  EXPECT_TRUE(refused(one, "basic type", [](Record& r) { r.basic.id = 200; }));
  EXPECT_TRUE(refused(one, "basic type", [](Record& r) { r.basic.cls = 2; }));
  EXPECT_TRUE(refused(one, "basic type", [](Record& r) { r.basic.size = 0; }));
  EXPECT_TRUE(refused(one, "basic type", [](Record& r) { r.basic.size = 65; }));
  EXPECT_TRUE(refused(one, "basic type",
                      [](Record& r) { r.flags &= static_cast<uint8_t>(~kHomogeneous); }));
  EXPECT_TRUE(refused(many, "basic type", [](Record& r) { r.basic.size = 1; }));
  EXPECT_TRUE(refused(many, "basic type", [](Record& r) { r.flags |= kHomogeneous; }));
  EXPECT_TRUE(refused(many, "hash", [](Record& r) { r.hash = kPrime; }));
  EXPECT_TRUE(refused(many, "count", [](Record& r) { r.count = 1; }));
  EXPECT_TRUE(refused(many, "hash", [](Record& r) { r.count = 0; }));
  EXPECT_TRUE(refused(none, "hash or flags", [](Record& r) { r.flags |= kHasPacked; }));
  EXPECT_TRUE(refused(many, "description length", [](Record& r) { r.description_length = 1; }));
  EXPECT_TRUE(refused(none, "", [](Record&) {}));
}

TEST(SignatureRecord, LengthsThatDoNotAddUp) {
  const uint8_t description[] = {0x81, id_MPI_INT, 4};
  const Bytes right = written(make_record(leaf("MPI_INT"), 5, Level::kLayout), description);
  EXPECT_EQ(wrong_with(right), "");
  for (size_t n = 0; n < right.size(); ++n) {
    const Bytes cut(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(n));
    EXPECT_NE(wrong_with(cut).find("length"), std::string::npos) << n;
  }
  Bytes longer = right;
  longer.push_back(0);
  EXPECT_NE(wrong_with(longer), "");
}

// What arrives most: exactly what the receiver names.
TEST(SignatureRecord, SaysTheSame) {
  const Record own = make_record(mixed(), 50, Level::kLayout);
  Record theirs = own;
  theirs.site = 7;
  theirs.uid = 8;
  theirs.epoch = 9;
  theirs.sequence = 10;
  set_family(&theirs, 11);
  const uint8_t description[] = {1, 2, 3};
  EXPECT_TRUE(says(written(theirs).data(), sizeof(Record), own))
      << "who sends, and how, plays no part";
  const Bytes described = written(theirs, description);
  EXPECT_TRUE(says(described.data(), described.size(), own));
  EXPECT_FALSE(says(described.data(), described.size() - 1, own)) << "cut";
  EXPECT_FALSE(says(described.data(), sizeof(Record) - 1, own)) << "shorter than a record";
  for (size_t at :
       {0, 8, 40, 41, 42, 45, 47}) {  // hash, count, basic type, flags, the byte that is 0
    Bytes changed = described;
    changed[at] ^= 1;
    EXPECT_FALSE(says(changed.data(), changed.size(), own)) << "byte " << at;
  }
  const Record packed = make_record(leaf("MPI_PACKED"), 3, Level::kLayout);
  EXPECT_TRUE(can_say(own));
  EXPECT_FALSE(can_say(packed)) << "is not compared";
}

}  // namespace
}  // namespace verity::signature
