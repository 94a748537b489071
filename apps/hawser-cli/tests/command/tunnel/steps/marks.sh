# Queues that mark what waits, behind which a download goes on.
python3 -c '
from tools import *
# Packets that left together may have waited for each other, and so be marked.
check(0xBA in classes(0xBA, 50).keys() <= {0xBA, 0xBB}, "EF and ECT(0) arrive")
check(set(classes(0xB8, 50)) == {0xB8}, "EF and Not-ECT arrive")
def both():
    # What leaves at once waits for itself: how much the download leaves in the queues is no matter.
    return classes(0x02, 400, 10, 0.02), classes(0x01, 400, 10, 0.02), classes(0x00, 400, 10, 0.02)
able, other, unable = beside_a_download(both)
print("ECT(0): %s, ECT(1): %s, Not-ECT: %s" % (able, other, unable))
check(able.get(3, 0) > 40 and other.get(3, 0) > 40, "who takes part hears of congestion on the way")
check(set(able) <= {2, 3} and set(other) <= {1, 3}, "and nothing else changes")
check(set(unable) == {0} and unable[0] > 380, "who does not gets its packets as they were")
' || exit 1
kill -TERM $tunnel; wait $tunnel || fail 'it ends well'
# Outer packets have the codepoint that was asked for, whatever is within.
start --dscp EF
python3 -c '
from tools import *
def work():
    check(ping(FAR, 5) == 5 and udp_echo(1000) and download(1 << 20) == 1 << 20, "it works")
for device in ("a0", "b0"):
    sent, came = outer_codepoints(device, work)
    check(sent == {46} and came == {40}, "%s: %s sent, %s came" % (device, sent, came))
check(set(classes(0x28, 20)) == {0x28}, "inner packets keep theirs")
' || exit 1
kill -TERM $tunnel; wait $tunnel || fail 'it ends well'
as_before
echo done
