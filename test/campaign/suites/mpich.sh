# SPDX-License-Identifier: BSD-3-Clause
#
# MPICH's test suite and examples, with either MPI; its programs say 'No Errors'. Left out: checkpoints, timings, and but for
# --stock what is wrong by intent (errors) and new processes (spawn).
# shellcheck shell=bash disable=SC2154

mpich_folders() { # the test suite's folders that this build has, as far as they are wanted
  (cd "$1" && find . -name Makefile -printf '%h\n' | sed 's|^\./||' | sort |
    grep -Ev '^(\.|util|dtpools.*|ckpoint|ft|perf|manual.*|include|maint|impls.*)$' |
    if [ "${CAMPAIGN_STOCK:-no}" = yes ]; then cat; else grep -Ev 'spawn|^errors'; fi)
}

build_mpich_suite() { # build_mpich_suite MPI FOLDER
  local sub
  mkdir -p "$2"
  (
    cd "$2" || exit 1
    # Open MPI's header lacks names of MPI 1 that a header of the suite uses, and its C++ bindings some that the C++ tests use.
    [ "$1" = mpich ] || set -- "$1" "$2" --disable-cxx
    [ -e config.status ] || logged configure.out env FFLAGS='-g -fallow-argument-mismatch' FCFLAGS='-g -fallow-argument-mismatch' \
      CFLAGS='-g -DOMPI_OMIT_MPI1_COMPAT_DECLS=0' "$cache/mpich/test/mpi/configure" --enable-threads=multiple "${@:3}" \
      "MPICC=$(command -v "mpicc.$1")" "MPICXX=$(command -v "mpicxx.$1")" "MPIFC=$(command -v "mpif90.$1")" \
      "MPIF77=$(command -v "mpif77.$1")" "CC=mpicc.$1" "CXX=mpicxx.$1" "FC=mpif90.$1" "F77=mpif77.$1"
    # A program that this MPI lacks something for is left out: it has no file to run.
    for sub in dtpools util $(mpich_folders .); do
      make -s -k -j"$(nproc)" -C "$sub" all > "make.${sub//\//.}.out" 2>&1
    done
    touch .built
  )
}

# Lines of a testlist: PROGRAM RANKS KEY=VALUE...; two ways to run each program at most.
mpich_cases() { # mpich_cases MPI FOLDER SUB TESTLIST
  local program ranks rest option command known=''
  while read -r program ranks rest; do
    case $program:$ranks:$rest in \#* | :* | *::* | *xfail=* | *mem=*) continue ;; esac
    [ -x "$2/$3/$program" ] || continue
    case $known in *" $program "*" $program "*) continue ;; esac
    known+=" $program "
    command=$2/$3/$program
    for option in $rest; do
      case $option in
        arg=*) command+=" ${option#arg=}" ;;
        env=*) command="env ${option#env=} $command" ;;
      esac
    done
    one_case mpich "${3//\//.}.$program" "$1" "$ranks" '^ *No [Ee]rrors' "$2/$3" "$command"
  done < <(sort -s -k 1,1 "$4")
}

suite_mpich() { # suite_mpich MPI FOLDER
  local sub list
  fetch_source mpich '*/test/mpi/*' || return 1
  [ -e "$2/.built" ] || build_mpich_suite "$1" "$2" || return 1
  for sub in $(mpich_folders "$2"); do
    for list in "$2/$sub/testlist" "$cache/mpich/test/mpi/$sub/testlist"; do
      [ -e "$list" ] || continue
      mpich_cases "$1" "$2" "$sub" "$list"
      break
    done
  done
}
