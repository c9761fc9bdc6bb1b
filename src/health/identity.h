// SPDX-License-Identifier: BSD-3-Clause
//
// Which process of which job this is, as far as launchers and batch systems say so in the
// environment.
#ifndef VERITY_HEALTH_IDENTITY_H
#define VERITY_HEALTH_IDENTITY_H

#include <functional>
#include <string>

namespace verity::health {

// Who reports. Empty where unknown.
struct Identity {
  std::string host;
  std::string program;
  long pid = 0;
  std::string rank;
  std::string job = {};   // of Slurm, PBS, LSF or Flux
  std::string step = {};  // of that job, where the batch system started the process itself
};

// The launch (one mpirun, one srun) that the process belongs to.
struct Launch {
  std::string
      key;  // the same for its processes on this host, and for no others; empty: none is known
  unsigned ranks = 0;       // of all of it; 0: unknown
  unsigned host_ranks = 0;  // of them on this host; 0: unknown
};

// Reads a variable: nullptr where it is not set. For tests.
using Variables = std::function<const char*(const char*)>;

// Host name, program name, process id; the rank that the launcher gave: PMIX_RANK, PMI_RANK,
// OMPI_COMM_WORLD_RANK, SLURM_PROCID, FLUX_TASK_RANK or PALS_RANKID, whichever is set first in this
// order; and the batch system's job.
[[nodiscard]] Identity identify_process();
[[nodiscard]] Launch identify_launch();

void read_job(const Variables& get, Identity* who_p);
// `launcher`: names the process of MPICH's launcher that started this one, as its variables name
// none; empty: there is none.
[[nodiscard]] Launch read_launch(const Variables& get, const std::string& launcher);

// Tasks of node `node` in Slurm's "4(x2),3": 4, 4, 3. 0: it is none.
[[nodiscard]] unsigned tasks_of_node(std::string_view list, unsigned node) noexcept;

}  // namespace verity::health

#endif
