# SPDX-License-Identifier: BSD-3-Clause
#
# LAMMPS, a molecular dynamics simulator, on those of its examples that end soon.
# shellcheck shell=bash disable=SC2154

suite_lammps() { # suite_lammps MPI FOLDER
  local example examples=$cache/root/usr/share/lammps/examples
  [ "$1" = openmpi ] || return 1
  fetch_binary lammps lammps-examples || return 1
  for example in melt min flow/in.flow.couette friction indent crack obstacle; do
    case $example in */*) ;; *) example=$example/in.$example ;; esac
    one_case lammps lmp "$1" 4 'Total wall time' "$examples/$(dirname "$example")" \
      "env LD_LIBRARY_PATH=$cache/root/usr/lib/x86_64-linux-gnu $cache/root/usr/bin/lmp -log none -in $(basename "$example")"
  done
}
