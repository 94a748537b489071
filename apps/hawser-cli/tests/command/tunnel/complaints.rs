//! What people complain about who send all traffic over several links with the tools that they have, each as a test of the tunnel.

use super::{can_run, run_over};

/// Two links, each with rate, delay, queue, and what else is to be said of it.
fn links(a: [&str; 4], b: [&str; 4]) -> String {
    let link = |name: &str, [rate, delay, queue, more]: [&str; 4]| {
        format!("[[link]]\nname = '{name}'\nrate = '{rate}'\ndelay = '{delay}'\nqueue = '{queue}'\n{more}\n")
    };
    format!("version = 1\nname = 'tunnel'\nseed = 1\nduration = '120 s'\n{}{}", link("a0", a), link("b0", b))
}

const NEAR: [&str; 4] = ["20 Mbit/s", "10 ms", "200 ms", ""];

/// Runs this Python, and fails where it does.
fn check(scenario: &str, python: &str) {
    if can_run() {
        let steps = format!(
            "python3 -c '\nfrom tools import *\n{python}\n' || exit 1\nkill -TERM $tunnel; wait $tunnel; echo done"
        );
        let printed = run_over(scenario, &steps);
        assert!(printed.ends_with("done\n"), "{printed}");
    }
}

#[test]
fn one_connection_is_faster_than_the_faster_link() {
    check(&links(NEAR, NEAR), "got = rate(3)\ncheck(got > 28, \"more than one link of 20: %.1f\" % got)");
}

#[test]
fn two_links_are_not_slower_than_the_better_one() {
    let far = ["2 Mbit/s", "150 ms", "1 s", "loss = '1 %'"];
    check(&links(NEAR, far), "got = rate(4)\ncheck(got > 17, \"at least the link of 20: %.1f\" % got)");
}

#[test]
fn it_starts_though_the_first_link_is_dead() {
    let dead = ["20 Mbit/s", "10 ms", "200 ms", "outage = [{ from = '0 s' }]\non_outage = 'drop'"];
    check(
        &links(dead, NEAR),
        "check(ping(FAR, 10) == 10, \"pings\")\ngot = rate(2)\ncheck(got > 14, \"the link that is left: %.1f\" % got)",
    );
}

#[test]
fn the_order_of_the_links_does_not_matter() {
    let slow = ["5 Mbit/s", "40 ms", "400 ms", ""];
    for (a, b) in [(NEAR, slow), (slow, NEAR)] {
        check(
            &links(a, b),
            "got = rate(3)\ncheck(got > 18.5, \"nearly 25: %.1f\" % got)\n\
             delays = call(50)\ncheck(percentile(delays, 0.9) < 60, \"the near link: %s\" % delays)",
        );
    }
}

#[test]
fn a_call_beside_a_download_loses_nothing_and_is_not_late() {
    check(
        &links(NEAR, NEAR),
        "idle = percentile(call(50), 0.5)\ndelays = beside_a_download(lambda: call(150))\n\
         check(lost(delays) == 0, \"%d lost\" % lost(delays))\n\
         check(percentile(delays, 0.95) < idle + 100, \"%.0f: %s\" % (idle, delays))",
    );
}

#[test]
fn jitter_over_links_of_20_ms_is_not_one_of_seconds() {
    let other = ["10 Mbit/s", "20 ms", "2 s", ""];
    check(
        &links(["10 Mbit/s", "20 ms", "2 s", ""], other),
        "delays = beside_a_download(lambda: call(150))\n\
         check(percentile(delays, 0.95) - percentile(delays, 0.05) < 150, \"%s\" % delays)",
    );
}

#[test]
fn a_bloated_link_is_not_fed() {
    // 4 s of queue: who fills it makes everything behind it wait.
    let bloated = ["5 Mbit/s", "20 ms", "4 s", ""];
    check(
        &links(NEAR, bloated),
        "delays = beside_a_download(lambda: call(150))\n\
         check(lost(delays) == 0 and percentile(delays, 0.99) < 400, \"%s\" % delays)",
    );
}

#[test]
fn a_link_that_is_up_but_dead_costs_a_call_nothing() {
    let dies = ["20 Mbit/s", "10 ms", "200 ms", "outage = [{ from = '7 s' }]\non_outage = 'drop'"];
    check(
        &links(dies, NEAR),
        "delays = call(350)\ncheck(lost(delays) == 0, \"%d lost: %s\" % (lost(delays), delays))\n\
         got = rate(2)\ncheck(got > 14, \"the link that is left: %.1f\" % got)",
    );
}

#[test]
fn links_carry_what_they_can_without_weights() {
    let slow = ["8 Mbit/s", "20 ms", "200 ms", ""];
    check(
        &links(["24 Mbit/s", "20 ms", "200 ms", ""], slow),
        "a, b = received(\"a0\"), received(\"b0\")\nrate(5)\na, b = received(\"a0\") - a, received(\"b0\") - b\n\
         check(2 < a / b < 4.5, \"3 to 1: %d, %d\" % (a, b))",
    );
}

#[test]
fn modes_change_while_a_call_goes_on() {
    if can_run() {
        let printed = run_over(&links(NEAR, NEAR), include_str!("steps/modes.sh"));
        assert!(printed.ends_with("done\n"), "{printed}");
    }
}

#[test]
fn a_download_that_nobody_reads_holds_up_no_other() {
    check(
        &links(NEAR, NEAR),
        "held = [connect() for _ in range(8)]\n[one.sendall(b\"s\") for one in held]\n\
         both = lambda: received(\"a0\") + received(\"b0\")\nbefore = -1e9\n\
         while before < both() - 40000: before = both(); time.sleep(1)\n\
         got = rate(3)\ncheck(got > 28, \"%.1f\" % got)",
    );
}
