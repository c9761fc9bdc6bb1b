#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `verity-types automap` on headers of real projects, as far as they are installed: each struct is mapped or refused with a line that names
# its place, and what is generated compiles as C11 and C++17. Of some, all datatypes are built, decoded and used.
. "${abs_top_srcdir:?}/test/tap.sh"
build=${abs_top_builddir:?} tool=$abs_top_builddir/verity-types
[ -z "${VERITY_SANITIZERS:-}" ] || skip_all "the generated code is tested once, without sanitizers"
[ -x "$build/verity-types-automap" ] || skip_all "built without libclang"
cd "$tap_dir" || exit 1

# The package, in Debian's words, and its headers; folders that they need besides /usr/include.
headers() {
  cat << 'T'
libc6-dev: elf.h link.h net/if_arp.h net/route.h netinet/icmp6.h netinet/ip6.h netinet/tcp.h protocols/routed.h protocols/timed.h sys/timex.h
libelf-dev: libelf.h
libibverbs-dev: infiniband/verbs.h
libhwloc-dev: hwloc.h
libevent-dev: event2/event_struct.h
libucx-dev: ucp/api/ucp.h uct/api/uct.h
libxxhash-dev: xxhash.h
zlib1g-dev: zlib.h
liblzma-dev: lzma.h
libopenmpi-dev: mpi.h
libclang-dev: clang-c/Index.h
valgrind: valgrind/valgrind.h
libgtest-dev: gtest/gtest-test-part.h
linux-libc-dev: rdma/ib_user_verbs.h rdma/mlx5-abi.h rdma/ib_user_mad.h linux/bpf.h linux/btrfs.h linux/can.h linux/ethtool.h linux/fuse.h
linux-libc-dev: linux/fs.h linux/if_link.h linux/input.h linux/io_uring.h linux/kvm.h linux/nvme_ioctl.h linux/perf_event.h
linux-libc-dev: linux/pkt_sched.h linux/rtnetlink.h linux/taskstats.h linux/vfio.h linux/videodev2.h mtd/mtd-abi.h scsi/sg.h sound/asound.h
T
}
read -ra mpi_flags <<< "$(${MPICC:-mpicc.openmpi} -show 2> /dev/null | tr ' ' '\n' | sed -n 's/^-I/-isystem /p' | xargs)"
folders=("${mpi_flags[@]}")
for folder in $(printf '%s\n' /usr/lib/llvm-*/include | sort -V -r); do folders+=(-isystem "$folder"); done
warnings="-Wall -Wextra -Wpedantic -Werror -D_GNU_SOURCE"

compiles() { # compiles LANGUAGE STANDARD HEADER: errors to the file log
  # shellcheck disable=SC2086
  gcc -x "$1" -std="$2" $warnings -DOMPI_SKIP_MPICXX "${folders[@]}" -I"$abs_top_srcdir/include" -I. -fsyntax-only -include "$3" /dev/null > log 2>&1
}

processed=0 with_mapped=0 mapped=0
while IFS=': ' read -r package list; do
  for header in $list; do
    language=c
    [ "$package" != libgtest-dev ] || language=c++
    if ! printf '#include <%s>\n' "$header" | gcc -x "$language" -D_GNU_SOURCE "${folders[@]}" -E - > /dev/null 2>&1; then
      skip "$header" "$package is not installed"
      continue
    fi
    name=$(tr './-' '___' <<< "$header")
    # As it stands; then with everything that options can map, so that more is generated.
    summary=$("$tool" automap "$header" --language $language --check --keep-going -- -D_GNU_SOURCE "${folders[@]}" 2> refused)
    status=$?
    strange=$(grep -vE '^[^ :]+:[0-9]+: [^ ].*: [^ ]' refused)
    count=$(sed -n 's/^\([0-9]*\) mapped, .*/\1/p' <<< "$summary")
    "$tool" automap "$header" --language $language --output "$name" --prefix t --pointers ignore --unions bytes --keep-going \
      -- -D_GNU_SOURCE "${folders[@]}" > most 2>&1
    more=$?
    [ "$more" -ne 2 ] || ! grep -q 'define no struct that is mapped' most || more=0
    if [ "$status" -ne 0 ] || [ "$more" -ne 0 ] || [ -n "$strange" ]; then
      ok "$header: each struct is mapped or refused with its place" false
      note "$status $more $strange $(head -n 5 refused most)"
      continue
    fi
    if [ -e "$name.h" ]; then
      generated=$name.h
      [ "${#mpi_flags[@]}" -eq 0 ] || generated=${name}_mpi.h
      { [ $language = c++ ] || compiles c c11 "$generated"; } && compiles c++ c++17 "$generated"
      tap_result $? "$header: $(tail -n 1 <<< "$summary"); with --pointers ignore --unions bytes $(grep mapped, most), and compiles"
      [ ! -s log ] || note "$(head -n 10 log)"
    else
      tap_result 0 "$header: $(tail -n 1 <<< "$summary")"
    fi
    processed=$((processed + 1)) mapped=$((mapped + count))
    [ "$count" -eq 0 ] || with_mapped=$((with_mapped + 1))
  done
done < <(headers)
note "$processed headers, $with_mapped with mapped structs, $mapped structs mapped"
if [ "$processed" -ge 30 ]; then
  ok "15 headers and 200 structs are mapped without any option" test "$with_mapped" -ge 15 -a "$mapped" -ge 200
else
  skip "15 headers and 200 structs are mapped without any option" "only $processed of the headers are installed"
fi

for mpi in openmpi mpich; do
  mpicc=mpicc.$mpi library=$build/.libs/libautomap_decode_$mpi.a
  command -v "$mpicc" > /dev/null && [ -e "$library" ] || { skip "$mpi" "$mpicc or the library of the test is not there"; continue; }
  read -ra flags <<< "$($mpicc -show | tr ' ' '\n' | sed -n 's/^-I/-isystem /p' | xargs)"
  read -ra libraries <<< "$library $build/.libs/libverity_signature.a $($mpicc -show | tr ' ' '\n' | grep -E '^-([lL]|Wl)' | xargs) -lstdc++"
  for header in elf.h infiniband/verbs.h rdma/ib_user_verbs.h linux/fuse.h linux/kvm.h; do
    name=$(tr './-' '___' <<< "$header")
    [ -e "$name.h" ] || { skip "$mpi: the datatypes of $header" "it is not installed"; continue; }
    if gcc -std=gnu11 "${flags[@]}" -I"$abs_top_srcdir/include" -I. -DHEADER="\"${name}_mpi.h\"" "$abs_top_srcdir/test/automap/check.c" \
      -o check "${libraries[@]}" > log 2>&1; then
      output=$(timeout 60 ./check 2>&1)
      contains "$mpi: the datatypes of $header have their signatures and transfer their fields" "$output" '^datatypes [0-9]+ wrong 0$'
      note "$(tail -n 1 <<< "$output")"
    else
      ok "$mpi: the datatypes of $header" false
      note "$(head -n 20 log)"
    fi
  done
done
done_testing
