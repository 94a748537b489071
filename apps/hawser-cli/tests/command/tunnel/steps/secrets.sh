python3 -c '
from tools import *
check(ping(FAR, 3) == 3 and udp_echo(500) and download(1 << 20) == 1 << 20, "it works")
' || exit 1
kill -TERM $tunnel; wait $tunnel || fail 'it ends well'
cp said said.right
cp key key.right; echo WRONGkeyOFnobodyAAAAAAAA >key
again 2>said.wrong; [ $? -eq 43 ] || fail 'a wrong key'
echo done
