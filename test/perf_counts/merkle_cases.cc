// SPDX-License-Identifier: BSD-3-Clause
#include <vector>

#include "merkle/tree.h"
#include "perf_counts/case.h"

namespace verity::perf {
namespace {

constexpr uint32_t kSegment = 8192;

std::vector<uint8_t> from;
std::vector<uint8_t> to;

void buffers() {
  from.assign((1 << 20) + 64, 0x5a);
  to.assign(65536, 0);
}

template <size_t kLength>
void hash_bytes() {
  consume(merkle::hash(from.data(), kLength));
}

template <size_t kLength>
void copy_and_hash_bytes() {
  consume(merkle::copy_and_hash(to.data(), from.data(), kLength));
}

template <size_t kLength, uint32_t kSegmentSize>
void root_of_bytes() {
  const util::Piece whole{from.data(), kLength};
  consume(merkle::root(merkle::Geometry(kLength, kSegmentSize), {&whole, 1}));
}

template <size_t kLength>
void hash_header_and_payload() {
  const util::Piece pieces[2] = {{from.data(), 40}, {from.data() + 64, kLength}};
  consume(merkle::hash(util::Pieces(pieces)));
}

constexpr Case kCases[] = {
    {"hash-8", buffers, hash_bytes<8>},
    {"hash-40", buffers, hash_bytes<40>},
    {"hash-4k", buffers, hash_bytes<4096>},
    {"pieces-40+8", buffers, hash_header_and_payload<8>},
    {"pieces-40+64k", buffers, hash_header_and_payload<65536>},
    {"copy-and-hash-4k", buffers, copy_and_hash_bytes<4096>},
    {"root-8k", buffers, root_of_bytes<8192, kSegment>},
    {"root-1m", buffers, root_of_bytes<1 << 20, kSegment>},
    {"root-1m-in-4096-leaves", buffers, root_of_bytes<1 << 20, 256>},
};

}  // namespace

std::span<const Case> merkle_cases() { return kCases; }

}  // namespace verity::perf
