// SPDX-License-Identifier: BSD-3-Clause
// MPI's basic types: one table gives the numbers on the wire, the classes, the names and the codes
// that are hashed.
#ifndef VERITY_SIGNATURE_BASIC_H
#define VERITY_SIGNATURE_BASIC_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "signature/algebra.h"

namespace verity::signature {

// How a value is represented. On the wire: the numbers stay. `kOpaque` is a named type of an MPI
// library that the table does not know: it is never checked.
enum class Class : uint8_t {
  kNone = 0,
  kSigned = 1,
  kUnsigned = 2,
  kFloat = 3,
  kComplex = 4,
  kLogical = 5,
  kChar = 6,
  kBool = 7,
  kByte = 8,
  kPacked = 9,
  kOpaque = 10,
};
inline constexpr unsigned kClasses = 11;

// What is compared. kLayout: class and size of each element, and their order. kNames: the types'
// names too, as the MPI standard has it (MPI_INT is not MPI_INT32_T).
enum class Level : uint8_t { kLayout = 0, kNames = 1 };
inline constexpr unsigned kLevels = 2;

// X(number, name, class, usual size in bytes). The numbers are on the wire: never change or reuse
// one, add at the end of a group. Synonyms (MPI_LONG_LONG_INT, MPI_C_FLOAT_COMPLEX) share their
// handle in MPI and so one number here; pair types (MPI_DOUBLE_INT) are no basic types but
// sequences of two. The size of a type is the MPI library's to say, and travels with the number:
// the usual one only decides whether the words for a type name it.
#define VERITY_NAMED_TYPES(X)                      \
  X(1, MPI_BYTE, kByte, 1)                         \
  X(2, MPI_PACKED, kPacked, 1)                     \
  X(3, MPI_CHAR, kChar, 1)                         \
  X(4, MPI_WCHAR, kChar, 4)                        \
  X(5, MPI_SIGNED_CHAR, kSigned, 1)                \
  X(6, MPI_UNSIGNED_CHAR, kUnsigned, 1)            \
  X(7, MPI_SHORT, kSigned, 2)                      \
  X(8, MPI_UNSIGNED_SHORT, kUnsigned, 2)           \
  X(9, MPI_INT, kSigned, 4)                        \
  X(10, MPI_UNSIGNED, kUnsigned, 4)                \
  X(11, MPI_LONG, kSigned, 8)                      \
  X(12, MPI_UNSIGNED_LONG, kUnsigned, 8)           \
  X(13, MPI_LONG_LONG, kSigned, 8)                 \
  X(14, MPI_UNSIGNED_LONG_LONG, kUnsigned, 8)      \
  X(15, MPI_FLOAT, kFloat, 4)                      \
  X(16, MPI_DOUBLE, kFloat, 8)                     \
  X(17, MPI_LONG_DOUBLE, kFloat, 16)               \
  X(18, MPI_C_BOOL, kBool, 1)                      \
  X(19, MPI_C_COMPLEX, kComplex, 8)                \
  X(20, MPI_C_DOUBLE_COMPLEX, kComplex, 16)        \
  X(21, MPI_C_LONG_DOUBLE_COMPLEX, kComplex, 32)   \
  X(30, MPI_INT8_T, kSigned, 1)                    \
  X(31, MPI_INT16_T, kSigned, 2)                   \
  X(32, MPI_INT32_T, kSigned, 4)                   \
  X(33, MPI_INT64_T, kSigned, 8)                   \
  X(34, MPI_UINT8_T, kUnsigned, 1)                 \
  X(35, MPI_UINT16_T, kUnsigned, 2)                \
  X(36, MPI_UINT32_T, kUnsigned, 4)                \
  X(37, MPI_UINT64_T, kUnsigned, 8)                \
  X(40, MPI_AINT, kSigned, 8)                      \
  X(41, MPI_COUNT, kSigned, 8)                     \
  X(42, MPI_OFFSET, kSigned, 8)                    \
  X(50, MPI_CXX_BOOL, kBool, 1)                    \
  X(51, MPI_CXX_FLOAT_COMPLEX, kComplex, 8)        \
  X(52, MPI_CXX_DOUBLE_COMPLEX, kComplex, 16)      \
  X(53, MPI_CXX_LONG_DOUBLE_COMPLEX, kComplex, 32) \
  X(60, MPI_INTEGER, kSigned, 4)                   \
  X(61, MPI_REAL, kFloat, 4)                       \
  X(62, MPI_DOUBLE_PRECISION, kFloat, 8)           \
  X(63, MPI_COMPLEX, kComplex, 8)                  \
  X(64, MPI_DOUBLE_COMPLEX, kComplex, 16)          \
  X(65, MPI_LOGICAL, kLogical, 4)                  \
  X(66, MPI_CHARACTER, kChar, 1)                   \
  X(70, MPI_INTEGER1, kSigned, 1)                  \
  X(71, MPI_INTEGER2, kSigned, 2)                  \
  X(72, MPI_INTEGER4, kSigned, 4)                  \
  X(73, MPI_INTEGER8, kSigned, 8)                  \
  X(74, MPI_INTEGER16, kSigned, 16)                \
  X(80, MPI_REAL2, kFloat, 2)                      \
  X(81, MPI_REAL4, kFloat, 4)                      \
  X(82, MPI_REAL8, kFloat, 8)                      \
  X(83, MPI_REAL16, kFloat, 16)                    \
  X(90, MPI_COMPLEX4, kComplex, 4)                 \
  X(91, MPI_COMPLEX8, kComplex, 8)                 \
  X(92, MPI_COMPLEX16, kComplex, 16)               \
  X(93, MPI_COMPLEX32, kComplex, 32)               \
  X(100, MPI_LOGICAL1, kLogical, 1)                \
  X(101, MPI_LOGICAL2, kLogical, 2)                \
  X(102, MPI_LOGICAL4, kLogical, 4)                \
  X(103, MPI_LOGICAL8, kLogical, 8)                \
  X(104, MPI_LOGICAL16, kLogical, 16)

// Those that have no handle of their own: X(number, identifier, name in words, class, usual size).
// A size of 0 is always named.
#define VERITY_HANDLELESS_TYPES(X)                                \
  X(110, F90_INTEGER, "MPI_Type_create_f90_integer", kSigned, 0)  \
  X(111, F90_REAL, "MPI_Type_create_f90_real", kFloat, 0)         \
  X(112, F90_COMPLEX, "MPI_Type_create_f90_complex", kComplex, 0) \
  X(255, OPAQUE, "a named type unknown to the checker", kOpaque, 0)

// The numbers by name: id_MPI_INT, id_OPAQUE. Pasted, so that mpi.h, where MPI_INT is a macro, may
// be included too.
#define VERITY_NAMED_ID(number, name, cls, size) id_##name = number,
#define VERITY_HANDLELESS_ID(number, name, text, cls, size) id_##name = number,
enum Id : uint8_t {
  id_NONE = 0,
  VERITY_NAMED_TYPES(VERITY_NAMED_ID) VERITY_HANDLELESS_TYPES(VERITY_HANDLELESS_ID)
};
#undef VERITY_NAMED_ID
#undef VERITY_HANDLELESS_ID

// One basic type as an MPI library has it. On the wire as it is: 4 bytes. {} is none.
struct BasicType {
  uint8_t id = 0;     // number in the table
  uint8_t cls = 0;    // Class
  uint16_t size = 0;  // bytes
  friend constexpr bool operator==(const BasicType&, const BasicType&) noexcept = default;
};
static_assert(sizeof(BasicType) == 4);

// More than any basic type has, in bytes.
inline constexpr uint16_t kMaxBasicSize = 64;

// The type with this number and size (bytes, as MPI_Type_size gives it), or nothing if the number
// is not in the table or the size is not from 1 to kMaxBasicSize. Thread-safe, as all of these.
[[nodiscard]] std::optional<BasicType> make_basic(uint8_t id, uint64_t size) noexcept;
// The same by name ("MPI_INT"); synonyms that have a name of their own in MPI are known. Size 0:
// the usual one.
[[nodiscard]] std::optional<BasicType> find_basic(std::string_view name,
                                                  uint64_t size = 0) noexcept;
// Whether make_basic() could have made it: what comes from a peer must be.
[[nodiscard]] bool well_formed(const BasicType& type) noexcept;

// The name in the table; "unknown" for a number that is not. Static storage.
[[nodiscard]] std::string_view name_of(uint8_t id) noexcept;
// "signed integer", "complex", ... Static storage.
[[nodiscard]] std::string_view to_string(Class cls) noexcept;
// The name, with the size where it is not the usual one: "MPI_INTEGER of 8 bytes".
[[nodiscard]] std::string to_words(const BasicType& type);

// What is hashed for one element: less than kPrime, different for each pair of types that differ at
// that level (a test checks all). The type must be well formed. At kLayout from class and size; at
// kNames from the canonical name and size.
[[nodiscard]] uint64_t code_of(const BasicType& type, Level level) noexcept;

// Whether the types are the same at that level: exactly, not by a hash.
[[nodiscard]] constexpr bool same(const BasicType& a, const BasicType& b, Level level) noexcept {
  return a.cls == b.cls && a.size == b.size && (level == Level::kLayout || a.id == b.id);
}

}  // namespace verity::signature

#endif
