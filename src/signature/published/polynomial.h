// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "signature/published/hash.h"

namespace verity::signature::published {

// The hash of signature/algebra.h, modulo 2^61 - 1. The small codes of the comparison are used as
// they are, where algebra.h's own users hash names: it must do without that help here.
[[nodiscard]] HashPtr polynomial61();

}  // namespace verity::signature::published
