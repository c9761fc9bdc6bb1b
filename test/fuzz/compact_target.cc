// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "fuzz/targets.h"
#include "wire/compact.h"

namespace verity::fuzz {

namespace {

bool right(const uint8_t* frame, size_t size, uint64_t nonce, const wire::CompactFields& full) {
  const wire::CompactView view = wire::read_compact(frame);
  if (!wire::well_formed(view)) return false;
  // As the link does: what the header abbreviates is widened next to what is expected.
  const wire::CompactFields fields{full.link, wire::widen(view.fields.psn, full.psn),
                                   wire::widen(view.fields.ack, full.ack), view.fields.am_id,
                                   view.fields.kind};
  return (full.link & wire::kCompactLinkMask) == view.fields.link &&
         wire::check_compact(frame, size, view, nonce, wire::compact_key(fields));
}

}  // namespace

// The first 20 bytes are the nonce and what the receiver expects, then a choice, then the frame.
// When it is well formed it is sealed, and must be right then, and wrong with any bit changed, or
// for a receiver that expects anything else.
void compact_target(const uint8_t* data, size_t size) {
  Input input(data, size);
  const uint64_t nonce = input.u64();
  wire::CompactFields full{input.u32(), input.u32(), input.u32(), 0, 0};
  const uint32_t choice = input.u32();
  const size_t length = input.left();
  if (length < wire::kCompactHeader) return;
  const auto frame = std::make_unique<uint8_t[]>(length);  // of just this size
  std::memcpy(frame.get(), data + (size - length), length);
  const wire::CompactView view = wire::read_compact(frame.get());
  if (!wire::well_formed(view)) {
    require(!right(frame.get(), length, nonce, full), "a malformed frame is right");
    return;
  }
  full.link = (full.link & ~wire::kCompactLinkMask) | view.fields.link;
  full.psn = wire::widen(view.fields.psn, full.psn);
  full.ack = wire::widen(view.fields.ack, full.ack);
  full.am_id = view.fields.am_id;
  full.kind = view.fields.kind;
  uint8_t* payload = frame.get() + wire::kCompactHeader;
  wire::write_compact(payload, full);
  wire::seal_compact(payload, length - wire::kCompactHeader, nonce, wire::compact_key(full));
  require(right(frame.get(), length, nonce, full), "a sealed frame is wrong");
  const auto copy = std::make_unique<uint8_t[]>(length);
  wire::seal_compact_copy(payload, copy.get(), length - wire::kCompactHeader, nonce,
                          wire::compact_key(full));
  require(std::memcmp(copy.get(), frame.get(), length) == 0, "sealing while copying differs");
  const uint32_t far = 0x10000u << choice % 16;
  require(!right(frame.get(), length, nonce, {full.link, full.psn + far, full.ack, 0, 0}),
          "a psn from long ago was not seen");
  require(!right(frame.get(), length, nonce, {full.link, full.psn, full.ack + far, 0, 0}),
          "an ack from long ago was not seen");
  require(!right(frame.get(), length, nonce,
                 {full.link ^ 0x1000000u << choice % 8, full.psn, full.ack, 0, 0}),
          "another link was not seen");
  const size_t bit = choice % (length * 8);
  frame[bit / 8] = static_cast<uint8_t>(frame[bit / 8] ^ (1u << bit % 8));
  require(!right(frame.get(), length, nonce, full), "a changed bit was not seen");
}

}  // namespace verity::fuzz
