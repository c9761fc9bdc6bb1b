#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `verity-types automap`: generated headers compile without a warning as C11 and C++17, their datatypes have the signatures that they say
# and transfer their fields, links are visited and set, and what cannot be mapped is refused with its line.
. "${abs_top_srcdir:?}/test/tap.sh"
build=${abs_top_builddir:?} cases=$abs_top_srcdir/test/automap tool=$abs_top_builddir/verity-types
made() { sed -n "s/^$1 = //p" "$build/Makefile"; }
[ -z "${VERITY_SANITIZERS:-}" ] || skip_all "the generated code is tested once, without sanitizers"

# Without libclang: what to do about it. The program looks for the other one beside itself.
mkdir "$tap_dir/alone"
cp "$tool" "$tap_dir/alone/"
if [ ! -e "$(made pkglibexecdir | sed "s|\${libexecdir}|$(made libexecdir)|; s|\$(libexecdir)|$(made libexecdir)|; s|\${exec_prefix}|$(made exec_prefix)|; s|\${prefix}|$(made prefix)|")/verity-types-automap" ]; then
  message=$("$tap_dir/alone/verity-types" automap x.h 2>&1)
  is "where it is not installed: exit status" $? 2
  contains "where it is not installed: names the package" "$message" \
    '^verity-types automap: .*/verity-types-automap is not installed\..* libclang-dev'
else
  skip "where it is not installed" "it is installed on this machine"
fi
contains "verity-types knows the command" "$("$tool" --help)" '^  automap '
[ -x "$build/verity-types-automap" ] || { skip "verity-types automap" "built without libclang"; done_testing; exit; }

cd "$tap_dir" || exit 1
output=$("$tool" automap shapes.h --output c/made --prefix t -- -I"$cases" 2>&1)
contains "a folder that does not exist" "$output" '^verity-types automap: c/made.h: cannot be written'
mkdir c cxx
contains "a name that hides the header" "$("$tool" automap shapes.h --output c/shapes -- -I"$cases" 2>&1)" 'c/shapes\.h would hide the header'
output=$("$tool" automap shapes.h --output c/made --prefix t --depfile c/made.d -- -I"$cases" 2>&1)
is "a C header: exit status" $? 0
contains "a C header: what was mapped" "$output" '^14 mapped, 0 refused'
contains "the dependencies" "$(cat c/made.d)" "^c/made\.h c/made_mpi\.h:"
contains "the dependencies: the header" "$(cat c/made.d)" "^ +$cases/shapes\.h"
output=$("$tool" automap shapes.hh --output cxx/made --prefix t -- -I"$cases" 2>&1)
is "a C++ header: exit status" $? 0
contains "a C++ header: what was mapped" "$output" '^5 mapped, 0 refused'

warnings="-Wall -Wextra -Wpedantic -Werror"
for compiler in gcc clang; do
  command -v "$compiler" > /dev/null || { skip "$compiler" "not installed"; continue; }
  # shellcheck disable=SC2086
  {
    ok "$compiler: C11" $compiler -std=c11 $warnings -I"$abs_top_srcdir/include" -I"$cases" -DHEADER='"c/made.h"' -I. \
      -o "links-$compiler" "$cases/links.c"
    ok "$compiler: the C header as C++17" $compiler -x c++ -std=c++17 $warnings -I"$abs_top_srcdir/include" -I"$cases" \
      -DHEADER='"c/made.h"' -I. -o "links-$compiler-cxx" "$cases/links.c"
    ok "$compiler: the C++ header as C++17" $compiler -x c++ -std=c++17 $warnings -I"$abs_top_srcdir/include" -I"$cases" -fsyntax-only \
      -include cxx/made.h -I. /dev/null
  }
done
links=$(./links-gcc)
is "links: the same from C++" "$(./links-gcc-cxx)" "$links"
is "links: of an element whose union has a number" "$(grep -c '^int .*, as set' <<< "$links")" 14
contains "links: an array of pointers" "$links" '^int 8: kind 0 of type struct node, levels 1, count 1, offset 64, as set'
contains "links: a counted array" "$links" '^int 9: kind 0 of type MPI_DOUBLE, levels 1, count 3, offset 80, as set'
contains "links: a string" "$links" '^int 10: kind 2 of type MPI_CHAR, levels 1, count 0, offset 88, as set'
contains "links: an array of pointers elsewhere" "$links" '^int 11: kind 1 of type struct node, levels 2, count 3, offset 96, as set'
contains "links: a negative count is none" "$links" '^node 9: .* count 0,'
is "links: the union's, where the tag says so" "$(grep -E '^(int|node|pair) 1[23]:' <<< "$links" | cut -d, -f1 | xargs)" \
  "node 12: kind 0 of type struct node pair 13: kind 0 of type struct pair"
contains "links: of a member's members" "$links" '^int 15: kind 0 of type struct node, .* offset 144, as set'
contains "links: a visit ends when it is told to" "$links" '^stopped with 42 after 5$'
contains "links: their number is checked" "$links" '^a link too many: -1$'

for mpi in openmpi mpich; do
  mpicc=mpicc.$mpi library=$build/.libs/libautomap_decode_$mpi.a
  command -v "$mpicc" > /dev/null && [ -e "$library" ] || { skip "$mpi" "$mpicc or the library of the test is not there"; continue; }
  # As system headers: their warnings are not ours. Nor are the C++ bindings, which need a library of their own.
  read -ra flags <<< "-DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX $($mpicc -show | tr ' ' '\n' | sed -n 's/^-I/-isystem /p' | xargs)"
  read -ra libraries <<< "$library $build/.libs/libverity_signature.a $($mpicc -show | tr ' ' '\n' | grep -E '^-([lL]|Wl)' | xargs) -lstdc++"
  for form in c:c:c11 c:c++:c++17 cxx:c++:c++17; do
    IFS=: read -r folder language standard <<< "$form"
    name="$mpi, the header of $folder as $standard"
    # shellcheck disable=SC2086
    if ! gcc -x "$language" -std="$standard" $warnings "${flags[@]}" -I"$abs_top_srcdir/include" -I"$cases" -I. -DHEADER="\"$folder/made_mpi.h\"" \
      "$cases/check.c" -x none -o check "${libraries[@]}" > log 2>&1; then
      ok "$name: compiles" false
      note "$(head -n 20 log)"
      continue
    fi
    contains "$name: the signatures are those of the committed datatypes" "$(timeout 60 ./check 2>&1)" '^datatypes [1-9][0-9]* wrong 0$'
  done
done

# Refusals: a line with the place for each.
refused=$("$tool" automap refused.h --output c/rest -- -I"$cases" 2>&1)
is "refused: exit status" $? 1
ok "refused: nothing is written" test ! -e c/rest.h
while IFS='|' read -r struct reason; do
  line=$(grep -n "^struct $struct " "$cases/refused.h" | cut -d: -f1)
  contains "refused: $struct" "$refused" "refused\.h:$line: struct $struct.*$reason"
done << 'T'
bits|member flag: a bit-field has no address
pointer|member p: a pointer: what does it point to\? \(directives: owned, reference, string, or ignore\)
callback|member call: a pointer to a function \(directive ignore
flexible|member tail: an array whose length is not part of its type
old_flexible|member tail: an array whose length
either|member u: a union: which member is in use\?
wide|member x: of type '__int128', for which MPI has no basic type
opaque_target|member p: struct opaque is refused
contains|member b: struct bits is refused \(.*refused\.h:5\)
no_count|member p: the count 'n' is no integer member
misspelt|member p: unknown directive 'ownde'
frozen|member p: a constant pointer
nothing|it has no members to transfer
vector|member v: of type .*, for which MPI has no basic type
T
contains "refused: how many" "$refused" '^1 mapped, 15 refused'
refused=$("$tool" automap refused.hh --output cxx/rest -- -I"$cases" 2>&1)
is "refused, C++: exit status" $? 1
while IFS='|' read -r struct reason; do
  line=$(grep -nE "^(struct|class) $struct " "$cases/refused.hh" | cut -d: -f1)
  contains "refused, C++: $struct" "$refused" "refused\.hh:$line: $struct[,:].*$reason"
done << 'T'
Secret|member in: Secret::Inner is refused
Reference|member r: a reference
HasDerived|member d: Derived<int> is refused
HasVirtual|member v: Virtual<int> is refused
HasOptional|member o: std::optional<int> is refused
HasPointer|member p: std::unique_ptr<int> is refused
Bits|member a: a bit-field
MemberPointer|member p: of type 'int Base::\*'
T
contains "refused, C++: a base class of a template" "$refused" 'refused\.hh:8: Derived<int>: it has a base class'
contains "refused, C++: virtual functions of a template" "$refused" 'refused\.hh:9: Virtual<int>: it has virtual functions'
contains "refused, C++: how many are left" "$refused" '^1 mapped,'
refused=$("$tool" automap bytes.hh --check -- -I"$cases" 2>&1)
while IFS='|' read -r struct reason; do
  line=$(grep -nE "^ *(struct|class) $struct " "$cases/bytes.hh" | cut -d: -f1)
  contains "bytes: $struct" "$refused" "bytes\.hh:$line: .*${struct}[,:].*$reason"
done << 'T'
Vector|member v: it cannot be mapped as bytes: it has base classes that cannot be looked into
Shared|member p: it cannot be mapped as bytes: it has
Unique|member p: it cannot be mapped as bytes: it has
HasVirtual|member v: it cannot be mapped as bytes: it has virtual functions or virtual base
HasNested|member v: it cannot be mapped as bytes: it has virtual functions
HasDerived|member d: it cannot be mapped as bytes: it has base classes that cannot be looked into
HasDerivedVirtual|member d: it cannot be mapped as bytes: it has base classes
HasLinked|member l: it cannot be mapped as bytes: it has pointers
HasInside|member i: it cannot be mapped as bytes: it has
MemberFunction|member f: a pointer's bytes mean nothing
DerivedLink|it cannot be mapped as bytes: it has pointers
DerivedVirtual|it cannot be mapped as bytes: it has virtual functions
DerivedTwice|it cannot be mapped as bytes: it has pointers
VirtualBase|it cannot be mapped as bytes: it has virtual functions or virtual base
Atomic|it cannot be mapped as bytes: it has pointers
Inner|it is not public
T
for struct in HasPair HasHeaded DerivedNumber DerivedPointer Small; do
  contains "bytes: $struct is mapped" "$refused" "^mapped   $struct "
done
output=$("$tool" automap refused.h --output c/rest --keep-going -- -I"$cases" 2> /dev/null)
is "--keep-going: exit status" $? 0
ok "--keep-going: the rest is written" grep -q 'sizeof(struct good) == 4' c/rest.h
output=$("$tool" automap refused.h --only good --output c/good -- -I"$cases" 2>&1)
is "--only: exit status" $? 0
is "--only: the others are not looked at" "$output" "1 mapped, 0 refused"
contains "--only: an unknown name" "$("$tool" automap refused.h --only bad -- -I"$cases" 2>&1)" "^verity-types automap: --only: the headers define no struct 'bad'"
printf 'pointer.p: owned\n# for all of them\n*.u: bytes\ncallback.call: ignore\n' > directives
output=$("$tool" automap refused.h --directives directives --check -- -I"$cases" 2>&1)
contains "--directives: a pointer" "$output" '^mapped   struct pointer '
contains "--directives: a union" "$output" '^mapped   struct either '
contains "--directives: ignored members leave nothing" "$output" 'struct callback: it has no members to transfer'
output=$("$tool" automap refused.h --pointers ignore --unions bytes --check -- -I"$cases" 2>&1)
contains "--pointers ignore" "$output" 'struct pointer: it has no members to transfer'
contains "--unions bytes" "$output" '^mapped   struct either '

printf '/*~ AM owned */\nint x;\nstruct a { int i; /*~ AM ignore */ int j; };\n' > stray.h
contains "a directive that belongs to nothing" "$("$tool" automap stray.h 2>&1)" "^stray\.h:1: the directive 'owned' belongs to no member"
printf 'struct a { missing_t i; };\n' > wrong.h
output=$("$tool" automap wrong.h 2>&1)
is "a header that does not compile: exit status" $? 2
contains "a header that does not compile: its line" "$output" "^wrong\.h:1: unknown type name 'missing_t'"
contains "no such header" "$("$tool" automap absent.h 2>&1)" "^'absent\.h' file not found"
contains "no header" "$("$tool" automap 2>&1)" 'HEADER is required'
"$tool" automap --unknown shapes.h > /dev/null 2>&1
is "an unknown option: exit status" $? 2
printf '#include "b.h"\nstruct a { struct b b; };\n' > a.h
printf 'struct b { int i; };\n' > b.h
printf 'struct c { int i; };\n' > c.h
contains "what a header includes is mapped where it is needed" "$("$tool" automap a.h --check)" '^mapped   struct b \(b\.h:1\)'
output=$("$tool" automap a.h c.h --check)
contains "several headers" "$output" '^mapped   struct a \(a\.h:2\)'
contains "several headers: the second" "$output" '^mapped   struct c \(c\.h:1\)'
done_testing
