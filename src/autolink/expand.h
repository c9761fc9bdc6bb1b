// SPDX-License-Identifier: BSD-3-Clause
//
// Messages back to a structure. Whatever bytes arrive, nothing outside of the memory made for them
// is read or written, and no pointer that is set leads out of it.
#ifndef VERITY_AUTOLINK_EXPAND_H
#define VERITY_AUTOLINK_EXPAND_H

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "autolink/link.h"
#include "autolink/packet.h"
#include "autolink/schema.h"

namespace verity::autolink {

// The elements of one type, one after the other.
class Arena {
 public:
  Arena() = default;
  // Zeros, and as many bytes again behind them as end a string. Throws std::bad_alloc.
  void allocate(uint64_t count, uint64_t size, uint64_t alignment);
  [[nodiscard]] uint8_t* at(uint64_t index) const noexcept { return bytes_.get() + index * size_; }
  [[nodiscard]] uint64_t count() const noexcept { return count_; }

 private:
  struct Free {
    void operator()(uint8_t* bytes) const noexcept;
  };
  std::unique_ptr<uint8_t, Free> bytes_;
  uint64_t count_ = 0;
  uint64_t size_ = 0;
};

// A structure that was received: it and its memory end together.
struct Structure {
  std::vector<Arena> arenas;
  void* root = nullptr;
  uint64_t root_count = 0;
};

class Expansion {
 public:
  // `most_bytes`: structures that need more are refused.
  Expansion(Schema schema, TypeNumber root_type, uint64_t most_bytes);

  // Takes one message; the initial one first, the others in any order. Returns "", or why it was
  // refused; a structure of which a message was refused can still be completed. May throw
  // std::bad_alloc.
  [[nodiscard]] std::string feed(std::span<const uint8_t> message);
  [[nodiscard]] bool is_complete() const noexcept {
    return has_started_ && has_interiors_ && missing_ == 0;
  }
  // Of a complete one, once: sets all pointers. Returns "", or which of them leads nowhere.
  // Afterwards another structure may begin.
  [[nodiscard]] std::string finish(std::unique_ptr<Structure>* structure_p);

 private:
  [[nodiscard]] std::string on_initial(const Header& header, std::span<const uint8_t> body);
  [[nodiscard]] std::string on_elements(const Header& header, std::span<const uint8_t> body);
  [[nodiscard]] std::string on_interiors(const Header& header, std::span<const uint8_t> body);
  [[nodiscard]] std::string give_up(std::string why);
  [[nodiscard]] std::string set_links(TypeNumber type);
  // The target of a link with `count` elements, or of a string; nullptr: it leads nowhere.
  [[nodiscard]] void* resolve(uint64_t link, TypeNumber type, uint64_t count, bool is_string) const;
  [[nodiscard]] uint8_t* resolve_interior(uint64_t entry, TypeNumber type, uint64_t* room_p) const;

  Schema schema_;
  TypeNumber root_type_;
  uint64_t most_bytes_;
  std::unique_ptr<Structure> made_;
  bool has_started_ = false, has_interiors_ = false;
  uint64_t structure_ = 0, root_link_ = 0, packet_bytes_ = 0;
  uint64_t missing_ = 0;                       // packets
  std::vector<std::vector<bool>> has_packet_;  // by type
  std::vector<Interior> interiors_;
};

}  // namespace verity::autolink

#endif
