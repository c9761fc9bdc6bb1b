// SPDX-License-Identifier: BSD-3-Clause
//
// The UCP calls that an MPI library makes, interposed: sends and receives of tagged messages take the arm of their thread. Each wrapper has
// the name, the arguments and the meaning of UCP's own function, and calls it. The _nb and _nbr forms are written with the _nbx ones, as
// UCX itself does, so that each is seen once.
#include "mpi/ucp_calls.h"

#include <atomic>
#include <utility>

#include "mpi/ucp_next.h"
#include "util/words.h"

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

void finish(Worker& worker, Post* post, ucs_status_t status, const ucp_tag_recv_info_t* info) noexcept {
  if (post->lent) return worker.receives.take_back(post);
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
  auto* post = static_cast<Post*>(argument);
  const auto callback = reinterpret_cast<ucp_tag_recv_nbx_callback_t>(post->call.callback);
  void* const user_data = post->call.user_data;
  const bool freed = post->call.freed;
  --workers().receives_under_way;
  finish(*static_cast<Worker*>(post->owner), post, status, info);
  if (freed) [[unlikely]] {
    VERITY_NEXT(ucp_request_free)(request);
  } else if (callback != nullptr) {
    callback(request, status, info, user_data);
  }
}

Receive* take_receive(uint64_t tag, bool any) noexcept {
  if (armed.receive.receive == nullptr || !(any || armed.receive.filter.matches(tag))) return nullptr;
  return std::exchange(armed.receive.receive, nullptr);
}

// It gets no message that is known of.
void give_up(Worker& worker, Post* post) noexcept {
  post->lent ? worker.receives.take_back(post) : worker.receives.drop(post);
}

constexpr uint32_t kKnownFields = UCP_OP_ATTR_FIELD_REQUEST | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                                  UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_REPLY_BUFFER |
                                  UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FIELD_RECV_INFO | UCP_OP_ATTR_FIELD_MEMH |
                                  UCP_OP_ATTR_FLAG_NO_IMM_CMPL | UCP_OP_ATTR_FLAG_FAST_CMPL | UCP_OP_ATTR_FLAG_MULTI_SEND;

// A copy, field by field as the caller has just written them, that completes through on_receive().
void redirect(const ucp_request_param_t& param, Post* post, ucp_request_param_t* ours) noexcept {
  constexpr size_t kFirst = offsetof(ucp_request_param_t, request);
  ours->op_attr_mask =
      param.op_attr_mask | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  ours->flags = param.flags;
  util::copy_words<sizeof(param) - kFirst>(&ours->request, &param.request);
  ours->cb.recv = on_receive;
  ours->user_data = post;
}

// Has UCP complete the receive through on_receive(), always: its answer in the call itself would not say which message it was.
// `start` calls UCP's function with the parameters given to it.
template <typename Start>
ucs_status_ptr_t receive(Worker* worker, Post* post, const ucp_request_param_t* param, Start start) noexcept {
  if (post == nullptr || (param->op_attr_mask & ~kKnownFields) != 0) [[unlikely]] {
    worker->receives.lose();  // a newer UCX's way of receiving: what this receive gets is not known, nor any later one's
    if (post != nullptr) give_up(*worker, post);
    return start(param);
  }
  const uint64_t order = post->order;
  post->owner = worker;
  post->call.callback = nullptr;
  if ((param->op_attr_mask & UCP_OP_ATTR_FIELD_CALLBACK) != 0) post->call.callback = reinterpret_cast<void (*)()>(param->cb.recv);
  post->call.user_data = (param->op_attr_mask & UCP_OP_ATTR_FIELD_USER_DATA) != 0 ? param->user_data : nullptr;
  post->call.freed = false;
  ucp_request_param_t ours;
  redirect(*param, post, &ours);
  ++workers().receives_under_way;
  const ucs_status_ptr_t request = start(&ours);
  // Completed in the call: its post is another receive's by now, or waits for earlier ones.
  if (post->order != order || !post->pending) return request;
  if (UCS_PTR_IS_PTR(request)) {
    post->call.request = request;
    return request;
  }
  --workers().receives_under_way;
  give_up(*worker, post);
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
Post* find_post(void* request) noexcept {
  if (VERITY_NEXT(ucp_request_check_status)(request) != UCS_INPROGRESS) return nullptr;
  for (const auto& worker : workers().all()) {
    if (Post* post = worker->receives.find(request)) return post;
  }
  return nullptr;
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
  const char* caller = nullptr;
  if ((arm.length != 0 || arm.caller.call != nullptr) && arm.filter.matches(tag)) {
    caller = std::exchange(arm.caller.call, nullptr);
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
  if (caller != nullptr && UCS_PTR_IS_PTR(request)) {  // the rest of the arm is as it was
    workers().open_sends.open(request, what.buffer, what.bytes, {caller, arm.caller.site, arm.caller.comm, arm.caller.peer});
  }
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

void on_arrival(void (*arrived)(const uint8_t* signature, size_t length) noexcept, size_t least) noexcept {
  workers().on_arrival = arrived;
  workers().least_arrival = least;
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
  const Worker* worker = workers().find(handle);
  if (worker != nullptr) workers().receives_under_way -= worker->receives.under_way();  // they never complete
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
  return receive(worker, worker->receives.lend(), param, [&](const ucp_request_param_t* p) { return next(handle, buffer, count, message, p); });
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
  Post* post = workers().receives_under_way == 0 ? nullptr : find_post(request);
  if (post == nullptr) [[likely]] return next(request);
  post->call.freed = true;
}

}  // extern "C"
