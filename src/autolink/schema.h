// SPDX-License-Identifier: BSD-3-Clause
//
// A schema as the runtime sees it: the types of verity_automap_schema, and behind them, for each,
// the pointer to it, which an array of pointers consists of.
#ifndef VERITY_AUTOLINK_SCHEMA_H
#define VERITY_AUTOLINK_SCHEMA_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ucx-verity/automap.h"

namespace verity::autolink {

using TypeNumber = uint32_t;

class Schema {
 public:
  // Refuses, with what is wrong, a schema that no generator made. The schema outlives this.
  [[nodiscard]] static std::optional<Schema> make(const verity_automap_schema* schema,
                                                  std::string* error_p);

  // With the types of pointers.
  [[nodiscard]] TypeNumber count() const noexcept { return 2 * own_; }
  [[nodiscard]] bool is_pointer(TypeNumber type) const noexcept { return type >= own_; }
  [[nodiscard]] TypeNumber pointer_to(TypeNumber type) const noexcept { return type + own_; }
  [[nodiscard]] uint64_t size(TypeNumber type) const noexcept {
    return is_pointer(type) ? sizeof(void*) : at(type).size;
  }
  [[nodiscard]] uint64_t alignment(TypeNumber type) const noexcept {
    return is_pointer(type) ? alignof(void*) : at(type).alignment;
  }
  [[nodiscard]] bool has_links(TypeNumber type) const noexcept {
    return is_pointer(type) || at(type).link_count != 0;
  }
  [[nodiscard]] const char* name(TypeNumber type) const noexcept {
    return at(is_pointer(type) ? type - own_ : type).name;
  }
  [[nodiscard]] uint64_t hash() const noexcept { return schema_->hash; }

  // Calls visit for each pointer in the element at `address`; stops when it returns another value
  // than 0, and returns that.
  int links(TypeNumber type, const void* address, verity_automap_visitor visit,
            void* context) const;
  // Sets pointer `number` of the element.
  void set_link(TypeNumber type, void* address, uint64_t number, void* target) const;
  // Blanks of an element do not travel as they are: pointers, and what no field covers where it has
  // room for one: a member that was left out may be a pointer, which must not leave its process.
  [[nodiscard]] bool has_blanks(TypeNumber type) const noexcept { return !blanks_[type].empty(); }
  // Makes them zero.
  void blank(TypeNumber type, uint8_t* element) const noexcept;
  // Of those, what no field covers: the receiver sets the pointers.
  [[nodiscard]] bool leaves_out(TypeNumber type) const noexcept { return blanks_[type].leaves_out; }
  void blank_left_out(TypeNumber type, uint8_t* element) const noexcept;
  // How many elements of `inner` lie one after the other from `offset` bytes on in an element of
  // `outer`; 0: none begins there.
  [[nodiscard]] uint64_t nested(TypeNumber outer, uint64_t offset, TypeNumber inner) const;
  // Whether elements of `inner` lie anywhere in one of `outer`.
  [[nodiscard]] bool holds(TypeNumber outer, TypeNumber inner) const {
    return !is_pointer(outer) && holds(outer, inner, 0);
  }
  // The type that a pointer leads to: of a pointer to pointers, the pointers.
  [[nodiscard]] TypeNumber target(const verity_automap_link& link) const noexcept {
    const auto type = static_cast<TypeNumber>(link.type);
    return link.levels == 2 ? pointer_to(type) : type;
  }

 private:
  explicit Schema(const verity_automap_schema* schema) noexcept
      : schema_(schema), own_(static_cast<TypeNumber>(schema->count)) {}
  [[nodiscard]] const verity_automap_type& at(TypeNumber type) const noexcept {
    return schema_->types[type];
  }
  // Of one type: its own, and those of elements within its elements.
  struct Blanks {
    struct Range {
      uint64_t offset, size;
    };
    struct Nested {
      TypeNumber type;
      uint64_t offset, size, copies;
    };
    enum class State : uint8_t { kUnknown, kOpen, kKnown };
    [[nodiscard]] bool empty() const noexcept {
      return links.empty() && left_out.empty() && nested.empty();
    }

    std::vector<Range> links, left_out;
    std::vector<Nested> nested;
    bool leaves_out = false;  // itself, or what is nested in it
    State state = State::kUnknown;
  };
  // Returns "", or why the type is none.
  [[nodiscard]] std::string find_blanks(TypeNumber type);
  [[nodiscard]] bool is_of(const verity_automap_field& field, TypeNumber inner) const;
  [[nodiscard]] bool is_nested(const verity_automap_field& field) const noexcept {
    return field.number >= 0 && static_cast<uint64_t>(field.number) < own_;
  }
  [[nodiscard]] uint64_t nested(TypeNumber outer, uint64_t offset, TypeNumber inner,
                                unsigned depth) const;
  [[nodiscard]] bool holds(TypeNumber outer, TypeNumber inner, unsigned depth) const;

  const verity_automap_schema* schema_;
  TypeNumber own_;
  std::vector<Blanks> blanks_;
};

}  // namespace verity::autolink

#endif
