# Not a function: the numbers are to be those of the processes.
within="nsenter --net=/proc/$beyond/ns/net"
# At the far host: names, pages, ssh, iperf3, HTTP/3. And a gateway that is started again when it was killed.
$within python3 dns.py 198.51.100.2 198.51.100.2 & dns=$!
mkdir -p www; head -c 3000000 /dev/urandom >www/file; cp www/file www/index.html
$within python3 -m http.server 8000 --bind 198.51.100.2 --directory www >/dev/null 2>&1 & pages=$!
$within "$HAWSER" -q serve --json www --listen 198.51.100.2:4433 --state served >served.json 2>/dev/null & http3=$!
services="$dns $pages $http3"
if command -v iperf3 >/dev/null; then $within iperf3 -s -p 5203 >/dev/null 2>&1 & services="$services $!"; fi
if command -v dropbear >/dev/null; then
    dropbearkey -t ed25519 -f host.key >/dev/null 2>&1
    # In its own mounts, where root's keys are those of this test.
    $within unshare -m sh -c 'mount --bind "$WORK" /root && exec dropbear -F -E -s -r host.key -p 198.51.100.2:2222 -P ""' >ssh-said 2>&1 &
    services="$services $!"
fi
trap 'kill $services $beyond $web $gateway 2>/dev/null' EXIT
echo $gateway >gateway-pid
wait $gateway
# Killed by the steps, once.
"$HAWSER" -q gateway --json --nat --listen "$HAWSER_SERVER_ADDR:4435" --state "$WORK" --run "$WORK/run" \
    --allow-egress 198.51.100.0/24 >hello.again 2>>gateway-said & gateway=$!
echo $gateway >gateway-pid
