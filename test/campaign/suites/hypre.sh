# SPDX-License-Identifier: BSD-3-Clause
#
# Examples of hypre, parallel solvers; the distribution builds it with Open MPI.
# shellcheck shell=bash disable=SC2154

suite_hypre() { # suite_hypre MPI FOLDER
  local file name libraries=$cache/root/usr/lib/x86_64-linux-gnu
  [ "$1" = openmpi ] || return 1
  fetch_binary libhypre-dev || return 1
  fetch_source hypre '*/src/examples/*' || return 1
  mkdir -p "$2"
  for file in "$cache"/hypre/src/examples/ex*.c; do
    name=$(basename "$file" .c)
    case $name in *big | *comp) continue ;; esac
    compile_one "$1" "$file" "$2/$name" -I"$cache/root/usr/include/hypre" -L"$libraries" -lHYPRE -lm -Wl,-rpath-link,"$libraries" || continue
    one_case hypre "$name" "$1" 4 - - "env LD_LIBRARY_PATH=$libraries $2/$name"
  done
}
