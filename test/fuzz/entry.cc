// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer's entry; VERITY_FUZZ_TARGET names the target.
#include "fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  verity::fuzz::VERITY_FUZZ_TARGET(data, size);
  return 0;
}
