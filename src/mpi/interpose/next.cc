// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/interpose/next.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

#include "mpi/interpose/behind.h"
#include "util/complain.h"

namespace verity::mpi {

namespace {

// Opened with RTLD_LOCAL (as interpreters open their extension modules) the MPI library is in no
// search order.
int is_mpi_library(dl_phdr_info* info, size_t, void* path) {
  const char* slash = std::strrchr(info->dlpi_name, '/');
  const char* file = slash != nullptr ? slash + 1 : info->dlpi_name;
  if (std::strncmp(file, "libmpi.so", 9) != 0 && std::strncmp(file, "libmpich.so", 11) != 0)
    return 0;
  *static_cast<std::string*>(path) = info->dlpi_name;
  return 1;
}

// The handle is kept: the library is in use for as long as the process calls us.
void* open_mpi_library() noexcept {
  std::string path;
  dl_iterate_phdr(is_mpi_library, &path);
  return path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

void* in_mpi_library(const char* name) noexcept {
  static std::atomic<void*> library{nullptr};
  void* handle = library.load(std::memory_order_acquire);
  if (handle == nullptr) {
    handle = open_mpi_library();
    library.store(handle, std::memory_order_release);
  }
  return handle != nullptr ? dlsym(handle, name) : nullptr;
}

}  // namespace

void* find_next(const char* name) noexcept {
  void* next = find_behind(name);
  return next != nullptr ? next : in_mpi_library(name);
}

void* find_data(const char* name) noexcept {
  void* data = dlsym(RTLD_DEFAULT, name);
  return data != nullptr ? data : in_mpi_library(name);
}

void* Next::resolve() noexcept {
  void* function = find_next(name_);
  if (function == nullptr) {
    util::complain(
        "ucx-verity: %s is called, but the MPI library of this process has no such function\n",
        name_);
    std::abort();
  }
  function_.store(function, std::memory_order_release);
  return function;
}

}  // namespace verity::mpi
