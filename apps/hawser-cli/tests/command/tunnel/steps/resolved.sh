# Names by systemd-resolved: it is told of the resolver beyond the gateway, and no file changes.
trap 'kill $tunnel $resolved $bus 2>/dev/null' EXIT
unchanged() { [ "$(stat -c '%i %y %z' resolv.conf stub-resolv.conf)" = "$untouched" ] || fail "$1"; }
told() {
    for _ in $(seq 200); do [ "$(tail -n "$(echo "$2" | wc -l)" told)" = "$2" ] && return; sleep 0.05; done
    cat told; fail "$1"
}
grep -q '"dns_by":"systemd-resolved"' tunnel || fail "resolved is told: $(cat tunnel said)"
everything='SetLinkDomains .
SetLinkDefaultRoute True
SetLinkDNS'
told 'of the first tunnel' "$everything 198.51.100.2"
unchanged 'no file changes at the start'
kill -TERM $tunnel; wait $tunnel || fail 'it ends well'
told 'of its end' RevertLink
as_before; unchanged 'nor at the end'

# Which way it would be is known before.
RESOLVER=198.51.100.3
"$HAWSER" -q tunnel check --pin "$(pin)" --key-file key --run run --resolv-conf resolv.conf --dns $RESOLVER "$HAWSER_SERVER_ADDR:4435" >checked ||
    { cat checked; fail 'nothing is missing'; }
grep -q '^change   systemd-resolved asks 198.51.100.3 for all names, over hawser0; resolv.conf stays as it is$' checked || { cat checked; fail 'what a check says'; }

# All names, over the tunnel; also after a restart of resolved, which forgets what it was told.
start
told 'of the second tunnel' "$everything 198.51.100.3"
look_up='
from tools import *
check(look_up("www.chosen.test", "127.0.0.53") == [FAR], "a name, asked for through the tunnel")
check(look_up("www.other.test", "127.0.0.53") == [], "all names are")
'
python3 -c "$look_up" || exit 1
kill -KILL $resolved; wait $resolved; : >told
resolved
told 'after its restart' "$everything 198.51.100.3"
python3 -c "$look_up" || exit 1
unchanged 'no file changes when resolved restarts'

# A crash: names are looked up over the links as before, at once.
kill -KILL $tunnel; wait $tunnel
python3 -c '
from tools import *
check(look_up("www.chosen.test", "127.0.0.53") == ["10.99.0.1"], "after a crash names are asked for where they were")
' || exit 1
unchanged 'nor by a crash'
"$HAWSER" tunnel --cleanup --run run >cleaned 2>&1 || fail 'cleaning up'
if grep -q 'resolv.conf' cleaned; then cat cleaned; fail 'there is no file to restore'; fi
as_before; unchanged 'nor by cleaning up'

# A domain: resolved asks the tunnel's own resolver for its names, and others as before.
start --domain chosen.test
told 'of a domain' 'SetLinkDomains chosen.test
SetLinkDefaultRoute False
SetLinkDNSOverTLS no
SetLinkDNS 127.18.45.53'
python3 -c '
from tools import *
check(not reaches_far(), "nothing was looked up yet")
check(look_up("www.other.test", "127.0.0.53") == ["10.99.0.1"], "other names as before")
check(look_up("www.chosen.test", "127.0.0.53") == [FAR], "a chosen name, at the other side")
check(reaches_far() and download(1 << 20) == 1 << 20, "what it stands for goes through the tunnel")
' || exit 1
kill -TERM $tunnel; wait $tunnel || fail 'it ends well'
as_before; unchanged 'no file changes for a domain'

# One that refuses leaves the file, which is a link again after a crash.
kill -KILL $resolved; wait $resolved
resolved refuse
start
grep -q '"dns_by":"resolv.conf"' tunnel || fail "resolved refuses: $(cat tunnel said)"
[ ! -L resolv.conf ] && grep -q 'nameserver 198.51.100.3' resolv.conf || fail 'the file names the resolver'
kill -KILL $tunnel; wait $tunnel
"$HAWSER" tunnel --cleanup --run run 2>/dev/null || fail 'cleaning up'
as_before
[ "$(readlink resolv.conf)" = stub-resolv.conf ] || fail 'it is a link again'
echo done
