#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The form of the sources: .clang-format, and header guards named after their file.
# test/automap holds input of verity-types automap, whose lines its tests name.
. "${abs_top_srcdir:?}/test/tap.sh"
cd "$abs_top_srcdir" || exit 1

# Not what is generated: *_automap.h.
sources() { find src test include \( -name corpus -o -path test/automap \) -prune -o -type f -name "$1" ! -name '*_automap.h' -print | sort; }

guard_of() { # guard_of FILE: VERITY_ and the path, without src/
  local name=${1#src/}
  name=${name//[^A-Za-z0-9]/_}
  echo "VERITY_${name^^}"
}

# Headers without declarations of their own, which are read more than once or must not compile.
unguarded=" src/merkle/kernel_impl.h test/automap/refused.h "
wrong=$(
  sources '*.h' | grep -v '^include/' | while read -r file; do
    [[ $unguarded != *" $file "* ]] || continue
    guard=$(guard_of "$file")
    grep -qx "#ifndef $guard" "$file" && grep -qx "#define $guard" "$file" || echo "$file: not guarded by $guard"
    ! grep -q '^#pragma once' "$file" || echo "$file: #pragma once"
  done
)
is "each header is guarded by VERITY_ and its path" "$wrong" ""

# Other versions format some lines in another way.
version=14
for formatter in "clang-format-$version" clang-format ""; do
  [ -n "$formatter" ] || break
  "$formatter" --version 2> /dev/null | grep -q "version $version\." && break
done
if [ -n "$formatter" ]; then
  unformatted=$({ sources '*.cc'; sources '*.c'; sources '*.h'; } |
    xargs "$formatter" --dry-run 2>&1 | sed -n 's/^\([^:]*:[0-9]*\):.*clang-format-violations.*/\1/p' | sort -u | head -n 20)
  is "sources are formatted (clang-format -i FILE)" "$unformatted" ""
else
  skip "sources are formatted" "no clang-format $version"
fi

done_testing
