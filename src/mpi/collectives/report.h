// SPDX-License-Identifier: BSD-3-Clause
// A mismatch between collective operations in words.
#ifndef VERITY_MPI_COLLECTIVES_REPORT_H
#define VERITY_MPI_COLLECTIVES_REPORT_H

#include <string>

#include "mpi/collectives/collective.h"
#include "mpi/handles/comms.h"

namespace verity::mpi {

struct CollectiveSide {
  int rank;  // in MPI_COMM_WORLD; -1: not known
  Collective operation;
  Form form;
  int root;
  uint8_t reduction;
  uint64_t site;
  std::string type;  // "": not what differs
};

struct CollectiveFinding {
  CommInfo& communicator;
  std::string comm;
  uint32_t number;
  CollectiveSide theirs, own;
  std::string difference;
  bool known;  // the other rank has reported it, or will
};

// Counts it and, the first time for its pair of call sites, reports it on stderr and in the log at
// once: the job may hang. Calls no MPI.
void report_collective(const CollectiveFinding& finding);

}  // namespace verity::mpi

#endif
