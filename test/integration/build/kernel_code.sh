#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# No kernel returns with upper halves of vector registers in use: until they are cleared every change between SSE code and the
# kernel's costs tens of nanoseconds on Intel CPUs, for all the program does. The object code is followed along its branches, as
# compilers leave the vzeroupper out in some places and not in others.
. "${abs_top_srcdir:?}/test/tap.sh"

case $(uname -m) in
x86_64) ;;
*) skip_all 'no kernel has registers with upper halves on this architecture' ;;
esac
command -v objdump > /dev/null || skip_all 'objdump is not installed'

# Functions that others reach by their address: those of the kernel's table. entries OBJECT
entries() {
  objdump -r "$1" | awk '
    /^RELOCATION RECORDS FOR/ { table = $4 ~ /^\[\.data\.rel\.ro/ }
    table && $2 == "R_X86_64_64" && $3 ~ /^\.text/ {
      split($3, place, "+")
      sub(/^0x0*/, "", place[2])
      print place[1], place[2] == "" ? "0" : place[2]
    }'
}

# One line for each function of the object: its section, address and name, whether it uses the registers at all (wide or narrow), and
# whether it may return with their upper halves in use (dirty or clean). A local call leaves them so when the function called does.
functions() {
  objdump -dr --no-show-raw-insn "$1" | awk '
    function number(text,    i, n) { # of "0x1f"
      for (i = 3; i <= length(text); ++i) n = n * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
      return n + 0
    }
    function place(text) { sub(/^0+/, "", text); return section ":" (text == "" ? "0" : text) }
    /^Disassembly of section/ { section = $4; sub(/:$/, "", section) }
    /^[0-9a-f]+ <.*>:$/ { name = place($1); label[name] = $2; order[++names] = name; next }
    $2 ~ /^R_X86_64_(PLT|PC)32$/ && target[last] != "" && count > 0 { # of the call or jump before it
      target[last] = "outside"
      if ($3 ~ /^\.text/) {
        split($3, part, /[+-]/)
        offset = number(part[2]) + 4
        target[last] = part[1] ":" sprintf("%x", offset)
      } else {
        sub(/[+-]0x[0-9a-f]+$/, "", $3)
        target[last] = "<" $3 ">:"
      }
      next
    }
    /^ +[0-9a-f]+:\t/ {
      last = ++count
      split($1, part, ":")
      at[last] = place(part[1])
      index_of[at[last]] = last
      owner[last] = name
      op[last] = $2 == "notrack" || $2 == "bnd" ? $3 : $2
      wide[last] = $0 ~ /%[yz]mm/
      if (op[last] ~ /^(j|call)/) target[last] = $0 ~ /\*/ ? "outside" : place(op[last] == $2 ? $3 : $4)
    }
    # Marks instruction i, reached in state s (0 clean, 1 dirty), to be looked at.
    function reach(i, s) { if (!((i, s) in seen)) { seen[i, s] = 1; todo[++waiting] = i SUBSEP s } }
    function leave(f, s) { if (s && !dirty[f]) { dirty[f] = 1; changed = 1 } }
    function step(i, s,    f, to) {
      f = owner[i]
      if (op[i] ~ /^vzero(upper|all)/) s = 0
      else if (wide[i]) { s = 1; uses[f] = 1 }
      if (op[i] ~ /^ret/) { leave(f, s); return }
      if (op[i] ~ /^(ud2|hlt)/) return
      if (op[i] ~ /^(j|call)/) {
        to = target[i] in by_label ? by_label[target[i]] : target[i]
        if (op[i] ~ /^call/) s = s || dirty[to]
        else if ((to in index_of) && owner[index_of[to]] == f && to != f) reach(index_of[to], s)
        else leave(f, s || dirty[to])
        if (op[i] ~ /^jmp/) return
      }
      if (i < count && owner[i + 1] == f) reach(i + 1, s)
    }
    END {
      for (i = 1; i <= names; ++i) by_label[label[order[i]]] = order[i]
      do { # until the calls in all functions know what the functions called do
        changed = 0
        delete seen
        for (i = 1; i <= names; ++i) reach(index_of[order[i]], 0)
        while (waiting > 0) { split(todo[waiting--], part, SUBSEP); step(part[1] + 0, part[2] + 0) }
      } while (changed)
      for (i = 1; i <= names; ++i) {
        f = order[i]
        split(f, part, ":")
        print part[1], part[2], label[f], (uses[f] ? "wide" : "narrow"), (dirty[f] ? "dirty" : "clean")
      }
    }'
}

checked=0
while read -r object; do
  kernel=${object##*/}
  kernel=${kernel#*kernel_}
  kernel=${kernel%.o}
  functions "$object" > "$tap_dir/functions"
  found=0
  while read -r section address; do
    line=$(grep -F -- "$section $address " "$tap_dir/functions")
    found=$((found + 1))
    lacks "kernel $kernel: $(sed 's/.*<\(.*\)>:.*/\1/' <<< "$line" | c++filt) returns with clean registers" "${line:-dirty: not found}" 'dirty'
  done < <(entries "$object")
  ok "kernel $kernel: the functions of its table were found" test "$found" -ge 3
  checked=$((checked + 1))
  case $kernel in
  baseline) ;;
  *) contains "kernel $kernel: it uses wide registers" "$(cat "$tap_dir/functions")" ' wide ' ;;
  esac
done < <(find "${abs_top_builddir:?}/src/merkle" -name 'libverity_core*kernel_*.o' | sort)
is "three kernels were looked at" "$checked" 3

done_testing
