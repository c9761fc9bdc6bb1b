// SPDX-License-Identifier: BSD-3-Clause
#include "types/tables/hash.h"

#include "types/tables/crc.h"
#include "types/tables/galois.h"
#include "types/tables/polynomial.h"
#include "types/tables/rotate.h"

namespace verity::types::tables {

const char* growth_name(Growth growth) noexcept {
  return growth == Growth::kConstant ? "constant" : "linear";
}

Value Hash::repeat(Value a, uint64_t k) const noexcept {
  Value result;
  for (uint64_t i = 0; i < k; ++i) { result = i == 0 ? a : concat(result, a); }
  return result;
}

std::vector<HashPtr> all_hashes() {
  std::vector<HashPtr> hashes;
  for (const unsigned width : {16U, 32U}) {
    hashes.push_back(gropp_xor(width));
    hashes.push_back(gropp_add(width));
  }
  hashes.push_back(xor_bs1(16));
  hashes.push_back(mmm_bs1(16));
  for (const uint32_t polynomial : {0x11DU, 0x187U}) {
    for (unsigned words = 1; words <= 4; ++words) { hashes.push_back(gfd(8, words, polynomial)); }
  }
  for (const uint32_t polynomial : {0x1100BU, 0x1002DU}) {
    for (unsigned words = 1; words <= 2; ++words) { hashes.push_back(gfd(16, words, polynomial)); }
  }
  hashes.push_back(crc16_ccitt());
  hashes.push_back(crc32());
  hashes.push_back(polynomial61());
  return hashes;
}

}  // namespace verity::types::tables
