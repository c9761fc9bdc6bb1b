/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends particles to itself with the datatype that automap wrote. */
#include <stdio.h>
#include <string.h>

#include "particles_automap_mpi.h"

int main(int argc, char** argv) {
  struct particle sent[3], received[3];
  MPI_Datatype particle;
  int same = 0;
  MPI_Init(&argc, &argv);
  particles_mpi_particle(&particle);
  memset(sent, 0, sizeof sent);
  memset(received, 0, sizeof received);
  for (int i = 0; i < 3; ++i) {
    sent[i].id = i;
    sent[i].velocity.z = i / 2.0;
    sent[i].nearest = &sent[0];
  }
  MPI_Sendrecv(sent, 3, particle, 0, 0, received, 3, particle, 0, 0, MPI_COMM_SELF,
               MPI_STATUS_IGNORE);
  for (int i = 0; i < 3; ++i) {
    same += received[i].id == i && received[i].velocity.z == i / 2.0 && received[i].nearest == NULL;
  }
  printf("%d of 3 particles arrived, %d basic elements each\n", same,
         (int)particles_signature_particle.elements);
  MPI_Type_free(&particle);
  MPI_Finalize();
  return same != 3;
}
