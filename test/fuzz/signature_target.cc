// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <memory>

#include "fuzz/targets.h"
#include "signature/describe.h"
#include "signature/rules.h"

namespace verity::fuzz {

namespace {

using namespace signature;

constexpr size_t kRoom = 8192;

// A type from a description: asked all there is, and written again.
void check_type(const Type& type, uint64_t copies, uint64_t elements) {
  require(describe(type, copies).size() < 2 * kMaxWords, "the words are not cut");
  const uint64_t some = std::min(elements, type.count());
  for (const Level level : {Level::kLayout, Level::kNames}) {
    const Signature begin = prefix(type, copies, some, level);
    require(copies == 0 || begin.count == some, "a prefix has another number of elements");
    require(first_difference(type, type, some, level) == some, "a type differs from itself");
    require(prefix(type, 1, type.count(), level) == type.signature(1, level),
            "the longest prefix is not all of the type");
  }
  require(whole_elements(type, copies, elements) <= multiply_counts(type.count(), copies),
          "more elements than there are");
  if (type.count() != 0)
    require(well_formed(element_at(type, elements)), "an element is of no type");
  (void)path_of(type, elements);
  const auto bytes = std::make_unique<uint8_t[]>(kRoom);
  const size_t length = encode(type, bytes.get(), kRoom);
  require(length != 0, "a decoded type cannot be written");
  Type again;
  require(decode({bytes.get(), length}, &again) == nullptr, "a written type cannot be read");
  for (const Level level : {Level::kLayout, Level::kNames}) {
    require(again.signature(copies, level) == type.signature(copies, level),
            "a type read again has another signature");
  }
}

// What type sends must fit what it receives, from the record's bytes.
void check_exchange(const Type& type, uint64_t copies) {
  uint8_t text[kMaxDescription];
  uint8_t bytes[kMaxRecord];
  const size_t text_length = encode(type, text, sizeof(text));
  for (const Level level : {Level::kLayout, Level::kNames}) {
    const size_t length =
        write_record(make_record(type, copies, level), {text, text_length}, bytes, sizeof(bytes));
    Record record;
    std::span<const uint8_t> description;
    require(read_record(bytes, length, &record, &description) == nullptr,
            "a written record cannot be read");
    const Verdict verdict = compare(record, description, {type, copies}, level);
    require(verdict.outcome != Outcome::kMismatch, "a type does not fit itself");
    (void)explain(verdict, record, description, {type, copies});
  }
}

}  // namespace

// 17 bytes of choices, then a description of the receiver's type, whose length the choices say,
// then a record with another.
void signature_target(const uint8_t* data, size_t size) {
  Input input(data, size);
  const uint64_t copies = input.u64();
  const uint64_t elements = input.u64();
  const size_t wanted = input.u8();
  const size_t text_length = std::min(wanted, input.left());
  const size_t record_length = input.left() - text_length;
  const auto text = std::make_unique<uint8_t[]>(text_length);  // of just these sizes
  const auto bytes = std::make_unique<uint8_t[]>(record_length);
  for (size_t i = 0; i < text_length; ++i) text[i] = input.u8();
  for (size_t i = 0; i < record_length; ++i) bytes[i] = input.u8();
  Type type;
  if (decode({text.get(), text_length}, &type) == nullptr) {
    check_type(type, copies, elements);
    check_exchange(type, copies);
  }
  Type other;
  if (decode({bytes.get(), record_length}, &other) == nullptr) check_type(other, copies, elements);
  Record record;
  std::span<const uint8_t> description;
  if (read_record(bytes.get(), record_length, &record, &description) != nullptr) return;
  for (const Length length : {Length::kAtMost, Length::kExact}) {
    const Received received{type, copies, elements, length};
    const Verdict verdict =
        compare(record, description, received, elements % 2 == 0 ? Level::kLayout : Level::kNames);
    require(!explain(verdict, record, description, received).verdict.empty(),
            "a verdict without words");
  }
}

}  // namespace verity::fuzz
