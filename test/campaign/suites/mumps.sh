# SPDX-License-Identifier: BSD-3-Clause
#
# MUMPS, a sparse solver in Fortran, on the input that comes with it.
# shellcheck shell=bash disable=SC2154

suite_mumps() { # suite_mumps MPI FOLDER
  local kind input tests=$cache/root/usr/lib/mumps
  [ "$1" = openmpi ] || return 1
  fetch_binary mumps-test || return 1
  for kind in s d c z; do
    case $kind in s|d) input=$tests/input_simpletest_real ;; *) input=$tests/input_simpletest_cmplx ;; esac
    one_case mumps "${kind}simpletest" "$1" 3 - - \
      "env LD_LIBRARY_PATH=$cache/root/usr/lib/x86_64-linux-gnu $tests/${kind}simpletest < $input"
  done
}
