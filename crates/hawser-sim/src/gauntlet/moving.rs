//! Addresses that change under a path.

use std::net::SocketAddr;
use std::time::Duration;

use hawser_policy::{Side, Time};

use super::bed::{Bed, street};
use super::{Measure, Setting};
use crate::testing::client_address;

/// Bytes of a transfer: 4.2 s on an undisturbed path.
const LENGTH: u64 = 10_000_000;

/// When the address changes: slow start is over, the queue more or less full.
fn change_time(setting: &Setting<'_>) -> Time {
    Time::from_millis(2_000 + setting.seed * 37 % 400)
}

/// Another port of the client's address.
fn other_port(n: u16) -> SocketAddr {
    SocketAddr::new(client_address(0).ip(), 61_000 + n)
}

/// An address of another network.
fn other_address() -> SocketAddr {
    ([10, 77, 0, 2], 40_000).into()
}

/// Figures of a transfer that was disturbed, and of the same without that.
struct Disturbed {
    bed: Bed,
    /// Seconds more than undisturbed.
    longer: f64,
    /// Packets that the undisturbed one lost, nearly all of them when slow start ended.
    usual_drops: f64,
}

/// What a change of address may do to the window.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Window {
    /// It goes on, so that nothing need be dropped.
    Kept,
    /// It starts anew, so that slow start fills a queue once more.
    Restarted,
}

/// Runs a transfer twice: undisturbed, and with `change` after some two seconds.
fn disturbed(setting: &Setting<'_>, sender: Side, change: impl FnOnce(&mut Bed)) -> Disturbed {
    let bed = || Bed::new(setting, sender, LENGTH, &[street(), street()]);
    let mut undisturbed = bed();
    let usual_time = undisturbed.finish();
    let mut bed = bed();
    bed.run_to(change_time(setting));
    bed.count_from_here();
    change(&mut bed);
    let longer = bed.finish() - usual_time;
    Disturbed { bed, longer, usual_drops: undisturbed.dropped() as f64 }
}

impl Disturbed {
    /// `longer`: milliseconds. `again`: kilobytes.
    fn measures(mut self, longer: f64, window: Window, again: f64) -> Vec<Measure> {
        let drops = if window == Window::Kept { 0.0 } else { 1.2 * self.usual_drops };
        vec![
            Measure::at_most("longer", self.longer * 1e3, "ms", longer),
            self.bed.drops(drops),
            self.bed.sent_again(again),
            self.bed.beyond_window(),
            // The link's own 40 ms, and 100 ms of queue.
            self.bed.smoothed_rtt(145.0),
        ]
    }
}

/// The window goes on. Until the new port is validated, one round trip, a server may send three times what it received;
/// what it sent to the old port in the meantime is lost.
pub(super) fn download_port_rebinding(setting: &Setting<'_>) -> Vec<Measure> {
    disturbed(setting, Side::Server, |bed| bed.translate(other_port(0))).measures(100.0, Window::Kept, 120.0)
}

/// The client does not notice, and its server's acknowledgements go astray for a moment.
pub(super) fn upload_port_rebinding(setting: &Setting<'_>) -> Vec<Measure> {
    disturbed(setting, Side::Client, |bed| bed.translate(other_port(0))).measures(40.0, Window::Kept, 20.0)
}

/// A new path: ten packets in the first round trip, and slow start.
pub(super) fn download_address_rebinding(setting: &Setting<'_>) -> Vec<Measure> {
    let disturbed = disturbed(setting, Side::Server, |bed| bed.translate(other_address()));
    disturbed.measures(250.0, Window::Restarted, 250.0)
}

pub(super) fn upload_address_rebinding(setting: &Setting<'_>) -> Vec<Measure> {
    disturbed(setting, Side::Client, |bed| bed.translate(other_address())).measures(60.0, Window::Kept, 20.0)
}

/// The new address is validated within a round trip and the queue. The old one is asked for three probe timeouts, and
/// during these the client comes back to it: what was known of it holds again.
pub(super) fn download_return(setting: &Setting<'_>) -> Vec<Measure> {
    let back_at = change_time(setting) + Duration::from_millis(200);
    let disturbed = disturbed(setting, Side::Server, |bed| {
        bed.translate(other_address());
        bed.run_to(back_at);
        bed.translate(client_address(0));
    });
    disturbed.measures(250.0, Window::Kept, 200.0)
}

/// To a link of the same kind that was idle.
pub(super) fn download_migration(setting: &Setting<'_>) -> Vec<Measure> {
    let disturbed = disturbed(setting, Side::Server, |bed| bed.migrate(client_address(1)));
    disturbed.measures(250.0, Window::Restarted, 400.0)
}

pub(super) fn upload_migration(setting: &Setting<'_>) -> Vec<Measure> {
    let disturbed = disturbed(setting, Side::Client, |bed| bed.migrate(client_address(1)));
    disturbed.measures(250.0, Window::Restarted, 400.0)
}

/// The kernel gave the client another socket on the same interface.
pub(super) fn upload_migration_to_another_port(setting: &Setting<'_>) -> Vec<Measure> {
    disturbed(setting, Side::Client, |bed| bed.migrate(other_port(1))).measures(30.0, Window::Kept, 20.0)
}

/// Some mobile networks do this. Each time costs the server a round trip, and no more.
pub(super) fn rebinding_every_5_s(setting: &Setting<'_>) -> Vec<Measure> {
    const LONG: u64 = 60_000_000;
    let bed = || Bed::new(setting, Side::Server, LONG, &[street()]);
    let mut undisturbed = bed();
    let usual_time = undisturbed.finish();
    let mut bed = bed();
    let (mut times, mut next) = (0, Time::from_secs(5));
    while next.as_secs_f64() < usual_time {
        bed.run_to(next);
        bed.translate(other_port(times));
        times += 1;
        next += Duration::from_secs(5);
    }
    let longer = bed.finish() - usual_time;
    vec![
        Measure::at_most("longer per rebinding", longer * 1e3 / f64::from(times), "ms", 100.0),
        bed.drops(1.2 * undisturbed.dropped() as f64),
        bed.sent_again(f64::from(times) * 120.0 + 300.0),
        bed.beyond_window(),
        bed.smoothed_rtt(145.0),
    ]
}
