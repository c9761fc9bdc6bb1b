#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The wrapper: every lower transport is offered on its own devices, what would go past the check is
# not offered, and a UCX that the plugin was not built for is refused with one line.
. "${abs_top_srcdir:?}/test/tap.sh"

# From 1.22 on UCX loads every module of the folder: this one has the plugin alone.
built=${VERITY_MODULES:-$abs_top_builddir/modules}
modules=$tap_dir/modules
mkdir "$modules"
ln -s "$built"/libuct_verity.so* "$modules/"
preload=${VERITY_PRELOAD:-$abs_top_builddir/.libs/libverity_preload.so}
ucx_info=$(command -v "${UCX_INFO:-ucx_info}") || skip_all "no ucx_info"
[ -z "$VERITY_SANITIZERS" ] || skip_all "a module with sanitizers does not load into stock programs"

with_plugin() { env UCX_MODULE_DIR="$modules" LD_PRELOAD="$preload" "$@"; }

# "transport device" lines of all transports whose name matches.
devices() { awk '/Transport:/ { tl = $3 } /Device:/ { print tl, $3 }' | sort; }
listed=$(with_plugin "$ucx_info" -d 2>&1)
lower=$(devices <<< "$listed" | grep -E '^(tcp|self|posix|sysv|cma|knem|rc_verbs|ud_verbs|rc_mlx5|ud_mlx5|dc_mlx5|srd) ')
wanted=$(awk '{ print "v" $0 }' <<< "$lower" | sort)
is "each transport with active messages or remote reads is wrapped on the same devices" \
  "$(devices <<< "$listed" | grep '^v')" "$wanted"
lacks "transports that copy within a process are not listed" "$listed" 'Transport: v(cuda|rocm|gdr)'

if [ -e "$built/libuct_fault.so.0" ]; then
  contains "the test transports are wrapped too" \
    "$(modules=$built with_plugin UCX_VERITY_EXTRA_MODULES=fault "$ucx_info" -d |
      sed -n 's/.*Transport: \(vf.*\)/\1/p' | sort -u | tr '\n' ' ')" '^(vfcma )?(vfknem )?vfposix vfself vfsysv vftcp $'
fi

ours=$(awk '/Memory domain:/ { ours = 0 } /Component: verity/ { ours = 1 } ours' <<< "$listed")
lacks "nothing that writes to or reads from memory before it is checked" "$ours" '(put_zcopy|get_short)'
contains "puts and gets in frames" "$ours" 'put_bcopy: '
of_reads=$(awk '/Transport:/ { tl = $3 } /get_zcopy/ { print tl }' <<< "$ours" | sort -u | tr '\n' ' ')
wanted=$(awk '/Transport:/ { tl = $3 } /get_zcopy/ { print "v" tl }' <<< "$listed" | grep -Ev '^v(v|.*_copy|.*_ipc|gdr)' | sort -u | tr '\n' ' ')
is "zero-copy reads where the lower transport has them" "$of_reads" "$wanted"
lacks "atomics are the CPU's, in frames" "$ours" 'domain: device'
lacks "no tag matching" "$ours" 'tag_'
lacks "no memory of its own, no pointers to that of peers" "$ours" '(allocate|rkey_ptr)'
longer=$(awk '/Transport:/ { tl = $3 } /iface address:/ { size[tl] = $4 }
  END { for (tl in size) if ("v" tl in size) print size["v" tl] - size[tl] }' <<< "$listed" | sort -u)
is "interface addresses are at most 20 bytes longer" "$(awk '$1 > 20' <<< "$longer")" ""
contains "and some are" "$longer" '^20$'
contains "buffers can be had" "$ours" 'register: unlimited'
lacks "connection to the interface wherever the lower transport offers it" "$ours" 'to ep, to iface'
is "healthy: nothing on stderr" "$(with_plugin UCX_TLS=vtcp,vself "$ucx_info" -d 2>&1 > /dev/null)" ""
is "a wrapped transport takes the variables of the raw one, which are listed once" \
  "$(with_plugin UCX_TCP_TX_SEG_SIZE=12k "$ucx_info" -c | grep -E '^UCX_V?TCP_TX_SEG_SIZE=')" 'UCX_TCP_TX_SEG_SIZE=12K'

# shellcheck disable=SC2206 # a compiler may come with arguments
cc=(${CC:-cc})

# A process with another libucp beside its libuct: what a mixed installation looks like.
libuct=$(ldd "$ucx_info" | awk '$1 ~ /^libuct\./ { print $3 }')
mixed=$tap_dir/mixed
mkdir -p "$mixed"
cp -L "$libuct" "$mixed/"
cat > "$tap_dir/components.c" <<'C'
#include <stdio.h>
#include <uct/api/uct.h>
int main(void) {
  uct_component_h* components;
  unsigned count, i;
  if (uct_query_components(&components, &count) != UCS_OK) return 1;
  for (i = 0; i < count; ++i) {
    uct_component_attr_t attr = {.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME};
    if (uct_component_query(components[i], &attr) == UCS_OK) puts(attr.name);
  }
  uct_release_component_list(components);
  return 0;
}
C
# shellcheck disable=SC2046
if "${cc[@]}" -shared -fPIC -Wl,-soname,libucp.so.0 -o "$mixed/libucp.so.0" -x c - \
  <<< 'const char* ucp_get_version_string(void) { return "9.8.7"; }' &&
  "${cc[@]}" -o "$tap_dir/components" "$tap_dir/components.c" \
    $(pkg-config --cflags --libs ucx-uct ucx-ucs) 2> /dev/null; then
  contains "a program with UCT alone gets the component" "$(with_plugin "$tap_dir/components")" '^verity$'
  seen=$(LD_LIBRARY_PATH="$mixed" with_plugin "$tap_dir/components" 2> "$tap_dir/refusal")
  lacks "another UCX version: no component" "$seen" '^verity$'
  contains "the other components are there" "$seen" '^tcp$'
  is "one line" "$(wc -l < "$tap_dir/refusal")" 1
  contains "that says why" "$(cat "$tap_dir/refusal")" \
    "^ucx-verity: built for UCX $VERITY_UCX_VERSION but this process runs UCX 9\.8\.7 \($mixed/libuct\.so\.0\): plugin not used; install .*build-for-ucx"

  # Plugins of several releases lie side by side, in folders named after them.
  mkdir -p "$tap_dir/plugins/$VERITY_UCX_VERSION" "$tap_dir/plugins/9.8.7"
  cp -L "$modules/libuct_verity.so.0" "$tap_dir/plugins/$VERITY_UCX_VERSION/"
  "${cc[@]}" -shared -fPIC -o "$tap_dir/plugins/9.8.7/libuct_verity.so.0" -x c - << 'C'
#include <stdio.h>
__attribute__((constructor)) static void loaded(void) { puts("the plugin for 9.8.7"); }
C
  beside() {
    env LD_LIBRARY_PATH="$mixed" UCX_MODULE_DIR="$tap_dir/plugins/$VERITY_UCX_VERSION" LD_PRELOAD="$preload" \
      "$tap_dir/components" 2> "$tap_dir/refusal"
  }
  seen=$(beside)
  contains "another UCX version: the plugin for it, beside this one, is loaded" "$seen" '^the plugin for 9\.8\.7$'
  lacks "and this one is not used" "$seen" '^verity$'
  is "nothing is said then" "$(cat "$tap_dir/refusal")" ""
  echo "no library" > "$tap_dir/plugins/9.8.7/libuct_verity.so.0"
  seen=$(beside)
  lacks "it cannot be loaded: no component" "$seen" '^verity$'
  contains "and the line says so" "$(cat "$tap_dir/refusal")" \
    "^ucx-verity: built for .* runs UCX 9\.8\.7 .*9\.8\.7/libuct_verity\.so\.0.*: plugin not used"

  # Another build of the same version: its structures have other sizes, as with statistics. A library
  # in front of UCX's tells so.
  "${cc[@]}" -shared -fPIC -o "$tap_dir/sizes.so" -x c - << 'C'
#include <stddef.h>
struct { const char* name; size_t size; void *superclass, *init, *cleanup; }
    uct_base_iface_t_class = {"interface", 1288, 0, 0, 0}, uct_base_ep_t_class = {"endpoint", 16, 0, 0, 0};
C
  seen=$(UCX_MODULE_DIR="$modules" LD_PRELOAD="$preload:$tap_dir/sizes.so" "$tap_dir/components" 2> "$tap_dir/refusal")
  lacks "another build of the same version: no component" "$seen" '^verity$'
  contains "another build: the other components are there" "$seen" '^tcp$'
  is "another build: one line" "$(wc -l < "$tap_dir/refusal")" 1
  contains "another build: that says why" "$(cat "$tap_dir/refusal")" \
    "^ucx-verity: this process runs another build of UCX $VERITY_UCX_VERSION \(.*/libuct\.so\.0; it has statistics, this plugin expects none\): "

  # Assertions move a field of UCX's asynchronous context, which a library in front of UCX's moves too.
  "${cc[@]}" -shared -fPIC -o "$tap_dir/context.so" -x c - << 'C'
#include <stdlib.h>
int ucs_async_context_create(int mode, void** context_p) {
  (void)mode;
  *context_p = calloc(1, 4096);
  return 0;
}
void ucs_async_context_destroy(void* context) { free(context); }
C
  seen=$(UCX_MODULE_DIR="$modules" LD_PRELOAD="$preload:$tap_dir/context.so" "$tap_dir/components" 2> "$tap_dir/refusal")
  lacks "a build with other assertions: no component" "$seen" '^verity$'
  is "other assertions: one line" "$(wc -l < "$tap_dir/refusal")" 1
  contains "other assertions: that says why" "$(cat "$tap_dir/refusal")" \
    "^ucx-verity: this process runs another build of UCX $VERITY_UCX_VERSION \(.*; it has (no )?assertions, this plugin expects"
else
  skip "another UCX version is refused" "cannot compile against UCX"
fi

done_testing
