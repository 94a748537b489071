//! The set-ups of docs/tunnel.md, run as they stand there.

use super::{SCENARIO, can_run, run_in};

const PAGE: &str = include_str!("../../../../../docs/tunnel.md");

/// The gateway of the page, whose user is the client: only the name of the host is another one here, and what lies behind it is of a range
/// that nobody may reach.
const GATEWAY: &str = "
mkdir bin; ln -s \"$HAWSER\" bin/hawser; export PATH=\"$WORK/bin:$PATH\" HOME=\"$WORK\" XDG_STATE_HOME=
hawser() { command hawser \"$@\"; }
eval \"$(sed -n 1p gateway.recipe | sed \"s/gateway.example/$HAWSER_SERVER_ADDR/\")\" >printed 2>init-said
printf 'allow-egress = [\"198.51.100.0/24\"]\\nrun = \"%s/run\"\\n' \"$WORK\" >>.local/state/hawser/gateway.toml
eval \"$(sed -n 2p gateway.recipe) >gateway-said 2>&1 &\"
gateway=$!
";

/// Runs the commands of a recipe with what the gateway printed in their places, and what a program does meanwhile.
const CLIENT: &str = "
cd \"$WORK\"
fail() { echo \"failed: $1\"; exit 1; }
for _ in $(seq 200); do grep -q 'hawser tunnel' printed 2>/dev/null && grep -q 'UDP port' gateway-said 2>/dev/null && break; sleep 0.05; done
export PATH=\"$WORK/bin:$PATH\" HOME=\"$WORK\"
line=$(grep 'HAWSER_KEY=' printed)
key=$(echo \"$line\" | sed 's/.*HAWSER_KEY=\\([^ ]*\\) .*/\\1/')
pin=$(echo \"$line\" | sed \"s/.*--pin '\\([^']*\\)'.*/\\1/\")
echo \"$key\" >van.key; echo \"$key\" >camera.key
filled() { sed \"s|KEY hawser|$key hawser|; s|PIN|$pin|; s|gateway.example|$HAWSER_SERVER_ADDR|; s|ingest.example:9000|198.51.100.2:5202|; s|9.9.9.9|198.51.100.2|\" \"$1\"; }
until_said() { for _ in $(seq 200); do grep -q \"$1\" said 2>/dev/null && return; sleep 0.05; done; cat said; fail \"$1\"; }
trap 'kill $running 2>/dev/null' EXIT
. ./steps.sh
";

/// The blocks of a language below a heading of the page.
fn blocks(heading: &str, language: &str) -> Vec<String> {
    let (_, section) = PAGE.split_once(&format!("### {heading}\n")).unwrap();
    let section = section.split("\n#").next().unwrap();
    let opening = format!("```{language}\n");
    let opened = section.split(&opening).skip(1);
    opened.map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

fn run_recipe(files: &[(&str, &str)], steps: &str) {
    if !can_run() {
        return;
    }
    let work = tempfile::tempdir().unwrap();
    let gateway = &blocks("A laptop with WiFi and a phone", "sh")[0];
    for (name, text) in [("gateway.recipe", gateway.as_str())].iter().chain(files) {
        std::fs::write(work.path().join(name), text).unwrap();
    }
    let printed = run_in(work.path(), SCENARIO, GATEWAY, CLIENT, steps);
    assert!(printed.ends_with("done\n"), "{printed}");
}

#[test]
fn a_laptop_with_wifi_and_a_phone() {
    let command = &blocks("A laptop with WiFi and a phone", "sh")[1];
    run_recipe(
        &[("laptop.recipe", command)],
        "
        # What the gateway printed is what the page says.
        expected=$(filled laptop.recipe)
        [ \"$(echo $line)\" = \"$(echo $expected)\" ] || fail \"$line is not $expected\"
        eval \"exec env $(echo $line) --run $WORK/run --resolv-conf $WORK/resolv.conf\" >said 2>&1 & running=$!
        until_said 'all traffic goes through'
        python3 -c '
from tools import *
check(ping(FAR, 10) == 10, \"pings\")
a, b = received(\"a0\"), received(\"b0\")
check(download(8 << 20) == 8 << 20, \"a download\")
check(min(received(\"a0\") - a, received(\"b0\") - b) > 2 << 20, \"both links\")
check(udp_echo(500), \"UDP\")
' || exit 1
        kill -TERM $running; wait $running || fail 'it ends well'
        echo done
        ",
    );
}

#[test]
fn a_router_in_a_van_with_lte_and_a_dish() {
    let name = "A router in a van, with LTE and a dish";
    let (file, commands) = (&blocks(name, "toml")[0], &blocks(name, "sh")[0]);
    run_recipe(
        &[("van.recipe", file), ("router.recipe", commands)],
        "
        filled van.recipe >tunnel.toml
        # A host behind the router, which knows nothing but that.
        unshare -n sleep 1000 & lan=$!
        own=$(readlink /proc/self/ns/net)
        while [ \"$(readlink /proc/$lan/ns/net)\" = \"$own\" ]; do sleep 0.05; done
        inside() { nsenter --net=/proc/$lan/ns/net \"$@\"; }
        trap 'kill $running $lan 2>/dev/null' EXIT
        ip link add br0 type veth peer name host0
        ip link set host0 netns $lan
        ip address add 192.168.7.1/24 dev br0; ip link set br0 up
        inside ip address add 192.168.7.2/24 dev host0; inside ip link set host0 up; inside ip link set lo up
        inside ip route add default via 192.168.7.1
        inside sh -c 'echo 0 2147483647 >/proc/sys/net/ipv4/ping_group_range' 2>/dev/null
        forwarding=$(cat /proc/sys/net/ipv4/ip_forward)
        more=\"--run $WORK/run --resolv-conf $WORK/resolv.conf\"
        eval \"$(sed -n 1p router.recipe) $more\" >checked || { cat checked; fail 'nothing is missing'; }
        grep -q 'fine .*knows the key' checked || fail 'the gateway was asked'
        grep -q 'change .*br0' checked || fail 'what would change'
        eval \"exec $(sed -n 2p router.recipe) $more\" >said 2>&1 & running=$!
        until_said 'all traffic goes through'
        inside python3 -c '
from tools import *
check(ping(FAR, 10) == 10, \"pings from the LAN\")
check(ask_udp() == \"198.51.100.1\", \"UDP from the LAN\")
check(download(8 << 20) == 8 << 20, \"a download from the LAN\")
check(half_close(), \"an upload from the LAN\")
' || exit 1
        python3 -c '
from tools import *
check(ping(FAR, 5) == 5, \"pings of the router\")
' || exit 1
        kill -TERM $running; wait $running || fail 'it ends well'
        [ \"$(cat /proc/sys/net/ipv4/ip_forward)\" = \"$forwarding\" ] || fail 'forwarding is as it was'
        echo done
        ",
    );
}

#[test]
fn a_camera_rig_with_srt() {
    let commands = &blocks("A camera rig with SRT", "sh");
    let encoder: Vec<&str> = commands[1].split("srt://127.0.0.1:").collect();
    assert!(encoder[1].starts_with("9000"), "the encoder of the page sends to the port of the page");
    run_recipe(
        &[("rig.recipe", &commands[0])],
        "
        eval \"exec $(filled rig.recipe)\" >said 2>&1 & running=$!
        until_said 'through'
        # As much as an encoder of 8 Mbit/s, a second of it; what comes is sent back.
        python3 -c '
from tools import *
with udp() as sock:
    sock.connect((\"127.0.0.1\", 9000))
    came = 0
    for number in range(700):
        sock.send(struct.pack(\"!I\", number) + bytes(1312))
        time.sleep(0.0014)
        sock.setblocking(False)
        try:
            while True: came += len(sock.recv(2000)) == 1316
        except BlockingIOError:
            pass
    sock.settimeout(1)
    try:
        while came < 700: came += len(sock.recv(2000)) == 1316
    except TimeoutError:
        pass
    check(came > 690, \"%d of 700 packets came back\" % came)
' || exit 1
        kill -TERM $running; wait $running || fail 'it ends well'
        echo done
        ",
    );
}
