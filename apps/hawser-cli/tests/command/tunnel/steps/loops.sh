# A second tunnel in the first, whose files are elsewhere.
RUN=elsewhere
again --device hawser1 2>refused; [ $? -eq 1 ] || fail 'a second tunnel'
RUN=run
grep -q 'no tunnel in a tunnel: another one runs' refused || { cat refused; fail 'it says why'; }
python3 -c '
from tools import *
check(reaches_far() and download(1 << 20) == 1 << 20, "the first one is as it was")
' || exit 1
# Somebody takes the rules away that keep packets of the tunnel out of it: they do not go round.
ip route add 10.99.0.1 dev hawser0 table 18450
python3 -c '
from tools import *
sock = udp(); sock.connect(("10.99.0.1", 4435)); sock.send(b"x")
' 2>/dev/null
ip rule del priority 18450
python3 -c '
from tools import *
sock = udp(); sock.connect(("10.99.0.1", 4435))
before = received("a0") + received("b0")
for _ in range(200): sock.send(bytes(1000))
time.sleep(0.5)
check(received("a0") + received("b0") < before + 150000, "packets to the gateway do not go round in the tunnel")
check(reaches_far(), "and the tunnel works on, over sockets that are bound to their links")
' || exit 1
kill -TERM $tunnel; wait $tunnel || fail 'it ends well'
ip route del 10.99.0.1 table 18450 2>/dev/null
as_before
# A gateway on this machine.
"$HAWSER" gateway user add me -q --state own >own.key
"$HAWSER" -q gateway --json --routed --listen 127.0.0.1:4436 --state own --run own-run >own.hello 2>own.said & own=$!
trap 'kill $own $tunnel 2>/dev/null' EXIT
for _ in $(seq 200); do [ -s own.hello ] && break; sleep 0.05; done
"$HAWSER" -q tunnel --pin "$(sed 's/.*"pin":"\([^"]*\)".*/\1/' own.hello)" --key-file own.key --run run --no-dns 127.0.0.1:4436 2>refused
[ $? -eq 1 ] && grep -q "address 127.0.0.1 is one of this machine" refused || { cat refused own.said; fail 'a gateway here'; }
kill -TERM $own; wait $own
as_before
echo done
