#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The units compiled for newer CPUs export their table and nothing else: an inline function or a
# template that leaked from them could replace the baseline's copy and end a run on an older CPU.
. "${abs_top_srcdir:?}/test/tap.sh"

command -v nm > /dev/null || skip_all 'nm is not installed'
case $(uname -m) in
x86_64) ;;
*) skip_all 'no unit is compiled for a newer CPU on this architecture' ;;
esac

for isa in avx2 avx512; do
  object=$(find "${abs_top_builddir:?}/src/merkle" -name "*kernel_$isa.o" | head -n 1)
  if [ -z "$object" ]; then
    tap_result 1 "an object of kernel_$isa.cc is found"
    continue
  fi
  symbols=$(nm -C --defined-only --extern-only "$object" | sed 's/^[0-9a-f]* //')
  lacks "kernel_$isa has no weak symbol" "$symbols" '^[VWuvw] '
  if [ -n "${VERITY_SANITIZERS:-}" ]; then
    skip "kernel_$isa exports its table only" 'sanitizers add symbols'
  else
    names=${symbols,,}
    is "kernel_$isa exports its table only" "${names#? }" "verity::merkle::kkernel$isa"
  fi
done

done_testing
