// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/ucp/function.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "mpi/interpose/behind.h"
#include "mpi/ucp/abi.h"
#include "mpi/ucp/wrap.h"
#include "util/complain.h"

namespace verity::mpi {

#define VERITY_DEFINE(function) constinit UcpFunction next_##function(#function);
VERITY_UCP_FUNCTIONS(VERITY_DEFINE)
#undef VERITY_DEFINE

// MPI libraries open their UCX module, and so libucp, for themselves: it may be in no search order.
void* UcpFunction::resolve() noexcept {
  void* found = find_behind(name_);
  if (found == nullptr) {
    void* library = dlopen(abi::kLibrary, RTLD_LAZY | RTLD_NOLOAD);
    found = library == nullptr ? nullptr : dlsym(library, name_);
  }
  if (found == nullptr) {
    util::complain(
        "ucx-verity: libverity_mpi does not find %s, which was just called: remove it "
        "from LD_PRELOAD\n",
        name_);
    std::abort();
  }
  function_.store(found, std::memory_order_release);
  return found;
}

namespace {

constinit std::mutex entering;
constinit UcpWrapper* entered = nullptr;
constinit UcpCalls enabled = UcpCalls::kPass;

}  // namespace

void UcpWrapper::enter() noexcept {
  const std::lock_guard lock(entering);
  if (entered_) return;
  entered_ = true;
  next_ = entered;
  entered = this;
  choose(enabled);
}

void UcpWrapper::enable(UcpCalls calls) noexcept {
  const std::lock_guard lock(entering);
  enabled = std::max(enabled, calls);
  for (UcpWrapper* wrapper = entered; wrapper != nullptr; wrapper = wrapper->next_)
    wrapper->choose(enabled);
}

}  // namespace verity::mpi
