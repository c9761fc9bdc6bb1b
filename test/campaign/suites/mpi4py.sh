# SPDX-License-Identifier: BSD-3-Clause
#
# The unit tests of mpi4py, a module of them at a time; the distribution builds it with Open MPI.
# shellcheck shell=bash disable=SC2154

suite_mpi4py() { # suite_mpi4py MPI FOLDER
  local file name
  [ "$1" = openmpi ] || return 1
  fetch_binary python3-mpi4py python3-numpy || return 1
  fetch_source mpi4py '*/test/*' || return 1
  for file in "$cache"/mpi4py/test/test_*.py; do
    name=$(basename "$file" .py)
    case $name in *spawn* | *dynproc*) continue ;; esac
    one_case mpi4py "$name" "$1" 2 '^OK' "$cache/mpi4py/test" \
      "env PYTHONPATH=$cache/root/usr/lib/python3/dist-packages /usr/bin/python3 $file"
  done
}
