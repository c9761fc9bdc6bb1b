#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# contrib/check-ucx-layout finds what src/uct/compat/internal declares as a source tree of this
# build's UCX has it, and says what differs where one of the two is wrong. The tree is that of
# --with-ucx-source, or what contrib/get-ucx-source got.
. "${abs_top_srcdir:?}/test/tap.sh"

source=$(sed -n 's/^UCX_SOURCE = //p' "${abs_top_builddir:?}/Makefile")
source=${source:-$abs_top_srcdir/.ucx-source/$VERITY_UCX_VERSION}
[ -f "$source/configure.ac" ] ||
  skip_all "no source of UCX $VERITY_UCX_VERSION: contrib/get-ucx-source, or --with-ucx-source=DIR"

contains "this build's UCX is as declared" "$("$abs_top_srcdir/contrib/check-ucx-layout" "$source" 2>&1)" \
  "^UCX ${VERITY_UCX_VERSION//./\\.}: [0-9]+ sizes, offsets, constants and types as declared"

# damaged NAME FILE SED LINE: with that edit of a declaration of ours.
damaged() {
  local tree=$tap_dir/damaged found status
  rm -rf "$tree"
  mkdir -p "$tree"/{contrib/build-aux,src/uct/compat,src/util}
  cp "$abs_top_srcdir/contrib/check-ucx-layout" "$tree/contrib/"
  cp "$abs_top_srcdir/contrib/build-aux/ucx-source-version" "$tree/contrib/build-aux/"
  cp "$abs_top_srcdir"/src/util/*.h "$tree/src/util/"
  cp -r "$abs_top_srcdir/src/uct/compat/internal" "$tree/src/uct/compat/"
  sed -i "$3" "$tree/src/uct/compat/internal/$2"
  ok "$1: the edit is one" test "$(cmp -s "$tree/src/uct/compat/internal/$2" \
    "$abs_top_srcdir/src/uct/compat/internal/$2"; echo $?)" = 1
  found=$("$tree/contrib/check-ucx-layout" "$source" 2>&1)
  status=$?
  is "$1: exit status" "$status" 1
  contains "$1: says what differs" "$found" "$4"
}
damaged "a member too few" iface.h '/^  uct_md_h md;$/d' \
  '^uct_base_iface_t\.worker: 416 uct_priv_worker\* in UCX, 408 uct_priv_worker\* here'
damaged "another value of a constant" perf.h 's/\(PERF_ATTR_FIELD_BANDWIDTH = 1 <<\) 8/\1 9/' \
  '^UCT_PERF_ATTR_FIELD_BANDWIDTH: 256 .*in UCX, 512'
damaged "another type of an operation" md.h 's/(\*mem_free)(uct_md_h md, uct_mem_h memh)/(*mem_free)(uct_md_h md)/' \
  '^uct_md_ops_t\.mem_free: 24 ucs_status_t .* in UCX, 24 ucs_status_t'
damaged "what only assertions show" async.h 's/^\( *\)pthread_t owner;$/\1unsigned owner;/' \
  '^ucs_async_context_t\.thread\.mutex\.count \(with assertions\): 48  in UCX, 44  here'

# An operation more, at the begin of UCX's table.
other=$tap_dir/other
mkdir -p "$other"
cp -r "$source/src" "$source/configure.ac" "$other/"
sed -i '/^typedef struct uct_iface_internal_ops {/a\    void (*something_new)(void);' "$other/src/uct/base/uct_iface.h"
differs=$("$abs_top_srcdir/contrib/check-ucx-layout" "$other" 2>&1)
is "a source with one operation more: exit status" $? 1
contains "and says which members moved" "$differs" '^uct_iface_internal_ops_t\.iface_estimate_perf: 8 '

sed -i 's/^define(\[ucx_ver_minor\], *[0-9]*)/define([ucx_ver_minor], 97)/' "$other/configure.ac"
unknown=$("$abs_top_srcdir/contrib/check-ucx-layout" "$other" 2>&1)
is "an unknown release: exit status" $? 1
contains "and says so" "$unknown" '^UCX 1\.97\.[0-9]+ is not known: 1\.13 to 1\.[0-9]+ are'

done_testing
