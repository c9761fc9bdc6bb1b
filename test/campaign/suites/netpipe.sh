# SPDX-License-Identifier: BSD-3-Clause
#
# NetPIPE, for millions of messages of every size.
# shellcheck shell=bash disable=SC2154

suite_netpipe() { # suite_netpipe MPI FOLDER
  local package=netpipe-openmpi program=NPopenmpi option
  [ "$1" = openmpi ] || package=netpipe-mpich2 program=NPmpich2
  fetch_binary "$package" || return 1
  for option in '' -2 -z -S -I; do
    one_case netpipe "netpipe$option" "$1" 2 '^ *[0-9]+: +16387 bytes .* usec' - "$cache/root/usr/bin/$program -n 500 -u 16384 -p 3 -o np.out $option"
  done
}
