# hawser-wifi@wlan0.service under systemd, without root: it attaches, is restarted after a crash, and leaves nothing.

UNIT=hawser-wifi@wlan0.service
# Prints something once the server has given more leases than this.
leases_after() { [ "$(grep -c DHCPACK $OUT/dhcp1.log)" -le "$1" ] || echo more; }
resolvers() { resolvectl dns wlan0 | sed 's/.*://' | tr -d ' '; }

# configure_supplicant: what Debian's unit of wpa_supplicant reads.
configure_supplicant() {
  end_supplicant
  printf 'ctrl_interface=DIR=%s GROUP=netdev\nnetwork={\n ssid="hawser"\n psk="verysecret"\n}\n' $CONTROL >/etc/wpa_supplicant/wpa_supplicant-wlan0.conf
}

stage_unit() {
  local before
  point 1
  serve 1
  configure_supplicant
  systemctl start $UNIT
  await 60 address
  await 5 resolvers
  result "unit attached=$(yes_if [ -n "$(address)" ]) state=$(systemctl is-active $UNIT)" \
    "user=$(ps -o user:20= -p "$(systemctl show -P MainPID $UNIT)") supplicant=$(systemctl is-active wpa_supplicant@wlan0) name_server=$(resolvers)"
  before=$(grep -c DHCPACK $OUT/dhcp1.log)
  kill -9 "$(systemctl show -P MainPID $UNIT)"
  await 60 leases_after "$before"
  await 5 address
  result "unit after_kill=$(yes_if [ -n "$(leases_after "$before")" -a -n "$(address)" ]) restarts=$(systemctl show -P NRestarts $UNIT)"
  systemctl stop $UNIT
  await 5 no_address
  result "unit stopped=$(systemctl is-active $UNIT) address_after=$(address) name_server_after=$(resolvers)" \
    "files=$(ls -m /var/lib/private/hawser-wifi/ | tr -d ' \n')"
  journalctl -u $UNIT --no-pager >&2
  systemctl stop wpa_supplicant@wlan0
}
