// SPDX-License-Identifier: BSD-3-Clause
// UCX's one-sided operations: puts, gets, atomic operations, fences.
#include "uct/iface/ops.h"
#include "uct/iface/verity_ep.h"
#include "uct/memory/verity_md.h"
#include "uct/process/warnings.h"
#include "uct/sending/checks.h"

namespace verity::uct {

namespace {

constexpr wire::Class kClass = wire::Class::kSync;

void write_put(uint8_t* out, uint64_t address, uct_rkey_t rkey) noexcept {
  const wire::RmaPut put{
      {static_cast<uint8_t>(wire::RmaKind::kPut), 0, 0, 0, 0}, RemoteKey::of(rkey).token, address};
  std::memcpy(out, &put, sizeof(put));
}

// Why nothing can be sent now, if it is not only for lack of room.
ucs_status_t refusal_of(const VerityIface& f, const UctLink& l) noexcept {
  if (l.failed()) return l.failure;
  if (l.peer_closed()) return UCS_ERR_CONNECTION_RESET;
  const bool both = f.core().onesided != nullptr && l.mode() == link::Mode::kVerify;
  return both ? UCS_ERR_NO_RESOURCE : warnings().modes_differ(f.lower_tl_name());
}

// For a message that changes these bytes of the peer's memory.
link::Slot* writing_slot(VerityIface& f, UctLink& l, size_t length,
                         const rma::Range& range) noexcept {
  // In mode verify there is an OneSided; in mode observe what is lost would not be sent again.
  if (l.must_wait() || l.mode() != link::Mode::kVerify) return nullptr;
  const bool may = f.core().onesided->may_write(l, range);
  return may ? f.core().hub->sender.reserve(l, kClass, length) : nullptr;
}

struct PutPacking {
  uct_pack_callback_t pack;
  void* arg;
  uint64_t address;
  uct_rkey_t rkey;
};

// UCX's own transports need no key to put nothing, and how much it is only the callback says.
[[gnu::cold]] ssize_t put_without_key(VerityIface& f, uct_pack_callback_t pack,
                                      void* arg) noexcept {
  const ssize_t length = f.sender().pack_and_drop(pack, arg);
  if (length <= 0) return length;
  return is_key("put_bcopy", UCT_INVALID_RKEY) ? ssize_t{0} : ssize_t{UCS_ERR_INVALID_PARAM};
}

size_t pack_put(void* dest, void* arg) noexcept {
  const auto& put = *static_cast<const PutPacking*>(arg);
  write_put(static_cast<uint8_t*>(dest), put.address, put.rkey);
  return sizeof(wire::RmaPut) +
         put.pack(static_cast<uint8_t*>(dest) + sizeof(wire::RmaPut), put.arg);
}

}  // namespace

ucs_status_t Ops::put_short(uct_ep_h ep, const void* buffer, unsigned length, uint64_t address,
                            uct_rkey_t rkey) noexcept {
  VerityEp& self = VerityEp::of(ep);
  VerityIface& f = self.verity();
  UctLink& l = self.link();
  const FrameLimits& limits = f.sender().limits();
  if (length == 0) return UCS_OK;
  if (!is_length("put_short", length, limits.max_put_short()) || !is_key("put_short", rkey))
    return UCS_ERR_INVALID_PARAM;
  const AsyncGuard guard(f.core().threads);
  const rma::Range range{address, length};
  link::Slot* slot = writing_slot(f, l, sizeof(wire::RmaPut) + length, range);
  if (slot == nullptr) return refusal_of(f, l);
  write_put(slot->payload(), address, rkey);
  std::memcpy(slot->payload() + sizeof(wire::RmaPut), buffer, length);
  const ucs_status_t status =
      f.sender().launch(l, kClass, slot, sizeof(wire::RmaPut) + length, wire::kRmaId);
  if (status == UCS_OK) f.core().onesided->client().put_sent(l, range);
  return status;
}

ssize_t Ops::put_bcopy(uct_ep_h ep, uct_pack_callback_t pack, void* arg, uint64_t address,
                       uct_rkey_t rkey) noexcept {
  VerityEp& self = VerityEp::of(ep);
  VerityIface& f = self.verity();
  UctLink& l = self.link();
  const FrameLimits& limits = f.sender().limits();
  const AsyncGuard guard(f.core().threads);
  if (!has_key(rkey)) [[unlikely]]
    return put_without_key(f, pack, arg);
  const rma::Range most{address, limits.max_put()};  // its length is not known yet
  link::Slot* slot = writing_slot(f, l, f.sender().rma_space(limits.max_rma), most);
  if (slot == nullptr) return refusal_of(f, l);
  PutPacking put{pack, arg, address, rkey};
  ssize_t sent;
  if (limits.max_large == 0) {
    sent = f.sender().launch_bcopy(l, kClass, slot, 0, wire::kRmaId, pack_put, &put);
    if (sent < 0) return sent;
  } else {
    sent = static_cast<ssize_t>(pack_put(slot->payload(), &put));
    f.sender().send_own(l, slot, static_cast<size_t>(sent), wire::kRmaId);
  }
  const ssize_t length = sent - static_cast<ssize_t>(sizeof(wire::RmaPut));
  f.core().onesided->client().put_sent(l, {address, static_cast<size_t>(length)});
  return length;
}

ucs_status_t Ops::get_bcopy(uct_ep_h ep, uct_unpack_callback_t unpack, void* arg, size_t length,
                            uint64_t address, uct_rkey_t rkey, uct_completion_t* comp) noexcept {
  VerityEp& self = VerityEp::of(ep);
  VerityIface& f = self.verity();
  UctLink& l = self.link();
  const AsyncGuard guard(f.core().threads);
  if (length == 0) return UCS_OK;
  if (!is_length("get_bcopy", length, f.sender().limits().max_get_bcopy()) ||
      !is_key("get_bcopy", rkey))
    return UCS_ERR_INVALID_PARAM;
  if (const ucs_status_t refusal = refusal_of(f, l);
      refusal != UCS_ERR_NO_RESOURCE || l.must_wait())
    return refusal;
  return f.core().onesided->get_bcopy({&l, &self, unpack, arg, length, address, rkey, comp});
}

ucs_status_t Ops::get_zcopy(uct_ep_h ep, const uct_iov_t* iov, size_t iovcnt, uint64_t address,
                            uct_rkey_t rkey, uct_completion_t* comp) noexcept {
  VerityEp& self = VerityEp::of(ep);
  VerityIface& f = self.verity();
  UctLink& l = self.link();
  const AsyncGuard guard(f.core().threads);
  if (are_empty(iov, iovcnt)) return UCS_OK;
  if (!is_key("get_zcopy", rkey)) return UCS_ERR_INVALID_PARAM;
  if (const ucs_status_t refusal = refusal_of(f, l);
      refusal != UCS_ERR_NO_RESOURCE || l.must_wait())
    return refusal;
  if (l.lower == nullptr) return UCS_ERR_NO_RESOURCE;
  const auto& cap = f.lower_attr().cap.get;
  return f.core().onesided->get_zcopy(
      {&l, l.lower.get(), &self, iov, iovcnt, address, rkey, comp, cap.max_zcopy, cap.min_zcopy});
}

namespace {

// UCX numbers them so too.
static_assert(static_cast<int>(wire::AtomicOp::kCompareSwap) == UCT_ATOMIC_OP_CSWAP);

ucs_status_t post(uct_ep_h ep, unsigned op, uint64_t value, uint8_t log2, uint64_t address,
                  uct_rkey_t rkey) noexcept {
  VerityEp& self = VerityEp::of(ep);
  VerityIface& f = self.verity();
  UctLink& l = self.link();
  const AsyncGuard guard(f.core().threads);
  if (op > UCT_ATOMIC_OP_XOR) return UCS_ERR_UNSUPPORTED;
  if (!is_atomic(address, size_t{1} << log2, rkey)) return UCS_ERR_INVALID_PARAM;
  const wire::RmaAtomic message{
      {static_cast<uint8_t>(wire::RmaKind::kAtomic), static_cast<uint8_t>(op), log2, 0, 0},
      RemoteKey::of(rkey).token,
      address,
      value,
      0};
  const rma::Range range{address, size_t{1} << log2};
  if (!f.fences().follows_other_lanes(l)) return UCS_ERR_NO_RESOURCE;
  link::Slot* slot = writing_slot(f, l, sizeof(message), range);
  if (slot == nullptr) return refusal_of(f, l);
  std::memcpy(slot->payload(), &message, sizeof(message));
  const ucs_status_t status = f.sender().launch(l, kClass, slot, sizeof(message), wire::kRmaId);
  if (status == UCS_OK) f.core().onesided->client().put_sent(l, range);
  return status;
}

template <typename Word>
ucs_status_t fetch(uct_ep_h ep, unsigned op, Word value, Word compare, Word* result,
                   uint64_t address, uct_rkey_t rkey, uct_completion_t* comp) noexcept {
  VerityEp& self = VerityEp::of(ep);
  VerityIface& f = self.verity();
  UctLink& l = self.link();
  const AsyncGuard guard(f.core().threads);
  if (op >= UCT_ATOMIC_OP_LAST) return UCS_ERR_UNSUPPORTED;
  if (!is_atomic(address, sizeof(Word), rkey)) return UCS_ERR_INVALID_PARAM;
  if (const ucs_status_t refusal = refusal_of(f, l); refusal != UCS_ERR_NO_RESOURCE) return refusal;
  if (!f.fences().follows_other_lanes(l) || l.must_wait()) return UCS_ERR_NO_RESOURCE;
  return f.core().onesided->atomic_fetch({&l, &self, static_cast<wire::AtomicOp>(op), sizeof(Word),
                                          value, compare, result, address, rkey, comp});
}

}  // namespace

ucs_status_t Ops::atomic32_post(uct_ep_h ep, unsigned op, uint32_t value, uint64_t address,
                                uct_rkey_t rkey) noexcept {
  return post(ep, op, value, 2, address, rkey);
}

ucs_status_t Ops::atomic64_post(uct_ep_h ep, unsigned op, uint64_t value, uint64_t address,
                                uct_rkey_t rkey) noexcept {
  return post(ep, op, value, 3, address, rkey);
}

ucs_status_t Ops::atomic32_fetch(uct_ep_h ep, unsigned op, uint32_t value, uint32_t* result,
                                 uint64_t address, uct_rkey_t rkey,
                                 uct_completion_t* comp) noexcept {
  return fetch<uint32_t>(ep, op, value, 0, result, address, rkey, comp);
}

ucs_status_t Ops::atomic64_fetch(uct_ep_h ep, unsigned op, uint64_t value, uint64_t* result,
                                 uint64_t address, uct_rkey_t rkey,
                                 uct_completion_t* comp) noexcept {
  return fetch<uint64_t>(ep, op, value, 0, result, address, rkey, comp);
}

ucs_status_t Ops::atomic_cswap32(uct_ep_h ep, uint32_t compare, uint32_t swap, uint64_t address,
                                 uct_rkey_t rkey, uint32_t* result,
                                 uct_completion_t* comp) noexcept {
  return fetch<uint32_t>(ep, UCT_ATOMIC_OP_CSWAP, swap, compare, result, address, rkey, comp);
}

ucs_status_t Ops::atomic_cswap64(uct_ep_h ep, uint64_t compare, uint64_t swap, uint64_t address,
                                 uct_rkey_t rkey, uint64_t* result,
                                 uct_completion_t* comp) noexcept {
  return fetch<uint64_t>(ep, UCT_ATOMIC_OP_CSWAP, swap, compare, result, address, rkey, comp);
}

// Active messages and puts go and are applied in order anyway.
ucs_status_t Ops::ep_fence(uct_ep_h ep, unsigned) noexcept {
  VerityEp& self = VerityEp::of(ep);
  self.verity().fences().fence(self.link());
  return UCS_OK;
}

ucs_status_t Ops::iface_fence(uct_iface_h iface, unsigned) noexcept {
  VerityIface::of(iface).fences().fence();
  return UCS_OK;
}

}  // namespace verity::uct
