# The first tunnel takes everything.
python3 -c 'from tools import *; check(reaches_far(), "through the tunnel")' || exit 1
kill -TERM $tunnel; wait $tunnel || fail 'it ends well'
python3 -c 'from tools import *; check(not reaches_far(), "and no other way")' || exit 1

# One user's programs.
start --user 4242
python3 -c '
from tools import *
import os
check(not reaches_far() and ping("10.99.0.1", 3) == 3, "others go their own way")
"what is loaded once".encode("idna")
os.setuid(4242)
check(reaches_far() and udp_echo(1000) and udp_echo(8000), "UDP of the user")
check(download(1 << 20) == 1 << 20 and half_close(), "TCP of the user")
' || exit 1
kill -TERM $tunnel; wait $tunnel || fail 'it ends well'
as_before

# Programs in a control group.
root=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
group=hawser-test-$$
if [ -n "$root" ] && mkdir "$root/$group" 2>/dev/null; then
    start --cgroup "$group"
    python3 -c 'from tools import *; check(not reaches_far(), "others go their own way")' || { rmdir "$root/$group"; exit 1; }
    sh -c 'echo $$ >"$0/cgroup.procs"; exec python3 -c "
from tools import *
check(reaches_far() and udp_echo(1000), \"UDP of the group\")
check(download(1 << 20) == 1 << 20 and half_close(), \"TCP of the group\")
"' "$root/$group" || { rmdir "$root/$group"; exit 1; }
    kill -KILL $tunnel; wait $tunnel
    rmdir "$root/$group"
    "$HAWSER" tunnel --cleanup --run run 2>/dev/null || fail 'cleaning up'
    as_before
else
    echo 'skipped: control groups of version 2'
fi

# What a domain stands for, whose names are looked up on the other side, and other names as before.
echo 'nameserver 10.99.0.1' >resolv.conf; cp resolv.conf resolv.before
RESOLVER=198.51.100.3
start --domain chosen.test
grep -q 'nameserver 127.18.45.53' resolv.conf || fail 'names are looked up here'
python3 -c '
from tools import *
HERE = "127.18.45.53"
check(not reaches_far() and ping("10.99.0.1", 3) == 3, "nothing was looked up yet")
check(look_up("www.other.test", HERE) == ["10.99.0.1"], "other names as before")
check(look_up("notchosen.test", HERE) == ["10.99.0.1"], "a name that only looks like it")
check(not reaches_far(), "other names lead nothing through the tunnel")
check(look_up("www.chosen.test", HERE) == [FAR], "a chosen name, at the other side")
check(reaches_far() and download(1 << 20) == 1 << 20, "what it stands for goes through the tunnel")
check(look_up("Chosen.TEST", HERE, over_tcp=True) == [FAR], "over TCP, in other letters")
' || exit 1
kill -KILL $tunnel; wait $tunnel
python3 -c '
from tools import *
check(ping("10.99.0.1", 3) == 3 and not reaches_far(), "after a crash the links are as before")
' || exit 1
"$HAWSER" tunnel --cleanup --run run 2>/dev/null || fail 'cleaning up'
as_before
echo done
