// SPDX-License-Identifier: BSD-3-Clause
//
// UCP's receives, interposed: each consumes the pending attachment of its thread, whose Receive is
// resolved with the message that the receive got. A wrapper has the name, the arguments and the
// meaning of UCP's own function, and calls it. The _nb and _nbr forms are written with the _nbx
// ones, as UCX itself does, so that each is seen once.
#include <utility>

#include "mpi/ucp/abi.h"
#include "mpi/ucp/worker_calls.h"
#include "mpi/ucp/wrap.h"

namespace verity::mpi {

namespace {

thread_local bool probing __attribute__((tls_model("initial-exec"))) = false;
thread_local TagFilter probe __attribute__((tls_model("initial-exec")));

void finish(Worker& worker, Post* post, ucs_status_t status,
            const ucp_tag_recv_info_t* info) noexcept {
  if (post->matched) return worker.receives.end_matched(post);
  if (status == UCS_OK || status == UCS_ERR_MESSAGE_TRUNCATED) [[likely]] {
    Receive* receive = post->receive;
    if (receive != nullptr && receive->wants_data && status == UCS_OK) [[unlikely]]
      receive->landed(info->length);
    worker.receives.complete(post, info->sender_tag, info->length);
    return;
  }
  if (status != UCS_ERR_CANCELED)
    worker.receives.disable();  // it had matched a message, and it is unknown which
  worker.receives.drop(post);
}

[[gnu::noinline]] void on_receive_slow_path(void* request, ucs_status_t status,
                                            const ucp_tag_recv_info_t* info, void* argument) {
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

[[gnu::hot]] void on_receive(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info,
                             void* argument) {
  auto* post = static_cast<Post*>(argument);
  ReceiveMatcher& receives = static_cast<Worker*>(post->owner)->receives;
  const auto callback = reinterpret_cast<ucp_tag_recv_nbx_callback_t>(post->call.callback);
  if (status != UCS_OK || callback == nullptr || !receives.got_handled(post, info->sender_tag))
      [[unlikely]] {
    return on_receive_slow_path(request, status, info, argument);
  }
  void* const user_data = post->call.user_data;
  --workers().receives_under_way;
  receives.complete_simple(post, info->length);
  callback(request, UCS_OK, info, user_data);
}

[[gnu::always_inline]] inline Receive* consume_receive(uint64_t tag, bool any) noexcept {
  Receive* receive = attachments.receive.receive;
  if (receive == nullptr) return nullptr;
  if (!any && !attachments.receive.filter->matches(tag)) [[unlikely]]
    return nullptr;
  attachments.receive.receive = nullptr;
  return receive;
}

// It gets no message that is known of.
void give_up(Worker& worker, Post* post) noexcept {
  post->matched ? worker.receives.end_matched(post) : worker.receives.drop(post);
}

// Keeps the caller's own callback for the completion.
[[gnu::always_inline]] inline void keep_call(Worker* worker, Post* post, const void* buffer,
                                             size_t count,
                                             const ucp_request_param_t* param) noexcept {
  const uint32_t fields = param->op_attr_mask;
  post->owner = worker;
  post->call.callback = nullptr;
  if ((fields & UCP_OP_ATTR_FIELD_CALLBACK) != 0) [[likely]]
    post->call.callback = reinterpret_cast<void (*)()>(param->cb.recv);
  post->call.user_data = nullptr;
  if ((fields & UCP_OP_ATTR_FIELD_USER_DATA) != 0) [[likely]]
    post->call.user_data = param->user_data;
  post->call.freed = false;
  post->simple = !post->matched;
  if (post->receive != nullptr && post->receive->wants_data) [[unlikely]] {
    post->simple = false;
    post->receive->lands_at(abi::bytes_of(count, *param) != 0 ? buffer : nullptr);
  }
  ++workers().receives_under_way;
}

// The post has had that order when the receive began.
[[gnu::always_inline]] inline ucs_status_ptr_t keep_request(Worker* worker, Post* post,
                                                            uint64_t order,
                                                            ucs_status_ptr_t request) noexcept {
  // Completed in the call: its post is another receive's by now, or waits for earlier ones.
  if (post->order != order || !post->pending) return request;
  if (UCS_PTR_IS_PTR(request)) [[likely]] {
    post->call.request = request;
    return request;
  }
  --workers().receives_under_way;
  give_up(*worker, post);
  return request;
}

// Has UCP complete the receive through on_receive(), always: its answer in the call itself would
// not say which message it was. `start` calls UCP's function with the parameters given to it.
template <typename Start>
ucs_status_ptr_t receive(Worker* worker, Post* post, const void* buffer, size_t count,
                         const ucp_request_param_t* param, Start start) noexcept {
  if (post == nullptr || !abi::is_known_receive(*param)) [[unlikely]] {
    worker->receives.disable();  // a newer UCX's way of receiving: what this receive gets is not
                                 // known, nor any later one's
    if (post != nullptr) give_up(*worker, post);
    return start(param);
  }
  const uint64_t order = post->order;
  keep_call(worker, post, buffer, count, param);
  ucp_request_param_t ours;
  abi::redirect_receive(*param, on_receive, post, &ours);
  return keep_request(worker, post, order, start(&ours));
}

// A matched message is fetched: it is kept until it is certain what it carried.
void keep_fetched(Worker& worker, std::unique_ptr<MatchedMessage>& message,
                  Receive* receiver) noexcept {
  if (message->fetch(receiver)) return;
  try {
    std::erase_if(worker.fetched, [](const auto& earlier) { return earlier->is_certain(); });
    worker.fetched.push_back(std::move(message));
  } catch (...) {
    (void)message.release();  // it is resolved still
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

// A send that is complete, or whose completion will not show.
void forget_send(void* request, bool is_complete) noexcept {
  SendMatcher& sends = workers().sends;
  ActiveSends& actives = workers().actives;
  workers().open_sends.close(request);
  if (sends.pending() == 0 && !actives.any_pending()) [[likely]]
    return;
  const bool under_way =
      !is_complete && VERITY_NEXT(ucp_request_check_status)(request) == UCS_INPROGRESS;
  if (!under_way) actives.complete(request);
  under_way ? sends.release(request) : sends.complete(request);
}

// UCP says that a receive is complete before it calls on_receive(), which reads the request and the
// data, perhaps in another thread's progress. Its caller must not see that before it is over: both
// may lie on the caller's stack, and the program may write to its buffer.
ucs_status_t end_of_receive(ucs_status_t status) noexcept {
  if (status != UCS_INPROGRESS) const Locked wait;
  return status;
}

// MPI_Request_free on a receive that is under way: UCP would not call back when it completes, but
// its message must be accounted for. True: it is freed later.
bool forget(void* request) noexcept {
  forget_send(request, false);
  Post* post = workers().receives_under_way == 0 ? nullptr : find_post(request);
  if (post != nullptr) {
    post->call.freed = true;
    post->simple = false;
  }
  return post != nullptr;
}

}  // namespace

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

VERITY_UCP_WRAP_HOT(ucs_status_ptr_t, ucp_tag_recv_nbx,
                    (ucp_worker_h handle, void* buffer, size_t count, ucp_tag_t tag, ucp_tag_t mask,
                     const ucp_request_param_t* param),
                    (handle, buffer, count, tag, mask, param)) {
  const auto own = VERITY_OWN(ucp_tag_recv_nbx);
  const Locked lock;
  Worker* worker = workers().find(handle);
  if (worker == nullptr) [[unlikely]]
    return own(handle, buffer, count, tag, mask, param);
  Receive* receiver = consume_receive(tag, false);
  Post* post = worker->receives.post(tag, mask, receiver);
  if (post == nullptr && receiver != nullptr) [[unlikely]]
    receiver->dropped();
  return receive(worker, post, buffer, count, param, [&](const ucp_request_param_t* p) {
    return own(handle, buffer, count, tag, mask, p);
  });
}

VERITY_UCP_WRAP(ucs_status_ptr_t, ucp_tag_recv_nb,
                (ucp_worker_h handle, void* buffer, size_t count, ucp_datatype_t datatype,
                 ucp_tag_t tag, ucp_tag_t mask, ucp_tag_recv_callback_t callback),
                (handle, buffer, count, datatype, tag, mask, callback)) {
  const ucp_request_param_t param = abi::receive_param(datatype, callback);
  return ucp_tag_recv_nbx(handle, buffer, count, tag, mask, &param);
}

VERITY_UCP_WRAP(ucs_status_t, ucp_tag_recv_nbr,
                (ucp_worker_h handle, void* buffer, size_t count, ucp_datatype_t datatype,
                 ucp_tag_t tag, ucp_tag_t mask, void* request),
                (handle, buffer, count, datatype, tag, mask, request)) {
  ucp_request_param_t param =
      abi::param_of(datatype, UCP_OP_ATTR_FIELD_REQUEST | UCP_OP_ATTR_FLAG_NO_IMM_CMPL);
  param.request = request;
  const ucs_status_ptr_t status = ucp_tag_recv_nbx(handle, buffer, count, tag, mask, &param);
  return UCS_PTR_IS_ERR(status) ? UCS_PTR_STATUS(status) : UCS_OK;
}

VERITY_UCP_WRAP(ucp_tag_message_h, ucp_tag_probe_nb,
                (ucp_worker_h handle, ucp_tag_t tag, ucp_tag_t mask, int remove,
                 ucp_tag_recv_info_t* info),
                (handle, tag, mask, remove, info)) {
  const Locked lock;
  if (probing && probe.mask == 0) probe = {tag & mask, mask};
  const ucp_tag_message_h message = VERITY_OWN(ucp_tag_probe_nb)(handle, tag, mask, remove, info);
  Worker* worker = message != nullptr && remove != 0 ? workers().find(handle) : nullptr;
  if (worker == nullptr) return message;
  try {
    auto matched = std::make_unique<MatchedMessage>();
    MatchedMessage* kept = matched.get();
    worker->matched[message] = std::move(matched);
    Post* post = worker->receives.post(info->sender_tag, ~uint64_t{0}, kept);
    if (post != nullptr) worker->receives.complete(post, info->sender_tag, info->length);
  } catch (...) { worker->receives.disable(); }
  return message;
}

VERITY_UCP_WRAP(ucs_status_ptr_t, ucp_tag_msg_recv_nbx,
                (ucp_worker_h handle, void* buffer, size_t count, ucp_tag_message_h message,
                 const ucp_request_param_t* param),
                (handle, buffer, count, message, param)) {
  const auto own = VERITY_OWN(ucp_tag_msg_recv_nbx);
  const Locked lock;
  Worker* worker = workers().find(handle);
  if (worker == nullptr) return own(handle, buffer, count, message, param);
  Receive* receiver = consume_receive(0, true);
  const auto found = worker->matched.find(message);
  if (found == worker->matched.end()) {
    if (receiver != nullptr) receiver->dropped();
  } else {
    keep_fetched(*worker, found->second, receiver);
    worker->matched.erase(found);
  }
  return receive(
      worker, worker->receives.begin_matched(), buffer, count, param,
      [&](const ucp_request_param_t* p) { return own(handle, buffer, count, message, p); });
}

VERITY_UCP_WRAP(ucs_status_ptr_t, ucp_tag_msg_recv_nb,
                (ucp_worker_h handle, void* buffer, size_t count, ucp_datatype_t datatype,
                 ucp_tag_message_h message, ucp_tag_recv_callback_t callback),
                (handle, buffer, count, datatype, message, callback)) {
  const ucp_request_param_t param = abi::receive_param(datatype, callback);
  return ucp_tag_msg_recv_nbx(handle, buffer, count, message, &param);
}

VERITY_UCP_WRAP(void, ucp_request_cancel, (ucp_worker_h handle, void* request), (handle, request)) {
  const Locked lock;
  VERITY_OWN(ucp_request_cancel)(handle, request);
}

// Open MPI's blocking sends poll with it, and never free their request: it is on the stack.
VERITY_UCP_WRAP_HOT(ucs_status_t, ucp_request_check_status, (void* request), (request)) {
  const ucs_status_t status = VERITY_OWN(ucp_request_check_status)(request);
  // Nearly always there is none, and a lock would be one more for each call of each thread.
  if (status == UCS_INPROGRESS || !workers().sends.any_in_own_memory()) return status;
  const Locked lock;
  workers().sends.complete(request);
  return status;
}

// Open MPI's blocking receives poll with the first one, or with the second one.
VERITY_UCP_WRAP_HOT(ucs_status_t, ucp_request_test, (void* request, ucp_tag_recv_info_t* info),
                    (request, info)) {
  return end_of_receive(VERITY_OWN(ucp_request_test)(request, info));
}

VERITY_UCP_WRAP_HOT(ucs_status_t, ucp_tag_recv_request_test,
                    (void* request, ucp_tag_recv_info_t* info), (request, info)) {
  return end_of_receive(VERITY_OWN(ucp_tag_recv_request_test)(request, info));
}

// MPICH's callbacks call it, for their own request, which UCP says is complete only when they have
// returned. Elsewhere the send may be under way, and goes on.
VERITY_UCP_WRAP(void, ucp_request_release, (void* request), (request)) {
  const Locked lock;
  forget_send(request, workers().in_progress != 0 || workers().sends.in_call());
  VERITY_OWN(ucp_request_release)(request);
}

VERITY_UCP_WRAP_HOT(void, ucp_request_free, (void* request), (request)) {
  const Locked lock;
  if (!forget(request)) [[likely]]
    VERITY_OWN(ucp_request_free)(request);
}
