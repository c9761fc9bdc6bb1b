// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <climits>

#include "automap/parse/clang_reader.h"
#include "automap/plan/basic_types.h"

namespace verity::automap {

namespace {

using signature::BasicType;

std::optional<BasicType> sized(signature::Id id, CXType type) {
  return signature::make_basic(id,
                               static_cast<uint64_t>(std::max(clang_Type_getSizeOf(type), 0LL)));
}

bool in_std(CXCursor declaration) {
  for (CXCursor outer = clang_getCursorSemanticParent(declaration);
       clang_isInvalid(clang_getCursorKind(outer)) == 0;
       outer = clang_getCursorSemanticParent(outer)) {
    const CXCursorKind kind = clang_getCursorKind(outer);
    if (kind == CXCursor_Namespace && name_of(outer) == "std") return true;
    if (kind == CXCursor_TranslationUnit) return false;
  }
  return false;
}

std::optional<BasicType> complex_of(CXType element, CXType whole) {
  switch (clang_getCanonicalType(element).kind) {
    case CXType_Float: return sized(signature::id_MPI_C_COMPLEX, whole);
    case CXType_Double: return sized(signature::id_MPI_C_DOUBLE_COMPLEX, whole);
    case CXType_LongDouble: return sized(signature::id_MPI_C_LONG_DOUBLE_COMPLEX, whole);
    default: return std::nullopt;
  }
}

bool is_function(CXType type) {
  const CXTypeKind kind = clang_getCanonicalType(type).kind;
  return kind == CXType_FunctionProto || kind == CXType_FunctionNoProto;
}

// Another member pointer is an offset, which is the same in all processes.
bool is_member_function_pointer(CXType type) {
  return type.kind == CXType_MemberPointer && is_function(clang_getPointeeType(type));
}

bool is_atomic_pointer([[maybe_unused]] CXType type) {
#if CINDEX_VERSION >= CINDEX_VERSION_ENCODE(0, 60)
  return type.kind == CXType_Atomic &&
         clang_getCanonicalType(clang_Type_getValueType(type)).kind == CXType_Pointer;
#else
  return false;
#endif
}

}  // namespace

std::optional<BasicType> basic_of_kind(CXType type) {
  using namespace signature;
  switch (type.kind) {
    case CXType_Bool: return sized(id_MPI_C_BOOL, type);
    case CXType_Char_U:
    case CXType_Char_S: return sized(id_MPI_CHAR, type);
    case CXType_SChar: return sized(id_MPI_SIGNED_CHAR, type);
    case CXType_UChar: return sized(id_MPI_UNSIGNED_CHAR, type);
    case CXType_Char16: return sized(id_MPI_UINT16_T, type);
    case CXType_Char32: return sized(id_MPI_UINT32_T, type);
    case CXType_WChar: return sized(id_MPI_WCHAR, type);
    case CXType_Short: return sized(id_MPI_SHORT, type);
    case CXType_UShort: return sized(id_MPI_UNSIGNED_SHORT, type);
    case CXType_Int: return sized(id_MPI_INT, type);
    case CXType_UInt: return sized(id_MPI_UNSIGNED, type);
    case CXType_Long: return sized(id_MPI_LONG, type);
    case CXType_ULong: return sized(id_MPI_UNSIGNED_LONG, type);
    case CXType_LongLong: return sized(id_MPI_LONG_LONG, type);
    case CXType_ULongLong: return sized(id_MPI_UNSIGNED_LONG_LONG, type);
    case CXType_Float: return sized(id_MPI_FLOAT, type);
    case CXType_Double: return sized(id_MPI_DOUBLE, type);
    case CXType_LongDouble: return sized(id_MPI_LONG_DOUBLE, type);
    case CXType_Complex: return complex_of(clang_getElementType(type), type);
    case CXType_Enum: return basic_of_enum(type);
    default: return std::nullopt;
  }
}

std::optional<BasicType> basic_of_enum(CXType type) {
  const CXCursor declaration = clang_getTypeDeclaration(type);
  if (name_of(declaration) == "byte" && in_std(declaration))
    return sized(signature::id_MPI_BYTE, type);
  const CXType integer = clang_getCanonicalType(clang_getEnumDeclIntegerType(declaration));
  // Whether a compiler takes int or unsigned for values that both hold is its own choice; programs
  // send them as MPI_INT.
  bool fits_int = integer.kind == CXType_UInt && clang_EnumDecl_isScoped(declaration) == 0;
  visit_children(declaration, [&](CXCursor constant) {
    if (clang_getCursorKind(constant) == CXCursor_EnumConstantDecl) {
      fits_int = fits_int && clang_getEnumConstantDeclUnsignedValue(constant) <= INT_MAX;
    }
    return CXChildVisit_Continue;
  });
  return fits_int ? sized(signature::id_MPI_INT, type) : basic_of_kind(integer);
}

// Takes the names and the dimensions away, as far as a type that MPI knows by name.
CXType Reader::strip(CXType type, std::vector<uint64_t>* dimensions, Use* use,
                     bool* found_typedef) const {
  for (;;) {
    switch (type.kind) {
      case CXType_Typedef: {
        const CXCursor declaration = clang_getTypeDeclaration(type);
        const long long size = clang_Type_getSizeOf(type);
        *found_typedef =
            size > 0 &&
            basic_of_typedef(name_of(declaration), static_cast<uint64_t>(size)).has_value();
        if (*found_typedef) return type;
        type = clang_getTypedefDeclUnderlyingType(declaration);
        break;
      }
      case CXType_Elaborated: type = clang_Type_getNamedType(type); break;
      case CXType_Attributed: type = clang_Type_getModifiedType(type); break;
      case CXType_ConstantArray:
        dimensions->push_back(static_cast<uint64_t>(clang_getArraySize(type)));
        use->member += "[0]";
        type = clang_getArrayElementType(type);
        break;
      default: {
        const CXType canonical = clang_getCanonicalType(type);
        if (canonical.kind != CXType_ConstantArray) return canonical;
        type = canonical;
      }
    }
  }
}

Shape Reader::shape_of(CXType type, const Use& use, std::vector<uint64_t>* dimensions) {
  Use inner = use;
  bool found_typedef = false;
  const CXType stripped = strip(type, dimensions, &inner, &found_typedef);
  Shape shape;
  if (stripped.kind == CXType_Record) {
    shape = record_shape(stripped, inner, dimensions);
  } else if (stripped.kind == CXType_Pointer) {
    shape = pointer_shape(stripped, inner);
  } else if (const auto basic =
                 found_typedef
                     ? basic_of_typedef(name_of(clang_getTypeDeclaration(stripped)),
                                        static_cast<uint64_t>(clang_Type_getSizeOf(stripped)))
                     : basic_of_kind(stripped)) {
    shape.kind = Kind::kBasic;
    shape.basic = *basic;
  } else if (stripped.kind == CXType_IncompleteArray || stripped.kind == CXType_VariableArray) {
    shape.problem = "an array whose length is not part of its type";
  } else if (stripped.kind == CXType_LValueReference || stripped.kind == CXType_RValueReference) {
    shape.problem = "a reference";
  } else if (is_member_function_pointer(stripped)) {
    shape.problem = "a pointer to a member function";
  } else if (is_atomic_pointer(stripped)) {
    shape.problem = "an atomic pointer";
  } else {
    shape.problem = "of type '" + words_of(stripped) + "', for which MPI has no basic type";
  }
  if (shape.words.empty()) shape.words = words_of(type);
  if (shape.size == 0) {
    shape.size = static_cast<uint64_t>(std::max(clang_Type_getSizeOf(stripped), 0LL));
    shape.alignment = static_cast<uint64_t>(std::max(clang_Type_getAlignOf(stripped), 1LL));
  }
  return shape;
}

Shape Reader::record_shape(CXType type, const Use& use, std::vector<uint64_t>* dimensions) {
  const CXCursor declaration = clang_getTypeDeclaration(type);
  Shape shape;
  if (model_->cxx && in_std(declaration)) {
    const std::string name = name_of(declaration);
    const CXType element = clang_Type_getTemplateArgumentAsType(type, 0);
    if (name == "complex") {
      if (const auto basic = complex_of(element, type)) {
        shape.kind = Kind::kBasic;
        shape.basic = *basic;
        return shape;
      }
    }
    const long long size = clang_Type_getSizeOf(type), each = clang_Type_getSizeOf(element);
    if (name == "array" && size > 0 && each > 0) {
      dimensions->push_back(static_cast<uint64_t>(size / each));
      return shape_of(element, {.owner = use.owner, .member = use.member + "[0]"}, dimensions);
    }
  }
  shape.kind = Kind::kRecord;
  shape.record = record_of(declaration, use);
  return shape;
}

Shape Reader::pointer_shape(CXType type, const Use& use) {
  const CXType pointee = clang_getPointeeType(type);
  const CXTypeKind kind = clang_getCanonicalType(pointee).kind;
  Shape shape;
  if (is_function(pointee)) {
    shape.problem = "a pointer to a function";
    return shape;
  }
  shape.kind = Kind::kPointer;
  Shape target;
  std::vector<uint64_t> dimensions;
  if (kind == CXType_Void) {
    target.problem = "void";
  } else {
    target = shape_of(pointee, {.owner = use.owner, .member = use.member + "[0]"}, &dimensions);
    if (!dimensions.empty()) {
      target = {};
      target.problem = "an array";
    }
  }
  target.words = words_of(pointee);
  shape.target.push_back(std::move(target));
  return shape;
}

}  // namespace verity::automap
