// SPDX-License-Identifier: BSD-3-Clause
//
// Headers read by libclang. The only part, with clang_*.cc, that knows it.
#ifndef VERITY_AUTOMAP_PARSE_FRONT_END_H
#define VERITY_AUTOMAP_PARSE_FRONT_END_H

#include <string>
#include <vector>

#include "automap/plan/model.h"

namespace verity::automap {

struct Input {
  std::vector<std::string> headers;    // as an #include directive names them
  std::vector<std::string> arguments;  // of the compiler: -I, -D, -std=
  bool cxx = false;
};

// Sets *model_p. Returns "" or what is wrong, each line with file:line: errors of the compiler, and
// directives that belong to nothing.
[[nodiscard]] std::string read_headers(const Input& input, Model* model_p);

// "clang version 14.0.6"
[[nodiscard]] std::string front_end_version();

}  // namespace verity::automap

#endif
