// SPDX-License-Identifier: BSD-3-Clause
//
// Directives: what a header says of a member that its type does not say.
//
//   struct node* next;   /*~ AM owned */              the element that it points to belongs to the
//   structure struct node* parent; /*~ AM reference */          it points to an element that an
//   owned pointer reaches too double* values;      /*~ AM owned, count = n */   to as many as the
//   member n says (or a number) char* name;          /*~ AM string */             to characters
//   that end with a zero void* cache;         /*~ AM ignore */             the member is left out
//   union { ... } u;     /*~ AM tag = kind */         the member kind says which member of the
//   union is in use:
//     int i;             /*~ AM when = KIND_INT */    for this value of it (or several: A | B)
//   opaque_t o;          /*~ AM bytes */              mapped as bytes, whatever it contains
//
// ignore and bytes may also be said of a whole record.
#ifndef VERITY_AUTOMAP_PLAN_DIRECTIVE_H
#define VERITY_AUTOMAP_PLAN_DIRECTIVE_H

#include <string>
#include <string_view>
#include <vector>

#include "automap/plan/model.h"

namespace verity::automap {

// All directives of a member or a record together.
struct Directive {
  bool ignore = false;
  bool owned = false;
  bool reference = false;
  bool string = false;
  bool bytes = false;
  std::string count;              // a member's name or a number
  std::string tag;                // a member's name
  std::vector<std::string> when;  // names or numbers

  [[nodiscard]] bool links() const { return owned || reference || string; }
};

// Adds what the text says. Returns "" or what is wrong with it.
[[nodiscard]] std::string add_directive(std::string_view text, Directive* directive);
// All of them; the first error with its place is set in *error_p, and its text returned.
[[nodiscard]] std::string read_directives(const std::vector<DirectiveText>& texts,
                                          Directive* directive_p, Place* error_p);

// The text between "~ AM" and the end of a comment as the source has it (with /* */ or //); false
// for any other comment.
[[nodiscard]] bool directive_in_comment(std::string_view comment, std::string* text_p);

// A file of directives for headers that cannot be edited: each line 'RECORD.MEMBER: directive' or
// 'RECORD: directive', where RECORD and MEMBER may be *; # begins a comment.
struct OutsideDirective {
  std::string record;  // as in Record::identifier or without struct
  std::string member;  // empty: of the record
  DirectiveText directive;
  bool used = false;
};
// Returns "" or what is wrong, with its line.
[[nodiscard]] std::string parse_directive_file(const std::string& name, std::string_view text,
                                               std::vector<OutsideDirective>* all_p);
// Gives each record and member its own. Returns "" or the first line, of those without *, that fits
// nothing.
[[nodiscard]] std::string apply_outside(std::vector<OutsideDirective>& all, Model* model);

}  // namespace verity::automap

#endif
