# SPDX-License-Identifier: BSD-3-Clause
#
# CP2K, molecular dynamics with density functional theory: many short collectives, MPI_PACKED.
# shellcheck shell=bash disable=SC2154

suite_cp2k() { # suite_cp2k MPI FOLDER
  [ "$1" = openmpi ] || return 1
  fetch_binary cp2k cp2k-data || return 1
  mkdir -p "$2"
  cat > "$2/water.inp" <<'INPUT'
&GLOBAL
  PROJECT water
  RUN_TYPE MD
  PRINT_LEVEL LOW
&END GLOBAL
&MOTION
  &MD
    ENSEMBLE NVE
    STEPS 2
    TIMESTEP 0.5
    TEMPERATURE 300
  &END MD
&END MOTION
&FORCE_EVAL
  METHOD Quickstep
  &DFT
    BASIS_SET_FILE_NAME GTH_BASIS_SETS
    POTENTIAL_FILE_NAME GTH_POTENTIALS
    &MGRID
      CUTOFF 150
    &END MGRID
    &SCF
      SCF_GUESS ATOMIC
      EPS_SCF 1e-5
      MAX_SCF 30
    &END SCF
    &XC
      &XC_FUNCTIONAL PADE
      &END XC_FUNCTIONAL
    &END XC
  &END DFT
  &SUBSYS
    &CELL
      ABC 8 8 8
    &END CELL
    &COORD
      O 0 0 0
      H 0.76 0.59 0
      H -0.76 0.59 0
      O 3 3 3
      H 3.76 3.59 3
      H 2.24 3.59 3
    &END COORD
    &KIND H
      BASIS_SET DZVP-GTH
      POTENTIAL GTH-PADE-q1
    &END KIND
    &KIND O
      BASIS_SET DZVP-GTH
      POTENTIAL GTH-PADE-q6
    &END KIND
  &END SUBSYS
&END FORCE_EVAL
INPUT
  # The energy after two steps, to the last digit that both runs have in common on any number of processes.
  one_case cp2k cp2k "$1" 4 'Total FORCE_EVAL .*-34\.32798715' - \
    "env OMP_NUM_THREADS=1 LD_LIBRARY_PATH=$cache/root/usr/lib/x86_64-linux-gnu CP2K_DATA_DIR=$cache/root/usr/share/cp2k $cache/root/usr/bin/cp2k.psmp -i $2/water.inp"
}
