# What a lease names is set: name servers (by systemd-resolved, and in a file), MTU, routes; and all of it is undone. Another hardware
# address for each attachment; IPv6 next to it, by router advertisements, which the kernel follows.

stage_lease() {
  point 1
  # The name server that the lease names.
  ip netns exec net dnsmasq --conf-file=/dev/null --no-daemon --no-resolv --bind-interfaces --listen-address=10.9.9.9 \
    --address=/portal.test/10.9.9.80 >$OUT/names.log 2>&1 &
  HELPER=$!
  supplicant "${PSK[@]}"
  serve 1 --no-ping --dhcp-option=option:mtu,1400 \
    --dhcp-option=option:classless-static-route,0.0.0.0/0,10.1.0.1,10.20.0.0/16,10.1.0.2,9.9.9.9/32,10.1.0.2
  rm -f $OUT/leases.json
  lease_is_set
  lease_in_a_file
  cat $OUT/hawser.err >&2
  lease_random_mac
  lease_ipv6
}

resolvers() { resolvectl dns wlan0 | sed 's/.*://' | tr -d ' '; }
name_servers() { awk '/^nameserver/ { print $2 }' "$1" | paste -sd,; }

lease_is_set() {
  start_hawser --leases $OUT/leases.json
  await 60 address || { result "failed lease: no address in 60 s"; stop; return; }
  await 5 resolvers
  result "lease resolved=$(resolvers) portal.test=$(resolvectl query --legend=no portal.test 2>/dev/null | awk '{ print $2; exit }')" \
    "mtu=$(cat /sys/class/net/wlan0/mtu) route=$(ip route show 10.20.0.0/16 | awk '{ print $3 }')" \
    "default=$(ip route show default dev wlan0 | awk '{ print $3 }')" \
    "public_route=$(if ip route show 9.9.9.9 | grep -q .; then echo taken; else echo refused; fi)"
  stop
  result "lease resolved_after=$(resolvers) mtu_after=$(cat /sys/class/net/wlan0/mtu) routes_after=$(ip route show dev wlan0 | wc -l)"
}

lease_in_a_file() {
  echo 'nameserver 192.0.2.1' >$OUT/resolv.conf
  start_hawser --leases $OUT/leases.json --resolv-conf $OUT/resolv.conf
  await 60 address || { result "failed lease: no address in 60 s"; stop; return; }
  await 5 grep 10.9.9.9 $OUT/resolv.conf
  result "lease file=$(name_servers $OUT/resolv.conf)"
  stop
  result "lease file_after=$(name_servers $OUT/resolv.conf)"
}

lease_random_mac() {
  local drawn
  supplicant "${PSK[@]}" mac_addr=1
  serve 1 --no-ping
  rm -f $OUT/leases.json
  start_hawser --leases $OUT/leases.json
  await 60 address
  drawn=$(cat /sys/class/net/wlan0/address)
  result "lease random_mac=$(yes_if [ "$drawn" != "$STATION" ]) address=$(address) server_knows=$(yes_if grep -q "DHCPACK.*$drawn" $OUT/dhcp1.log)"
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
  result "lease ipv6=$(global6) default6=$(ip -6 route show default dev wlan0 | awk '{ print $3 }')"
  stop
  result "lease ipv6_after=$(global6)"
}
