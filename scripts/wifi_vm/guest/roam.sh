# A download while the access point falls silent and another one is there.

BYTES=6000000
# silence FILE: the longest time in which the station received nothing, and how long it watched, until FILE is there.
silence() {
  local clock last now seen bytes longest=0 began
  exec 8<>$OUT/clock
  began=$(now) last=$began seen=0
  while [ ! -e "$1" ]; do
    read -r bytes </sys/class/net/wlan0/statistics/rx_bytes
    now=$EPOCHREALTIME
    # Less than a few frames is no download.
    if [ $((bytes - seen)) -gt 4000 ]; then
      longest=$(((${now/./} - ${last/./}) > longest ? (${now/./} - ${last/./}) : longest))
      last=$now seen=$bytes
    fi
    read -r -t 0.02 clock <&8
  done
  echo $longest
}

stage_roam() {
  local server pin first second dead begun lost up other
  rm -f $OUT/attempts.jsonl $OUT/leases.json
  point 1
  point 2
  serve 1
  serve 2
  supplicant "${PSK[@]}"
  start_hawser --leases $OUT/leases.json -o $OUT/attempts.jsonl
  await 60 address || { result "failed roam: no address in 60 s"; return; }
  mkdir -p $OUT/www $OUT/got
  mkfifo $OUT/clock
  head -c $BYTES /dev/urandom >$OUT/www/file
  ip netns exec net hawser serve $OUT/www --listen 10.9.9.9:4433 --state $OUT/server >$OUT/server.log 2>&1 &
  server=$!
  await 20 grep -o -- "--pin .*" $OUT/server.log || { result "failed roam: no server"; cat $OUT/server.log >&2; return; }
  pin=$(sed -n "s/.*--pin '\{0,1\}\([A-Za-z0-9+/=_-]*\).*/\1/p" $OUT/server.log | head -1)
  # So slow that the file outlasts the access point.
  (cd $OUT/got && hawser get -O --limit-rate 1M --pin "$pin" https://10.9.9.9:4433/file >$OUT/get.log 2>&1; echo $? >$OUT/got/rc) &
  silence $OUT/got/rc >$OUT/silence &
  other=$!
  first=$(address)
  case $first in 10.1.*) dead=1 ;; *) dead=2 ;; esac
  sleep 2
  : >$OUT/wpa.log
  begun=$(now)
  switch_off $dead
  for _ in $(seq 400); do
    second=$(address)
    [ -z "$second" ] || [ "$second" = "$first" ] || break
    sleep 0.05
  done
  up=$(now)
  wait $other
  lost=$(sed -nE 's/^([0-9.]+): wlan0: CTRL-EVENT-DISCONNECTED.*/\1/p' $OUT/wpa.log | head -1)
  again=$(sed -nE "s/^[0-9.]+: wlan0: SME: Trying to authenticate with ([0-9a-f:]+).*/\1/p" $OUT/wpa.log | head -1)
  result "roam same=$(cmp -s $OUT/www/file $OUT/got/file && echo yes || echo no) from=$first to=$second" \
    "silent_s=$(awk "BEGIN { printf \"%.2f\", $(cat $OUT/silence) / 1e6 }")" \
    "loss_noticed_s=$(awk "BEGIN { printf \"%.2f\", ${lost:-0} - $begun }")" \
    "address_s=$(awk "BEGIN { printf \"%.2f\", $up - $begun }")" \
    "dead_one_tried=$([ "$again" = "$( [ $dead = 1 ] && echo $AP1 || echo $AP2)" ] && echo yes || echo no)"
  cat $OUT/get.log $OUT/hawser.txt $OUT/hawser.err >&2
  stop
  kill $server
  unserve 1
  unserve 2
  switch_off 1
  switch_off 2
}
