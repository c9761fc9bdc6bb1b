// SPDX-License-Identifier: BSD-3-Clause
#include "autolink/aggregate.h"

#include <algorithm>
#include <cstring>

namespace verity::autolink {

std::string Aggregation::start(TypeNumber type, const void* root, uint64_t count,
                               uint64_t packet_bytes, uint64_t structure) {
  root_type_ = type;
  root_count_ = count;
  packet_bytes_ = packet_bytes;
  structure_ = structure;
  std::string error = graph_.collect(type, root, count);
  if (error.empty()) root_link_ = graph_.link_of(root, type);
  return error;
}

Header Aggregation::header(Kind kind) const noexcept {
  Header header;
  header.kind = static_cast<uint8_t>(kind);
  header.schema = schema_.hash();
  header.structure = structure_;
  return header;
}

uint64_t Aggregation::bytes() const noexcept {
  uint64_t sum = 2 * sizeof(Header) + (schema_.count() + 1) * sizeof(uint64_t);
  for (TypeNumber type = 0; type < schema_.count(); ++type) {
    const uint64_t each = elements_in(packet_bytes_, schema_.size(type));
    sum += graph_.count(type) * schema_.size(type) +
           (graph_.count(type) + each - 1) / each * sizeof(Header);
  }
  return sum;
}

bool Aggregation::next(Bytes* message_p) {
  if (phase_ == Phase::kElements) {
    while (type_ < schema_.count() && index_ == graph_.count(type_)) {
      ++type_;
      index_ = 0;
      cursor_ = {};
    }
    if (type_ == schema_.count()) phase_ = Phase::kInteriors;
  }
  switch (phase_) {
    case Phase::kInitial:
      initial(message_p);
      phase_ = Phase::kElements;
      return true;
    case Phase::kElements: elements(message_p); return true;
    case Phase::kInteriors:
      interiors(message_p);
      phase_ = Phase::kEnd;
      return true;
    case Phase::kEnd: break;
  }
  return false;
}

void Aggregation::initial(Bytes* message_p) {
  Header h = header(Kind::kInitial);
  h.type = root_type_;
  h.first = root_count_;
  h.count = packet_bytes_;
  std::vector<uint64_t> words = {root_link_};
  for (TypeNumber type = 0; type < schema_.count(); ++type) words.push_back(graph_.count(type));
  std::memcpy(begin(h, words.size() * sizeof(uint64_t), message_p), words.data(),
              words.size() * sizeof(uint64_t));
  seal(message_p);
}

void Aggregation::elements(Bytes* message_p) {
  const uint64_t size = schema_.size(type_);
  Header h = header(Kind::kElements);
  h.type = type_;
  h.first = index_;
  h.count = std::min(elements_in(packet_bytes_, size), graph_.count(type_) - index_);
  uint8_t* out = begin(h, h.count * size, message_p);
  for (const uint64_t end = index_ + h.count; index_ < end;) {
    const Run run = graph_.places(type_).next(&cursor_, end - index_);
    if (!schema_.has_blanks(type_)) {
      std::memcpy(out, run.begin, run.count * size);
    } else {
      for (uint64_t i = 0; i < run.count; ++i) put_element(run.begin + i * size, out + i * size);
    }
    out += run.count * size;
    index_ += run.count;
  }
  seal(message_p);
}

// Pointers that no directive follows, and members that are left out, become zero.
void Aggregation::put_element(const uint8_t* element, uint8_t* out) {
  std::memcpy(out, element, schema_.size(type_));
  schema_.blank(type_, out);
  struct Place {
    Graph* graph;
    uint8_t* out;
  } place{&graph_, out};
  (void)schema_.links(
      type_, element,
      [](void* context, const verity_automap_link* link) {
        const auto* to = static_cast<Place*>(context);
        const uint64_t value = to->graph->link_of(*link);
        std::memcpy(to->out + link->offset, &value, sizeof(value));
        return 0;
      },
      &place);
}

void Aggregation::interiors(Bytes* message_p) {
  const std::vector<Interior>& all = graph_.interiors();
  Header h = header(Kind::kInteriors);
  h.count = all.size();
  uint8_t* out = begin(h, all.size() * sizeof(Interior), message_p);
  if (!all.empty()) std::memcpy(out, all.data(), all.size() * sizeof(Interior));
  seal(message_p);
}

}  // namespace verity::autolink
