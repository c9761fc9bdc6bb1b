// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comms.h"

#include <cstdio>
#include <mutex>
#include <new>

#include "mpi/library.h"
#include "mpi/state.h"

namespace verity::mpi {

// Names change while other threads read them.
struct CommNames {
  static inline constinit std::mutex mutex;

  static void set(CommInfo* info, const char* name) noexcept {
    const std::lock_guard lock(mutex);
    std::snprintf(info->name_.data(), info->name_.size(), "%s", name);
  }
  static std::string get(const CommInfo& info) {
    const std::lock_guard lock(mutex);
    return info.name_.data();
  }
};

namespace {

void fill(CommInfo* info, MPI_Comm comm) {
  info->permanent = comm == handles().comm_world;
  char name[MPI_MAX_OBJECT_NAME + 1] = {};
  int length = 0;
  const bool named = library().Comm_get_name(comm, name, &length) == MPI_SUCCESS;
  CommNames::set(info, named ? name : "");
  int flag = 0;
  MPI_Status status;
  start_probe();
  library().Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &status);
  info->filter = end_probe();
}

}  // namespace

CommInfo* first_sight_of_comm(MPI_Comm comm) noexcept {
  if (comm == handles().comm_null) return nullptr;
  try {
    return CommTable::find(comm, [comm](CommInfo* info) { fill(info, comm); });
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void forget_comm(MPI_Comm comm) noexcept { CommTable::drop(comm); }

void rename_comm(MPI_Comm comm, const char* name) noexcept {
  CommInfo* info = name != nullptr ? CommTable::known(comm) : nullptr;
  if (info != nullptr) CommNames::set(info, name);
}

std::string name_of(const CommInfo& comm) { return CommNames::get(comm); }

MPI_Comm live_handle(const CommInfo& info) noexcept {
  return info.current() ? info.handle.load(std::memory_order_relaxed) : handles().comm_null;
}

namespace {

// Of a rank of `group`, which is freed.
int translate(MPI_Group group, int rank) noexcept {
  int translated = -1;
  MPI_Group world;
  if (library().Comm_group(handles().comm_world, &world) == MPI_SUCCESS) {
    const int rc = library().Group_translate_ranks(group, 1, &rank, world, &translated);
    if (rc != MPI_SUCCESS || translated == MPI_UNDEFINED) translated = -1;
    library().Group_free(&world);
  }
  library().Group_free(&group);
  return translated;
}

}  // namespace

int to_world_rank(MPI_Comm comm, int rank) noexcept {
  if (comm == handles().comm_null || rank < 0) return -1;
  if (comm == handles().comm_world) return rank;
  int between_groups = 0;
  if (library().Comm_test_inter(comm, &between_groups) != MPI_SUCCESS) return -1;
  MPI_Group group;
  const int rc = between_groups != 0 ? library().Comm_remote_group(comm, &group) : library().Comm_group(comm, &group);
  return rc == MPI_SUCCESS ? translate(group, rank) : -1;
}

int window_rank_to_world(MPI_Win window, int rank) noexcept {
  MPI_Group group;
  return rank >= 0 && library().Win_get_group(window, &group) == MPI_SUCCESS ? translate(group, rank) : -1;
}

}  // namespace verity::mpi
