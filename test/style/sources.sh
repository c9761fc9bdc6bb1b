#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Rules about the source files themselves: the layering of includes, and the licence line.
. "${abs_top_srcdir:?}/test/tap.sh"

check=$abs_top_srcdir/contrib/check-layers

ok "includes point down the layers" "$check" "$abs_top_srcdir"

# The check itself: each rule, broken in a small tree.
tree=$tap_dir/tree
offence() { # offence NAME FILE INCLUDE-LINE WANTED-REASON
  rm -rf "$tree"
  mkdir -p "$tree/src/"{util,merkle,wire,link/{state,port},rma,health,uct/compat,uct/links,uct/iface,tools,loader,mpi/{matching,ucp,check}}
  touch "$tree/src/"{util/a,merkle/a,wire/a,link/a,uct/a,uct/links/a,uct/iface/a,health/a,mpi/ucp/a,mpi/matching/a}.h
  echo "$3" > "$tree/src/$2"
  contains "seen: $1" "$("$check" "$tree"; echo "status $?")" "$4"
}
offence "upwards" wire/b.cc '#include "link/a.h"' '^src/wire/b.cc: wire may not include link/a.h'
offence "sideways" health/b.cc '  #  include "wire/a.h"' 'health may not include wire/a.h'
offence "UCX below src/uct" link/b.h '#include <ucs/type/status.h>' "link may not include UCX's"
offence "internal UCX headers in the tools" tools/b.cc '#include <uct/base/uct_iface.h>' "tools may not"
offence "the plugin's own headers in the tools" tools/b.cc '#include "uct/a.h"' "tools may not"
offence "a clock in the core" merkle/b.cc '#include <chrono>' "merkle is pure"
offence "a lock in the core" rma/client.h '#include <shared_mutex>' "rma is pure"
offence "a clock beside the lock" rma/regions.h '#include <chrono>' "rma is pure"
offence "the generated header" link/b.cc '#include "verity_config.h"' "util/build_config.h"
offence "out of a room" link/state/b.h '#include "link/a.h"' '^src/link/state/b.h: link/state may not include link/a.h'
offence "up from the port's room" link/port/b.cc '#include "link/a.h"' 'link/port may not include link/a.h'
offence "from a room to one above it" mpi/matching/b.cc '#include "mpi/ucp/a.h"' 'mpi/matching may not include mpi/ucp/a.h'
offence "UCX in a room that has none" mpi/check/b.cc '#include <ucp/api/ucp.h>' "mpi/check may not include UCX's"
offence "a clock in a pure room" mpi/matching/b.cc '#include <chrono>' "mpi/matching is pure"
offence "MPI's header but in one place" mpi/check/b.cc '#include <mpi.h>' 'include mpi/process/mpi_api.h'
offence "allowed: down the rooms" mpi/check/b.cc '#include "mpi/matching/a.h"' '^status 0'
offence "allowed: UCX's public headers in its room" mpi/ucp/b.cc '#include <ucp/api/ucp.h>' '^status 0'
offence "allowed: public UCX headers in the tools" tools/b.cc '#include <uct/api/uct.h>' '^status 0'
offence "allowed: the lock of the registrations" rma/regions.h '#include <shared_mutex>' '^status 0'
offence "allowed: down" link/b.cc '#include "merkle/a.h"' '^status 0'
offence "allowed: UCX in src/uct/compat" uct/compat/b.h '#include <uct/base/uct_iface.h>' '^status 0'
offence "UCX elsewhere in src/uct" uct/links/b.cc '#include <ucs/sys/string.h>' "uct/links may not include UCX's"
offence "a higher room" uct/links/b.cc '#include "uct/iface/a.h"' 'uct/links may not include uct/iface/a.h'
offence "allowed: a lower room" uct/iface/b.cc '#include "uct/links/a.h"' '^status 0'

# Their help is the comment at their begin, all of it.
for script in run-tests check-matrix check-layers quickstart quickstart-demo man-to-html build-package tested-with; do
  help=$(bash "$abs_top_srcdir/contrib/$script" --help)
  is "$script --help: exit status" $? 0
  contains "$script --help: the usage" "$help" "^Usage: contrib/$script"
  is "$script --help: to the end" "$help" "$(sed -n '4,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$abs_top_srcdir/contrib/$script")"
done
contains "run-tests --help: the sentence about the exit status is whole" "$(bash "$abs_top_srcdir/contrib/run-tests" --help | tr '\n' ' ')" \
  'exit status is 0 only when none failed\.'
contains "and how to run one test" "$(bash "$abs_top_srcdir/contrib/run-tests" --help)" 'make check-TESTS TESTS=test/integration/'
contains "run-tests --list-packages" "$(bash "$abs_top_srcdir/contrib/run-tests" --list-packages)" '^to build: .* libucx-dev '

unlicensed=$(
  cd "$abs_top_srcdir" || exit 1
  # Files that verity-types automap wrote have none.
  {
    # shellcheck disable=SC2046
    find src test contrib $([ ! -d include ] || echo include) \( -name corpus -o -name '*_automap.h' -o -path contrib/build-aux -o -path contrib/m4/libtool.m4 \
      -o -path 'contrib/m4/lt*' -o -name '.*' \) -prune -o -type f \
      \( -name '*.[ch]' -o -name '*.cc' -o -name '*.sh' -o -name '*.mk' -o -name '*.m4' -o -name '*.py' \
      -o -name '*.map' -o -name '*.in' -o -name '*.[1-8]' -o -path 'contrib/*' -perm -u+x \) -print
    ls configure.ac Makefile.am .ci/run contrib/build-aux/{gtest-tap,plugin.map,ucx-source-version}
  } | while read -r file; do
    head -n 5 "$file" | grep -q 'SPDX-License-Identifier: BSD-3-Clause' || echo "$file"
  done
)
is "each source file names its licence" "$unlicensed" ""

# Where the header comes with another one depends on the library: gcc 14's needs it named, gcc 12's does not.
calls='std::(min|max|clamp|sort|stable_sort|find|find_if|count|count_if|copy|copy_n|copy_if|fill|fill_n|equal|reverse|rotate|transform'
calls+='|any_of|all_of|none_of|remove_if|min_element|max_element|lower_bound|upper_bound|unique|mismatch|search|generate)(<.*>)?\('
without=$(
  cd "$abs_top_srcdir" || exit 1
  find src test contrib \( -name '*.h' -o -name '*.cc' \) -exec grep -lE "$calls" {} + | xargs -r grep -LF '<algorithm>'
)
is "what uses <algorithm> includes it" "$without" ""

# Only in a clone: the unpacked tarball is no repository, and may lie inside one.
if [ -e "$abs_top_srcdir/.git" ] && command -v git > /dev/null; then
  forgotten=$(comm -13 \
    <(env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -C "$abs_top_builddir" print-distfiles | sort -u) \
    <(git -C "$abs_top_srcdir" ls-files | grep -v '^\.git' | sort))
  is "the tarball holds every file of the repository" "$forgotten" ""
else
  skip "the tarball holds every file of the repository" "this is no clone"
fi

done_testing
