# SPDX-License-Identifier: BSD-3-Clause
#
# PETSc's tutorials, as their own tests have them run by several processes; built with Open MPI.
# shellcheck shell=bash disable=SC2154

# The test blocks at the end of a source file that ask for 2 to 4 processes and nothing special: 'RANKS ARGUMENTS' of two of them.
petsc_tests() { # petsc_tests SOURCE
  awk '
    function flush() {
      if (ranks >= 2 && ranks <= 4 && !special && given < 2) { print ranks, arguments; ++given }
      ranks = 1; special = 0; arguments = ""
    }
    /^\/\*TEST/ { inside = 1 }
    !inside { next }
    /^ *TEST\*\// { flush(); exit }
    $1 == "test:" || $1 == "testset:" { flush(); next }
    $1 == "nsize:" { ranks = $2 }
    $1 == "requires:" || $1 == "filter:" || $1 == "localrunfiles:" { special = 1 }
    $1 == "args:" && /[(){}$<>;|&]|draw/ { special = 1 }
    $1 == "args:" { $1 = ""; arguments = arguments $0 }' "$1"
}

suite_petsc() { # suite_petsc MPI FOLDER
  local file name ranks arguments petsc libraries=$cache/root/usr/lib/x86_64-linux-gnu
  [ "$1" = openmpi ] || return 1
  fetch_binary libpetsc-real-dev || return 1
  fetch_source petsc '*/src/*' || return 1
  petsc=$(echo "$cache"/root/usr/lib/petscdir/petsc*/x86_64-linux-gnu-real)
  mkdir -p "$2"
  while read -r file; do
    name=${file#"$cache/petsc/src/"} name=${name%.c} name=${name//\//.}
    while read -r ranks arguments; do
      compile_one "$1" "$file" "$2/$name" -I"$petsc/include" -I"$cache/root/usr/include" -L"$libraries" -L"$petsc/lib" \
        -lpetsc_real -lm -Wl,-rpath-link,"$libraries" || break
      one_case petsc "$name" "$1" "$ranks" - - "env PETSC_OPTIONS=-nox LD_LIBRARY_PATH=$libraries:$petsc/lib $2/$name $arguments"
    done < <(petsc_tests "$file")
  done < <(find "$cache/petsc/src"/{vec,mat,ksp,snes,ts,dm,tao} -path '*/tutorials/*.c' | sort)
}
