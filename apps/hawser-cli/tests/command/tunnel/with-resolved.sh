# A host on which programs ask systemd-resolved for names; what plays it is on a bus of its own.
cd "$WORK"
printf 'nameserver 127.0.0.53\noptions edns0 trust-ad\nsearch .\n' >stub-resolv.conf
ln -sf stub-resolv.conf resolv.conf
untouched=$(stat -c '%i %y %z' resolv.conf stub-resolv.conf)
cat >bus.conf <<END
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <listen>unix:path=$WORK/bus</listen>
  <policy context="default"><allow user="*"/><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/></policy>
</busconfig>
END
export DBUS_SYSTEM_BUS_ADDRESS="unix:path=$WORK/bus"
until_there() { for _ in $(seq 200); do [ -s "$1" ] && return; sleep 0.05; done; echo "failed: $1"; cat bus-said resolved-said; exit 1; }
dbus-daemon --config-file=bus.conf --nofork --nopidfile --print-address >bus-ready 2>bus-said & bus=$!
trap 'kill $resolved $bus 2>/dev/null' EXIT
until_there bus-ready
resolved() {
    rm -f resolved-ready
    python3 resolved.py bus told "$HAWSER_SERVER_ADDR" "$@" >resolved-ready 2>resolved-said & resolved=$!
    until_there resolved-ready
}
resolved
