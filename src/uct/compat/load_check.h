// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_UCT_COMPAT_LOAD_CHECK_H
#define VERITY_UCT_COMPAT_LOAD_CHECK_H

namespace verity::uct {

// Whether the UCX of this process is the one that this plugin was built for: the same version, and
// the same options where they change the structures that the plugin shares with it (statistics,
// assertions). If not, the plugin must not register anything. Where the plugin for that version
// lies beside this one, in a folder named after the version, it is loaded instead; otherwise
// exactly one line is printed on stderr, starting with `who`.
[[nodiscard]] bool ucx_fits_this_build(const char* who) noexcept;

}  // namespace verity::uct

#endif
