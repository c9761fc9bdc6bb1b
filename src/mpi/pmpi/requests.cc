// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/pmpi/requests.h"

#include <mutex>
#include <new>
#include <unordered_map>

#include "mpi/collectives/requests.h"
#include "mpi/process/library.h"
#include "mpi/process/this_process.h"

namespace verity::mpi {

namespace {

// By handle. Never destroyed: threads may still run when the process ends.
template <typename Handle, typename Value>
class Kept {
 public:
  void put(Handle handle, Value&& value) {
    const std::lock_guard lock(mutex_);
    map_.insert_or_assign(handle, std::move(value));
  }
  std::optional<Value> take(Handle handle) {
    const std::lock_guard lock(mutex_);
    const auto it = map_.find(handle);
    if (it == map_.end()) return std::nullopt;
    std::optional<Value> value(std::move(it->second));
    map_.erase(it);
    return value;
  }
  void clear() noexcept {
    const std::lock_guard lock(mutex_);
    map_.clear();
  }
  // Stays valid until take(): of a request that the calling thread is using.
  Value* find(Handle handle) {
    const std::lock_guard lock(mutex_);
    const auto it = map_.find(handle);
    return it == map_.end() ? nullptr : &it->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<Handle, Value> map_;
};

Kept<MPI_Request, Persistent>& requests() {
  static auto& made = *new Kept<MPI_Request, Persistent>;
  return made;
}
Kept<MPI_Message, MatchedProbe>& messages() {
  static auto& made = *new Kept<MPI_Message, MatchedProbe>;
  return made;
}

}  // namespace

Making::Making(Call& call, SendFamily family, Buffer buffer, Envelope envelope, MPI_Comm comm,
               MPI_Request* request)
    : call_(call), request_(request) {
  if (envelope.source == MPI_PROC_NULL || buffer.count < 0 || !mpi_runs()) return;
  CommInfo* known = find_comm(comm);
  TypeInfo* type = known != nullptr ? find_type(buffer.datatype) : nullptr;
  if (type == nullptr) return;
  made_ = Persistent{.family = family,
                     .type = TypeRef(type),
                     .comm = CommRef(known),
                     .data = {buffer.address, buffer.count},
                     .envelope = envelope,
                     .site = thread.site,
                     .call = thread.name};
}

Making::~Making() {
  if (!made_ || call_.rc != MPI_SUCCESS) return;
  try {
    requests().put(*request_, std::move(*made_));
  } catch (const std::bad_alloc&) {  // its messages go unchecked
  }
}

int start_attached(MPI_Request* request, int (*start)(MPI_Request*)) {
  if (request == nullptr) return start(request);  // MPI refuses it
  const Persistent* made = requests().find(*request);
  if (made == nullptr) {
    const StartingCollective collective(*request);
    return start(request);
  }
  if (made->family != kUnknownFamily) {
    const Sending send(made->family, *made->type, made->data, *made->comm, made->envelope.source,
                       made->site);
    return start(request);
  }
  const Receiving receive(&*made->type, made->data, &*made->comm, made->envelope, made->site,
                          made->call);
  return start(request);
}

void forget_request(MPI_Request request) noexcept {
  static_cast<void>(requests().take(request));
  forget_collective(request);
}

void forget_all_requests() noexcept {
  requests().clear();
  messages().clear();
}

Probing::Probing(Call& call, int source, MPI_Comm comm, const int* found, MPI_Message* message,
                 MPI_Status** status) noexcept
    : call_(call),
      comm_(source == MPI_PROC_NULL ? handles().comm_null : comm),
      found_(found),
      message_(message) {
  // The status has source and tag: requested even where the program ignores it.
  if (*status == MPI_STATUS_IGNORE) *status = &own_;
  status_ = *status;
}

Probing::~Probing() {
  if (call_.rc != MPI_SUCCESS || (found_ != nullptr && *found_ == 0) || !mpi_runs()) return;
  CommInfo* comm = find_comm(comm_);
  if (comm == nullptr) return;
  try {
    messages().put(*message_,
                   {.comm = CommRef(comm), .envelope = {status_->MPI_SOURCE, status_->MPI_TAG}});
  } catch (const std::bad_alloc&) {  // it goes unchecked
  }
}

ReceivingMessage::ReceivingMessage(const Call& call, Buffer buffer, const MPI_Message* message)
    : call_(call), message_(message) {
  if (message == nullptr) return;  // MPI refuses it
  handle_ = *message;
  probed_ = messages().take(handle_);
  if (!probed_ || buffer.count < 0) return;
  TypeInfo* type = find_type(buffer.datatype);
  if (type != nullptr)
    receive_.emplace(type, Data{nullptr, buffer.count, false}, &*probed_->comm, probed_->envelope,
                     thread.site, thread.name);
}

ReceivingMessage::~ReceivingMessage() {
  // Where it has received, even with an error, the program's handle is MPI_MESSAGE_NULL.
  if (!probed_ || call_.rc == MPI_SUCCESS || *message_ != handle_ || !mpi_runs()) return;
  try {
    messages().put(handle_, std::move(*probed_));
  } catch (const std::bad_alloc&) {  // it goes unchecked
  }
}

}  // namespace verity::mpi
