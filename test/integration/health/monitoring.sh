#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A real Prometheus scrapes a real node exporter on each of four emulated hosts, one of which damages what it sends: the rules' alerts,
# the dashboard's queries, and the check for LBNL Node Health Check.
. "${abs_top_srcdir:?}/test/integration/lib.sh"
[ -n "$openmpi" ] || skip_all "no Open MPI"
for program in prometheus promtool prometheus-node-exporter python3; do
  command -v $program > /dev/null || skip_all "$program is not installed (packages prometheus, prometheus-node-exporter)"
done
. "$abs_top_srcdir/test/integration/mpi/hosts.sh"
site=$abs_top_srcdir/contrib/health

pids=()
stop() {
  [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2> /dev/null
  wait
  rm -rf "$tap_dir"
}
trap stop EXIT

export_all() {
  local host
  for host in $hosts; do
    mkdir -p "$tap_dir/collector/$host"
    "$tool" export --injected --ledger "$tap_dir/$host.ledger" --directory "$tap_dir/$host" --textfile "$tap_dir/collector/$host/ucx_verity.prom" ||
      note "export of $host failed"
  done
}

# query EXPRESSION: a line per result, 'instance device value', sorted.
query() {
  no_proxy=127.0.0.1 NO_PROXY=127.0.0.1 python3 - "http://127.0.0.1:$port/api/v1/query" "$1" << 'PY'
import json, sys, urllib.parse, urllib.request
try:
    with urllib.request.urlopen(sys.argv[1] + "?" + urllib.parse.urlencode({"query": sys.argv[2]}), timeout=20) as answer:
        reply = json.load(answer)
except OSError as error:
    sys.exit("query failed: %s" % error)
for item in sorted(reply["data"]["result"], key=lambda i: sorted(i["metric"].items())):
    labels = item["metric"]
    print(*[labels[name] for name in ("alertname", "instance") if name in labels], item["value"][1])
PY
}
# wait_for EXPRESSION WANTED: until the query says that; a busy machine may need long.
wait_for() {
  local got try
  for ((try = 0; try < 180; ++try)); do
    got=$(query "$1" 2>&1)
    [ "$got" != "$2" ] || return 0
    sleep 1
  done
  note "$1 says: $got"
  note "$(tail -n 5 "$tap_dir/prometheus.log")"
  return 1
}

ok "promtool accepts the rules" promtool check rules "$site/ucx-verity.rules.yml"
hosts_job clean "" mixed -n 600
tap_result $? "a clean job of four hosts"
export_all
ok "promtool accepts the metrics" promtool check metrics < "$tap_dir/collector/node1/ucx_verity.prom"

{
  echo "global: {scrape_interval: 1s, evaluation_interval: 1s}"
  echo "rule_files: ['$site/ucx-verity.rules.yml']"
  echo "scrape_configs:"
  echo "  - job_name: node"
  echo "    static_configs:"
  for host in $hosts; do
    exporter_port=$(free_port)
    prometheus-node-exporter --web.listen-address="127.0.0.1:$exporter_port" --collector.disable-defaults --collector.textfile \
      --collector.textfile.directory="$tap_dir/collector/$host" > "$tap_dir/exporter.$host" 2>&1 &
    pids+=($!)
    echo "      - {targets: ['127.0.0.1:$exporter_port'], labels: {instance: $host}}"
  done
} > "$tap_dir/prometheus.yml"
port=$(free_port)
prometheus --config.file="$tap_dir/prometheus.yml" --storage.tsdb.path="$tap_dir/tsdb" --web.listen-address="127.0.0.1:$port" \
  > "$tap_dir/prometheus.log" 2>&1 &
pids+=($!)

wait_for 'ucx_verity_check_status' 'node0 0
node1 0
node2 0
node3 0'
tap_result $? "all four hosts are scraped, and well"
wait_for 'count(max_over_time(ucx_verity_check_status[1h]) + ignoring(x) count_over_time(ucx_verity_check_status[1h]) > 5)' 4
tap_result $? "for a while"
is "no alert without faults" "$(query 'ALERTS{alertname=~"UcxVerity.*"}')" ""

# One bad link: both ends warn, and no host is called bad for it.
hosts_job link 0-1 mixed -n 12000 -m 7000
tap_result $? "a job of which the link from node0 to node1 damages data"
export_all
wait_for 'ucx_verity_check_status' 'node0 1
node1 1
node2 0
node3 0'
tap_result $? "both ends of the link warn"
wait_for 'sum by (alertname, instance) (ALERTS{alertname="UcxVerityFaults",alertstate="firing"})' 'UcxVerityFaults node1 1'
tap_result $? "the alert for damaged data fires where it arrived"
is "and no host is said to damage data" "$(query 'count_over_time(ALERTS{alertname="UcxVerityHostDamagesData"}[1h])')" ""

hosts_job guilty 1 mixed -n 1500
tap_result $? "a job of which host node1 damages what it sends"
export_all
wait_for 'ALERTS{alertname="UcxVerityHostDamagesData",alertstate="firing"}' 'UcxVerityHostDamagesData node1 1'
tap_result $? "the alert for node1 fires, and for no other host"
wait_for 'sum by (alertname, instance) (ALERTS{alertname="UcxVerityFaults",alertstate="firing"})' 'UcxVerityFaults node0 1
UcxVerityFaults node1 1
UcxVerityFaults node2 1
UcxVerityFaults node3 1'
tap_result $? "those that received damaged data warn"
is "nothing else is alerted" \
  "$(query 'count by (alertname) (ALERTS{alertname!~"UcxVerity(HostDamagesData|Faults|RepairsCost)"})')" ""

explained "$(json_sum faults "$tap_dir"/faults.*)" "$tap_dir"/collector/*/ucx_verity.prom
tap_result $? "as many faults exported as there were damaged frames"
counted=$(faults_of "$tap_dir"/collector/*/*.prom)
wait_for 'sum(ucx_verity_faults_payload_total) + sum(ucx_verity_faults_header_total) + sum(ucx_verity_faults_length_total)' "$counted"
tap_result $? "and Prometheus has them ($counted)"

# The dashboard's queries, as Grafana would fill them in. increase() extrapolates, so that faults are near the number.
python3 - "$site/ucx-verity.dashboard.json" << 'PY' > "$tap_dir/queries"
import json, sys
for panel in json.load(open(sys.argv[1]))["panels"]:
    for target in panel["targets"]:
        text = target["expr"]
        for name, value in (("$__range", "1h"), ("$__rate_interval", "1h"), ("$instance", ".*")):
            text = text.replace(name, value)
        print(panel["title"], text, sep="\t")
PY
while IFS=$'\t' read -r title expression; do
  answer=$(query "$expression" 2>&1)
  lacks "dashboard, $title: a query that works" "$answer" 'failed'
  case $title in
    "Hosts that damage data") is "dashboard, $title: one" "$answer" 1 ;;
    "Faults")
      wait_for "($expression) > bool (0.8 * $counted - 1) and ($expression) < bool (1.2 * $counted + 1)" 1
      tap_result $? "dashboard, $title: as many"
      ;;
    "Faults by device")
      [[ $expression = *reads* ]] || contains "dashboard, $title: has the hosts" "$answer" 'node0'
      ;;
    "Hosts by what check says" | "Checked data") contains "dashboard, $title: has the hosts" "$answer" 'node0' ;;
  esac
done < "$tap_dir/queries"

# As NHC calls it: a function of a sourced file, with NHC's own die().
nhc() { # nhc HOST [OPTION...]
  bash -c 'die() { shift; echo "died: $*"; }; . "$1"; UCX_VERITY=$2; shift 2; check_ucx_verity "$@"; echo "status $?"' nhc \
    "$site/ucx_verity.nhc" "$tool" --injected --directory "$tap_dir/$1" --ledger "$tap_dir/$1.ledger" "${@:2}"
}
contains "NHC: node1 is to be drained" "$(nhc node1)" '^died: check_ucx_verity:  ucx-verity: [0-9]+ faults .* with 3 of 3 hosts: device memory$'
is "NHC: node0 is not" "$(nhc node0)" "status 0"
# A typo in nhc.conf would drain every node that has it.
is "NHC: a wrong option drains no node" "$(nhc node1 --criticl 3 2> "$tap_dir/log")" "status 0"
contains "NHC: and the log says so" "$(cat "$tap_dir/log")" '^check_ucx_verity:  node not checked \(status 0\): ucx-verity check: not checked: .*--criticl'
printf '#!/bin/sh\necho "ucx-verity check: examined only a part of /dev/shm/x" >&2\n' > "$tap_dir/partial"
chmod +x "$tap_dir/partial"
is "NHC: nor does a node with too many files" "$(tool=$tap_dir/partial nhc node1 2> "$tap_dir/log")" "status 0"
contains "NHC: and the log says so" "$(cat "$tap_dir/log")" '^check_ucx_verity:  node checked in part: ucx-verity check: examined only a part of'
is "NHC: nor does a command that is not there" "$(tool=/nowhere/ucx-verity nhc node1 2> "$tap_dir/log")" "status 0"
contains "NHC: and the log says so" "$(cat "$tap_dir/log")" '^check_ucx_verity:  node not checked \(status 127\): .*/nowhere/ucx-verity'

done_testing
