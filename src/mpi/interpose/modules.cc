// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/interpose/modules.h"

#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace verity::mpi {

namespace {

uint64_t hash_of(const void* bytes, size_t length) noexcept {  // FNV-1a
  uint64_t hash = 0xcbf29ce484222325ull;
  for (size_t i = 0; i < length; ++i)
    hash = (hash ^ static_cast<const uint8_t*>(bytes)[i]) * 0x100000001b3ull;
  return hash;
}

uint16_t fold(uint64_t hash) noexcept {
  const auto folded = static_cast<uint16_t>(hash ^ hash >> 16 ^ hash >> 32 ^ hash >> 48);
  return folded != 0 ? folded : 1;
}

std::string_view file_name(std::string_view path) noexcept {
  return path.substr(path.rfind('/') + 1);
}

// The hash of the build id among the notes of one segment; 0: it has none.
uint64_t build_id_in(const uint8_t* note, size_t left) noexcept {
  while (left >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, note, sizeof(header));
    const size_t name = (size_t{header.n_namesz} + 3) & ~size_t{3};
    const size_t content = (size_t{header.n_descsz} + 3) & ~size_t{3};
    const size_t all = sizeof(header) + name + content;
    if (all > left) return 0;
    const uint8_t* bytes = note + sizeof(header) + name;
    if (header.n_type == NT_GNU_BUILD_ID && name == 4) return hash_of(bytes, header.n_descsz);
    note += all;
    left -= all;
  }
  return 0;
}

bool is_mpi_library(std::string_view file) noexcept {
  for (std::string_view start : {"libmpi.so", "libmpich.so", "libpmpi", "mca_", "libmca_",
                                 "libopen-pal", "libopen-rte", "liboshmem"}) {
    if (file.starts_with(start)) return true;
  }
  return false;
}

// Another MPI's interposer in front of this one hands calls on as a binding does.
bool is_binding(std::string_view file) noexcept {
  for (std::string_view start :
       {"libmpi_mpifh", "libmpi_usempi", "libmpi_cxx", "libmpifort", "libmpichfort", "libmpicxx",
        "libmpichcxx", "libfmpich", "libverity_mpi_"}) {
    if (file.starts_with(start)) return true;
  }
  return false;
}

Module describe(const dl_phdr_info& info) noexcept {
  Module module{.base = info.dlpi_addr};
  uint64_t hash = 0;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    const uintptr_t begin = info.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) {
      module.begin = module.end == 0 ? begin : std::min(module.begin, begin);
      module.end = std::max(module.end, begin + segment.p_memsz);
    } else if (segment.p_type == PT_NOTE && hash == 0) {
      hash = build_id_in(reinterpret_cast<const uint8_t*>(begin), segment.p_memsz);
    }
  }
  const std::string_view file = file_name(info.dlpi_name);
  module.id = fold(hash != 0 ? hash : hash_of(file.data(), file.size()));
  module.mpi_library = is_mpi_library(file);
  module.ucp = file.starts_with("libucp.so");
  module.binding = is_binding(file);
  return module;
}

struct Search {
  uintptr_t address;
  Module found;
};

int holds_address(dl_phdr_info* info, size_t, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  const Module module = describe(*info);
  if (search.address < module.begin || search.address >= module.end) return 0;
  search.found = module;
  return 1;
}

struct SearchById {
  uint16_t id;
  uint64_t offset;
  Module found;
  std::string name;
};

int has_id(dl_phdr_info* info, size_t, void* argument) {
  auto& search = *static_cast<SearchById*>(argument);
  const Module module = describe(*info);
  const uintptr_t address = module.base + search.offset;
  if (module.id != search.id || address < module.begin || address > module.end) return 0;
  search.found = module;
  search.name = file_name(info->dlpi_name);
  return 1;
}

std::string program_name() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  return length > 0 ? std::string(file_name(std::string_view(path, static_cast<size_t>(length))))
                    : "the program";
}

}  // namespace

Module module_at(uintptr_t address) noexcept {
  Search search{.address = address, .found = {}};
  dl_iterate_phdr(holds_address, &search);
  return search.found;
}

bool module_with(uint16_t id, uint64_t offset, Module* module_p, std::string* name_p) {
  SearchById search{.id = id, .offset = offset, .found = {}, .name = {}};
  dl_iterate_phdr(has_id, &search);
  if (search.found.end == 0) return false;
  *module_p = search.found;
  *name_p = search.name.empty() ? program_name() : search.name;
  return true;
}

}  // namespace verity::mpi
