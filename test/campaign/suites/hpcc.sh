# SPDX-License-Identifier: BSD-3-Clause
#
# HPC Challenge: HPL, PTRANS, random access, FFT, latency and bandwidth.
# shellcheck shell=bash disable=SC2154

suite_hpcc() { # suite_hpcc MPI FOLDER
  [ "$1" = openmpi ] || return 1
  fetch_binary hpcc || return 1
  fetch_source hpcc '*/_hpccinf.txt' || return 1
  mkdir -p "$2"
  cp "$cache/hpcc/_hpccinf.txt" "$2/hpccinf.txt"
  one_case hpcc hpcc "$1" 4 - "$2" "$cache/root/usr/bin/hpcc"
}
