# ATTACHES attachments of each client: first visits (nobody knows a lease), at a server that offers at once and at one as it comes, and
# visits again, after the access point has thrown the station out.

visit_first() {
  local client=$1 server=$2 i
  [ $client = hawser ] || start_stock
  for i in $(seq $ATTACHES); do
    detach
    await 5 no_address
    serve 1 $( [ $server = at-once ] && echo --no-ping )
    rm -rf /var/lib/dhcpcd/*.lease $OUT/leases.json
    sleep 1
    mark begin client=$client visit=first server=$server
    if [ $client = hawser ]; then start_hawser --leases $OUT/leases.json -o $OUT/attempts.jsonl; else wpa reconnect >/dev/null; fi
    await 60 address || result "failed $client: no address in 60 s"
    mark end
    sleep 0.5
    [ $client != hawser ] || stop
  done
  [ $client = hawser ] || stop_stock
}

# Debian's configuration of dhcpcd keeps the address at its end.
stop_stock() { kill -INT $CLIENT; wait $CLIENT; CLIENT=; ip address flush dev wlan0 scope global; }

visit_again() {
  local client=$1 i
  serve 1
  detach
  if [ $client = hawser ]; then start_hawser --leases $OUT/leases.json -o $OUT/attempts.jsonl; else start_stock; wpa reconnect >/dev/null; fi
  await 60 address || result "failed $client: no address in 60 s"
  for i in $(seq $ATTACHES); do
    sleep 1
    mark begin client=$client visit=again server=default
    ip netns exec ap1 hostapd_cli -p /run/hostapd1 deauthenticate $STATION >/dev/null
    await 8 no_address || result "failed $client: the address stays"
    await 60 address || result "failed $client: no address in 60 s"
    mark end
  done
  if [ $client = hawser ]; then stop; else stop_stock; fi
}

stage_attach() {
  local client server
  point 1
  supplicant "${PSK[@]}"
  for server in at-once default; do
    for client in $CLIENTS; do visit_first $client $server; done
  done
  for client in $CLIENTS; do visit_again $client; done
  send_logs
  sed 's/^/attempt PSK /' $OUT/attempts.jsonl 2>/dev/null
  cat $OUT/hawser.txt $OUT/hawser.err $OUT/dhcpcd.log >&2 2>/dev/null
}
