# hawser-wifi@wlan0.service under systemd, without root: it attaches, is restarted after a crash, and leaves nothing.

# Prints something once the server has given more leases than this.
leases_after() { [ "$(grep -c DHCPACK $OUT/dhcp1.log)" -le "$1" ] || echo more; }

stage_unit() {
  local unit=hawser-wifi@wlan0.service before
  [ -z "${SUPPLICANT:-}" ] || { kill $SUPPLICANT; wait $SUPPLICANT; SUPPLICANT=; } 2>/dev/null
  point 1
  serve 1
  printf 'ctrl_interface=DIR=/run/wpa_supplicant GROUP=netdev\nnetwork={\n ssid="hawser"\n psk="verysecret"\n}\n' \
    >/etc/wpa_supplicant/wpa_supplicant-wlan0.conf
  systemctl start $unit
  await 60 address
  result "unit attached=$([ -n "$(address)" ] && echo yes || echo no) state=$(systemctl is-active $unit)" \
    "user=$(ps -o user= -p "$(systemctl show -P MainPID $unit)") supplicant=$(systemctl is-active wpa_supplicant@wlan0)" \
    "name_server=$(resolvectl dns wlan0 | awk '{ print $NF }')"
  before=$(grep -c DHCPACK $OUT/dhcp1.log)
  kill -9 "$(systemctl show -P MainPID $unit)"
  await 60 leases_after "$before"
  result "unit attached=$([ -n "$(leases_after "$before")" ] && echo yes || echo no) after=kill restarts=$(systemctl show -P NRestarts $unit)"
  systemctl stop $unit
  await 5 no_address
  result "unit attached=yes stopped=$(systemctl is-active $unit) address=$(address) leases=$(ls /var/lib/private/hawser-wifi/ 2>/dev/null | tr '\n' ,)"
  journalctl -u $unit --no-pager >&2
  systemctl stop wpa_supplicant@wlan0
  unserve 1
  switch_off 1
}
