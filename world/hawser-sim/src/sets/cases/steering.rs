//! Messages: the receiver steers the sender.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use hawser_policy::Time;

use super::{client_side, download, open_second};
use crate::Verdict;
use crate::gauntlet::{Measure, Setting};
use crate::testing::{SERVER, client_address, link};

/// Six intervals to count in, twice as long when there are few packets; one way for the message; what the queue of 100 ms
/// holds.
const PATIENCE: Duration = Duration::from_millis(800);
/// When the link begins to lose packets.
const BEGINS: Time = Time::from_secs(2);

/// What became of a download of 30 MB during which every tenth packet of a link is lost after two seconds.
struct Lossy {
    /// Bytes that this link was given in the half second before, and those more than [`PATIENCE`] later.
    carried: [u64; 2],
    finished: bool,
    ignored: u64,
}

fn lossy_link(setting: &Setting<'_>, bad: usize, ends: [&str; 2]) -> Lossy {
    let mut network = download(setting, ends, 30_000_000);
    let links = [link(40, 10), link(30, 20)];
    let handles = [0, 1].map(|n| network.add_link(client_address(n as u8).ip(), &links[n], &links[n]));
    open_second(&mut network);
    let (carried, mut n) = (Rc::new(Cell::new([0, 0])), setting.seed);
    let (counted, lossy) = (carried.clone(), handles[bad]);
    network.set_filter(move |now, link, packet| {
        if link != lossy || packet.tuple.local != SERVER {
            return Verdict::Pass;
        }
        let [mut before, mut after] = counted.get();
        let bytes = packet.payload.len() as u64;
        before += if now < BEGINS && now + Duration::from_millis(500) > BEGINS { bytes } else { 0 };
        after += if now > BEGINS + PATIENCE { bytes } else { 0 };
        counted.set([before, after]);
        n += u64::from(now >= BEGINS);
        if now >= BEGINS && n % 10 == 0 { Verdict::Drop } else { Verdict::Pass }
    });
    let finished =
        network.run_until(Time::from_secs(60), |network| network.client.application.finished_at.is_some());
    let ignored = client_side(&mut network).stats().policy_commands_ignored;
    Lossy { carried: carried.get(), finished, ignored }
}

/// Whichever link it is, in use before; probes and acknowledgements are left. A sender that does not take the messages keeps
/// to both links.
pub(super) fn a_receiver_steers_the_sender(setting: &Setting<'_>) -> Vec<Measure> {
    let [first, second] =
        [0, 1].map(|bad| lossy_link(setting, bad, [&format!("advised,first={bad}"), "advised"]));
    let deaf = lossy_link(setting, 1, ["advised", "advised,messages=off"]);
    let kilobytes = |bytes: u64| bytes as f64 / 1e3;
    let before = first.carried[0].min(second.carried[0]);
    let after = first.carried[1].max(second.carried[1]);
    let finished = [&first, &second, &deaf].iter().filter(|run| run.finished).count();
    vec![
        Measure::at_least("before it loses packets", kilobytes(before), "kB", 1_000.0),
        Measure::at_most("afterwards", kilobytes(after), "kB", 10.0),
        Measure::at_least("afterwards without messages", kilobytes(deaf.carried[1]), "kB", 100.0),
        Measure::at_most("refused commands", (first.ignored + second.ignored) as f64, "", 0.0),
        Measure::at_least("downloads that ended", finished as f64, "", 3.0),
    ]
}
