//! Addresses that change under a path.

use std::net::SocketAddr;
use std::time::Duration;

use hawser_policy::{Side, Time};

use super::bed::{Bed, INITIAL_WINDOW, street};
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
    window: Window,
    /// Seconds more than undisturbed.
    longer: f64,
    /// Packets that the undisturbed one lost: CUBIC fills the queue now and then, for slow start ends before it is full.
    usual_drops: f64,
    /// Mean time in its queue, milliseconds.
    usual_wait: f64,
    /// Bytes in the first round trip, if the window is reset.
    first_flight: u64,
}

/// Packets that CUBIC drops in the rest of the transfer, whether the path moves or not: it fills the queue once more.
const KEPT_DROPS: f64 = 3.0;

/// Packets that a second slow start may drop, of the 170 that the queue holds. Without an end before the overflow it was 65.
const RESTART_DROPS: f64 = 12.0;

/// What a change of address may do to the window.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Window {
    /// It goes on, so that no more need be dropped than usual.
    Kept,
    /// It is reset: slow start meets the queue that the former address filled, and drops a few packets.
    Restarted,
}

/// Runs a transfer twice: undisturbed, and with `change` after some two seconds.
fn disturbed(
    setting: &Setting<'_>,
    sender: Side,
    window: Window,
    change: impl FnOnce(&mut Bed),
) -> Disturbed {
    let bed = || Bed::new(setting, sender, LENGTH, &[street(), street()]);
    let mut undisturbed = bed();
    let usual_time = undisturbed.finish();
    let (usual_drops, usual_wait) = (undisturbed.dropped() as f64, undisturbed.mean_wait());
    let mut bed = bed();
    bed.run_to(change_time(setting));
    bed.count_from_here();
    change(&mut bed);
    let first_flight = if window == Window::Restarted { bed.first_flight() } else { 0 };
    let longer = bed.finish() - usual_time;
    Disturbed { bed, window, longer, usual_drops, usual_wait, first_flight }
}

impl Disturbed {
    /// `longer`: milliseconds. `again`: kilobytes.
    fn measures(mut self, longer: f64, again: f64) -> Vec<Measure> {
        let restarted = (1.2 * self.usual_drops).max(RESTART_DROPS);
        let drops = if self.window == Window::Kept { KEPT_DROPS } else { restarted };
        let mut measures = vec![
            Measure::at_most("longer", self.longer * 1e3, "ms", longer),
            self.bed.drops(drops),
            Measure::at_most("mean wait", self.bed.mean_wait(), "ms", 1.12 * self.usual_wait),
            self.bed.sent_again(again),
            self.bed.beyond_window(),
            // The link's own 40 ms, and 100 ms of queue.
            self.bed.smoothed_rtt(145.0),
        ];
        if self.window == Window::Restarted {
            // Challenges and answers of 1,200 bytes leave in addition.
            let flight = self.first_flight as f64 / 1e3;
            measures.push(Measure::at_most(
                "first round trip",
                flight,
                "kB",
                INITIAL_WINDOW as f64 / 1e3 + 4.0,
            ));
        }
        measures
    }
}

/// The window goes on. Until the new port is validated, one round trip, a server may send three times what it received;
/// what it sent to the old port in the meantime is lost.
pub(super) fn download_port_rebinding(setting: &Setting<'_>) -> Vec<Measure> {
    let change = |bed: &mut Bed| bed.translate(other_port(0));
    disturbed(setting, Side::Server, Window::Kept, change).measures(80.0, 100.0)
}

/// The client does not notice, and its server's acknowledgements go astray for a moment.
pub(super) fn upload_port_rebinding(setting: &Setting<'_>) -> Vec<Measure> {
    let change = |bed: &mut Bed| bed.translate(other_port(0));
    disturbed(setting, Side::Client, Window::Kept, change).measures(40.0, 20.0)
}

/// A new path: ten packets in the first round trip, and slow start.
pub(super) fn download_address_rebinding(setting: &Setting<'_>) -> Vec<Measure> {
    let change = |bed: &mut Bed| bed.translate(other_address());
    disturbed(setting, Side::Server, Window::Restarted, change).measures(180.0, 220.0)
}

pub(super) fn upload_address_rebinding(setting: &Setting<'_>) -> Vec<Measure> {
    let change = |bed: &mut Bed| bed.translate(other_address());
    disturbed(setting, Side::Client, Window::Kept, change).measures(40.0, 20.0)
}

/// The new address is validated within a round trip and the queue. The old one is asked for three probe timeouts, and
/// during these the client comes back to it: what was known of it holds again.
pub(super) fn download_return(setting: &Setting<'_>) -> Vec<Measure> {
    let back_at = change_time(setting) + Duration::from_millis(200);
    let change = |bed: &mut Bed| {
        bed.translate(other_address());
        bed.run_to(back_at);
        bed.translate(client_address(0));
    };
    disturbed(setting, Side::Server, Window::Kept, change).measures(180.0, 120.0)
}

/// To a link of the same kind that was idle.
pub(super) fn download_migration(setting: &Setting<'_>) -> Vec<Measure> {
    let change = |bed: &mut Bed| bed.migrate(client_address(1));
    disturbed(setting, Side::Server, Window::Restarted, change).measures(180.0, 350.0)
}

pub(super) fn upload_migration(setting: &Setting<'_>) -> Vec<Measure> {
    let change = |bed: &mut Bed| bed.migrate(client_address(1));
    disturbed(setting, Side::Client, Window::Restarted, change).measures(150.0, 350.0)
}

/// The kernel gave the client another socket on the same interface.
pub(super) fn upload_migration_to_another_port(setting: &Setting<'_>) -> Vec<Measure> {
    let change = |bed: &mut Bed| bed.migrate(other_port(1));
    disturbed(setting, Side::Client, Window::Kept, change).measures(20.0, 20.0)
}

/// Nobody answers on the other link: after three probe timeouts of a new path the client is back, and what was known of
/// the first one holds again.
pub(super) fn upload_migration_to_a_dead_link(setting: &Setting<'_>) -> Vec<Measure> {
    let change = |bed: &mut Bed| {
        bed.network.force(bed.links[1], Some(false));
        bed.count_from_here();
        bed.migrate(client_address(1));
    };
    let mut disturbed = disturbed(setting, Side::Client, Window::Kept, change);
    vec![
        Measure::at_most("longer", disturbed.longer * 1e3, "ms", 3_400.0),
        disturbed.bed.sent_again(400.0),
        disturbed.bed.beyond_window(),
        disturbed.bed.smoothed_rtt(145.0),
    ]
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
        Measure::at_most("longer per rebinding", longer * 1e3 / f64::from(times), "ms", 80.0),
        bed.drops(1.2 * undisturbed.dropped() as f64),
        Measure::at_most("mean wait", bed.mean_wait(), "ms", 1.1 * undisturbed.mean_wait()),
        bed.sent_again(f64::from(times) * 60.0 + 150.0),
        bed.beyond_window(),
        bed.smoothed_rtt(145.0),
    ]
}
