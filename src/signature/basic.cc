// SPDX-License-Identifier: BSD-3-Clause
#include "signature/basic.h"

#include <array>

namespace verity::signature {

namespace {

struct Entry {
  std::string_view name;  // empty: no such number
  Class cls = Class::kNone;
  uint16_t usual_size = 0;
  uint64_t name_hash = 0;
};

constexpr std::string_view kClassNames[kClasses] = {
    "none",    "signed integer", "unsigned integer", "floating point",
    "complex", "logical",        "character",        "bool",
    "byte",    "packed",         "unknown",
};

// FNV-1a: the codes are made from names, so that they do not hang on the order of a table.
constexpr uint64_t hash_text(std::string_view text) noexcept {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3ull;
  return hash;
}

constexpr std::array<Entry, 256> make_table() noexcept {
  std::array<Entry, 256> table{};
#define VERITY_ENTRY(number, name, cls, size) \
  table[number] = {#name, Class::cls, size, hash_text(#name)};
  VERITY_NAMED_TYPES(VERITY_ENTRY)
#undef VERITY_ENTRY
#define VERITY_ENTRY(number, name, text, cls, size) \
  table[number] = {text, Class::cls, size, hash_text(text)};
  VERITY_HANDLELESS_TYPES(VERITY_ENTRY)
#undef VERITY_ENTRY
  return table;
}

constexpr std::array<Entry, 256> kTable = make_table();

constexpr std::array<uint64_t, kClasses> make_class_hashes() noexcept {
  std::array<uint64_t, kClasses> hashes{};
  for (unsigned i = 0; i < kClasses; ++i) hashes[i] = hash_text(kClassNames[i]);
  return hashes;
}

constexpr std::array<uint64_t, kClasses> kClassHashes = make_class_hashes();

// Names that are other words for a handle in the table.
struct Synonym {
  std::string_view name;
  Id id;
};
constexpr Synonym kSynonyms[] = {
    {"MPI_LONG_LONG_INT", id_MPI_LONG_LONG},
    {"MPI_C_FLOAT_COMPLEX", id_MPI_C_COMPLEX},
};

// splitmix64's finisher: a bijection that spreads every bit.
constexpr uint64_t spread(uint64_t z) noexcept {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

}  // namespace

std::optional<BasicType> make_basic(uint8_t id, uint64_t size) noexcept {
  if (kTable[id].name.empty() || size == 0 || size > kMaxBasicSize) return std::nullopt;
  return BasicType{id, static_cast<uint8_t>(kTable[id].cls), static_cast<uint16_t>(size)};
}

std::optional<BasicType> find_basic(std::string_view name, uint64_t size) noexcept {
  unsigned id = id_NONE;
  for (const Synonym& synonym : kSynonyms) {
    if (synonym.name == name) id = synonym.id;
  }
  for (unsigned i = 1; i < kTable.size() && id == id_NONE; ++i) {
    if (!kTable[i].name.empty() && kTable[i].name == name) id = i;
  }
  return make_basic(static_cast<uint8_t>(id), size == 0 ? kTable[id].usual_size : size);
}

bool well_formed(const BasicType& type) noexcept { return make_basic(type.id, type.size) == type; }

std::string_view name_of(uint8_t id) noexcept {
  return kTable[id].name.empty() ? "unknown" : kTable[id].name;
}

std::string_view to_string(Class cls) noexcept {
  const auto index = static_cast<unsigned>(cls);
  return index < kClasses ? kClassNames[index] : "unknown";
}

std::string to_words(const BasicType& type) {
  std::string words(name_of(type.id));
  if (type.size != kTable[type.id].usual_size) {
    words += " of " + std::to_string(type.size) + (type.size == 1 ? " byte" : " bytes");
  }
  return words;
}

uint64_t code_of(const BasicType& type, Level level) noexcept {
  const uint64_t text =
      level == Level::kNames ? kTable[type.id].name_hash : kClassHashes[type.cls % kClasses];
  return reduce(spread(text + type.size * 0x9e3779b97f4a7c15ull));
}

}  // namespace verity::signature
