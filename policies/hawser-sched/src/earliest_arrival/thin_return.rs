//! Fewer acknowledgements where their way back is full.
//!
//! Next to an upload, or behind a link that is fast in one direction only, acknowledgements wait in a queue, take the room of what is sent
//! there, and get lost. Where packets tell when they arrived, the sender sees that: the round trip without the forward delay grows, and
//! stays. Then it asks for an acknowledgement of every tenth packet. Where windows are small every eighth part of one has an
//! acknowledgement, so that losses are found as soon and windows grow as smoothly.

use std::time::Duration;

use hawser_policy::{AckFrequency, Command, Commands, PathId, PathView, SendView, Time};

/// How often it is looked at.
const INTERVAL: Duration = Duration::from_millis(50);
/// The way back is full if it takes longer than ever by this, and by half the least round trip, so many looks in a row: radio links
/// change by less, or for less long.
const FULL: Duration = Duration::from_millis(15);
const LOOKS: u32 = 4;
/// It is empty again if it takes longer by less than this, for so long: fewer acknowledgements may be the reason. Twice as long each
/// time.
const EMPTY: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(10);
const LONGEST_PATIENCE: Duration = Duration::from_secs(160);
/// A least way back is remembered for one to two times this long: an upload may fill it for minutes. Where the path itself became longer,
/// fewer acknowledgements do little harm meanwhile.
const LEAST_WINDOW: Duration = Duration::from_secs(300);
/// Packets for one acknowledgement, and acknowledgements of a window at least.
const EVERY: u64 = 10;
const OF_A_WINDOW: u64 = 8;
/// What RFC 9000 has: every second packet, within 25 ms.
const USUAL: AckFrequency = AckFrequency {
    ack_eliciting_threshold: 1,
    max_ack_delay: Duration::from_millis(25),
    reordering_threshold: 1,
};

/// The way back of a path: round trip without forward delay, in microseconds, with the unknown offset between the clocks.
#[derive(Clone, Copy, Debug)]
struct WayBack {
    path: PathId,
    /// The least of the present period and of the one before.
    least: [i64; 2],
    since: Time,
}

/// What is known of all of them.
#[derive(Clone, Debug)]
pub(super) struct ThinReturn {
    next_look: Time,
    ways: Vec<WayBack>,
    full_looks: u32,
    /// The threshold that was asked for, and when the way back was last not empty.
    asked: Option<(u64, Time)>,
    patience: Duration,
}

impl Default for ThinReturn {
    fn default() -> Self {
        let ways = Vec::new();
        ThinReturn { next_look: Time::ZERO, ways, full_looks: 0, asked: None, patience: PATIENCE }
    }
}

impl ThinReturn {
    /// Whether it is to be looked at.
    #[inline]
    pub(super) fn is_due(&self, now: Time) -> bool {
        now >= self.next_look
    }

    /// Looks at the ways back, and asks the peer for more or fewer acknowledgements.
    #[inline(never)]
    pub(super) fn look(&mut self, view: &SendView<'_>, commands: &mut Commands) {
        let now = view.now;
        self.next_look = now + INTERVAL;
        self.ways.retain(|way| view.path(way.path).is_some());
        let busy = view.preferred().filter(|path| path.bytes_in_flight > 0);
        let (mut is_full, mut is_empty, mut threshold) = (false, true, EVERY);
        for path in busy {
            let Some(queue) = self.queue(path, now) else { continue };
            is_full |= queue > FULL.max(path.min_rtt / 2) && !path.in_slow_start;
            is_empty &= queue < EMPTY;
            let datagrams = path.congestion_window / u64::from(path.max_datagram_size).max(1);
            threshold = threshold.min((datagrams / OF_A_WINDOW).max(2));
        }
        self.full_looks = if is_full { self.full_looks.saturating_add(1) } else { 0 };
        match &mut self.asked {
            None if self.full_looks >= LOOKS => {
                self.asked = Some((threshold, now));
                commands.push(Command::RequestAckFrequency(fewer(threshold)));
            }
            Some((_, filled)) if is_empty && now.since(*filled) >= self.patience => {
                self.asked = None;
                self.patience = self.patience.saturating_mul(2).min(LONGEST_PATIENCE);
                commands.push(Command::RequestAckFrequency(USUAL));
            }
            Some((asked, filled)) => {
                if !is_empty {
                    *filled = now;
                }
                // A window that shrank must not be acknowledged as a whole.
                if threshold < *asked || threshold >= 2 * *asked {
                    *asked = threshold;
                    commands.push(Command::RequestAckFrequency(fewer(threshold)));
                }
            }
            None => {}
        }
    }

    /// By how much longer than at best acknowledgements of a path take now; `None` where packets do not tell when they arrived.
    fn queue(&mut self, path: &PathView, now: Time) -> Option<Duration> {
        let micros = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        let back = micros(path.latest_rtt).saturating_sub(micros(path.one_way_delay?));
        let known = self.ways.iter().position(|way| way.path == path.id);
        let at = known.unwrap_or_else(|| {
            self.ways.push(WayBack { path: path.id, least: [back, i64::MAX], since: now });
            self.ways.len() - 1
        });
        let way = self.ways.get_mut(at)?;
        if now.since(way.since) >= LEAST_WINDOW {
            (way.least, way.since) = ([back, way.least[0]], now);
        }
        way.least[0] = way.least[0].min(back);
        let queue = back.saturating_sub(way.least[0].min(way.least[1]));
        Some(Duration::from_micros(u64::try_from(queue).unwrap_or(0)))
    }
}

fn fewer(threshold: u64) -> AckFrequency {
    AckFrequency { ack_eliciting_threshold: threshold - 1, ..USUAL }
}

#[cfg(test)]
mod tests;
