# What a person does with a machine whose traffic goes through a tunnel, while links and gateway come and go.
for _ in $(seq 200); do [ -s served.json ] && break; sleep 0.05; done
h3pin=$(sed 's/.*"pin":"\([^"]*\)".*/\1/' served.json)
same() { cmp -s www/file "$1" || fail "$2"; }
programs() {
    if command -v ping >/dev/null; then
        ping -c 5 -i 0.2 -W 2 198.51.100.2 >pinged || fail "$1: ping: $(cat pinged)"
    fi
    # The machine's own resolver, whose file names that of the tunnel.
    [ "$(getent hosts www.far.test)" = '198.51.100.2    www.far.test' ] || fail "$1: a look-up: $(getent hosts www.far.test)"
    curl -sS --max-time 30 -o got http://www.far.test:8000/file || fail "$1: curl"; same got "$1: what curl brought"
    # A server that has no time for new clients says so: they come back.
    for try in 1 2 3 4 5; do
        "$HAWSER" -q get --json --path hawser0 --pin "$h3pin" -o got.h3 https://198.51.100.2:4433/file >/dev/null 2>h3-said && break
        grep -q CONNECTION_REFUSED h3-said && [ $try -lt 5 ] || fail "$1: HTTP/3 inside: $(cat h3-said)"
        sleep 1
    done
    same got.h3 "$1: what HTTP/3 brought"
    if command -v iperf3 >/dev/null; then
        iperf3 -u -b 2M -t 1 -J -c 198.51.100.2 -p 5203 >iperf || fail "$1: iperf3 -u: $(cat iperf)"
        python3 -c 'import json; lost = json.load(open("iperf"))["end"]["sum"]["lost_percent"]; assert lost < 2, lost' || fail "$1: iperf3 -u"
    fi
    if command -v dropbear >/dev/null && command -v ssh >/dev/null; then
        [ "$(into 198.51.100.2 'cat www/file | wc -c')" = 3000000 ] || fail "$1: ssh"
    fi
}
# ssh as anybody would; keys of this test only.
into() {
    ssh -F /dev/null -p 2222 -i user.key -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR \
        -o BatchMode=yes -o ConnectTimeout=10 $3 root@"$1" "cd '$WORK'; $2"
}
programs 'at first'

# Through the local proxy, as somebody without root does.
"$HAWSER" -q proxy --json --pin "$(pin)" --key-file key --listen 127.0.0.1:1080 "$HAWSER_SERVER_ADDR:4435" >proxy 2>proxy-said & proxy=$!
trap 'kill $proxy $tunnel 2>/dev/null' EXIT
for _ in $(seq 200); do [ -s proxy ] && break; sleep 0.05; done
curl -sS --max-time 30 -x socks5h://127.0.0.1:1080 -o got http://198.51.100.2:8000/file || fail 'curl -x socks5h://'
same got 'what curl -x socks5h:// brought'

# A link is pulled during a download, and returns.
curl -sS --max-time 60 --limit-rate 1M -o got http://198.51.100.2:8000/file & curl=$!
sleep 1; ip link set a0 down
wait $curl || fail 'a download while a link is pulled'; same got 'a download while a link is pulled'
programs 'over the link that is left'
ip link set a0 up
ip route replace default via 10.77.1.1 dev a0 metric 100
ip route replace default via 10.77.1.1 dev a0 table 100
sleep 1
python3 -c '
from tools import *
for _ in range(20):
    a, b = received("a0"), received("b0")
    download(4 << 20)
    if min(received("a0") - a, received("b0") - b) > 1 << 20: sys.exit(0)
    time.sleep(0.5)
sys.exit("failed: the link that returned carries nothing")
' || exit 1
programs 'with both again'

# The gateway is killed and started: a new connection waits for it.
kill -KILL "$(cat gateway-pid)"
python3 -c '
from tools import *
began = time.monotonic()
while time.monotonic() < began + 15 and not reaches_far(): pass
check(reaches_far(), "the gateway is found again")
' || exit 1
programs 'after the gateway came back'

# The client is killed: routes, rules, tables of nftables and resolvers are as before once somebody has cleaned up.
kill $proxy; wait $proxy
kill -KILL $tunnel; wait $tunnel
"$HAWSER" tunnel --cleanup --run run 2>/dev/null || fail 'cleaning up'
as_before
# And once more, by the next start.
start
kill -KILL $tunnel; wait $tunnel
start
programs 'after a crash'
kill -TERM $tunnel; wait $tunnel || fail 'it ends well'
as_before
echo done
