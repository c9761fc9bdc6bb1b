# SPDX-License-Identifier: BSD-3-Clause
#
# NWChem, quantum chemistry on Global Arrays: millions of short messages between processes that take
# from each other what they need.
# shellcheck shell=bash disable=SC2154

suite_nwchem() { # suite_nwchem MPI FOLDER
  fetch_binary "nwchem-$1" nwchem-data || return 1
  mkdir -p "$2"
  cat > "$2/water.nw" <<'INPUT'
start water
memory total 400 mb
geometry units angstroms noautosym
 O 0 0 0.1
 H 0 0.8 0.7
 H 0 -0.8 0.7
 O 3 0 0.1
 H 3 0.8 0.7
 H 3 -0.8 0.7
end
basis spherical
 * library cc-pvdz
end
scf; direct; end
task scf energy
INPUT
  one_case nwchem nwchem "$1" 2 'Total SCF energy = *-152\.03779' - \
    "env LD_LIBRARY_PATH=$cache/root/usr/lib/x86_64-linux-gnu NWCHEM_BASIS_LIBRARY=$cache/root/usr/share/nwchem/libraries/ $cache/root/usr/bin/nwchem.$1 $2/water.nw"
}
