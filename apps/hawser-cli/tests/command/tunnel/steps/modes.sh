# All traffic over both links, then twice, then again once: what is ordered holds while connections go on.
kill -TERM $tunnel; wait $tunnel || fail 'it ends well'
start --control "$WORK/ctl.sock"
order() { "$HAWSER" ctl --socket "$WORK/ctl.sock" mode $1 >ordered 2>&1 || { cat ordered; fail "mode $1"; }; }
python3 -c '
from tools import *
import threading

def sent(device):
    with open("/proc/net/dev") as table:
        line = next(line for line in table if line.strip().startswith(device + ":"))
    return int(line.split(":")[1].split()[8])

def order(mode):
    done = subprocess.run([sys.argv[1], "ctl", "--socket", sys.argv[2], "mode", mode], capture_output=True, text=True)
    check(done.returncode == 0, done.stdout + done.stderr)

def upload(length):
    """How often each byte left this machine, over both links together."""
    before = sent("a0") + sent("b0")
    with connect() as connection:
        connection.sendall(b"u" + bytes(length))
        connection.shutdown(socket.SHUT_WR)
        check(int(connection.recv(100)) == length, "all of it came")
    return (sent("a0") + sent("b0") - before) / length

delays = []
talking = threading.Thread(target=lambda: delays.extend(call(600)))
talking.start()
shares = []
for mode in ("aggregate", "redundant", "aggregate"):
    order(mode)
    time.sleep(0.3)
    shares.append(upload(4 << 20))
talking.join()
print(shares, lost(delays))
once, twice, again = shares
check(once < 1.3 and twice > 1.6 and again < 1.3, "once, twice, once: %s" % shares)
check(lost(delays) == 0, "%d of a call are lost" % lost(delays))
' "$HAWSER" "$WORK/ctl.sock" || exit 1
kill -TERM $tunnel; wait $tunnel || fail 'it ends well'
as_before
echo done
