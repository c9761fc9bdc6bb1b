// SPDX-License-Identifier: BSD-3-Clause
//
// Cyclic redundancy checks over one byte for each basic type.
#ifndef VERITY_TYPES_TABLES_CRC_H
#define VERITY_TYPES_TABLES_CRC_H

#include "types/tables/hash.h"

namespace verity::types::tables {

// Both start from a register of 0 and complement nothing, so that concat(X, Y) is X's register
// pushed through n_Y zero bytes, xor Y's: linear in n_Y, which is Langou's point against them.
// The usual variants differ by a constant for each length; concat({initial register, 0}, Y) gives
// them (0xFFFF: CCITT-FALSE; 0xFFFFFFFF, and complemented at the end: the CRC-32 of zip).
[[nodiscard]] HashPtr crc16_ccitt();  // x^16 + x^12 + x^5 + 1
[[nodiscard]] HashPtr crc32();        // 0x04C11DB7, reflected

}  // namespace verity::types::tables

#endif
