// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_AUTOMAP_EMIT_SIGNATURE_OF_H
#define VERITY_AUTOMAP_EMIT_SIGNATURE_OF_H

#include <vector>

#include "automap/plan/plan.h"
#include "signature/type.h"

namespace verity::automap {

// A record's basic types in the order of its datatype: of its values alone, and with its links as
// 64-bit numbers.
struct RecordTypes {
  signature::Type values;
  signature::Type linked;
};

// Of every mapped record; indexed as Model::records.
[[nodiscard]] std::vector<RecordTypes> types_of(const Plan& plan);

}  // namespace verity::automap

#endif
