# What a lease names is set: name servers (by systemd-resolved, and in a file), MTU, routes; and all of it is undone. Another hardware
# address for each attachment; IPv6 next to it, by router advertisements, which the kernel follows.

lease_offer() {
  serve 1 --no-ping --dhcp-option=option:mtu,1400 \
    --dhcp-option=option:classless-static-route,0.0.0.0/0,10.1.0.1,10.20.0.0/16,10.1.0.2,9.9.9.9/32,10.1.0.2
}

stage_lease() {
  local names route look mtu undone
  point 1
  # The name server that the lease names.
  ip netns exec net dnsmasq --conf-file=/dev/null --no-daemon --no-resolv --bind-interfaces --listen-address=10.9.9.9 \
    --address=/portal.test/10.9.9.80 >$OUT/names.log 2>&1 &
  names=$!
  supplicant "${PSK[@]}"
  lease_offer
  rm -f $OUT/leases.json
  start_hawser --leases $OUT/leases.json
  await 60 address || { result "lease failed=no-address"; return; }
  sleep 1
  look=$(resolvectl query --legend=no portal.test 2>/dev/null | awk '{ print $2; exit }')
  route=$(ip route show 10.20.0.0/16 | awk '{ print $3 }')
  mtu=$(cat /sys/class/net/wlan0/mtu)
  result "lease resolved=$(resolvectl dns wlan0 | awk '{ print $NF }') portal.test=$look mtu=$mtu route=$route" \
    "default=$(ip route show default dev wlan0 | awk '{ print $3 }') public_route=$(ip route show 9.9.9.9 | grep -q . && echo taken || echo refused)"
  stop
  undone=$(resolvectl dns wlan0 | sed 's/.*://' | tr -d ' ')
  result "lease after the end: resolved=${undone:-none} mtu=$(cat /sys/class/net/wlan0/mtu) routes=$(ip route show dev wlan0 | wc -l)"
  echo 'nameserver 192.0.2.1' >$OUT/resolv.conf
  start_hawser --leases $OUT/leases.json --resolv-conf $OUT/resolv.conf
  await 60 address || { result "lease failed=no-address"; return; }
  sleep 1
  names_in_file=$(awk '/^nameserver/ { print $2 }' $OUT/resolv.conf | tr '\n' ,)
  stop
  result "lease file=$names_in_file file_after=$(awk '/^nameserver/ { print $2 }' $OUT/resolv.conf)"
  cat $OUT/hawser.err >&2
  lease_random_mac
  lease_ipv6
  kill $names
  unserve 1
  switch_off 1
}

lease_random_mac() {
  supplicant "${PSK[@]}" mac_addr=1
  serve 1 --no-ping
  rm -f $OUT/leases.json
  start_hawser --leases $OUT/leases.json
  await 60 address
  result "lease random_mac=$([ "$(cat /sys/class/net/wlan0/address)" != "$STATION" ] && echo yes || echo no) address=$(address)" \
    "server_knows=$(grep -o "DHCPACK.*$(cat /sys/class/net/wlan0/address)" $OUT/dhcp1.log | wc -l)"
  stop
  supplicant "${PSK[@]}"
}

global6() { ip -6 -o address show wlan0 scope global -tentative | awk '{ print $4 }' | head -1; }

lease_ipv6() {
  ip -n ap1 address add fd00:1::1/64 dev wlan1 nodad
  serve 1 --no-ping --enable-ra --dhcp-range=fd00:1::,ra-only
  start_hawser --leases $OUT/leases.json
  await 60 address
  await 15 global6
  result "lease ipv6=$(global6) default=$(ip -6 route show default dev wlan0 | awk '{ print $3 }')"
  stop
  result "lease ipv6 after the end: $(global6)"
}
