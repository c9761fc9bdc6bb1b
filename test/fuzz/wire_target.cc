// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "fuzz/targets.h"
#include "wire/codec.h"

namespace verity::fuzz {

void require(bool rule, const char* text) noexcept {
  if (rule) return;
  std::fprintf(stderr, "broken: %s\n", text);
  std::abort();
}

// The first 8 bytes are the nonce, the rest the frame. When it is well formed it is sealed and must
// be right then, and wrong with any bit changed.
void wire_target(const uint8_t* data, size_t size) {
  Input input(data, size);
  const uint64_t nonce = input.u64();
  if (size <= sizeof(uint64_t)) return;
  const size_t length = size - sizeof(uint64_t);
  const auto frame = std::make_unique<uint8_t[]>(length);  // of just this size
  std::memcpy(frame.get(), data + sizeof(uint64_t), length);
  wire::FrameView view{};
  if (wire::parse(frame.get(), length, &view) != wire::Verdict::kGood) return;
  require(view.payload + view.header.length <= frame.get() + length,
          "payload outside of the frame");
  if (view.hello != nullptr) {
    const wire::HelloView hello = wire::read_hello(view);
    require(hello.iface_address + hello.ext.iface_length + sizeof(uint64_t) == frame.get() + length,
            "HELLO does not add up");
    wire::seal_hello(frame.get() + (view.hello - frame.get()), view.hello_length, nonce);
  }
  (void)wire::check(frame.get(), length, view, nonce);
  auto* header = reinterpret_cast<wire::FrameHeader*>(frame.get());
  const util::Piece payload{view.payload, view.header.length};
  if ((view.header.flags & wire::kTree) != 0) {
    wire::seal_tree(header, {&payload, 1}, nonce);
  } else {
    wire::seal_single(header, length, nonce);
  }
  require(wire::parse(frame.get(), length, &view) == wire::Verdict::kGood,
          "sealing changed the form");
  require(wire::check(frame.get(), length, view, nonce) == wire::Verdict::kGood,
          "a sealed frame is wrong");
  if (view.header.frame_kind() == wire::FrameKind::kData && view.hello == nullptr) {
    require(wire::check_rebuilt(view.header, view.payload, nonce), "a rebuilt frame is wrong");
  }
  const size_t bit = (nonce >> 8) % (length * 8);
  frame[bit / 8] = static_cast<uint8_t>(frame[bit / 8] ^ (1u << bit % 8));
  require(wire::parse(frame.get(), length, &view) != wire::Verdict::kGood ||
              wire::check(frame.get(), length, view, nonce) != wire::Verdict::kGood,
          "a changed bit was not seen");
}

}  // namespace verity::fuzz
