// SPDX-License-Identifier: BSD-3-Clause
// Writes what is not payload: HELLO extensions and control frames.
#ifndef VERITY_LINK_PORT_FRAME_WRITER_H
#define VERITY_LINK_PORT_FRAME_WRITER_H

#include "link/port/interface.h"
#include "link/port/port.h"

namespace verity::link {

class FrameWriter {
 public:
  explicit FrameWriter(const Interface& iface) noexcept : iface_(iface) {}

  // Writes the HELLO that follows a frame of this link at `out`; returns its length.
  size_t write_hello(const Link& link, wire::Class c, uint8_t* out) const noexcept;
  // Sends one control frame. It carries the acknowledgement of its class, which is not pending
  // then.
  Sent send_control(Link& link, wire::Class c, wire::FrameKind kind,
                    util::Pieces body) const noexcept;

 private:
  const Interface& iface_;
};

}  // namespace verity::link

#endif
