# SPDX-License-Identifier: BSD-3-Clause
#
# Examples of PnetCDF: files written and read by all processes, by MPI-IO; built with Open MPI.
# shellcheck shell=bash disable=SC2154

suite_pnetcdf() { # suite_pnetcdf MPI FOLDER
  local file name folder libraries=$cache/root/usr/lib/x86_64-linux-gnu
  [ "$1" = openmpi ] || return 1
  fetch_binary libpnetcdf-dev || return 1
  fetch_source pnetcdf '*/examples/*' || return 1
  mkdir -p "$2"
  for folder in C CXX F77; do
    for file in "$cache/pnetcdf/examples/$folder"/*.{c,cpp,f}; do
      name=$(basename "$file" | tr . _)
      [ -e "$file" ] && compile_one "$1" "$file" "$2/$name" -I"$cache/root/usr/include" -I"$(dirname "$file")" -L"$libraries" -lpnetcdf || continue
      one_case pnetcdf "$name" "$1" 4 - - "env LD_LIBRARY_PATH=$libraries $2/$name"
    done
  done
}
