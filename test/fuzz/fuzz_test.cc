// SPDX-License-Identifier: BSD-3-Clause
// The fuzz targets with random inputs and with the corpus, under any compiler. VERITY_FUZZ_SECONDS: per target (default 2).
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/targets.h"
#include "sim/rng.h"

namespace verity::fuzz {
namespace {

using Target = void (*)(const uint8_t*, size_t);

void replay(Target target, const std::string& name) {
  const char* tree = std::getenv("abs_top_srcdir");
  if (tree == nullptr) return;
  const std::filesystem::path folder = std::filesystem::path(tree) / "test/fuzz/corpus" / name;
  if (!std::filesystem::is_directory(folder)) return;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
    target(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
}

void run_random(Target target, size_t longest) {
  const char* text = std::getenv("VERITY_FUZZ_SECONDS");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(text == nullptr ? 2 : std::atoi(text));
  sim::Rng rng(text == nullptr ? 1 : static_cast<uint64_t>(end.time_since_epoch().count()));
  std::vector<uint8_t> bytes;
  do {
    bytes.resize(rng.below(longest));
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(rng.next() >> 32);
    target(bytes.data(), bytes.size());
  } while (std::chrono::steady_clock::now() < end);
}

// Random bytes are hardly ever well formed: the rest of the header is made so.
void wire_formed(const uint8_t* data, size_t size) {
  std::vector<uint8_t> bytes(data, data + size);
  if (size > 40 && (bytes[0] & 3) != 0) {
    const auto length = static_cast<uint32_t>(size - 40);
    for (unsigned i = 0; i < 4; ++i) bytes[8 + 24 + i] = static_cast<uint8_t>(length >> 8 * i);
    bytes[8 + 28] = static_cast<uint8_t>(0xb0 | (1 + bytes[1] % 6));
    bytes[8 + 29] = length > 256 ? 1 : 0;
    if (length > 256) bytes[8 + 28] = 0xb1;
    bytes[8 + 30] &= 0x9f;
    bytes[8 + 31] = 0x10;
  }
  wire_target(bytes.data(), bytes.size());
}

TEST(Fuzz, Wire) {
  replay(wire_target, "wire");
  run_random(wire_formed, 1500);
}

void compact_formed(const uint8_t* data, size_t size) {
  std::vector<uint8_t> bytes(data, data + size);
  if (size > 40 && (bytes[0] & 3) != 0) {
    bytes[24] = static_cast<uint8_t>(0xc0 | (bytes[1] & 1));
    bytes[39] &= 0x1f;
  }
  compact_target(bytes.data(), bytes.size());
}

TEST(Fuzz, Compact) {
  replay(compact_target, "compact");
  run_random(compact_formed, 1500);
}

TEST(Fuzz, Hub) {
  replay(hub_target, "hub");
  run_random(hub_target, 2000);
}

TEST(Fuzz, Rma) {
  replay(rma_target, "rma");
  run_random(rma_target, 2000);
}

TEST(Fuzz, Shapes) {
  replay(shapes_target, "shapes");
  run_random(shapes_target, 4000);
}

}  // namespace
}  // namespace verity::fuzz
