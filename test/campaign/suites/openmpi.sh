# SPDX-License-Identifier: BSD-3-Clause
#
# Open MPI's examples and those of its test programs that end by themselves; ROMIO's tests.
# shellcheck shell=bash disable=SC2154

suite_openmpi() { # suite_openmpi MPI FOLDER
  local file name
  fetch_source openmpi '*/examples/*' || return 1
  mkdir -p "$2"
  for file in "$cache"/openmpi/examples/*.{c,f,f90}; do
    name=$(basename "$file" | tr . _)
    case $name in *oshmem* | spc* | Hello*) continue ;; esac
    compile_one "$1" "$file" "$2/$name" || continue
    one_case openmpi "$name" "$1" 4 - - "$2/$name"
  done
}
