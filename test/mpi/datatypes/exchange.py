# SPDX-License-Identifier: BSD-3-Clause
#
# mpi4py under the datatype checks: rank 1 sends 100 integers, which rank 0 receives as such (right) or as floats (wrong); then objects,
# both ways, and a reduction. Prints 'exchange right' or 'exchange wrong' at rank 0.
import array
import sys

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, what = comm.Get_rank(), sys.argv[1]
data = array.array("i", range(100))
if rank == 1:
    comm.Send([data, MPI.INT], dest=0, tag=7)
elif rank == 0:
    comm.Recv([array.array("i", [0] * 100), MPI.INT if what == "right" else MPI.FLOAT], source=1, tag=7)
assert comm.bcast({"words": ["some", "thing"]}, root=0)["words"][1] == "thing"
total = array.array("i", [0])
comm.Allreduce([array.array("i", [rank]), MPI.INT], [total, MPI.INT], op=MPI.SUM)
if rank == 0:
    print("exchange", what, flush=True)
