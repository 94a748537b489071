# NetworkManager on the same machine, told to leave the interface alone: by its command, and by a file.

# manager_result HOW: what NetworkManager says of the interface, and whether the unit attaches.
manager_result() {
  local unit=hawser-wifi@wlan0.service
  systemctl start $unit
  await 60 address
  sleep 5
  result "manager attached=$([ -n "$(address)" ] && echo yes || echo no) told_by=$1 state=$(nmcli -g GENERAL.STATE device show wlan0 | tr ' ' _)" \
    "addresses=$(ip -4 -o address show wlan0 | wc -l) unit=$(systemctl is-active $unit)"
  systemctl stop $unit
  await 5 no_address
}

stage_manager() {
  [ -z "${SUPPLICANT:-}" ] || { kill $SUPPLICANT; wait $SUPPLICANT; SUPPLICANT=; } 2>/dev/null
  point 1
  serve 1
  printf 'ctrl_interface=DIR=/run/wpa_supplicant GROUP=netdev\nnetwork={\n ssid="hawser"\n psk="verysecret"\n}\n' \
    >/etc/wpa_supplicant/wpa_supplicant-wlan0.conf
  systemctl start NetworkManager
  nmcli device set wlan0 managed no
  manager_result nmcli
  systemctl stop NetworkManager
  printf '[keyfile]\nunmanaged-devices=interface-name:wlan0\n' >/etc/NetworkManager/conf.d/hawser.conf
  systemctl start NetworkManager
  manager_result file
  systemctl stop NetworkManager wpa_supplicant@wlan0
  unserve 1
  switch_off 1
}
