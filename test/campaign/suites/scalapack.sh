# SPDX-License-Identifier: BSD-3-Clause
#
# ScaLAPACK's testers: PBLAS, BLACS, factorizations, eigenvalues. Fortran, with derived types; built with Open MPI.
# shellcheck shell=bash disable=SC2154

suite_scalapack() { # suite_scalapack MPI FOLDER
  local file tests=$cache/root/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests
  [ "$1" = openmpi ] || return 1
  fetch_binary scalapack-mpi-test || return 1
  for file in $(find "$tests" -type f -perm -u+x | sort); do
    one_case scalapack "$(basename "$file")" "$1" 4 '^ *(END|End|end) (OF|of) |tests? completed|FINISHED|Finished' "$(dirname "$file")" \
      "env LD_LIBRARY_PATH=$cache/root/usr/lib/x86_64-linux-gnu $file"
  done
}
