// SPDX-License-Identifier: BSD-3-Clause
#include "wire/codec.h"

#include <algorithm>
#include <iterator>

#include "merkle/tree.h"

namespace verity::wire {

namespace {

// Most pieces of a single-hash frame after its header: upper header, iov entries, HELLO.
constexpr size_t kMaxPieces = 32;

bool known_kind(uint8_t kind) noexcept {
  const uint8_t low = kind & 0x0f;
  return (kind >> 4) == kMagic && low >= static_cast<uint8_t>(FrameKind::kData) &&
         low <= static_cast<uint8_t>(FrameKind::kBye);
}

bool well_formed(const FrameHeader& h) noexcept {
  if (!known_kind(h.kind) || (h.flags & ~kKnownFlags) != 0 || (h.am_id & 0x60) != 0) return false;
  if (h.segment >> 4 != kVersion || (h.segment & 0x0f) > kMaxSegmentLog2 - kMinSegmentLog2)
    return false;
  if ((h.flags & kTree) == 0)
    return h.frame_kind() != FrameKind::kData || h.length <= h.segment_size();
  // Trees are for data only, and only as large as a NACK can answer.
  const uint64_t leaves = (uint64_t{h.length} + h.segment_size() - 1) / h.segment_size();
  return h.frame_kind() == FrameKind::kData && leaves >= 2 && leaves <= kMaxFrameLeaves;
}

bool hello_fits(const uint8_t* hello, size_t size) noexcept {
  if (size < sizeof(HelloExt) + sizeof(uint64_t) || size > kMaxHello) return false;
  HelloExt ext;
  std::memcpy(&ext, hello, sizeof(ext));
  const auto is_zero = [](const auto& bytes) {
    return std::all_of(std::begin(bytes), std::end(bytes), [](uint8_t b) { return b == 0; });
  };
  return size == sizeof(ext) + ext.device_length + ext.iface_length + sizeof(uint64_t) &&
         ext.device_length <= kMaxDeviceAddress && ext.iface_length <= kMaxIfaceAddress &&
         is_zero(ext.reserved) && is_zero(ext.reserved2);
}

uint64_t hello_digest(const void* hello, size_t size, uint64_t nonce) noexcept {
  return merkle::mix(merkle::hash(hello, size - sizeof(uint64_t)), ~nonce);
}

Verdict check_tree(const FrameView& view, uint64_t nonce) noexcept {
  const uint64_t digest = header_digest(view.header, nonce);
  if (static_cast<uint32_t>(digest) != view.header.check) return Verdict::kBadHeader;
  if (view.hello != nullptr) {
    uint64_t expected;
    std::memcpy(&expected, view.hello + view.hello_length - sizeof(expected), sizeof(expected));
    if (hello_digest(view.hello, view.hello_length, nonce) != expected) return Verdict::kBadHello;
  }
  const util::Piece payload{view.payload, view.header.length};
  const merkle::Geometry geometry(view.header.length, view.header.segment_size());
  const bool right = bind_tree(merkle::root(geometry, {&payload, 1}), digest) == view.header.root;
  return right ? Verdict::kGood : Verdict::kBadPayload;
}

}  // namespace

std::string_view to_string(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::kGood: return "good";
    case Verdict::kMalformed: return "malformed header";
    case Verdict::kBadLength: return "wrong length";
    case Verdict::kBadFrame: return "damaged frame";
    case Verdict::kBadHeader: return "damaged header";
    case Verdict::kBadPayload: return "damaged payload";
    case Verdict::kBadHello: return "damaged hello";
  }
  return "unknown";
}

uint64_t nonce(uint64_t source, uint64_t target, Class c) noexcept {
  return merkle::mix(merkle::mix(source, target), 0x76657269747931ull + static_cast<uint64_t>(c));
}

void seal_single(FrameHeader* header, util::Pieces rest, uint64_t nonce) noexcept {
  util::Piece pieces[kMaxPieces];
  header->check = 0;
  pieces[0] = {&header->check, sizeof(*header) - offsetof(FrameHeader, check)};
  size_t count = 1;
  for (const util::Piece& piece : rest) {
    if (piece.length != 0 && count < kMaxPieces) pieces[count++] = piece;
  }
  header->root = merkle::mix(merkle::hash(util::Pieces(pieces, count)), nonce);
}

void seal_tree(FrameHeader* header, util::Pieces payload, uint64_t nonce) noexcept {
  const uint64_t digest = header_digest(*header, nonce);
  header->check = static_cast<uint32_t>(digest);
  const merkle::Geometry geometry(header->length, header->segment_size());
  header->root = bind_tree(merkle::root(geometry, payload), digest);
}

void seal_hello(void* hello, size_t size, uint64_t nonce) noexcept {
  const uint64_t digest = hello_digest(hello, size, nonce);
  std::memcpy(static_cast<uint8_t*>(hello) + size - sizeof(digest), &digest, sizeof(digest));
}

bool is_data_header(const FrameHeader& header) noexcept {
  return well_formed(header) && header.frame_kind() == FrameKind::kData;
}

Verdict parse(const void* data, size_t size, FrameView* view) noexcept {
  if (size < sizeof(FrameHeader)) return Verdict::kMalformed;
  std::memcpy(&view->header, data, sizeof(FrameHeader));
  if (!well_formed(view->header)) return Verdict::kMalformed;
  const size_t without_hello = sizeof(FrameHeader) + size_t{view->header.length};
  if (size < without_hello) return Verdict::kBadLength;
  view->payload = static_cast<const uint8_t*>(data) + sizeof(FrameHeader);
  view->hello = nullptr;
  view->hello_length = size - without_hello;
  if ((view->header.flags & kHello) == 0)
    return view->hello_length == 0 ? Verdict::kGood : Verdict::kBadLength;
  view->hello = view->payload + view->header.length;
  return hello_fits(view->hello, view->hello_length) ? Verdict::kGood : Verdict::kBadLength;
}

Verdict check(const void* data, size_t size, const FrameView& view, uint64_t nonce) noexcept {
  if ((view.header.flags & kTree) != 0) return check_tree(view, nonce);
  if (view.header.check != 0) return Verdict::kBadFrame;
  return check_plain_data(data, size, nonce) ? Verdict::kGood : Verdict::kBadFrame;
}

bool check_rebuilt(const FrameHeader& header, const void* payload, uint64_t nonce) noexcept {
  FrameView view{header, static_cast<const uint8_t*>(payload), nullptr, 0};
  if ((header.flags & kTree) != 0) return check_tree(view, nonce) == Verdict::kGood;
  if ((header.flags & kHello) != 0 || header.check != 0) return false;
  FrameHeader copy = header;
  const util::Piece rest{payload, header.length};
  seal_single(&copy, {&rest, 1}, nonce);
  return copy.root == header.root;
}

HelloView read_hello(const FrameView& view) noexcept {
  HelloView hello{};
  std::memcpy(&hello.ext, view.hello, sizeof(hello.ext));
  hello.device_address = view.hello + sizeof(hello.ext);
  hello.iface_address = hello.device_address + hello.ext.device_length;
  return hello;
}

}  // namespace verity::wire
