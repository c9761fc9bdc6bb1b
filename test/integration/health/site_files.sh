#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What is installed for a site's daemons, given to these daemons: systemd's units, logrotate's and tmpfiles' lines, Prometheus's rules,
# the dashboard. Slurm's lines and scripts are tried in slurm.sh, the alerts and the check for NHC in monitoring.sh.
. "${abs_top_srcdir:?}/test/tap.sh"
site=$tap_dir/site
env -u MAKEFLAGS -u MFLAGS make -s -C "${abs_top_builddir:?}" install-health prefix="$site" > "$tap_dir/make.log" 2>&1
tap_result $? "the files are installed"
health=$site/share/ucx-verity/health
is "no name is left to fill in" "$(grep -rlE '@[a-z]+@' "$site")" ""
is "two scripts can be run" "$(find "$site/libexec/ucx-verity" -type f -perm 755 | wc -l)" 2
mkdir "$site/bin"
cp /bin/true "$site/bin/ucx-verity"

# try NAME PROGRAM COMMAND...: skipped where the program is not installed.
try() {
  local name=$1 program=$2
  shift 2
  if command -v "$program" > /dev/null; then ok "$name" "$@"; else skip "$name" "$program is not installed"; fi
}
silent() { local said; said=$("$@" 2>&1) || { echo "$said"; return 1; }; echo "$said"; [ -z "$said" ]; }
for unit in service timer; do
  try "systemd accepts the $unit" systemd-analyze silent systemd-analyze verify --man=no "$health/ucx-verity-export.$unit"
done
if command -v systemd-analyze > /dev/null; then
  sed 's/^CapabilityBoundingSet=/CapabilityBoundinSet=/' "$health/ucx-verity-export.service" > "$tap_dir/wrong.service"
  contains "and would complain" "$(systemd-analyze verify --man=no "$tap_dir/wrong.service" 2>&1)" 'CapabilityBoundinSet'
fi

rotates() { # as logrotate's own state and folders are root's
  sed "s|/var/log/ucx-verity|$tap_dir/log|" "$health/logrotate.conf" > "$tap_dir/logrotate.conf"
  mkdir -p "$tap_dir/log"
  chmod 1777 "$tap_dir/log" # as tmpfiles makes it
  echo '{"event":"fault"}' > "$tap_dir/log/node1.jsonl"
  chmod 644 "$tap_dir/logrotate.conf"
  logrotate -d -s "$tap_dir/state" "$tap_dir/logrotate.conf" > "$tap_dir/said" 2>&1 && ! grep -i error "$tap_dir/said" || { cat "$tap_dir/said"; return 1; }
  logrotate --force -s "$tap_dir/state" "$tap_dir/logrotate.conf" 2>&1 && [ -e "$tap_dir/log/node1.jsonl.1" ] && [ ! -e "$tap_dir/log/node1.jsonl" ]
}
if [ "$(id -u)" -eq 0 ]; then try "logrotate rotates fault records" logrotate rotates; else skip "logrotate rotates fault records" "not root"; fi

makes_folders() {
  mkdir -p "$tap_dir/root" && systemd-tmpfiles --create --root="$tap_dir/root" "$health/tmpfiles.conf" &&
    [ "$(stat -c %a "$tap_dir/root/dev/shm/ucx-verity")" = 1777 ] && [ "$(stat -c %a "$tap_dir/root/var/log/ucx-verity")" = 1777 ] && [ "$(stat -c %a "$tap_dir/root$site/var/lib/ucx-verity")" = 755 ]
}
# logrotate does not see again what it moved of a process that ended; its eight weeks pass in a second here.
removes_records() {
  local log=$tap_dir/root/var/log/ucx-verity
  sed 's/ 9w$/ 1s/' "$health/tmpfiles.conf" > "$tap_dir/aged.conf"
  echo '{"event":"fault"}' > "$log/node1.7.jsonl.1"
  sleep 2
  echo '{"event":"fault"}' > "$log/node1.8.jsonl"
  systemd-tmpfiles --clean --root="$tap_dir/root" "$tap_dir/aged.conf" && [ "$(ls "$log")" = node1.8.jsonl ]
}
if [ "$(id -u)" -eq 0 ]; then
  try "tmpfiles makes the folders" systemd-tmpfiles makes_folders
  try "and removes old fault records" systemd-tmpfiles removes_records
else
  skip "tmpfiles makes the folders" "not root"
  skip "and removes old fault records" "not root"
fi
try "promtool accepts the rules" promtool promtool check rules "$health/ucx-verity.rules.yml"
# What the alerts say of one fault on node1 that a job in mode observe got as it was, and of one on node2 that was repaired.
cat > "$tap_dir/alerts.yml" << YML
rule_files: [$health/ucx-verity.rules.yml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - series: 'ucx_verity_export_timestamp_seconds{instance="node1"}'
        values: '0+60x60'
YML
while read -r name node1 node2; do
  for node in node1 node2; do
    printf "      - series: 'ucx_verity_%s_total{instance=\"%s\",transport=\"vrc_mlx5\",device=\"mlx5_0:1\"}'\n        values: '0x5 %sx54'\n" \
      "$name" "$node" "${!node}" >> "$tap_dir/alerts.yml"
  done
done << 'END'
faults_payload 1 1
faults_observed 1 0
faults_header 0 0
faults_length 0 0
reads_damaged_on_wire 0 0
reads_persistent 0 0
source_faults 0 0
END
cat >> "$tap_dir/alerts.yml" << 'YML'
    promql_expr_test:
      - expr: count by (alertname, instance) (ALERTS{alertstate="firing"})
        eval_time: 50m
        exp_samples:
          - {labels: '{alertname="UcxVerityDamageDelivered", instance="node1"}', value: 1}
          - {labels: '{alertname="UcxVerityFaults", instance="node1"}', value: 1}
          - {labels: '{alertname="UcxVerityFaults", instance="node2"}', value: 1}
YML
try "damage that was delivered has an alert of its own" promtool promtool test rules "$tap_dir/alerts.yml"
# Alerts about exporters that do not run: one that never did beside another one, one that stopped, and none at all.
cat > "$tap_dir/exporters.yml" << YAML
rule_files: ['$health/ucx-verity.rules.yml']
tests:
  - interval: 1m
    input_series:
      - {series: 'node_textfile_scrape_error{job="compute",instance="old"}', values: '0x3000'}
      - {series: 'node_textfile_scrape_error{job="compute",instance="new"}', values: '0x3000'}
      - {series: 'node_textfile_scrape_error{job="storage",instance="disk"}', values: '0x3000'}
      - {series: 'node_textfile_scrape_error{job="compute",instance="stopped"}', values: '0x3000'}
      - {series: 'ucx_verity_export_timestamp_seconds{job="compute",instance="old"}', values: '0+60x3000'}
      - {series: 'ucx_verity_export_timestamp_seconds{job="compute",instance="stopped"}', values: '0+60x5 stale'}
    promql_expr_test:
      - expr: count by (alertname, instance) (ALERTS{alertstate="firing"})
        eval_time: 1h
        exp_samples:
          - {labels: '{alertname="UcxVerityExporterMissing", instance="new"}', value: 1}
          - {labels: '{alertname="UcxVerityExporterSilent", instance="stopped"}', value: 1}
      - expr: count by (alertname, instance) (ALERTS{alertstate="firing"})
        eval_time: 2d
        exp_samples:
          - {labels: '{alertname="UcxVerityExporterMissing", instance="new"}', value: 1}
          - {labels: '{alertname="UcxVerityExporterMissing", instance="stopped"}', value: 1}
  - interval: 1m
    input_series:
      - {series: 'node_textfile_scrape_error{job="compute",instance="new"}', values: '0x100'}
    promql_expr_test:
      - expr: count by (alertname, instance) (ALERTS{alertstate="firing"})
        eval_time: 1h
        exp_samples:
          - {labels: '{alertname="UcxVerityNoExporter"}', value: 1}
YAML
try "exporters that do not run are alerted" promtool promtool test rules "$tap_dir/exporters.yml"
lacks "nothing that only mode verify does is said of all faults" "$(cat "$health"/ucx-verity.{rules.yml,dashboard.json})" 'all repaired|, repaired\.'
try "the dashboard is JSON" python3 python3 -m json.tool "$health/ucx-verity.dashboard.json"
try "shellcheck accepts the scripts" shellcheck shellcheck -s sh "$site/libexec/ucx-verity/slurm-health-check" "$site/libexec/ucx-verity/slurm-task-prolog"
try "and the check for NHC" shellcheck shellcheck -s bash -e SC2128 "$health/ucx_verity.nhc"

env -u MAKEFLAGS -u MFLAGS make -s -C "$abs_top_builddir" uninstall-health prefix="$site" > "$tap_dir/make.log" 2>&1
is "nothing stays when it is uninstalled" "$(find "$site/libexec" "$health" -type f 2> /dev/null)" ""
done_testing
