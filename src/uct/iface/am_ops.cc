// SPDX-License-Identifier: BSD-3-Clause
// UCX's active messages.
#include "uct/iface/ops.h"
#include "uct/iface/verity_ep.h"
#include "uct/memory/verity_md.h"
#include "uct/sending/checks.h"
#include "uct/sending/late_copy.h"
#include "uct/sending/zero_copy.h"

namespace verity::uct {

namespace {

// Of an unframed zero-copy send: no transport takes more.
constexpr size_t kMostPieces = 128;

// The peer has closed its interface: messages are dropped, as on a lower transport that keeps no
// connection.
bool is_closed(const UctLink& l) noexcept { return l.peer_closed() && !l.failed(); }
bool is_unframed(const UctLink& l) noexcept { return l.is_off() && !l.failed(); }

// Where the upper layer's bytes lie, behind its header.
const void* data_of(const uct_iov_t* iov, size_t count) noexcept {
  return count > 1 ? iov[1].buffer : nullptr;
}

// --- to a peer in mode off ---

struct Unframed {
  const void* header;
  size_t header_length;
  const uct_iov_t* iov;
  size_t count;
};

size_t pack_unframed(void* dest, void* arg) noexcept {
  const auto& message = *static_cast<const Unframed*>(arg);
  if (message.header_length != 0) std::memcpy(dest, message.header, message.header_length);
  copy_iov(static_cast<uint8_t*>(dest) + message.header_length, message.iov, message.count);
  return message.header_length + iov_total(message.iov, message.count);
}

ucs_status_t unframed_bcopy(UctLink& l, uint8_t id, Unframed message) noexcept {
  const ssize_t sent = uct_ep_am_bcopy(l.lower.get(), id, pack_unframed, &message, 0);
  return sent >= 0 ? UCS_OK : static_cast<ucs_status_t>(sent);
}

// Where this process is in mode off, the upper layer has the lower transport's limits. Elsewhere it
// has those of frames: what is too long for the lower transport's short send is copied.
bool is_lower_short(VerityIface& f, size_t length) noexcept {
  return f.core().is_off() || length <= f.sender().limits().max_short;
}

ucs_status_t unframed_short(VerityIface& f, UctLink& l, uint8_t id, uint64_t header,
                            const void* payload, unsigned length) noexcept {
  if (is_lower_short(f, sizeof(header) + length))
    return uct_ep_am_short(l.lower.get(), id, header, payload, length);
  const uct_iov_t iov{const_cast<void*>(payload), length, UCT_MEM_HANDLE_NULL, 0, 1};
  return unframed_bcopy(l, id, {&header, sizeof(header), &iov, 1});
}

ucs_status_t unframed_short_iov(VerityIface& f, UctLink& l, uint8_t id, const uct_iov_t* iov,
                                size_t iovcnt) noexcept {
  if (is_lower_short(f, iov_total(iov, iovcnt)))
    return uct_ep_am_short_iov(l.lower.get(), id, iov, iovcnt);
  return unframed_bcopy(l, id, {nullptr, 0, iov, iovcnt});
}

ucs_status_t unframed_zcopy(UctLink& l, uint8_t id, const void* header, unsigned header_length,
                            const uct_iov_t* iov, size_t iovcnt, unsigned flags,
                            uct_completion_t* comp) noexcept {
  if (!has_lower_zcopy(l)) return unframed_bcopy(l, id, {header, header_length, iov, iovcnt});
  uct_iov_t lower_iov[kMostPieces];
  if (iovcnt > kMostPieces) return UCS_ERR_INVALID_PARAM;
  for (size_t i = 0; i < iovcnt; ++i) {
    lower_iov[i] = iov[i];
    lower_iov[i].memh = VerityMd::lower_handle(iov[i].memh);
  }
  return uct_ep_am_zcopy(l.lower.get(), id, header, header_length, lower_iov, iovcnt, flags, comp);
}

// What UCP's keepalive sends comes with a flag, for which shared memory looks whether the peer's
// process lives: nothing else would show it there.
void check_peer(const VerityIface& f, const UctLink& l) noexcept {
  if (l.lower != nullptr && !l.is_off() && !l.failed() &&
      (f.lower_attr().cap.flags & UCT_IFACE_FLAG_EP_CHECK) != 0)
    (void)uct_ep_check(l.lower.get(), 0, nullptr);
}

// Most are a few words, for which a call of memcpy() costs more than the copy.
[[gnu::always_inline]] inline void copy_small(uint8_t* out, const void* in,
                                              unsigned length) noexcept {
  if (length == sizeof(uint64_t)) {
    std::memcpy(out, in, sizeof(uint64_t));
  } else if (length != 0) {
    std::memcpy(out, in, length);
  }
}

// A message that is not small, or a link that is not ready for one.
[[gnu::noinline]] ucs_status_t am_short_slow(VerityEp& self, uint8_t id, uint64_t header,
                                             const void* payload, unsigned length) noexcept {
  VerityIface& f = self.verity();
  UctLink& l = self.link();
  if (!is_am_id(id) || !is_length("am_short", sizeof(header) + length, f.max_copied()))
    return UCS_ERR_INVALID_PARAM;
  const AsyncGuard guard(f.core().threads);
  const wire::Class c = f.core().class_of(id);
  if (wire::is_own_id(id)) [[unlikely]]
    return f.refuse_id(id);
  link::Slot* slot = f.sender().reserve(l, c, sizeof(header) + length, id);
  if (slot == nullptr) [[unlikely]] {
    if (is_unframed(l)) return unframed_short(f, l, id, header, payload, length);
    return is_closed(l) ? UCS_OK : FrameSender::refusal(l);
  }
  const ShortMessage message{id, self.serial(), header, payload, length};
  if (c == wire::Class::kSync && may_copy_late(f.sender(), l, message))
    return launch_late(f.sender(), l, slot, message);
  message.write(slot->payload());
  return f.sender().launch_copied(l, c, slot, message.size(),
                                  {self.serial(), nullptr, payload, id});
}

}  // namespace

[[gnu::hot]] ucs_status_t Ops::am_short(uct_ep_h ep, uint8_t id, uint64_t header,
                                        const void* payload, unsigned length) noexcept {
  VerityEp& self = VerityEp::of(ep);
  VerityIface& f = self.verity();
  UctLink& l = self.link();
  const size_t size = sizeof(header) + size_t{length};
  if (f.core().threads.shared || !f.sender().is_small(l, size, id)) [[unlikely]]
    return am_short_slow(self, id, header, payload, length);
  note_thread(f.core().threads);
  link::Slot* slot = f.sender().reserve_small(l);
  if (slot == nullptr) [[unlikely]]
    return am_short_slow(self, id, header, payload, length);
  std::memcpy(slot->payload(), &header, sizeof(header));
  copy_small(slot->payload() + sizeof(header), payload, length);
  return f.sender().launch_small(l, slot, static_cast<uint32_t>(size), id);
}

ucs_status_t Ops::am_short_iov(uct_ep_h ep, uint8_t id, const uct_iov_t* iov,
                               size_t iovcnt) noexcept {
  VerityEp& self = VerityEp::of(ep);
  VerityIface& f = self.verity();
  UctLink& l = self.link();
  const size_t length = iov_total(iov, iovcnt);
  if (!is_am_id(id) || !is_length("am_short_iov", length, f.max_copied()))
    return UCS_ERR_INVALID_PARAM;
  const AsyncGuard guard(f.core().threads);
  const wire::Class c = f.core().class_of(id);
  if (wire::is_own_id(id)) [[unlikely]]
    return f.refuse_id(id);
  link::Slot* slot = f.sender().reserve(l, c, length, id);
  if (slot == nullptr) [[unlikely]] {
    if (is_unframed(l)) return unframed_short_iov(f, l, id, iov, iovcnt);
    return is_closed(l) ? UCS_OK : FrameSender::refusal(l);
  }
  copy_iov(slot->payload(), iov, iovcnt);
  return f.sender().launch_copied(l, c, slot, length,
                                  {self.serial(), nullptr, data_of(iov, iovcnt), id});
}

[[gnu::hot]] ssize_t Ops::am_bcopy(uct_ep_h ep, uint8_t id, uct_pack_callback_t pack, void* arg,
                                   unsigned flags) noexcept {
  VerityEp& self = VerityEp::of(ep);
  VerityIface& f = self.verity();
  UctLink& l = self.link();
  if (!is_am_id(id)) return UCS_ERR_INVALID_PARAM;
  const AsyncGuard guard(f.core().threads);
  const wire::Class c = f.core().class_of(id);
  if (wire::is_own_id(id)) [[unlikely]]
    return f.refuse_id(id);
  if ((flags & UCT_SEND_FLAG_PEER_CHECK) != 0) [[unlikely]]
    check_peer(f, l);
  link::Slot* slot = f.sender().reserve(l, c, f.sender().limits().max_bcopy, id);
  if (slot == nullptr) [[unlikely]] {
    if (is_unframed(l)) return uct_ep_am_bcopy(l.lower.get(), id, pack, arg, flags);
    return is_closed(l) ? f.sender().pack_and_drop(pack, arg)
                        : static_cast<ssize_t>(FrameSender::refusal(l));
  }
  return f.sender().launch_bcopy(l, c, slot, 0, id, pack, arg, self.serial());
}

ucs_status_t Ops::am_zcopy(uct_ep_h ep, uint8_t id, const void* header, unsigned header_length,
                           const uct_iov_t* iov, size_t iovcnt, unsigned flags,
                           uct_completion_t* comp) noexcept {
  VerityEp& self = VerityEp::of(ep);
  VerityIface& f = self.verity();
  UctLink& l = self.link();
  if (!is_am_id(id)) return UCS_ERR_INVALID_PARAM;
  const AsyncGuard guard(f.core().threads);
  const wire::Class c = f.core().class_of(id);
  if (wire::is_own_id(id)) [[unlikely]]
    return f.refuse_id(id);
  if (is_unframed(l)) return unframed_zcopy(l, id, header, header_length, iov, iovcnt, flags, comp);
  const FrameLimits& limits = f.sender().limits();
  const size_t length = header_length + iov_total(iov, iovcnt);
  if (!is_length("am_zcopy header", header_length, limits.max_header) ||
      !is_length("am_zcopy", length, limits.max_zcopy) ||
      !are_pieces("am_zcopy", iovcnt, limits.max_iov)) {
    return UCS_ERR_INVALID_PARAM;
  }
  return send_zcopy(f.sender(),
                    {l, c, id, self.serial(), header, header_length, iov, iovcnt, comp});
}

}  // namespace verity::uct
