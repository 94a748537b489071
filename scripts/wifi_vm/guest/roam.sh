# A download while the access point falls silent and another one is there.

BYTES=6000000
# silence FILE: the longest time in which the station received nothing, microseconds, until FILE is there.
silence() {
  local clock last at seen=0 bytes longest=0
  exec 8<>$OUT/clock
  at=$EPOCHREALTIME
  last=${at/[.,]/}
  while [ ! -e "$1" ]; do
    read -r bytes </sys/class/net/wlan0/statistics/rx_bytes
    at=$EPOCHREALTIME
    at=${at/[.,]/}
    # Less than a few frames is no download.
    if [ $((bytes - seen)) -gt 4000 ]; then
      longest=$((at - last > longest ? at - last : longest))
      last=$at seen=$bytes
    fi
    # A pause without a process.
    read -r -t 0.02 clock <&8
  done
  echo $longest
}

# seconds_from BEGIN END: nothing if there was no end.
seconds_from() { [ -z "$2" ] || awk "BEGIN { printf \"%.2f\", $2 - $1 }"; }

stage_roam() {
  local pin first second dead begun lost up watch got again place
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
  HELPER=$!
  await 20 grep -e --pin $OUT/server.log || { result "failed roam: no server"; cat $OUT/server.log >&2; return; }
  pin=$(sed -n "s/.*--pin '\([A-Za-z0-9+/=]*\)'.*/\1/p" $OUT/server.log | head -1)
  # So slow that the file outlasts the access point.
  (cd $OUT/got && hawser get -O --limit-rate 1M --pin "$pin" https://10.9.9.9:4433/file >$OUT/get.log 2>&1; echo $? >$OUT/got/rc) &
  got=$!
  silence $OUT/got/rc >$OUT/silence &
  watch=$!
  first=$(address)
  case $first in 10.1.*) dead=1 ;; *) dead=2 ;; esac
  sleep 2
  : >$OUT/wpa.log
  begun=$(now)
  switch_off $dead
  for _ in $(seq 400); do
    second=$(address)
    [ -z "$second" ] || [ "$second" = "$first" ] || { up=$(now); break; }
    sleep 0.05
  done
  wait $got $watch
  lost=$(sed -nE 's/^([0-9.]+): wlan0: CTRL-EVENT-DISCONNECTED.*/\1/p' $OUT/wpa.log | head -1)
  again=$(sed -nE 's/^[0-9.]+: wlan0: SME: Trying to authenticate with ([0-9a-f:]+).*/\1/p' $OUT/wpa.log)
  place=AP$dead
  result "roam same=$(yes_if cmp -s $OUT/www/file $OUT/got/file) roamed=$(yes_if [ -n "$up" ]) from=$first to=$second" \
    "dead_one_tried=$(yes_if grep -q "${!place}" <<<"$again") silent_s=$(seconds_from 0 "$(awk '{ print $1 / 1e6 }' $OUT/silence)")" \
    "loss_noticed_s=$(seconds_from $begun "$lost") address_s=$(seconds_from $begun "$up")"
  sed 's/^/attempt roam /' $OUT/attempts.jsonl
  cat $OUT/get.log $OUT/hawser.txt $OUT/hawser.err >&2
}
