# Two access points, each in a namespace with its own DHCP server, and a host behind both. The station is wlan0 of the first namespace.
export PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
OUT=/run/out
CONTROL=/run/wpa_supplicant
mkdir -p $OUT $CONTROL

result() { echo "$*"; }
say() { echo "@$(cut -d' ' -f1 /proc/uptime) $*" >&2; }
now() { echo "${EPOCHREALTIME/,/.}"; }
# mark KEY=VALUE...: a moment, among the lines of results.
mark() { result "mark at=$(now) $*"; }

stage_air() {
  local n mac
  depmod 2>/dev/null
  modprobe mac80211_hwsim radios=3 || { result "failed no radio: mac80211_hwsim does not load"; dmesg | tail -5 >&2; return 1; }
  for n in $(seq 50); do [ -e /sys/class/net/wlan2 ] && break; sleep 0.1; done
  ip link set lo up
  ip netns add net
  ip -n net link set lo up
  ip -n net address add 10.9.9.9/32 dev lo
  for n in 1 2; do
    ip netns add ap$n
    iw phy phy$n set netns name ap$n || result "failed phy$n does not move"
    ip -n ap$n link set lo up
    ip link add up$n type veth peer name down$n
    ip link set up$n netns ap$n
    ip link set down$n netns net
    ip -n ap$n address add 10.9.$n.1/24 dev up$n
    ip -n ap$n link set up$n up
    ip -n net address add 10.9.$n.2/24 dev down$n
    ip -n net link set down$n up
    ip -n ap$n route add default via 10.9.$n.2
    ip -n net route add 10.$n.0.0/24 via 10.9.$n.1
    ip netns exec ap$n sysctl -qw net.ipv4.ip_forward=1
    mac=$(ip netns exec ap$n cat /sys/class/net/wlan$n/address)
    eval "AP$n=$mac"
  done
  STATION=$(cat /sys/class/net/wlan0/address)
  # What the kernel says about addresses, with the time of each line.
  ip -ts monitor address dev wlan0 >>$OUT/addresses &
}

# point N [LINE...]: starts access point N, with WPA2 and a common key unless the lines say otherwise.
point() {
  local n=$1; shift
  {
    printf 'interface=wlan%s\ndriver=nl80211\nssid=hawser\nhw_mode=g\nchannel=%s\nctrl_interface=/run/hostapd%s\n' "$n" $((1 + 5 * (n - 1))) "$n"
    if [ $# = 0 ]; then printf 'wpa=2\nwpa_key_mgmt=WPA-PSK\nrsn_pairwise=CCMP\nwpa_passphrase=verysecret\n'; else printf '%s\n' "$@"; fi
  } >$OUT/hostapd$n.conf
  ip netns exec ap$n hostapd $OUT/hostapd$n.conf >>$OUT/hostapd$n.log 2>&1 &
  eval "POINT$n=$!"
  until ip netns exec ap$n hostapd_cli -p /run/hostapd$n status 2>/dev/null | grep -q state=ENABLED; do sleep 0.2; done
  ip -n ap$n address replace 10.$n.0.1/24 dev wlan$n
}

# serve N [OPTION...]: the DHCP server of access point N, restarted, with no lease known. Defaults are dnsmasq's own.
serve() {
  local n=$1; shift
  unserve $n
  ip netns exec ap$n dnsmasq --conf-file=/dev/null --no-daemon --port=0 --interface=wlan$n --bind-interfaces --leasefile-ro \
    --dhcp-range=10.$n.0.10,10.$n.0.200,600 --dhcp-option=option:router,10.$n.0.1 \
    --dhcp-option=option:dns-server,10.9.9.9 "$@" >>$OUT/dhcp$n.log 2>&1 &
  eval "SERVER$n=$!"
}

unserve() {
  local running=SERVER$1
  [ -z "${!running:-}" ] || { kill "${!running}"; wait "${!running}"; } 2>/dev/null
  eval "SERVER$1="
}

# switch_off N: the access point falls silent, as one that is out of reach does.
switch_off() {
  local running=POINT$1
  [ -z "${!running:-}" ] || { kill -9 "${!running}"; wait "${!running}"; } 2>/dev/null
  eval "POINT$1="
  ip -n ap$1 link set wlan$1 down
}

# end_supplicant: the one of this program, before systemd starts another one.
end_supplicant() {
  end_supplicant
  SUPPLICANT=
}

# supplicant LINE...: wpa_supplicant with this network, not attached.
supplicant() {
  end_supplicant
  { printf 'ctrl_interface=DIR=%s\nnetwork={\n' $CONTROL; printf '  %s\n' "$@"; printf '}\n'; } >$OUT/wpa.conf
  wpa_supplicant -t -i wlan0 -D nl80211 -c $OUT/wpa.conf -f $OUT/wpa.log &
  SUPPLICANT=$!
  until wpa ping 2>/dev/null | grep -q PONG; do sleep 0.2; done
}
PSK=('ssid="hawser"' 'psk="verysecret"')

wpa() { wpa_cli -p $CONTROL -i wlan0 "$@"; }
address() { ip -4 -o address show wlan0 | awk '{ sub("/.*", "", $4); if ($4 !~ /^169\.254/) print $4 }' | head -1; }
# await SECONDS COMMAND...: until it prints something; fails when the time is over.
await() {
  local end=$((SECONDS + $1)); shift
  while [ $SECONDS -lt $end ]; do
    [ -z "$("$@")" ] || return 0
    sleep 0.1
  done
  return 1
}
yes_if() { if "$@"; then echo yes; else echo no; fi; }
no_address() { [ -n "$(address)" ] || echo none; }
detach() { wpa disconnect >/dev/null; wpa bss_flush 0 >/dev/null; }
# Clients: Hawser's, and Debian's dhcpcd with its own configuration.
start_hawser() { hawser wifi attach wlan0 --control $CONTROL "$@" >$OUT/hawser.txt 2>$OUT/hawser.err & CLIENT=$!; }
stop() { kill -INT $CLIENT 2>/dev/null; wait $CLIENT 2>/dev/null; CLIENT=; await 5 no_address; }
start_stock() { dhcpcd --nobackground --quiet wlan0 >$OUT/dhcpcd.log 2>&1 & CLIENT=$!; sleep 1; }
# tidy: ends what a stage has left, also one that returned early.
tidy() {
  local n
  [ -z "${CLIENT:-}" ] || stop
  [ -z "${HELPER:-}" ] || { kill $HELPER; wait $HELPER; } 2>/dev/null
  HELPER=
  for n in 1 2; do unserve $n; switch_off $n; done
}
# The log of wpa_supplicant, and of addresses, for the figures.
send_logs() {
  sed -nE 's/^([0-9.]+): wlan0: (SME: Trying to authenticate|Associated|CTRL-EVENT-(CONNECTED|DISCONNECTED|SCAN-STARTED|EAP-SUCCESS)).*/wpa at=\1 \2/p' $OUT/wpa.log
  grep -E 'inet 10\.' $OUT/addresses | sed 's/^/address /'
  : >$OUT/wpa.log
  : >$OUT/addresses
}
