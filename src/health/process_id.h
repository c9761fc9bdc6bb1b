// SPDX-License-Identifier: BSD-3-Clause
//
// What distinguishes a process from a later one with the same number.
#ifndef VERITY_HEALTH_PROCESS_ID_H
#define VERITY_HEALTH_PROCESS_ID_H

#include <cstdint>
#include <string>
#include <string_view>

namespace verity::health {

// Clock ticks from boot to the start of process `pid`; 0: there is none, it may not be read, or it
// is a zombie.
[[nodiscard]] std::uint64_t start_ticks(std::uint64_t pid);

// Where the stack of process `pid` begins, which exec() chooses anew. 0: as above, or only the
// process itself may read it.
[[nodiscard]] std::uint64_t stack_start(std::uint64_t pid);

// The same where others may read it, whom the place would help to attack the process: folded into 1
// to 255, so that one exec() of 255 does not show. 0: not known.
[[nodiscard]] std::uint32_t stack_mark(std::uint64_t pid);

// Whether all threads of process `pid` are ending, so that it runs nothing of its program any more.
// It holds its locks until its memory is freed, which may take seconds.
[[nodiscard]] bool is_exiting(std::uint64_t pid);

// A field of a line of /proc/PID/stat by its number in proc(5); the program's name in the line may
// hold blanks and parentheses. 0: it is none, or a zombie's.
enum class StatField { kFlags = 9, kStartTicks = 22, kStackStart = 28 };
[[nodiscard]] std::uint64_t parse_stat(std::string_view stat, StatField field) noexcept;

// Whether one of the user numbers of process `pid` (real, effective, saved, of files) is that one.
[[nodiscard]] bool runs_as(std::uint64_t pid, std::uint32_t user);
// The number that `user` of this process's user namespace has outside of it: a container's root may
// be any user there. By `map`, as in /proc/PID/uid_map: "INSIDE OUTSIDE LENGTH" lines. Where
// another namespace is around that one, as with podman's --userns=keep-id, only 0 outside may be
// seen, and the number inside is returned.
[[nodiscard]] std::uint32_t user_outside(std::uint32_t user, std::string_view map) noexcept;
[[nodiscard]] std::uint32_t user_outside(std::uint32_t user);
// The number and start of the nearest ancestor of this process whose program has that name, of
// which the system knows 15 characters; empty: there is none.
[[nodiscard]] std::string ancestor(std::string_view program);

// Empty where it is unknown.
[[nodiscard]] std::string boot_id();

// Up to the first dot; whole where it is an IPv4 address, as its end is what differs.
[[nodiscard]] std::string without_domain(std::string_view name);

// This host's name as counters and records use it: `setting`, or what gethostname() says without
// its domain.
[[nodiscard]] std::string host_name(std::string_view setting);

// The hash by which a host is known to peers before they know its name. Never 0.
[[nodiscard]] std::uint32_t name_hash(std::string_view name) noexcept;

// The name in at most `most` bytes (9 at least), as it is advertised to peers: a longer one keeps
// its beginning and gets a digest, so that two hosts have two names still.
[[nodiscard]] std::string short_name(std::string_view name, std::size_t most);

}  // namespace verity::health

#endif
