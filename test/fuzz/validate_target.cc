// SPDX-License-Identifier: BSD-3-Clause
#include <vector>

#include "fuzz/targets.h"
#include "validate/session.h"

namespace verity::fuzz {

// Two sizes, then messages to an owner and a holder: choices of a header and words, sealed so that
// they pass every check.
void validate_target(const uint8_t* data, size_t size) {
  using namespace validate;
  constexpr uint32_t kSegment = 256;
  Input input(data, size);
  std::vector<uint8_t> owned(input.u16() + 1),
      held(input.u8() % 2 == 0 ? owned.size() : input.u16() + 1u);
  const auto buffer_of = [](std::vector<uint8_t>& bytes) {
    return Buffer(bytes.data(), plain_layout(bytes.size()), 1);
  };
  const Buffer right = buffer_of(owned), copy = buffer_of(held);
  const merkle::Tree tree = hash_buffer(right, kSegment);
  Owner owner(right, tree, 1, {4, 1024});
  Holder holder(copy, 1, {4, 1024});
  Message message;
  Bytes last = owner.start();
  while (!input.empty()) {
    const uint8_t choice = input.u8();
    if (choice % 4 == 0) {  // an honest one, as far as it goes
      const Reading reading = read(last, &message);
      if (reading == Reading::kForeign) continue;
      last = choice % 8 == 0 ? holder.receive(reading, message) : owner.receive(reading, message);
      continue;
    }
    Header header;
    header.kind = static_cast<uint8_t>(1 + input.u8() % 10);
    header.segment_log2 = input.u8();
    header.levels = input.u8();
    header.sender = choice & 1;
    header.length = choice % 3 == 0 ? input.u64() : held.size();
    header.count = choice % 5 == 0 ? input.u64() : input.u8();
    Bytes bytes = begin(header);
    for (unsigned words = input.u8() % 40; words != 0; --words)
      put(bytes, choice % 7 == 0 ? input.u64() : input.u8());
    bytes.resize(bytes.size() + input.u8() % 300);
    seal(bytes);
    const Reading reading = read(bytes, &message);
    if (reading == Reading::kForeign) continue;
    (void)owner.receive(reading, message);
    (void)holder.receive(reading, message);
  }
}

}  // namespace verity::fuzz
