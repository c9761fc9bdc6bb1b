// SPDX-License-Identifier: BSD-3-Clause
// Addresses into source lines, by elfutils' libdw. It is opened when the first report is made, so
// that a process that reports nothing carries nothing of it.
#include "mpi/sites/symbolize.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>

#if __has_include(<elfutils/libdwfl.h>)
#include <elfutils/libdwfl.h>
#define VERITY_LIBDW 1
#endif

namespace verity::mpi {

namespace {

std::string demangled(const char* name) {
  int status = 0;
  char* plain = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string words = status == 0 && plain != nullptr ? plain : name;
  std::free(plain);
  return words;
}

#ifdef VERITY_LIBDW

struct Libdw {
#define VERITY_LIBDW_USED(X)  \
  X(dwfl_begin)               \
  X(dwfl_end)                 \
  X(dwfl_linux_proc_report)   \
  X(dwfl_report_end)          \
  X(dwfl_addrmodule)          \
  X(dwfl_module_addrname)     \
  X(dwfl_module_getsrc)       \
  X(dwfl_lineinfo)            \
  X(dwfl_linux_proc_find_elf) \
  X(dwfl_build_id_find_debuginfo)
#define VERITY_MEMBER(name) decltype(&::name) name = nullptr;
  VERITY_LIBDW_USED(VERITY_MEMBER)
#undef VERITY_MEMBER
  bool open() noexcept {
    void* handle = dlopen("libdw.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) return false;
    bool complete = true;
#define VERITY_LOAD(name)                                        \
  name = reinterpret_cast<decltype(name)>(dlsym(handle, #name)); \
  complete = complete && name != nullptr;
    VERITY_LIBDW_USED(VERITY_LOAD)
#undef VERITY_LOAD
    return complete;
  }
};

// Of the modules as they are now: libraries come and go.
std::string by_libdw(const Libdw& dw, uintptr_t address) {
  // Only what lies on this machine is read: the standard search for debug information may ask a
  // server in the network.
  static char* path = nullptr;
  static const Dwfl_Callbacks callbacks = {.find_elf = dw.dwfl_linux_proc_find_elf,
                                           .find_debuginfo = dw.dwfl_build_id_find_debuginfo,
                                           .section_address = nullptr,
                                           .debuginfo_path = &path};
  Dwfl* session = dw.dwfl_begin(&callbacks);
  if (session == nullptr) return {};
  std::string words;
  if (dw.dwfl_linux_proc_report(session, getpid()) == 0 &&
      dw.dwfl_report_end(session, nullptr, nullptr) == 0) {
    if (Dwfl_Module* module = dw.dwfl_addrmodule(session, address)) {
      const char* function = dw.dwfl_module_addrname(module, address);
      int line = 0;
      Dwfl_Line* source = dw.dwfl_module_getsrc(module, address);
      const char* file = source != nullptr
                             ? dw.dwfl_lineinfo(source, nullptr, &line, nullptr, nullptr, nullptr)
                             : nullptr;
      if (function != nullptr) words = demangled(function);
      if (file != nullptr) {
        const std::string place = std::string(file) + ":" + std::to_string(line);
        words = words.empty() ? place : words + " (" + place + ")";
      }
    }
  }
  dw.dwfl_end(session);
  return words;
}

#endif

// What the dynamic linker knows: exported functions only.
std::string by_symbol(uintptr_t address) {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(address), &info) == 0 || info.dli_sname == nullptr)
    return {};
  return demangled(info.dli_sname);
}

}  // namespace

std::string source_of(uintptr_t address) {
#ifdef VERITY_LIBDW
  static std::mutex one;
  static Libdw dw;
  static const bool found = dw.open();
  if (found) {
    const std::lock_guard lock(one);
    std::string words = by_libdw(dw, address);
    if (!words.empty()) return words;
  }
#endif
  return by_symbol(address);
}

}  // namespace verity::mpi
