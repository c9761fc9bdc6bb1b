// SPDX-License-Identifier: BSD-3-Clause
// What the links ask of this layer: sending control frames and repairs, delivering what was held
// back, telling of completions and failures. Nothing here calls the upper layer except deliver().
#include "uct/process/process.h"
#include "uct/iface/verity_ep.h"

namespace verity::uct {

namespace {

size_t pack_pieces(void* dest, void* arg) noexcept {
  const auto& pieces = *static_cast<const util::Pieces*>(arg);
  const size_t size = util::total_length(pieces);
  (void)util::copy_out(pieces, 0, dest, size);
  return size;
}

ucs_status_t status_of(link::Failure why) noexcept {
  switch (why) {
    case link::Failure::kRestarted: return UCS_ERR_CONNECTION_RESET;
    case link::Failure::kNoMemory: return UCS_ERR_NO_MEMORY;
    default: return UCS_ERR_ENDPOINT_TIMEOUT;
  }
}

}  // namespace

namespace {

link::Sent send_bcopy(UctLink& l, uint8_t id, util::Pieces frame) noexcept {
  const ssize_t sent = uct_ep_am_bcopy(l.lower.get(), id, pack_pieces, &frame, 0);
  if (sent >= 0) return link::Sent::kOk;
  return sent == UCS_ERR_NO_RESOURCE ? link::Sent::kBusy : link::Sent::kFailed;
}

}  // namespace

link::Sent VerityIface::send(link::Link& link, wire::Class c, util::Pieces frame) noexcept {
  UctLink& l = UctLink::of(link);
  if (l.lower == nullptr && upcalls_ != 0 && !has_async_) return link::Sent::kBusy;  // see link_to()
  if (ensure_lower(l) != UCS_OK) {
    give_up(l, UCS_ERR_UNREACHABLE);
    return link::Sent::kFailed;
  }
  return send_bcopy(l, wire::lower_id(c), frame);
}

// Only on established links, which have a lower endpoint: it is a frame that waited for resources.
link::Sent VerityIface::send_compact(link::Link& link, util::Piece frame) noexcept {
  return send_bcopy(UctLink::of(link), kCompactId, {&frame, 1});
}

void VerityIface::source_free(link::Link& link, link::Slot& slot) noexcept {
  const auto* state = reinterpret_cast<const ZcopyState*>(slot.source->port);
  if (state->upper == nullptr) {
    hub_->release(&slot);
    return;
  }
  finish(&slot, link.failed ? UctLink::of(link).failure : state->status);
}

void VerityIface::finish(link::Slot* slot, ucs_status_t status) noexcept {
  auto* state = reinterpret_cast<ZcopyState*>(slot->source->port);
  state->status = status;
  state->next_done = nullptr;
  (done_first_ == nullptr
       ? done_first_
       : reinterpret_cast<ZcopyState*>(done_last_->source->port)->next_done) = slot;
  done_last_ = slot;
  unusual_ = true;  // see is_kept()
}

void VerityIface::writable(link::Link& link) noexcept {
  UctLink& l = UctLink::of(link);
  if (!l.pending.empty()) want_attention(l);
}

void VerityIface::source_changed(link::Link& link, const link::Slot& slot, bool freed) noexcept {
  const util::Piece& user = slot.source->user;
  // Once it was given back, it may be the buffer of another send, that began later.
  const uint64_t watched = freed ? reinterpret_cast<const ZcopyState*>(slot.source->port)->watched : Process::kAnySend;
  process().source_changed(lower_tl_name(), UctLink::of(link).peer_uid, user.data, user.length, watched);
}

void VerityIface::failed(link::Link& link, link::Failure why) noexcept {
  UctLink& l = UctLink::of(link);
  l.failure = status_of(why);
  process().link_failed(lower_tl_name(), l.peer_uid, why);
  want_attention(l);
}

// The lower transport's word: everything in flight is over.
void VerityIface::give_up(UctLink& l, ucs_status_t status) noexcept {
  if (l.failed) return;
  l.failure = status;
  hub_->shut(l);
  want_attention(l);
}

void VerityIface::peer_closed(link::Link& link) noexcept { want_attention(UctLink::of(link)); }

link::Link* VerityIface::greeted(const wire::HelloView& hello) noexcept {
  UctLink* l = nullptr;
  const ucs_status_t status = guarded([&] {
    const size_t device = hello.ext.device_length;
    const size_t iface = hello.ext.iface_length;
    // Who greets where endpoints are connected in pairs is no peer of this version, and could not be answered.
    if (closing_ || to_ep_ || device != lower_attr().device_addr_len || iface != lower_attr().iface_addr_len) {
      return UCS_ERR_INVALID_ADDR;
    }
    l = new_link();
    keep_addresses(*l, hello.device_address, hello.iface_address);
    set_host(*l, process().meet(hello.ext.host));
    hub_->open(*l, hello.ext.uid, hello.ext.path, static_cast<link::Mode>(hello.ext.mode));
    join_lanes(*l);
    set_trailers(*l, hello.ext.trailers);
    return UCS_OK;
  });
  return status == UCS_OK ? l : nullptr;
}

// The peer of a link that was opened with its address, which does not tell the name.
void VerityIface::introduced(link::Link& link, const wire::HelloView& hello) noexcept {
  set_host(UctLink::of(link), process().meet(hello.ext.host));
}

size_t VerityIface::closed_interfaces(std::span<uint64_t> out) noexcept { return process().closed_interfaces(out); }

void VerityIface::write_addresses(wire::HelloExt& ext, uint8_t* out) noexcept {
  auto* device = reinterpret_cast<uct_device_addr_t*>(out);
  auto* iface = reinterpret_cast<uct_iface_addr_t*>(out + device_address_.size());
  // Asked each time: a transport may learn its address only with its first endpoint.
  if (!device_address_.empty()) (void)uct_iface_get_device_address(lower(), device);
  if (!iface_address_.empty()) (void)uct_iface_get_address(lower(), iface);
  ext.device_length = static_cast<uint8_t>(device_address_.size());
  ext.iface_length = static_cast<uint8_t>(iface_address_.size());
  ext.trailers = trailers();
  process().write_host(ext.host);
}

void VerityIface::faulted(link::Link*, wire::Verdict verdict, const wire::FrameHeader& header) noexcept {
  ucs_debug("ucx-verity: %s: %s, psn %u, length %u", lower_tl_name(),
            std::string(wire::to_string(verdict)).c_str(), header.psn, header.length);
}

}  // namespace verity::uct
