#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `verity-types normalize`: what it prints, that the MPI calls which it prints build a datatype with the same type map and bounds as the
# one that was given, and wrong use.
. "${abs_top_srcdir:?}/test/tap.sh"

tool=$abs_top_builddir/verity-types
output=$("$tool" normalize 'vector(3, 2, 2, MPI_INT)')
is "exit status" $? 0
contains "a contiguous vector: what it was" "$output" '^given +vec\(3,8,vec\(2,4,con\(1\)\)\)$'
contains "a contiguous vector is contiguous" "$output" '^normalized +con\(6\)$'
contains "and costs a leaf" "$(tail -n +5 <<< "$output")" '^ +cost 1$'
contains "its call" "$output" '^MPI_Type_contiguous\(6, MPI_INT, &newtype\);$'

output=$("$tool" normalize '0 1 2 7 8 9' --element MPI_DOUBLE)
contains "displacements" "$output" '^normalized +vec\(2,56,con\(3\)\)$'
contains "their calls" "$output" '^MPI_Type_create_hvector\(2, 3, 56, MPI_DOUBLE, &newtype\);$'
is "from standard input" "$(echo '<0,1,2,7,8,9>' | "$tool" normalize --file - --element MPI_DOUBLE)" "$output"
contains "an offset" "$("$tool" normalize '3 4 5')" '^normalized +idx\(1,<12>,con\(3\)\)$'

# With the constants 2, 4, 3 + 1 an index costs less than a vector, and takes the offset with it.
contains "an offset in an idx" "$("$tool" normalize '1 3 8 10' --element MPI_BYTE --constants 2,4,3,1,0)" \
  '^normalized +idx\(4,<1,3,8,10>,con\(1\)\)$'
contains "other constants" "$("$tool" normalize '1 3 8 10' --element MPI_BYTE --constants 1,1,5,9,0)" \
  '^normalized +idx\(1,<1>,vec\(2,7,vec\(2,2,con\(1\)\)\)\)$'
if command -v jq > /dev/null; then
  is "--json" "$("$tool" normalize --json '0 1 2 7 8 9' | jq -c '[.elements, .extent, .normalized.path[0].stride, .normalized.cost]')" '[6,40,28,3]'
else
  skip "--json" "no jq"
fi

million=$(seq 0 3 2999997 | shuf --random-source=/dev/zero)
begin=$SECONDS
contains "a million displacements" "$(echo "$million" | "$tool" normalize --file - | cut -c 1-60)" '^layout +1000000 x MPI_INT'
note "$((SECONDS - begin)) s"

output=$("$tool" normalize --measure 400000)
is "--measure: four kinds of layouts" "$(grep -c '^  time ~ n^' <<< "$output")" 4
ok "none of which takes more than n^1.5" awk '/time ~/ { sub(/.*\^/, ""); if ($0 >= 1.5) exit 1 }' <<< "$output"
note "$(grep -v displacements <<< "$output" | paste -sd' ')"

for wrong in 'vektor(1, MPI_INT)' '1 2 x' '' 'contiguous(0, MPI_INT)'; do
  complaint=$("$tool" normalize "$wrong" 2>&1 > /dev/null)
  is "'$wrong': exit status" $? 2
  ok "'$wrong': a line that says why" test -n "$complaint"
done
"$tool" normalize '1 2' --constants 1,2 > /dev/null 2>&1
is "too few constants: exit status" $? 2
contains "a file that is not there is named" "$("$tool" normalize --file /nowhere/at/all 2>&1)" 'normalize: /nowhere/at/all: cannot be read'

# ---- under MPI ------------------------------------------------------------------------------------------------------------------
mpicc=${MPICC:-$(command -v mpicc)}
[ -n "$mpicc" ] || { skip "the calls under MPI" "no MPI compiler"; done_testing; exit; }

# Each with the calls that build the original: MPI's own idea of what the words mean.
cases=(
  'vector(5, 2, 3, MPI_INT)|MPI_Type_vector(5, 2, 3, MPI_INT, &old);'
  'vector(5, 2, -3, MPI_INT)|MPI_Type_vector(5, 2, -3, MPI_INT, &old);'
  'hvector(4, 1, 10, MPI_SHORT)|MPI_Type_create_hvector(4, 1, 10, MPI_SHORT, &old);'
  'contiguous(3, vector(2, 2, 3, MPI_INT))|MPI_Type_vector(2, 2, 3, MPI_INT, &t); MPI_Type_contiguous(3, t, &old);'
  'indexed_block(2, <6, 0, 11>, MPI_DOUBLE)|MPI_Type_create_indexed_block(3, 2, (int[]){6, 0, 11}, MPI_DOUBLE, &old);'
  'indexed(<2,1,3>, <0,4,8>, MPI_INT)|MPI_Type_indexed(3, (int[]){2, 1, 3}, (int[]){0, 4, 8}, MPI_INT, &old);'
  'indexed(<2,2,2>, <1,4,7>, MPI_INT)|MPI_Type_indexed(3, (int[]){2, 2, 2}, (int[]){1, 4, 7}, MPI_INT, &old);'
  'subarray(<6,5,4>, <3,2,2>, <1,1,1>, MPI_INT)|MPI_Type_create_subarray(3, (int[]){6, 5, 4}, (int[]){3, 2, 2}, (int[]){1, 1, 1}, MPI_ORDER_C, MPI_INT, &old);'
  'subarray(<4>, <2>, <1>, resized(4, 8, MPI_INT))|MPI_Type_create_resized(MPI_INT, 4, 8, &t); MPI_Type_create_subarray(1, (int[]){4}, (int[]){2}, (int[]){1}, MPI_ORDER_C, t, &old);'
  'subarray(<3,4>, <2,2>, <1,2>, resized(-4, 12, MPI_INT))|MPI_Type_create_resized(MPI_INT, -4, 12, &t); MPI_Type_create_subarray(2, (int[]){3, 4}, (int[]){2, 2}, (int[]){1, 2}, MPI_ORDER_C, t, &old);'
  'contiguous(3, subarray(<4>, <2>, <1>, resized(4, 8, MPI_INT)))|MPI_Type_create_resized(MPI_INT, 4, 8, &t); MPI_Type_create_subarray(1, (int[]){4}, (int[]){2}, (int[]){1}, MPI_ORDER_C, t, &u); MPI_Type_contiguous(3, u, &old);'
  'contiguous(4, resized(-4, 20, vector(2, 1, 2, MPI_INT)))|MPI_Type_vector(2, 1, 2, MPI_INT, &t); MPI_Type_create_resized(t, -4, 20, &u); MPI_Type_contiguous(4, u, &old);'
  'resized(0, 64, contiguous(3, MPI_INT))|MPI_Type_contiguous(3, MPI_INT, &t); MPI_Type_create_resized(t, 0, 64, &old);'
  'dup(MPI_LONG)|MPI_Type_dup(MPI_LONG, &old);'
)
{
  cat << 'C'
#include <mpi.h>
#include <stdio.h>
#include <string.h>
static char memory[1 << 14], packed[2][1 << 14];
/* Packed bytes of distinct contents are the same only where the type maps are. */
static void compare(const char* name, MPI_Datatype old, MPI_Datatype newtype) {
  MPI_Aint lb[2], extent[2];
  int size[2] = {0, 0}, wrong;
  MPI_Type_get_extent(old, &lb[0], &extent[0]);
  MPI_Type_get_extent(newtype, &lb[1], &extent[1]);
  MPI_Type_commit(&old);
  MPI_Type_commit(&newtype);
  MPI_Pack(memory + 4096, 3, old, packed[0], sizeof packed[0], &size[0], MPI_COMM_SELF);
  MPI_Pack(memory + 4096, 3, newtype, packed[1], sizeof packed[1], &size[1], MPI_COMM_SELF);
  wrong = lb[0] != lb[1] || extent[0] != extent[1] || size[0] != size[1] || memcmp(packed[0], packed[1], size[0]) != 0;
  printf("%s %s\n", wrong ? "DIFFERENT" : "same", name);
  MPI_Type_free(&old);
  MPI_Type_free(&newtype);
}
int main(int argc, char** argv) {
  MPI_Datatype old, t, u;
  MPI_Init(&argc, &argv);
  (void)t, (void)u;
  for (unsigned i = 0; i < sizeof memory; ++i) memory[i] = (char)(i * 2654435761u >> 13);
C
  for case in "${cases[@]}"; do
    echo "  { ${case#*|}"
    "$tool" normalize "${case%%|*}" | sed -n '/^MPI_Datatype newtype/,$p'
    echo "  compare(\"${case%%|*}\", old, newtype); }"
  done
  echo '  MPI_Finalize(); return 0; }'
} > "$tap_dir/normalized.c"
if $mpicc -o "$tap_dir/normalized" "$tap_dir/normalized.c" 2> "$tap_dir/compiler"; then
  output=$(OMPI_MCA_pml=ob1 OMPI_MCA_btl=self OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 60 "$tap_dir/normalized" 2>&1)
  is "under MPI: the same type maps and bounds" "$(grep -c '^same' <<< "$output") of ${#cases[@]}" "${#cases[@]} of ${#cases[@]}"
  lacks "under MPI: no differences" "$output" 'DIFFERENT'
else
  ok "the calls compile" false
  note "$(head -n 20 "$tap_dir/compiler")"
fi
done_testing
