#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# One large read, really made, of 1 GiB in the long form: what a damaged segment costs, and a thousand of them, by the counters of both sides beside those
# of the same read without damage. A round trip is a digest that the owner gave, or bytes read again of one part.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
with_tls vposix,vcma "${UCX_INFO:-ucx_info}" -d 2> /dev/null | grep -q 'Transport: vcma' || skip_all "no cma on this machine"
mb=$(normal_or_long 128 1024)
free_mb=$(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
[ "${free_mb:-0}" -ge $((3 * mb)) ] || skip_all "$((3 * mb)) MiB of memory are not free, only ${free_mb:-0}"

segment=4096
export VERITY_READ_BYTES=$((mb << 20)) UCX_VERITY_CHUNK=64k UCX_VERITY_SEGMENT_SIZE=$segment UCX_FAULT_OPS=get
export UCX_VERITY_ATTEST=never UCX_VERITY_ATTEST_FILE="$tap_dir/attest.%p" UCX_FAULT_REPORT="$tap_dir/fault.%p"
value() { json_sum "$1" "$tap_dir"/attest.*; }

# large_read NAME: the read comes out right; its figures are in $served, $again, $damaged, $repaired and $faults.
large_read() {
  rm -f "$tap_dir"/attest.* "$tap_dir"/fault.*
  tap_of "$1" with_tls vfposix within 150 "$build/uct_am" -r 1 -c 'rma: a large read' vfposix
  served=$(value digests_served) again=$(value read_bytes_again) faults=$(json_sum faults "$tap_dir"/fault.*)
  damaged=$(value read_segments_damaged) repaired=$(value read_segments_repaired)
}

large_read "healthy"
clean=$served
is "healthy: each part's digest was given once" "$(value read_chunks_verified)" "$clean"
is "healthy: all was verified" "$(value read_bytes_verified)" "$VERITY_READ_BYTES"
is "healthy: nothing was read again" "$again" 0

export UCX_FAULT_FRAMES=1500 UCX_FAULT_KINDS=flip
large_read "one damaged segment"
is "one damaged segment: it was one, and was repaired" "$faults $damaged $repaired" "1 1 1"
# The digests asked for besides, and the reading itself: one more for each.
is "one damaged segment: 2 round trips more at most" "$((served - clean <= 1))" 1
is "one damaged segment: 2 segments read again at most" "$((again >= 1 && again <= 2 * segment))" 1

# One in each of a thousand parts, what is read again left alone: each part's repair goes on beside the others'.
export UCX_FAULT_FRAMES=1001-2000 UCX_FAULT_MIN_LEN=65536
large_read "1,000 damaged segments"
is "1,000 damaged segments: as many were damaged, and repaired" "$faults $damaged $repaired" "1000 1000 1000"
is "1,000 damaged segments: 2 round trips more for each part at most" "$((served - clean <= 1000))" 1
is "1,000 damaged segments: 2 segments read again at most for each" "$((again <= 2 * segment * 1000))" 1

# 512 in each of two parts, of which nothing came: a round for all of a part, not one for each segment.
export UCX_VERITY_CHUNK=2m UCX_FAULT_FRAMES=20,40 UCX_FAULT_KINDS=truncate UCX_FAULT_OFFSET=0
large_read "1,024 damaged segments in two parts"
clean=$((VERITY_READ_BYTES / (2 << 20)))
is "1,024 damaged segments in two parts: as many were damaged, and repaired" "$faults $damaged $repaired" "2 1024 1024"
is "1,024 damaged segments in two parts: 2 round trips more for each part at most" "$((served - clean <= 2))" 1
is "1,024 damaged segments in two parts: each read again once" "$again" "$((1024 * segment))"

done_testing
