# The gateway, and a host beyond it that knows no route to the gateway's clients.
cd "$WORK"
unshare -n sleep 1000 & beyond=$!
trap 'kill $beyond $web $gateway 2>/dev/null' EXIT
trap 'exit 0' TERM INT
own=$(readlink /proc/self/ns/net)
while [ "$(readlink /proc/$beyond/ns/net)" = "$own" ]; do sleep 0.05; done
inside() { nsenter --net=/proc/$beyond/ns/net "$@"; }
ip link add near0 type veth peer name far0
ip link set far0 netns $beyond
ip addr add 198.51.100.1/24 dev near0
ip link set near0 up
inside ip addr add 198.51.100.2/24 dev far0
inside ip link set far0 up
nsenter --net=/proc/$beyond/ns/net python3 beyond.py & web=$!
python3 -c '
import socket, time
for _ in range(200):
    try:
        socket.create_connection(("198.51.100.2", 5201), 1).close()
        break
    except OSError:
        time.sleep(0.05)
'
. ./gateway.sh
wait $gateway
