// SPDX-License-Identifier: BSD-3-Clause
//
// One fault record: a line of JSON for the log, and key=value text for syslog. Pure functions of
// the record; no byte of a payload is in it.
#ifndef VERITY_HEALTH_FAULTS_FAULT_RECORD_H
#define VERITY_HEALTH_FAULTS_FAULT_RECORD_H

#include <cstdint>
#include <optional>
#include <string>

#include "health/faults/fault_kind.h"
#include "health/faults/port.h"
#include "health/faults/syndrome.h"
#include "health/identity.h"

namespace verity::health {

// Version of the JSON object. Raised when a key changes its meaning or goes; new keys may come.
inline constexpr int kFaultSchema = 1;

// What was being done with the bytes. X(enumerator, name)
#define VERITY_OPERATIONS(X) \
  X(kMessage, "am")          \
  X(kRead, "read")           \
  X(kPut, "put")             \
  X(kGet, "get")             \
  X(kAtomic, "atomic")       \
  X(kControl, "control")

enum class Operation : std::uint8_t {
#define VERITY_ENUMERATOR(enumerator, name) enumerator,
  VERITY_OPERATIONS(VERITY_ENUMERATOR)
#undef VERITY_ENUMERATOR
};
inline constexpr std::array kOperationNames = {
#define VERITY_NAME(enumerator, name) std::string_view(name),
    VERITY_OPERATIONS(VERITY_NAME)
#undef VERITY_NAME
};
#undef VERITY_OPERATIONS

// One field for each key of a record.
struct FaultRecord {
  std::int64_t time_ns = 0;  // since 1970, UTC
  Identity who;
  std::string peer_host;  // empty: not known
  std::string transport;  // with its v
  std::string device;
  Port port{};  // of the device
  std::uint64_t interface =
      0;  // by which peers know this side, and this side the peer; 0: not known
  std::uint64_t peer = 0;
  bool sent = false;  // else received: see link::Fault
  Operation operation = Operation::kMessage;
  FaultKind kind = FaultKind::kFrame;
  std::uint64_t sequence = 0;  // of the frame on its link; 0 for reads
  std::uint64_t length = 0;    // bytes of the frame's payload, or of the part of the read
  std::uint64_t offset = 0;    // of that part in the read; the syndrome's positions count from the
                               // frame's or the read's begin
  std::uint32_t segment_size = 0;
  std::uint32_t attempts = 0;  // times that bytes travelled again
  std::optional<Syndrome> syndrome;
  bool injected = false;  // on a path whose faults a test transport makes
  std::uint64_t dropped =
      0;  // records of this process that were not written since the last one that was
};

// One object in one line, with the newline. Keys: see ucx-verity-health(7).
[[nodiscard]] std::string render_json(const FaultRecord& record);
// One line without a newline, "kind=payload host=...".
[[nodiscard]] std::string render_text(const FaultRecord& record);
// At the end of a process, when records were not written.
[[nodiscard]] std::string render_dropped(const Identity& who, std::int64_t time_ns,
                                         std::uint64_t dropped);

// How an interface is named in records; empty for 0.
[[nodiscard]] std::string interface_text(std::uint64_t id);

// 2026-01-31T12:00:00.123456Z
[[nodiscard]] std::string utc_text(std::int64_t time_ns);

// How many records may be written: `burst` at once, `interval_ns` for each one more, `total` in
// all.
class FaultBudget {
 public:
  FaultBudget(std::uint64_t burst, std::uint64_t interval_ns, std::uint64_t total) noexcept
      : burst_(burst), interval_(interval_ns), tokens_(burst), left_(total) {}
  // `now_ns`: of any clock; one that goes back gives nothing, and goes on from there.
  [[nodiscard]] bool take(std::int64_t now_ns) noexcept;

 private:
  std::uint64_t burst_;
  std::uint64_t interval_;
  std::uint64_t tokens_;
  std::uint64_t left_;
  std::int64_t filled_at_ = 0;
  bool started_ = false;
};

}  // namespace verity::health

#endif
