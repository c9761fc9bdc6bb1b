// SPDX-License-Identifier: BSD-3-Clause
// The CPUs that a pair of processes is bound to.
#ifndef VERITY_TOOLS_BENCH_CPUS_H
#define VERITY_TOOLS_BENCH_CPUS_H

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace verity::tools::bench {

// The CPUs of a list as the kernel writes it: "0-3,8". Empty for what is none.
[[nodiscard]] std::vector<int> cpus_of(std::string_view list);

// Two of `allowed`, on different cores where it has such: processes on the same one share its units
// and slow each other down. `siblings(cpu)`: the list of the CPUs of that one's core. Empty where
// fewer than two are allowed.
[[nodiscard]] std::vector<int> choose_pair(const std::vector<int>& allowed,
                                           const std::function<std::string(int)>& siblings);

}  // namespace verity::tools::bench

#endif
