// SPDX-License-Identifier: BSD-3-Clause
// The fuzz targets with random inputs and with the corpus, under any compiler. VERITY_FUZZ_SECONDS:
// per target (default 2).
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/targets.h"
#include "signature/describe.h"
#include "signature/record.h"
#include "sim/rng.h"
#include "wire/codec.h"

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
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::seconds(text == nullptr ? 2 : std::atoi(text));
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
    bytes[8 + 31] = wire::segment_byte(wire::kMinSegmentLog2);
  }
  wire_target(bytes.data(), bytes.size());
}

TEST(Fuzz, Autolink) { run_random(autolink_target, 200); }

TEST(Fuzz, Validate) { run_random(validate_target, 600); }

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

TEST(Fuzz, Health) {
  replay(health_target, "health");
  run_random(health_target, 300);
}

TEST(Fuzz, Hub) {
  replay(hub_target, "hub");
  run_random(hub_target, 2000);
}

TEST(Fuzz, Job) {
  replay(job_target, "job");
  run_random(job_target, 200);
}

// Lines that are nearly right.
void policy_formed(const uint8_t* data, size_t size) {
  Input input(data, size);
  std::string text;
  while (!input.empty()) {
    const char* const heads[] = {"", "lock ", "#", " \t", "lock\t", "locked "};
    const char* const names[] = {"MODE", "WINDOW", "ATTEST", "TYPECHECK", "", "X9"};
    text += std::string(heads[input.u8() % 6]) + "UCX_VERITY_" + names[input.u8() % 6] +
            (input.u8() % 8 == 0 ? "" : "=");
    for (unsigned length = input.u8() % 8; length != 0; --length)
      text += static_cast<char>(input.u8());
    text += input.u8() % 8 == 0 ? "" : "\n";
  }
  policy_target(reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

TEST(Fuzz, Policy) {
  run_random(policy_target, 300);
  run_random(policy_formed, 60);
}

TEST(Fuzz, Rma) {
  replay(rma_target, "rma");
  run_random(rma_target, 2000);
}

// Lines as processes write them, of few hosts, cut off or changed here and there.
void report_formed(const uint8_t* data, size_t size) {
  Input input(data, size);
  std::string text;
  while (!input.empty()) {
    const char* const kinds[] = {"payload",   "header",     "source_memory", "source_changed",
                                 "ambiguous", "persistent", "gremlin"};
    const char* const hosts[] = {"n1", "n2", "n3", "", "<b>", "\\u001b[31m"};
    const auto host = [&] { return std::string(hosts[input.u8() % 6]); };
    std::string line = R"({"event":"fault","schema":1,"host":")" + host() + R"(","peer_host":")" +
                       host() + R"(","transport":"v)" + host() + R"(","device":")" + host() +
                       R"(","interface":")" + std::to_string(input.u8() % 4) + R"(","peer":")" +
                       std::to_string(input.u8() % 4) + R"(","kind":")" + kinds[input.u8() % 7] +
                       R"(","direction":")" + (input.u8() % 2 == 0 ? "sent" : "received") +
                       R"(","syndrome":{"pattern":"burst","again":"lane"}})";
    if (input.u8() % 8 == 0) {
      line = R"({"schema":1,"host":")" + host() +
             R"(","trouble":false,"counters":{"bytes_verified":)" + std::to_string(input.u64()) +
             "}}";
    }
    if (input.u8() % 16 == 0) line[input.u16() % line.size()] = static_cast<char>(input.u8());
    if (input.u8() % 16 == 0) line.resize(input.u16() % line.size());
    text += line + "\n";
  }
  report_target(reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

TEST(Fuzz, Report) {
  replay(report_target, "report");
  run_random(report_formed, 600);
}

TEST(Fuzz, Text) {
  replay(text_target, "text");
  run_random(text_target, 60);
}

TEST(Fuzz, Shapes) {
  replay(shapes_target, "shapes");
  run_random(shapes_target, 4000);
}

// Random bytes are hardly ever a description: here they are numbers of copies, types and nestings.
size_t put_description(const uint8_t* choices, size_t left, unsigned depth,
                       std::vector<uint8_t>& out) {
  if (depth == 0 || left < 4 || choices[0] < 100) {
    const uint8_t id = left == 0 ? uint8_t{9} : static_cast<uint8_t>(choices[0] % 21 + 1);
    const auto basic = signature::make_basic(id, 1 + (left < 2 ? 0u : choices[1] % 8u)).value();
    out.insert(out.end(), {static_cast<uint8_t>(0x80 | basic.cls), basic.id,
                           static_cast<uint8_t>(basic.size)});
    return std::min<size_t>(left, 2);
  }
  const unsigned fields = choices[1] % 5;
  size_t used = 2;
  out.push_back(static_cast<uint8_t>(fields));
  for (unsigned i = 0; i < fields; ++i) {
    const uint8_t copies = used < left ? choices[used++] : uint8_t{1};
    if (copies >= 0x80) {
      out.insert(out.end(), {copies, 0xff, 0xff, 0xff, 0x7f});
    } else {
      out.push_back(std::max<uint8_t>(copies % 8, 1));
    }
    used += put_description(choices + std::min(used, left), left - std::min(used, left), depth - 1,
                            out);
  }
  return std::min(used, left);
}

void signature_formed(const uint8_t* data, size_t size) {
  if (size < 40 || (data[0] & 3) == 0) return signature_target(data, size);
  std::vector<uint8_t> bytes(data, data + 17);
  const size_t used = put_description(data + 17, std::min<size_t>(size - 17, 60), 4, bytes);
  bytes[16] = static_cast<uint8_t>(std::min<size_t>(bytes.size() - 17, 255));
  signature::Type type;
  std::vector<uint8_t> text;
  put_description(data + 17 + used, size - 17 - used, 4, text);
  if (signature::decode(text, &type) == nullptr) {
    std::vector<uint8_t> record(signature::kMaxRecord);
    const signature::Level level =
        data[1] % 2 == 0 ? signature::Level::kLayout : signature::Level::kNames;
    record.resize(signature::write_record(signature::make_record(type, data[2] % 40, level), text,
                                          record.data(), record.size()));
    bytes.insert(bytes.end(), record.begin(), record.end());
  }
  if (data[3] < 60) bytes[data[4] % bytes.size()] = data[5];
  signature_target(bytes.data(), bytes.size());
}

TEST(Fuzz, Signature) {
  replay(signature_target, "signature");
  run_random(signature_formed, 1500);
}

// Random bytes hardly ever hold an end: mostly there is one, with fields in and near their ranges.
void trailer_formed(const uint8_t* data, size_t size) {
  std::vector<uint8_t> bytes(data, data + size);
  if (size >= 12 && (bytes[1] & 7) != 0) {
    const bool leads = (bytes[0] & 1) != 0;
    uint8_t* const end = leads ? &bytes[1] : &bytes[size - 8];
    end[0] %= 34;
    end[2] = leads ? end[2] % 16 / 15 : end[2] % 9;
    for (int i = 3; i < 8; ++i) end[i] = static_cast<uint8_t>(end[i] / 250 % 2);
  }
  trailer_target(bytes.data(), bytes.size());
}

TEST(Fuzz, Trailer) {
  replay(trailer_target, "trailer");
  run_random(trailer_formed, 600);
}

}  // namespace
}  // namespace verity::fuzz
