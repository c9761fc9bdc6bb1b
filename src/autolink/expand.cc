// SPDX-License-Identifier: BSD-3-Clause
#include "autolink/expand.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "autolink/aggregate.h"

namespace verity::autolink {

void Arena::allocate(uint64_t count, uint64_t size, uint64_t alignment) {
  const uint64_t wanted = std::max<uint64_t>(alignment, alignof(std::max_align_t));
  const uint64_t bytes = (count * size + 1 + wanted - 1) / wanted * wanted;
  auto* made = static_cast<uint8_t*>(std::aligned_alloc(wanted, bytes));
  if (made == nullptr) throw std::bad_alloc();
  bytes_.reset(made);
  std::memset(made + count * size, 0, bytes - count * size);
  count_ = count;
  size_ = size;
}

void Arena::Free::operator()(uint8_t* bytes) const noexcept { std::free(bytes); }

Expansion::Expansion(Schema schema, TypeNumber root_type, uint64_t most_bytes)
    : schema_(std::move(schema)), root_type_(root_type), most_bytes_(most_bytes) {}

std::string Expansion::feed(std::span<const uint8_t> message) {
  Header header;
  std::string error = read(message, &header);
  if (!error.empty()) return error;
  if (header.schema != schema_.hash())
    return "of a peer whose types are laid out otherwise (another schema)";
  const auto body = body_of(message);
  if (static_cast<Kind>(header.kind) == Kind::kInitial) return on_initial(header, body);
  if (!has_started_) return "a packet before the initial message";
  if (header.structure != structure_) return "a packet of another structure";
  return static_cast<Kind>(header.kind) == Kind::kElements ? on_elements(header, body)
                                                           : on_interiors(header, body);
}

std::string Expansion::on_initial(const Header& header, std::span<const uint8_t> body) {
  if (has_started_) return "a second initial message";
  if (header.type != root_type_) return "the root is of another type";
  if (header.count == 0) return "packets of no bytes";
  const TypeNumber types = schema_.count();
  if (body.size() != (uint64_t{types} + 1) * sizeof(uint64_t))
    return "an initial message of wrong length";
  std::vector<uint64_t> words(types + 1);
  std::memcpy(words.data(), body.data(), body.size());
  uint64_t left = most_bytes_;
  for (TypeNumber type = 0; type < types; ++type) {
    const uint64_t count = words[type + 1];
    if (count > kMostElements || count > left / schema_.size(type))
      return "a structure of more bytes than allowed here";
    left -= count * schema_.size(type);
  }
  auto made = std::make_unique<Structure>();
  made->arenas.resize(types);
  std::vector<std::vector<bool>> has_packet(types);
  uint64_t missing = 0;
  for (TypeNumber type = 0; type < types; ++type) {
    const uint64_t count = words[type + 1];
    if (count == 0) continue;
    const uint64_t each = elements_in(header.count, schema_.size(type));
    made->arenas[type].allocate(count, schema_.size(type), schema_.alignment(type));
    has_packet[type].resize((count - 1) / each + 1);
    missing += has_packet[type].size();
  }
  made->root_count = header.first;
  made_ = std::move(made);
  has_packet_ = std::move(has_packet);
  missing_ = missing;
  root_link_ = words[0];
  packet_bytes_ = header.count;
  structure_ = header.structure;
  has_started_ = true;
  return {};
}

std::string Expansion::on_elements(const Header& h, std::span<const uint8_t> body) {
  if (h.type >= schema_.count()) return "elements of an unknown type";
  const Arena& arena = made_->arenas[h.type];
  const uint64_t size = schema_.size(h.type);
  const uint64_t each = elements_in(packet_bytes_, size);
  if (h.first % each != 0 || h.first >= arena.count())
    return "elements that the structure does not have";
  if (h.count != std::min(each, arena.count() - h.first) || body.size() != h.count * size)
    return "a packet of wrong length";
  std::vector<bool>& has = has_packet_[h.type];
  if (has[h.first / each]) return "a packet that came before";
  std::memcpy(arena.at(h.first), body.data(), body.size());
  if (schema_.leaves_out(h.type)) {  // a peer may have sent its own pointers
    for (uint64_t i = 0; i < h.count; ++i) schema_.blank_left_out(h.type, arena.at(h.first + i));
  }
  has[h.first / each] = true;
  --missing_;
  return {};
}

std::string Expansion::on_interiors(const Header& h, std::span<const uint8_t> body) {
  if (has_interiors_) return "interior places that came before";
  if (body.size() % sizeof(Interior) != 0 || body.size() / sizeof(Interior) != h.count)
    return "a packet of wrong length";
  std::vector<Interior> all(h.count);
  if (h.count != 0) std::memcpy(all.data(), body.data(), body.size());
  for (const Interior& place : all) {
    if (place.type >= schema_.count() || place.zero != 0 ||
        place.index >= made_->arenas[place.type].count() ||
        place.offset >= schema_.size(place.type)) {
      return "an interior place outside of the structure";
    }
  }
  interiors_ = std::move(all);
  has_interiors_ = true;
  return {};
}

uint8_t* Expansion::resolve_interior(uint64_t entry, TypeNumber type, uint64_t* room_p) const {
  if (entry >= interiors_.size()) return nullptr;
  const Interior& place = interiors_[entry];
  *room_p = schema_.nested(place.type, place.offset, type);
  return made_->arenas[place.type].at(place.index) + place.offset;
}

void* Expansion::resolve(uint64_t link, TypeNumber type, uint64_t count, bool is_string) const {
  uint8_t* target = nullptr;
  uint64_t room = 0;  // elements from there on
  if (is_interior(link)) {
    target = resolve_interior(link & ~kInteriorBit, type, &room);
  } else if (type_of(link) == type && index_of(link) < made_->arenas[type].count()) {
    target = made_->arenas[type].at(index_of(link));
    room = made_->arenas[type].count() - index_of(link);
  }
  if (target == nullptr || room == 0) return nullptr;
  if (!is_string) return count <= room ? target : nullptr;
  // Characters of one type lie together, with a zero behind them; those in an element must end
  // there.
  if (is_interior(link)) return std::memchr(target, 0, room) != nullptr ? target : nullptr;
  return target;
}

std::string Expansion::set_links(TypeNumber type) {
  struct Place {
    const Expansion* self;
    TypeNumber type;
    uint8_t* element;
  } place{this, type, nullptr};
  const Arena& arena = made_->arenas[type];
  const auto on_link = [](void* context, const verity_automap_link* link) {
    const auto* at = static_cast<Place*>(context);
    const auto value = reinterpret_cast<uintptr_t>(link->target);
    if (value == 0) return 0;
    const bool is_string = link->kind == VERITY_AUTOMAP_STRING;
    void* target =
        at->self->resolve(value, at->self->schema_.target(*link), link->count, is_string);
    if (target == nullptr) return 1;
    at->self->schema_.set_link(at->type, at->element, link->number, target);
    return 0;
  };
  for (uint64_t i = 0; i < arena.count(); ++i) {
    place.element = arena.at(i);
    if (schema_.links(type, place.element, on_link, &place) != 0) {
      return std::string("element ") + std::to_string(i) + " of type " + schema_.name(type) +
             " has a link that leads nowhere";
    }
  }
  return {};
}

// Some pointers are set already: it cannot be tried again.
std::string Expansion::give_up(std::string why) {
  made_.reset();
  has_started_ = has_interiors_ = false;
  return why;
}

std::string Expansion::finish(std::unique_ptr<Structure>* structure_p) {
  for (TypeNumber type = 0; type < schema_.count(); ++type) {
    if (!schema_.has_links(type)) continue;
    const std::string error = set_links(type);
    if (!error.empty()) return give_up(error);
  }
  if (root_link_ != 0) {
    made_->root = resolve(root_link_, root_type_, made_->root_count, false);
    if (made_->root == nullptr) return give_up("the root leads nowhere");
  }
  *structure_p = std::move(made_);
  has_started_ = has_interiors_ = false;  // ready for another one
  return {};
}

}  // namespace verity::autolink
