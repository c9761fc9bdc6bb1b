// SPDX-License-Identifier: BSD-3-Clause
//
// A structure as a sequence of messages.
#ifndef VERITY_AUTOLINK_AGGREGATE_H
#define VERITY_AUTOLINK_AGGREGATE_H

#include <string>

#include "autolink/graph.h"
#include "autolink/packet.h"

namespace verity::autolink {

class Aggregation {
 public:
  // The schema and the structure are used, and must not change, until the last message.
  explicit Aggregation(Schema schema) : schema_(std::move(schema)), graph_(schema_) {}
  Aggregation(const Aggregation&) = delete;
  Aggregation& operator=(const Aggregation&) = delete;

  // Once, first. Returns "", or why the structure cannot be sent. May throw std::bad_alloc.
  [[nodiscard]] std::string start(TypeNumber type, const void* root, uint64_t count,
                                  uint64_t packet_bytes, uint64_t structure);
  // The next message replaces *message_p. False: there was none left. May throw std::bad_alloc.
  [[nodiscard]] bool next(Bytes* message_p);
  // Of all messages together, without interior places.
  [[nodiscard]] uint64_t bytes() const noexcept;

 private:
  [[nodiscard]] Header header(Kind kind) const noexcept;
  void initial(Bytes* message_p);
  void elements(Bytes* message_p);
  void interiors(Bytes* message_p);
  void put_element(const uint8_t* element, uint8_t* out);

  Schema schema_;
  Graph graph_;
  TypeNumber root_type_ = 0;
  uint64_t root_link_ = 0;
  uint64_t root_count_ = 0;
  uint64_t packet_bytes_ = 0;
  uint64_t structure_ = 0;
  enum class Phase : uint8_t { kInitial, kElements, kInteriors, kEnd } phase_ = Phase::kInitial;
  TypeNumber type_ = 0;    // of the next elements
  uint64_t index_ = 0;     // of the next element
  Places::Cursor cursor_;  // where it lies
};

// Elements of `size` bytes in a packet.
[[nodiscard]] inline uint64_t elements_in(uint64_t packet_bytes, uint64_t size) noexcept {
  return packet_bytes < size ? 1 : packet_bytes / size;
}

}  // namespace verity::autolink

#endif
