#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The page of `ucx-verity report --html` in a real browser: what stands in it, that it draws, that it complains of nothing and
# requests nothing.
. "${abs_top_srcdir:?}/test/tap.sh"
tool=${abs_top_builddir:?}/ucx-verity
[ -x "$tool" ] || skip_all "the command is not built"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip_all "no chromium is installed"

export HOME=$tap_dir
# browse PAGE OPTION...: what it prints; its log is in $tap_dir/log, its requests in $tap_dir/net.
browse() {
  local page=$1 root=()
  shift
  [ "$(id -u)" -ne 0 ] || root=(--no-sandbox)
  rm -f "$tap_dir/net"
  timeout -k 5 200 "$browser" --headless "${root[@]}" --disable-gpu --disable-dev-shm-usage --no-first-run --disable-extensions --disable-sync \
    --disable-background-networking --disable-component-update --disable-default-apps --host-resolver-rules='MAP * ~NOTFOUND' \
    --user-data-dir="$tap_dir/profile" --enable-logging=stderr --log-net-log="$tap_dir/net" --net-log-capture-mode=Everything \
    --hide-scrollbars "$@" "file://$page" 2> "$tap_dir/log"
}
complaints() { grep 'CONSOLE' "$tap_dir/log"; }
# Without those of the browser itself, which ask its maker; no name is resolved here, so that nothing goes out.
requests() { grep -o '"url": *"[a-z]*:[^"]*"' "$tap_dir/net" | grep -E '"(https?|wss?|ftp):' | grep -vE '//[a-z0-9.]*(google|googleapis|gstatic)\.com[:/]' | sort -u; }

# What the browser must report here, so that no complaint below proves something.
cat > "$tap_dir/control.html" << 'HTML'
<!DOCTYPE html><title>x</title><p id="a">before</p><img src="http://elsewhere.example/x.png">
<script>document.getElementById("a").textContent = "after"; nowhere();</script>
HTML
dom=$(browse "$tap_dir/control.html" --dump-dom)
grep -q 'after' <<< "$dom" || skip_all "$(basename "$browser") does not run here: $(grep -v dbus "$tap_dir/log" | tail -n 1)"
contains "an error of a script would be reported" "$(complaints)" 'nowhere is not defined'
contains "a request would be reported" "$(requests)" 'http://elsewhere.example/x.png'

# record HOST PEER PATTERN: a fault that HOST received from PEER.
record() {
  printf '{"event":"fault","schema":1,"time":"2026-01-31T12:00:%02d.250000Z","host":"%s","pid":7,"rank":1,"program":"solver","peer_host":"%s",' \
    $((second++ % 60)) "$1" "$2"
  printf '"interface":"01","peer":"02","transport":"vrc_mlx5","device":"mlx5_0:1","direction":"received","operation":"am","kind":"payload",'
  printf '"sequence":5,"length":8192,"offset":0,"segment_size":8192,"segment":0,"attempts":1,"syndrome":{"pattern":"%s","again":"no",' "$3"
  printf '"compared":8192,"bytes":1,"bits":1,"first":100,"last":100,"positions":[803],"shift":null}}\n'
}
second=0
hostile='<img src=http://elsewhere.example/y onerror=alert(1)>'
{
  for to in 0 1 2; do for _ in 1 2 3 4 5; do record "node$to" node3 single_bit; done; done
  record node1 node0 burst
  record "$hostile" node2 burst
} > "$tap_dir/records"
echo 'SwitchName=leaf1 Nodes=node[0-3]' > "$tap_dir/topology.conf"
"$tool" report --topology "$tap_dir/topology.conf" --html "$tap_dir/page.html" "$tap_dir/records" > "$tap_dir/text"
dom=$(browse "$tap_dir/page.html" --dump-dom)
is "no complaint" "$(complaints)" ""
is "no request" "$(requests)" ""
contains "the number of faults" "$dom" '<h1>17 faults of machines</h1>'
contains "the time, for people" "$dom" '<time>2026-01-31 12:00:00 UTC</time>'
contains "when they were" "$dom" '<i title="2026-01-31 12:00 UTC: 17" style="height: 100%"></i>'
contains "by switch" "$(tr -d '\n' <<< "$dom")" '<th class="row">leaf1</th><td>16</td>'
contains "the suspect's port" "$dom" '<br>at switch leaf1<br>'
contains "the first suspect is the bad sender" "$(grep -m 1 '<li>' <<< "$dom")" \
  'class="what">device vrc_mlx5/mlx5_0:1 of host node3, sending</span><span class="tag strong">strong evidence'
is "as many suspects as in the text" "$(grep -c '<li>' <<< "$dom")" "$(grep -c '^  [0-9]*\. ' "$tap_dir/text")"
contains "a name is a text, whatever is in it" "$dom" '&lt;img src=http://elsewhere.example/y'
lacks "and never an element" "$dom" '<img'
lacks "and no script" "$dom" '<script'
lacks "nothing that a browser would fetch" "$(sed 's/&lt;[^&]*&gt;//g' "$tap_dir/page.html")" '(src|href|action) *=|url\(|@import'
# The row of node3, with node3 itself in the first column and the others behind.
matrix=$(tr -d '\n' <<< "$dom" | grep -o '<table class="matrix".*</table></div>')
columns=$(grep -o '<thead>.*</thead>' <<< "$matrix" | sed 's/<[^>]*>/ /g')
is "the matrix has all hosts" "$(for host in node0 node1 node2 node3 'img src'; do grep -c -- "$host" <<< "$columns"; done | xargs)" "1 1 1 1 1"
row=$(grep -o '<th class="row">node3</th>.*' <<< "$matrix" | sed 's|</tr>.*||')
is "and node3's row what it sent" "$(grep -o '>5</td>' <<< "$row" | wc -l) $(grep -o 'class="none"' <<< "$row" | wc -l)" "3 2"

# Drawn: as wide as a desktop's window and as half of one, bright and dark. One colour alone would be few bytes.
for size in 1280,900 640,900; do
  for scheme in 1 0; do
    rm -f "$tap_dir/shot.png"
    browse "$tap_dir/page.html" --window-size="$size" --blink-settings=preferredColorScheme=$scheme --screenshot="$tap_dir/shot.png" > /dev/null
    bytes=$(stat -c %s "$tap_dir/shot.png" 2> /dev/null || echo 0)
    ok "it draws, $size, $([ $scheme = 0 ] && echo dark || echo bright) ($bytes bytes)" test "$bytes" -gt 20000
    cp "$tap_dir/shot.png" "$tap_dir/shot.$size.$scheme"
  done
  if cmp -s "$tap_dir/shot.$size.0" "$tap_dir/shot.$size.1"; then tap_result 1 "dark and bright differ, $size"; else tap_result 0 "dark and bright differ, $size"; fi
done

done_testing
