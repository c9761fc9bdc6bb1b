// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/interpose/behind.h"

#include <dlfcn.h>

namespace verity::mpi {

namespace {

using StepAside = decltype(&verity_step_aside);

}  // namespace

bool in_one_library(const void* a, const void* b) noexcept {
  Dl_info of_a, of_b;
  return dladdr(a, &of_a) != 0 && dladdr(b, &of_b) != 0 && of_a.dli_fbase == of_b.dli_fbase;
}

void* find_behind(const char* name) noexcept {
  void* next = dlsym(RTLD_NEXT, name);
  void* other = next != nullptr ? dlsym(RTLD_NEXT, "verity_step_aside") : nullptr;
  // Another tool's may lie between: then it is not the interposer's function that comes next.
  if (other == nullptr || !in_one_library(next, other)) return next;
  void* further = nullptr;
  return reinterpret_cast<StepAside>(other)(name, &further) != 0 ? further : next;
}

}  // namespace verity::mpi
