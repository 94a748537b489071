# NetworkManager on the same machine, told to leave the interface alone: by its command, and by a file.
. ./unit.sh

# manager_result HOW: what NetworkManager says of the interface, and whether the unit attaches.
manager_result() {
  systemctl start $UNIT
  await 60 address
  # Time to take it away.
  sleep 5
  result "manager $1=$(yes_if [ -n "$(address)" ]) state=$(nmcli -g GENERAL.STATE device show wlan0 | tr -d ' ()')" \
    "addresses=$(ip -4 -o address show wlan0 | wc -l) unit=$(systemctl is-active $UNIT)"
  systemctl stop $UNIT
  await 5 no_address
}

stage_manager() {
  point 1
  serve 1
  configure_supplicant
  systemctl start NetworkManager
  nmcli device set wlan0 managed no
  manager_result nmcli
  systemctl stop NetworkManager
  printf '[keyfile]\nunmanaged-devices=interface-name:wlan0\n' >/etc/NetworkManager/conf.d/hawser.conf
  systemctl start NetworkManager
  manager_result file
  systemctl stop NetworkManager wpa_supplicant@wlan0
}
