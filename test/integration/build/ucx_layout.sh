#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# contrib/check-ucx-layout finds the structures of this build's UCX as src/uct/compat/layouts.table
# has them, and tells a source tree where one is different.
. "${abs_top_srcdir:?}/test/tap.sh"

check=$abs_top_srcdir/contrib/check-ucx-layout
source=$(sed -n 's/^UCX_SOURCE = //p' "$abs_top_builddir/Makefile")
[ -f "$source/configure.ac" ] || skip_all "no UCX source"

contains "this build's UCX is as known" "$("$check" "$source" 2>&1)" \
  "^UCX ${VERITY_UCX_VERSION//./\\.}: [0-9]+ offsets and sizes as known"

# An operation more, at the begin of the table.
other=$tap_dir/other
mkdir -p "$other"
cp -r "$source/src" "$source/configure.ac" "$other/"
sed -i '/^typedef struct uct_iface_internal_ops {/a\    void (*something_new)(void);' "$other/src/uct/base/uct_iface.h"
differs=$("$check" "$other" 2>&1)
is "a table with one operation more: exit status" $? 1
contains "and says which members moved" "$differs" '^\+uct_iface_internal_ops_t\.iface_estimate_perf 8$'

sed -i 's/^define(\[ucx_ver_minor\], *[0-9]*)/define([ucx_ver_minor], 97)/' "$other/configure.ac"
contains "an unknown release" "$("$check" "$other" 2>&1)" '^UCX 1\.97\.[0-9]+ is not in layouts\.table'

done_testing
