// SPDX-License-Identifier: BSD-3-Clause
#include "link/port/frame_writer.h"

#include <algorithm>
#include <cstring>

namespace verity::link {

size_t FrameWriter::write_hello(const Link& link, wire::Class c, uint8_t* out) const noexcept {
  wire::HelloExt ext{};
  ext.uid = iface_.uid;
  ext.epoch = link.epoch;
  ext.link = link.local_id;
  ext.mode = static_cast<uint8_t>(iface_.config.mode);
  ext.path = link.path;
  iface_.port.write_addresses(ext, out + sizeof(ext));
  std::memcpy(out, &ext, sizeof(ext));
  const size_t size = sizeof(ext) + ext.device_length + ext.iface_length + sizeof(uint64_t);
  wire::seal_hello(out, size, link.send_window(c).nonce());
  return size;
}

Sent FrameWriter::send_control(Link& link, wire::Class c, wire::FrameKind kind,
                               util::Pieces body) const noexcept {
  wire::FrameHeader header{};
  uint8_t hello[wire::kMaxHello];
  util::Piece frame[4] = {{&header, sizeof(header)}};
  std::copy(body.begin(), body.end(), frame + 1);
  size_t count = 1 + body.size();
  header.link = link.remote_id;
  if (kind == wire::FrameKind::kNack) header.psn = link.receive_window(c).probe_serial();
  // A probe says how much was sent: behind it the peer knows what is missing. Were there no frame
  // that acknowledges all, two sides that withhold would wait for each other.
  header.ack = kind == wire::FrameKind::kProbe && link.has_sent_withheld(c)
                   ? link.receive_window(c).expected()
                   : link.proven_ack(c);
  header.length = static_cast<uint32_t>(util::total_length(body));
  header.kind = wire::kind_byte(kind);
  header.am_id = wire::am_byte(0, c);
  header.segment = wire::segment_byte(iface_.config.segment_log2);
  if (link.detached) header.flags |= wire::kDetached;
  // A probe names its sender: a peer that has removed its link cannot find it by the id any more,
  // and its answer, of another epoch, ends ours. (Links of connect-to-endpoint
  // transports have no HELLO: their connection ends.)
  if (link.carries_hello() || (kind == wire::FrameKind::kProbe && link.peer_epoch != 0)) {
    header.flags |= wire::kHello;
    frame[count++] = {hello, write_hello(link, c, hello)};
  }
  wire::seal_single(&header, util::Pieces(frame + 1, count - 1), link.send_window(c).nonce());
  const uint8_t pending = link.control.bits;
  (void)link.control.take(Control::kAck, c);
  const Sent result = iface_.port.send(link, c, util::Pieces(frame, count));
  if (result == Sent::kBusy) link.control.bits = pending;
  return result;
}

}  // namespace verity::link
