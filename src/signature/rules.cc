// SPDX-License-Identifier: BSD-3-Clause
#include "signature/rules.h"

#include <algorithm>
#include <new>
#include <optional>

#include "signature/describe.h"

namespace verity::signature {

namespace {

// The sender's side, when all of it is known.
struct Message {
  Type type;
  uint64_t copies;
};

constexpr Verdict no_check(Reason reason) noexcept {
  return {Outcome::kNoCheck, reason, What::kNone, kUnknownPosition};
}
constexpr Verdict mismatch(What what, uint64_t position) noexcept {
  return {Outcome::kMismatch, Reason::kNone, what, position};
}

uint64_t posted(const Received& received) noexcept {
  return multiply_counts(received.type.count(), received.copies);
}

// A message that is no longer than the receive, as far as the numbers of elements show.
bool fits(const Record& sender, const Received& received) noexcept {
  if (received.length == Length::kExact) return sender.count == posted(received);
  return received.bytes == kWhole && sender.count <= posted(received);
}

std::optional<Reason> unchecked(const Record& sender, const Received& received) noexcept {
  if ((sender.flags & kHasPacked) != 0 || received.type.contains(Class::kPacked))
    return Reason::kPacked;
  if ((sender.flags & kHasOpaque) != 0 || received.type.contains(Class::kOpaque))
    return Reason::kOpaque;
  if (sender.count == kTooMany) return Reason::kUncountable;
  return std::nullopt;
}

bool is_byte(const BasicType& type) noexcept {
  return type.cls == static_cast<uint8_t>(Class::kByte);
}

// One side is all MPI_BYTE and the other has none: the first element says so already, without a
// search for it.
bool bytes_against_typed(const Record& sender, const Received& received) noexcept {
  return (is_byte(sender.basic) && !received.type.contains(Class::kByte)) ||
         (is_byte(received.type.basic()) && (sender.flags & kHasByte) == 0);
}

// That nothing differs, from exact types or from hashes. False also when that is not known.
bool equal_at_once(const Record& sender, const Received& received, Level level) noexcept {
  if (!fits(sender, received)) return false;
  if (sender.homogeneous()) {
    if (received.type.homogeneous()) return same(sender.basic, received.type.basic(), level);
    return repeat_basic(code_of(sender.basic, level), sender.count) ==
           prefix(received.type, received.copies, sender.count, level);
  }
  // Equal names are equal layouts, so the sender's level may be the higher one.
  return Signature{sender.hash, sender.count} ==
         prefix(received.type, received.copies, sender.count, sender.level());
}

// The sender's type from its description, if that is there and agrees with the record.
std::optional<Message> message_of(const Record& sender, std::span<const uint8_t> description) {
  if (sender.homogeneous()) return Message{Type::leaf(sender.basic), sender.count};
  Message message{};
  if (description.empty() || decode(description, &message.type) != nullptr) return std::nullopt;
  const uint64_t one = message.type.count();
  if (one == 0) return std::nullopt;
  message.copies = sender.count / one;
  const Signature all = message.type.signature(message.copies, sender.level());
  return all == Signature{sender.hash, sender.count} ? std::optional(message) : std::nullopt;
}

// How many elements both sides have, of those that arrived.
uint64_t common(const Message& message, const Record& sender, const Received& received) noexcept {
  const uint64_t both = std::min(sender.count, posted(received));
  if (received.length == Length::kExact) return both;
  const uint64_t room = multiply_counts(received.type.bytes(), received.copies);
  return std::min(both,
                  whole_elements(message.type, message.copies, std::min(room, received.bytes)));
}

Verdict compare_types(const Message& message, const Record& sender, const Received& received,
                      Level level) noexcept {
  const uint64_t elements = common(message, sender, received);
  const uint64_t position = first_difference(message.type, received.type, elements, level);
  if (position == elements) {
    const bool enough = received.length == Length::kAtMost || sender.count == posted(received);
    return enough ? Verdict{} : mismatch(What::kCount, elements);
  }
  if (level == Level::kLayout && (is_byte(element_at(message.type, position)) ||
                                  is_byte(element_at(received.type, position)))) {
    return no_check(Reason::kByte);
  }
  const bool other_order = prefix_bag(message.type, message.copies, elements, level) ==
                           prefix_bag(received.type, received.copies, elements, level);
  return mismatch(other_order ? What::kOrder : What::kType, position);
}

// There is a difference, or too much, and the sender's type is not known.
Verdict compare_hashes(const Record& sender, const Received& received, Level level) noexcept {
  if (!fits(sender, received) && received.length == Length::kAtMost)
    return no_check(Reason::kTruncated);
  if (level == Level::kLayout &&
      ((sender.flags & kHasByte) != 0 || received.type.contains(Class::kByte))) {
    return no_check(Reason::kByte);
  }
  if (!fits(sender, received)) return mismatch(What::kCount, kUnknownPosition);
  if (sender.level() != level) return no_check(Reason::kOtherLevel);
  return mismatch(What::kHash, kUnknownPosition);
}

std::string number(uint64_t n) { return std::to_string(n); }

std::string at(const Type& type, uint64_t position) {
  const std::string path = path_of(type, position);
  return to_words(element_at(type, position)) + (path.empty() ? "" : " (" + path + ")");
}

std::string in_words_of_hash(const Record& sender) {
  return number(sender.count) + " elements of several basic types, which did not fit the record";
}

std::string element_words(const Verdict& verdict, const Type& sent, const Type& expected) {
  const bool layouts_agree = same(element_at(sent, verdict.position),
                                  element_at(expected, verdict.position), Level::kLayout);
  return "element " + number(verdict.position + 1) + " is " + at(sent, verdict.position) +
         " at the sender and " + at(expected, verdict.position) + " at the receiver" +
         (verdict.what == What::kOrder ? "; the same elements in another order" : "") +
         (layouts_agree ? "; of the same layout, but not the same type" : "");
}

std::string mismatch_words(const Verdict& verdict, const std::optional<Message>& message,
                           const Record& sender, const Received& received) {
  if (verdict.what == What::kCount) {
    return number(sender.count) + " elements at the sender and " + number(posted(received)) +
           " at the receiver, where they must be as many";
  }
  if (verdict.position == kUnknownPosition || !message) {
    return "the sequences of basic types differ; where is not known, as the sender's type is not";
  }
  return element_words(verdict, message->type, received.type);
}

}  // namespace

namespace detail {

Verdict compare_unlike(const Record& sender, std::span<const uint8_t> description,
                       const Received& received, Level level) noexcept {
  if (sender.count == 0 && (received.length == Length::kAtMost || posted(received) == 0)) return {};
  if (sender.count == 0) return mismatch(What::kCount, 0);
  if (const auto reason = unchecked(sender, received)) return no_check(*reason);
  level = std::min(level, sender.level());
  if (level == Level::kLayout && posted(received) != 0 && bytes_against_typed(sender, received)) {
    return no_check(Reason::kByte);
  }
  if (equal_at_once(sender, received, level)) return {};
  try {
    const auto message = message_of(sender, description);
    return message ? compare_types(*message, sender, received, level)
                   : compare_hashes(sender, received, level);
  } catch (const std::bad_alloc&) { return no_check(Reason::kNoMemory); }
}

}  // namespace detail

Explanation explain(const Verdict& verdict, const Record& sender,
                    std::span<const uint8_t> description, const Received& received) {
  const std::optional<Message> message =
      sender.count == 0 ? Message{} : message_of(sender, description);
  Explanation words;
  words.sent = message ? describe(message->type, message->copies) : in_words_of_hash(sender);
  words.expected = describe(received.type, received.copies);
  switch (verdict.outcome) {
    case Outcome::kEqual: words.verdict = "the types agree"; break;
    case Outcome::kNoCheck: words.verdict = to_string(verdict.reason); break;
    case Outcome::kMismatch:
      words.verdict = mismatch_words(verdict, message, sender, received);
      break;
  }
  return words;
}

std::string_view to_string(Reason reason) noexcept {
  switch (reason) {
    case Reason::kNone: return "checked";
    case Reason::kPacked: return "MPI_PACKED is not checked";
    case Reason::kOpaque: return "a named type that the checker does not know is not checked";
    case Reason::kByte: return "MPI_BYTE against typed data is checked at level names only";
    case Reason::kUncountable: return "more elements than 64 bits hold";
    case Reason::kTruncated: return "longer than the receive, and the sender's type is not known";
    case Reason::kOtherLevel: return "hashed at another level, and the sender's type is not known";
    case Reason::kNoMemory: return "no memory to find the difference";
  }
  return "unknown";
}

}  // namespace verity::signature
