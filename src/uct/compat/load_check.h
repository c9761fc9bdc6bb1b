// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_UCT_COMPAT_LOAD_CHECK_H
#define VERITY_UCT_COMPAT_LOAD_CHECK_H

namespace verity::uct {

// Whether the UCX of this process is the one that this plugin was built for: same version, same
// size of the internal structures (a UCX built with statistics has others). If not, prints exactly
// one line on stderr, starting with `who`, and the plugin must not register anything.
[[nodiscard]] bool ucx_fits_this_build(const char* who) noexcept;

}  // namespace verity::uct

#endif
