// SPDX-License-Identifier: BSD-3-Clause
//
// UCP's sends, interposed: each consumes the pending attachment of its thread. A wrapper has the
// name, the arguments and the meaning of UCP's own function, and calls it. The _nb and _nbr forms
// are written with the _nbx ones, as UCX itself does, so that each is seen once.
#include <utility>

#include "mpi/ucp/abi.h"
#include "mpi/ucp/worker.h"
#include "mpi/ucp/wrap.h"

namespace verity::mpi {

namespace {

using SendFunction = decltype(&ucp_tag_send_nbx);

// The pending attachment, if it is a late one for this tag: it is complete then.
[[gnu::noinline]] const SendAttachment* consume_late(ucp_tag_t tag) noexcept {
  LateAttachment* late = attachments.late;
  if (late == nullptr || attachments.send != late || !late->tags->matches(tag)) return nullptr;
  attachments.send = nullptr;
  attachments.late = nullptr;
  late->begins(*late);
  return late;
}

[[gnu::always_inline]] inline ucs_status_ptr_t send(SendFunction own, ucp_ep_h ep,
                                                    const void* buffer, size_t count, ucp_tag_t tag,
                                                    const ucp_request_param_t* param) noexcept {
  SendMatcher& sends = workers().sends;
  const bool in_own_memory = abi::has_own_request(*param);
  if (in_own_memory) sends.reuse(param->request);
  if (sends.in_call()) [[unlikely]] {  // from a callback inside of a send
    sends.skip(ep, tag);
    const ucs_status_ptr_t skipped = own(ep, buffer, count, tag, param);
    if (UCS_PTR_IS_PTR(skipped)) sends.end_skipped(ep, tag, skipped, in_own_memory);
    return skipped;
  }
  const SendAttachment* attachment = attachments.send;
  if (attachment != nullptr && !attachment->filter->matches(tag)) attachment = nullptr;
  if (attachment != nullptr) [[likely]] {
    attachments.send = nullptr;
    sends.begin(ep, tag, buffer, attachment->head, attachment->tail, attachment->length);
  } else if (attachments.collective.matches(tag)) {
    begin_collective();  // what has come already is compared before this message is sent
    attachments.collective.consumed = true;
    sends.begin(ep, tag, buffer, attachments.collective.signature, attachments.collective.length);
  } else if (attachments.late != nullptr && (attachment = consume_late(tag)) != nullptr) {
    sends.begin(ep, tag, buffer, attachment->head, attachment->tail, attachment->length);
  } else {
    sends.begin(ep, tag, buffer, nullptr, 0);
  }
  const ucs_status_ptr_t request = own(ep, buffer, count, tag, param);
  if (!UCS_PTR_IS_PTR(request)) [[likely]] {
    sends.end(nullptr);
    return request;
  }
  sends.end(request, in_own_memory);
  if (attachment != nullptr && !in_own_memory) {
    workers().open_sends.open(request, buffer, abi::bytes_of(count, *param), attachment->caller);
  }
  return request;
}

[[gnu::noinline]] ucs_status_ptr_t send_locked(SendFunction own, ucp_ep_h ep, const void* buffer,
                                               size_t count, ucp_tag_t tag,
                                               const ucp_request_param_t* param) noexcept {
  const Locked lock;
  return send(own, ep, buffer, count, tag, param);
}

// An active message consumes the thread's ActiveAttachment. The transport requests what each
// carries, so that the lock is needed for all. `bytes`: of a buffer in one piece, else 0.
template <typename Start>
ucs_status_ptr_t send_active(const void* buffer, size_t bytes, Start start) noexcept {
  const Locked lock;
  ActiveAttachment attachment = std::exchange(attachments.active, {});
  if (attachment.begins != nullptr) attachment.length = attachment.begins(attachment.owner);
  ActiveSends& actives = workers().actives;
  if (!attachment.pending || actives.in_call()) return start();
  actives.begin({static_cast<const char*>(buffer), bytes}, attachment.signature, attachment.length);
  const ucs_status_ptr_t request = start();
  actives.end(UCS_PTR_IS_PTR(request) ? request : nullptr);
  return request;
}

}  // namespace

}  // namespace verity::mpi

using namespace verity::mpi;

VERITY_UCP_WRAP_HOT(ucs_status_ptr_t, ucp_tag_send_nbx,
                    (ucp_ep_h ep, const void* buffer, size_t count, ucp_tag_t tag,
                     const ucp_request_param_t* param),
                    (ep, buffer, count, tag, param)) {
  if (Workers::shared) [[unlikely]]
    return send_locked(VERITY_OWN(ucp_tag_send_nbx), ep, buffer, count, tag, param);
  return send(VERITY_OWN(ucp_tag_send_nbx), ep, buffer, count, tag, param);
}

VERITY_UCP_WRAP(ucs_status_ptr_t, ucp_tag_send_sync_nbx,
                (ucp_ep_h ep, const void* buffer, size_t count, ucp_tag_t tag,
                 const ucp_request_param_t* param),
                (ep, buffer, count, tag, param)) {
  return send_locked(VERITY_OWN(ucp_tag_send_sync_nbx), ep, buffer, count, tag, param);
}

VERITY_UCP_WRAP(ucs_status_ptr_t, ucp_tag_send_nb,
                (ucp_ep_h ep, const void* buffer, size_t count, ucp_datatype_t datatype,
                 ucp_tag_t tag, ucp_send_callback_t callback),
                (ep, buffer, count, datatype, tag, callback)) {
  const ucp_request_param_t param = abi::send_param(datatype, callback);
  return ucp_tag_send_nbx(ep, buffer, count, tag, &param);
}

VERITY_UCP_WRAP(ucs_status_ptr_t, ucp_tag_send_sync_nb,
                (ucp_ep_h ep, const void* buffer, size_t count, ucp_datatype_t datatype,
                 ucp_tag_t tag, ucp_send_callback_t callback),
                (ep, buffer, count, datatype, tag, callback)) {
  const ucp_request_param_t param = abi::send_param(datatype, callback);
  return ucp_tag_send_sync_nbx(ep, buffer, count, tag, &param);
}

VERITY_UCP_WRAP(ucs_status_t, ucp_tag_send_nbr,
                (ucp_ep_h ep, const void* buffer, size_t count, ucp_datatype_t datatype,
                 ucp_tag_t tag, void* request),
                (ep, buffer, count, datatype, tag, request)) {
  ucp_request_param_t param =
      abi::param_of(datatype, UCP_OP_ATTR_FIELD_REQUEST | UCP_OP_ATTR_FLAG_FAST_CMPL);
  param.request = request;
  const ucs_status_ptr_t status = ucp_tag_send_nbx(ep, buffer, count, tag, &param);
  if (status == nullptr) return UCS_OK;
  return UCS_PTR_IS_ERR(status) ? UCS_PTR_STATUS(status) : UCS_INPROGRESS;
}

VERITY_UCP_WRAP(ucs_status_ptr_t, ucp_am_send_nbx,
                (ucp_ep_h ep, unsigned id, const void* header, size_t header_length,
                 const void* buffer, size_t count, const ucp_request_param_t* param),
                (ep, id, header, header_length, buffer, count, param)) {
  const size_t bytes = header_length == 0 ? abi::bytes_of(count, *param) : 0;
  return send_active(buffer, bytes, [&] {
    return VERITY_OWN(ucp_am_send_nbx)(ep, id, header, header_length, buffer, count, param);
  });
}

VERITY_UCP_WRAP(ucs_status_ptr_t, ucp_am_send_nb,
                (ucp_ep_h ep, uint16_t id, const void* buffer, size_t count,
                 ucp_datatype_t datatype, ucp_send_callback_t callback, unsigned flags),
                (ep, id, buffer, count, datatype, callback, flags)) {
  const size_t bytes = abi::bytes_of(count, abi::param_of(datatype, 0));
  return send_active(buffer, bytes, [&] {
    return VERITY_OWN(ucp_am_send_nb)(ep, id, buffer, count, datatype, callback, flags);
  });
}
