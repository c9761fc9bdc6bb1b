// SPDX-License-Identifier: BSD-3-Clause
//
// The UCP calls that an MPI library makes, interposed: sends and receives of tagged messages take the arm of their thread. Each wrapper has
// the name, the arguments and the meaning of UCP's own function, and calls it. The _nb and _nbr forms are written with the _nbx ones, as
// UCX itself does, so that each is seen once.
#include "mpi/ucp_calls.h"

#include <atomic>
#include <cstdlib>
#include <utility>

#include "mpi/ucp_next.h"

namespace verity::mpi {

constinit thread_local Armed armed __attribute__((tls_model("initial-exec")));

namespace {

std::atomic<bool> enabled{false};
bool threads = false;

thread_local Worker* creating __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local unsigned sends __attribute__((tls_model("initial-exec"))) = 0;  // send calls on the stack
thread_local bool probing __attribute__((tls_model("initial-exec"))) = false;
thread_local TagFilter probe __attribute__((tls_model("initial-exec")));

[[nodiscard]] bool on() noexcept { return enabled.load(std::memory_order_relaxed); }

// A receive that UCP has, and what its caller wants of its completion.
struct Call {
  Worker* worker;
  Post* post;
  ucp_tag_recv_nbx_callback_t callback;
  void* user_data;
  void* request;  // once UCP has returned it
  bool* done;     // for the call that is posting it: it completed already
  bool freed;     // the caller gave the request up, UCP has it still
  Call *previous, *next;
};

// Of calls under way: to find the one of a request that is given up. And of unused ones.
Call* under_way = nullptr;
Call* unused = nullptr;

// nullptr: no memory. The caller fills it.
Call* new_call() noexcept {
  Call* call = unused;
  if (call != nullptr) [[likely]] {
    unused = call->next;
  } else {
    call = static_cast<Call*>(std::malloc(sizeof(Call)));
  }
  return call;
}

void begin_call(Call* call) noexcept {
  call->previous = nullptr;
  call->next = under_way;
  if (under_way != nullptr) under_way->previous = call;
  under_way = call;
}

void end_call(Call* call) noexcept {
  (call->previous == nullptr ? under_way : call->previous->next) = call->next;
  if (call->next != nullptr) call->next->previous = call->previous;
  call->next = unused;
  unused = call;
}

// The worker is gone: what it had under way never completes.
void end_calls_of(const Worker* worker) noexcept {
  for (Call *call = under_way, *next; call != nullptr; call = next) {
    next = call->next;
    if (call->worker == worker) end_call(call);
  }
}

void finish(Worker& worker, Post* post, ucs_status_t status, const ucp_tag_recv_info_t* info) noexcept {
  if (status == UCS_OK || status == UCS_ERR_MESSAGE_TRUNCATED) [[likely]] {
    Receive* receive = post->receive;
    if (receive != nullptr && receive->wants_data && status == UCS_OK) [[unlikely]] receive->landed(info->length);
    worker.receives.complete(post, info->sender_tag, info->length);
    return;
  }
  if (status != UCS_ERR_CANCELED) worker.receives.lose();  // it had matched a message, of which nobody knows now
  worker.receives.drop(post);
}

void on_receive(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info, void* argument) {
  auto* call = static_cast<Call*>(argument);
  const auto callback = call->callback;
  void* const user_data = call->user_data;
  const bool freed = call->freed;
  if (call->done != nullptr) *call->done = true;
  end_call(call);  // its fields stay until it is used again, which is not before finish() has them
  if (call->post != nullptr) finish(*call->worker, call->post, status, info);
  if (freed) {
    VERITY_NEXT(ucp_request_free)(request);
  } else if (callback != nullptr) {
    callback(request, status, info, user_data);
  }
}

Receive* take_receive(uint64_t tag, bool any) noexcept {
  if (armed.receive.receive == nullptr || !(any || armed.receive.filter.matches(tag))) return nullptr;
  return std::exchange(armed.receive.receive, nullptr);
}

constexpr uint32_t kKnownFields = UCP_OP_ATTR_FIELD_REQUEST | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                                  UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_REPLY_BUFFER |
                                  UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FIELD_RECV_INFO | UCP_OP_ATTR_FIELD_MEMH |
                                  UCP_OP_ATTR_FLAG_NO_IMM_CMPL | UCP_OP_ATTR_FLAG_FAST_CMPL | UCP_OP_ATTR_FLAG_MULTI_SEND;

// Has UCP complete the receive through on_receive(), always: its answer in the call itself would not say which message it was.
// `start` calls UCP's function with the parameters given to it.
template <typename Start>
ucs_status_ptr_t receive(Worker* worker, Post* post, const ucp_request_param_t* param, Start start) noexcept {
  Call* call = (param->op_attr_mask & ~kKnownFields) != 0 ? nullptr : new_call();
  if (call == nullptr) {  // a newer UCX's way of receiving: what this receive gets is not known, nor any later one's
    worker->receives.lose();
    if (post != nullptr) worker->receives.drop(post);
    return start(param);
  }
  bool done = false;
  call->worker = worker;
  call->post = post;
  call->callback = (param->op_attr_mask & UCP_OP_ATTR_FIELD_CALLBACK) != 0 ? param->cb.recv : nullptr;
  call->user_data = (param->op_attr_mask & UCP_OP_ATTR_FIELD_USER_DATA) != 0 ? param->user_data : nullptr;
  call->request = nullptr;
  call->done = &done;
  call->freed = false;
  begin_call(call);
  ucp_request_param_t ours = *param;
  ours.op_attr_mask |= UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  ours.cb.recv = on_receive;
  ours.user_data = call;
  const ucs_status_ptr_t request = start(&ours);
  if (done) return request;
  if (UCS_PTR_IS_PTR(request)) {
    call->request = request;
    call->done = nullptr;
    return request;
  }
  end_call(call);
  if (post != nullptr) worker->receives.drop(post);
  return request;
}

// A probed message is fetched: it is kept until it is certain what it carried.
void keep_fetched(Worker& worker, std::unique_ptr<Probed>& message, Receive* receiver) noexcept {
  if (message->fetch(receiver)) return;
  try {
    std::erase_if(worker.fetched, [](const auto& earlier) { return earlier->is_certain(); });
    worker.fetched.push_back(std::move(message));
  } catch (...) {
    (void)message.release();  // it is told of still
  }
}

// The receive of a request that is still under way.
Call* find_call(const void* request) noexcept {
  Call* call = under_way;
  while (call != nullptr && call->request != request) call = call->next;
  return call;
}

// What is sent: `bytes` 0 where they do not lie in one piece.
struct Sent {
  const void* buffer;
  size_t bytes;
};

Sent sent_of(const void* buffer, size_t count, const ucp_request_param_t* param) noexcept {
  if ((param->op_attr_mask & UCP_OP_ATTR_FIELD_DATATYPE) == 0) return {buffer, count};
  const bool in_one_piece = (param->datatype & UCP_DATATYPE_CLASS_MASK) == UCP_DATATYPE_CONTIG;
  return {buffer, in_one_piece ? count * (param->datatype >> UCP_DATATYPE_SHIFT) : 0};
}

template <typename Start>
ucs_status_ptr_t send(ucp_ep_h ep, const Sent& what, ucp_tag_t tag, Start start) noexcept {
  const Locked lock;
  Departures& departures = workers().departures;
  SendArm& arm = armed.send;
  if (sends != 0) {  // from a callback inside of a send
    departures.pass(ep, tag);
    return start();
  }
  Caller caller;
  if ((arm.length != 0 || arm.caller.call != nullptr) && arm.filter.matches(tag)) {
    caller = std::exchange(arm.caller, {});
    departures.begin(ep, tag, what.buffer, arm.signature, std::exchange(arm.length, 0));
  } else if (armed.collective.matches(tag)) {
    departures.begin(ep, tag, what.buffer, armed.collective.signature, armed.collective.length);
  } else {
    departures.begin(ep, tag, what.buffer, nullptr, 0);
  }
  ++sends;
  const ucs_status_ptr_t request = start();
  --sends;
  departures.end(UCS_PTR_IS_PTR(request) ? request : nullptr);
  if (caller.call != nullptr && UCS_PTR_IS_PTR(request)) workers().open_sends.open(request, what.buffer, what.bytes, caller);
  return request;
}

ucp_request_param_t plain(ucp_datatype_t datatype) noexcept {
  ucp_request_param_t param = {};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
  param.datatype = datatype;
  return param;
}

}  // namespace

Worker* worker_in_creation() noexcept { return creating; }

void enable_ucp_calls(bool several_threads) noexcept {
  threads = several_threads;
  make_workers();
  want_messages();
  enabled.store(true);
}

void on_arrival(void (*arrived)(const uint8_t* signature, size_t length) noexcept) noexcept {
  workers().on_arrival = arrived;
}

void on_change(void (*changed)(const ChangedSend& send) noexcept) noexcept { workers().on_change = changed; }

void start_probe() noexcept {
  probing = true;
  probe = {};
}

TagFilter end_probe() noexcept {
  probing = false;
  return probe;
}

}  // namespace verity::mpi

using namespace verity::mpi;

#define VERITY_EXPORT __attribute__((visibility("default")))

extern "C" {

// ---- workers ------------------------------------------------------------------------------------------------------------------

VERITY_EXPORT ucs_status_t ucp_worker_create(ucp_context_h context, const ucp_worker_params_t* params, ucp_worker_h* worker_p) {
  if (!on()) return VERITY_NEXT(ucp_worker_create)(context, params, worker_p);
  const bool has_mode = (params->field_mask & UCP_WORKER_PARAM_FIELD_THREAD_MODE) != 0;
  if (threads && has_mode && params->thread_mode != UCS_THREAD_MODE_SINGLE) Workers::shared = true;
  const Locked lock;
  ucp_context_attr_t attr = {};
  attr.field_mask = UCP_ATTR_FIELD_REQUEST_SIZE;
  if (VERITY_NEXT(ucp_context_query)(context, &attr) == UCS_OK) workers().departures.set_request_size(attr.request_size);
  Worker* worker = creating = workers().create();
  const ucs_status_t status = VERITY_NEXT(ucp_worker_create)(context, params, worker_p);
  creating = nullptr;
  if (worker == nullptr) return status;
  worker->handle = worker;  // not UCP's, if it failed
  if (status == UCS_OK) worker->handle = *worker_p;
  if (status != UCS_OK) workers().destroy(worker);
  return status;
}

VERITY_EXPORT void ucp_worker_destroy(ucp_worker_h handle) {
  if (!on()) return VERITY_NEXT(ucp_worker_destroy)(handle);
  const Locked lock;
  VERITY_NEXT(ucp_worker_destroy)(handle);
  end_calls_of(workers().find(handle));
  workers().destroy(handle);
}

VERITY_EXPORT unsigned ucp_worker_progress(ucp_worker_h handle) {
  if (!on()) return VERITY_NEXT(ucp_worker_progress)(handle);
  const Locked lock;
  return VERITY_NEXT(ucp_worker_progress)(handle);
}

VERITY_EXPORT ucs_status_t ucp_worker_flush(ucp_worker_h handle) {
  if (!on()) return VERITY_NEXT(ucp_worker_flush)(handle);
  const Locked lock;
  return VERITY_NEXT(ucp_worker_flush)(handle);
}

VERITY_EXPORT ucs_status_t ucp_ep_flush(ucp_ep_h ep) {
  if (!on()) return VERITY_NEXT(ucp_ep_flush)(ep);
  const Locked lock;
  return VERITY_NEXT(ucp_ep_flush)(ep);
}

VERITY_EXPORT void ucp_ep_destroy(ucp_ep_h ep) {
  if (!on()) return VERITY_NEXT(ucp_ep_destroy)(ep);
  const Locked lock;
  VERITY_NEXT(ucp_ep_destroy)(ep);
}

// ---- sends --------------------------------------------------------------------------------------------------------------------

VERITY_EXPORT ucs_status_ptr_t ucp_tag_send_nbx(ucp_ep_h ep, const void* buffer, size_t count, ucp_tag_t tag,
                                                const ucp_request_param_t* param) {
  const auto next = VERITY_NEXT(ucp_tag_send_nbx);
  if (!on()) return next(ep, buffer, count, tag, param);
  return send(ep, sent_of(buffer, count, param), tag, [&] { return next(ep, buffer, count, tag, param); });
}

VERITY_EXPORT ucs_status_ptr_t ucp_tag_send_sync_nbx(ucp_ep_h ep, const void* buffer, size_t count, ucp_tag_t tag,
                                                     const ucp_request_param_t* param) {
  const auto next = VERITY_NEXT(ucp_tag_send_sync_nbx);
  if (!on()) return next(ep, buffer, count, tag, param);
  return send(ep, sent_of(buffer, count, param), tag, [&] { return next(ep, buffer, count, tag, param); });
}

VERITY_EXPORT ucs_status_ptr_t ucp_tag_send_nb(ucp_ep_h ep, const void* buffer, size_t count, ucp_datatype_t datatype, ucp_tag_t tag,
                                               ucp_send_callback_t callback) {
  if (!on()) return VERITY_NEXT(ucp_tag_send_nb)(ep, buffer, count, datatype, tag, callback);
  ucp_request_param_t param = plain(datatype);
  param.op_attr_mask |= UCP_OP_ATTR_FIELD_CALLBACK;
  param.cb.send = reinterpret_cast<ucp_send_nbx_callback_t>(reinterpret_cast<void*>(callback));
  return ucp_tag_send_nbx(ep, buffer, count, tag, &param);
}

VERITY_EXPORT ucs_status_ptr_t ucp_tag_send_sync_nb(ucp_ep_h ep, const void* buffer, size_t count, ucp_datatype_t datatype,
                                                    ucp_tag_t tag, ucp_send_callback_t callback) {
  if (!on()) return VERITY_NEXT(ucp_tag_send_sync_nb)(ep, buffer, count, datatype, tag, callback);
  ucp_request_param_t param = plain(datatype);
  param.op_attr_mask |= UCP_OP_ATTR_FIELD_CALLBACK;
  param.cb.send = reinterpret_cast<ucp_send_nbx_callback_t>(reinterpret_cast<void*>(callback));
  return ucp_tag_send_sync_nbx(ep, buffer, count, tag, &param);
}

VERITY_EXPORT ucs_status_t ucp_tag_send_nbr(ucp_ep_h ep, const void* buffer, size_t count, ucp_datatype_t datatype, ucp_tag_t tag,
                                            void* request) {
  if (!on()) return VERITY_NEXT(ucp_tag_send_nbr)(ep, buffer, count, datatype, tag, request);
  ucp_request_param_t param = plain(datatype);
  param.op_attr_mask |= UCP_OP_ATTR_FIELD_REQUEST | UCP_OP_ATTR_FLAG_FAST_CMPL;
  param.request = request;
  const ucs_status_ptr_t status = ucp_tag_send_nbx(ep, buffer, count, tag, &param);
  if (status == nullptr) return UCS_OK;
  return UCS_PTR_IS_ERR(status) ? UCS_PTR_STATUS(status) : UCS_INPROGRESS;
}

// ---- receives -----------------------------------------------------------------------------------------------------------------

VERITY_EXPORT ucs_status_ptr_t ucp_tag_recv_nbx(ucp_worker_h handle, void* buffer, size_t count, ucp_tag_t tag, ucp_tag_t mask,
                                                const ucp_request_param_t* param) {
  const auto next = VERITY_NEXT(ucp_tag_recv_nbx);
  if (!on()) return next(handle, buffer, count, tag, mask, param);
  const Locked lock;
  Worker* worker = workers().find(handle);
  if (worker == nullptr) return next(handle, buffer, count, tag, mask, param);
  Receive* receiver = take_receive(tag, false);
  Post* post = worker->receives.post(tag, mask, receiver);
  if (post == nullptr && receiver != nullptr) receiver->dropped();
  return receive(worker, post, param,
                 [&](const ucp_request_param_t* p) { return next(handle, buffer, count, tag, mask, p); });
}

VERITY_EXPORT ucs_status_ptr_t ucp_tag_recv_nb(ucp_worker_h handle, void* buffer, size_t count, ucp_datatype_t datatype, ucp_tag_t tag,
                                               ucp_tag_t mask, ucp_tag_recv_callback_t callback) {
  if (!on()) return VERITY_NEXT(ucp_tag_recv_nb)(handle, buffer, count, datatype, tag, mask, callback);
  ucp_request_param_t param = plain(datatype);
  param.op_attr_mask |= UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  param.cb.recv = reinterpret_cast<ucp_tag_recv_nbx_callback_t>(reinterpret_cast<void*>(callback));
  return ucp_tag_recv_nbx(handle, buffer, count, tag, mask, &param);
}

VERITY_EXPORT ucs_status_t ucp_tag_recv_nbr(ucp_worker_h handle, void* buffer, size_t count, ucp_datatype_t datatype, ucp_tag_t tag,
                                            ucp_tag_t mask, void* request) {
  if (!on()) return VERITY_NEXT(ucp_tag_recv_nbr)(handle, buffer, count, datatype, tag, mask, request);
  ucp_request_param_t param = plain(datatype);
  param.op_attr_mask |= UCP_OP_ATTR_FIELD_REQUEST | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  param.request = request;
  const ucs_status_ptr_t status = ucp_tag_recv_nbx(handle, buffer, count, tag, mask, &param);
  return UCS_PTR_IS_ERR(status) ? UCS_PTR_STATUS(status) : UCS_OK;
}

VERITY_EXPORT ucp_tag_message_h ucp_tag_probe_nb(ucp_worker_h handle, ucp_tag_t tag, ucp_tag_t mask, int remove,
                                                 ucp_tag_recv_info_t* info) {
  const auto next = VERITY_NEXT(ucp_tag_probe_nb);
  if (!on()) return next(handle, tag, mask, remove, info);
  const Locked lock;
  if (probing && probe.mask == 0) probe = {tag & mask, mask};
  const ucp_tag_message_h message = next(handle, tag, mask, remove, info);
  Worker* worker = message != nullptr && remove != 0 ? workers().find(handle) : nullptr;
  if (worker == nullptr) return message;
  try {
    auto& probed = worker->probed[message];
    probed = std::make_unique<Probed>();
    Post* post = worker->receives.post(info->sender_tag, ~uint64_t{0}, probed.get());
    if (post != nullptr) worker->receives.complete(post, info->sender_tag, info->length);
  } catch (...) {
    worker->receives.lose();
  }
  return message;
}

VERITY_EXPORT ucs_status_ptr_t ucp_tag_msg_recv_nbx(ucp_worker_h handle, void* buffer, size_t count, ucp_tag_message_h message,
                                                    const ucp_request_param_t* param) {
  const auto next = VERITY_NEXT(ucp_tag_msg_recv_nbx);
  if (!on()) return next(handle, buffer, count, message, param);
  const Locked lock;
  Worker* worker = workers().find(handle);
  if (worker == nullptr) return next(handle, buffer, count, message, param);
  Receive* receiver = take_receive(0, true);
  const auto found = worker->probed.find(message);
  if (found == worker->probed.end()) {
    if (receiver != nullptr) receiver->dropped();
  } else {
    keep_fetched(*worker, found->second, receiver);
    worker->probed.erase(found);
  }
  return receive(worker, nullptr, param, [&](const ucp_request_param_t* p) { return next(handle, buffer, count, message, p); });
}

VERITY_EXPORT ucs_status_ptr_t ucp_tag_msg_recv_nb(ucp_worker_h handle, void* buffer, size_t count, ucp_datatype_t datatype,
                                                   ucp_tag_message_h message, ucp_tag_recv_callback_t callback) {
  if (!on()) return VERITY_NEXT(ucp_tag_msg_recv_nb)(handle, buffer, count, datatype, message, callback);
  ucp_request_param_t param = plain(datatype);
  param.op_attr_mask |= UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  param.cb.recv = reinterpret_cast<ucp_tag_recv_nbx_callback_t>(reinterpret_cast<void*>(callback));
  return ucp_tag_msg_recv_nbx(handle, buffer, count, message, &param);
}

// ---- requests -----------------------------------------------------------------------------------------------------------------

VERITY_EXPORT void ucp_request_cancel(ucp_worker_h handle, void* request) {
  if (!on()) return VERITY_NEXT(ucp_request_cancel)(handle, request);
  const Locked lock;
  VERITY_NEXT(ucp_request_cancel)(handle, request);
}

// MPI_Request_free on a receive that is under way: UCP would not tell of its completion, but its message must be accounted for.
VERITY_EXPORT void ucp_request_free(void* request) {
  const auto next = VERITY_NEXT(ucp_request_free);
  if (!on()) return next(request);
  const Locked lock;
  workers().departures.forget(request);
  workers().open_sends.close(request);
  Call* call = under_way == nullptr || VERITY_NEXT(ucp_request_check_status)(request) != UCS_INPROGRESS ? nullptr : find_call(request);
  if (call == nullptr) return next(request);
  call->freed = true;
}

}  // extern "C"
