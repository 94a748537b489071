//! A round trip in which the sender holds back, and what it sees of the queue.

use hawser_policy::Time;

/// In a dip as much is in flight as this share of rate times round trip without queue.
const DIP: f64 = 0.85;
/// Next to others, of whose queue as much as possible should be left: barely less than the path would carry.
const SHARED_DIP: f64 = 0.95;
/// Where nobody is suspected a dip is paced with room to fill its window. In one that decides what stands of the queue counts as part of the
/// round trip, so that less is sent: a radio's own delays look less like another flow's queue then (`jitter.rs`).
const ROUTINE_PACING: f64 = 1.1;
/// Whose queue falls to less than this share in a dip was the sender's own.
const OWN: f64 = 0.3;
/// Next to others, below the rate that the path had alone (as long as that is remembered): a CUBIC that has just made room leaves 0.15 to
/// 0.25.
const OWN_AT_A_SHARE: f64 = 0.1;
/// And to less than this, seconds: half a datagram at a megabit.
const OWN_SECONDS: f64 = 0.002;
/// Of a queue near the limit and above it so much of the limit may be a radio's own delays, which change by 25 ms and stay for some round trips.
const RADIO: f64 = 0.42;
const RADIO_FROM: f64 = 0.75;
/// A queue shorter than this before the dip tells nothing, seconds.
const LEAST_QUEUE: f64 = 0.004;
/// A dip takes a round trip and the packets of a quarter of the next.
pub(super) const ONE: f64 = 1.25;
/// One that lasts longer than this many times its round trip is given up: nothing is acknowledged.
const LONGEST_DIP: f64 = 8.0;

/// The path when a dip is decided about; bytes and seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) now: Time,
    pub(crate) rate: f64,
    pub(crate) base: f64,
    /// The least queue of the round trip that is over.
    pub(crate) queue: f64,
    /// Whether the rate is, as far as is known, all that the path has.
    pub(crate) is_whole: bool,
    /// A dip leaves at least so many bytes in flight.
    pub(crate) least_window: f64,
}

/// What a dip found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Own,
    Shared,
}

/// Why a dip begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The delay without queue was not seen for long. If it finds others, that is the first vote as well.
    Routine,
    /// Somebody may be there.
    Deciding,
    /// Somebody may have gone.
    NextToOthers,
}

/// What an acknowledgement made of a dip.
#[derive(Clone, Copy, Debug)]
pub(super) enum Progress {
    Going,
    /// It is over; `None`: it was given up.
    Over(Option<Found>),
}

/// What it saw.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) verdict: Verdict,
    /// The queue that was left, seconds.
    pub(super) left: f64,
    /// Whether there was a queue that could go.
    pub(super) is_certain: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Dip {
    kind: Kind,
    began: Time,
    /// The rate that it leaves, bytes per second, and as much as that keeps in flight without a queue.
    rate: f64,
    window: f64,
    /// Round trips that it may last.
    patience: f64,
    queue_before: f64,
    /// What may be left of it without anybody else: this share, and so many seconds in any case.
    own_share: f64,
    own_seconds: f64,
    /// From when on what is sent counts: little is in flight by then. And the least queue that it met.
    quiet_since: Option<Time>,
    least: f64,
}

impl Dip {
    /// `limit`: above it the queue is not what the sender aims for.
    pub(super) fn new(seen: &Seen, limit: f64, kind: Kind, patience: f64) -> Dip {
        let is_strict = kind == Kind::NextToOthers && !seen.is_whole;
        let rate = if kind == Kind::NextToOthers { SHARED_DIP } else { DIP } * seen.rate;
        let is_short = seen.queue <= RADIO_FROM * limit;
        Dip {
            kind,
            began: seen.now,
            rate,
            window: (rate * seen.base).max(seen.least_window),
            patience,
            queue_before: seen.queue,
            own_share: if is_strict { OWN_AT_A_SHARE } else { OWN },
            own_seconds: if is_strict || is_short { OWN_SECONDS } else { RADIO * limit },
            quiet_since: None,
            least: f64::INFINITY,
        }
    }

    pub(super) fn window(&self) -> f64 {
        self.window
    }

    /// Bytes per second; `None`: its window over the round trip with what stands of the queue.
    pub(super) fn pace(&self) -> Option<f64> {
        match self.kind {
            Kind::Routine => Some(ROUTINE_PACING * self.rate),
            Kind::Deciding => None,
            Kind::NextToOthers => Some(self.rate),
        }
    }

    /// Takes in the acknowledgement of a packet that left at `sent_at` and met this queue.
    pub(super) fn on_ack(
        &mut self,
        now: Time,
        sent_at: Time,
        in_flight: f64,
        queue: f64,
        base: f64,
    ) -> Progress {
        let Some(since) = self.quiet_since else {
            if in_flight <= self.window {
                self.quiet_since = Some(now);
            }
            return self.unless_too_long(now, base);
        };
        if sent_at < since {
            return self.unless_too_long(now, base);
        }
        self.least = self.least.min(queue);
        let rounds = now.since(since).as_secs_f64() / (base + self.least);
        let is_certain = self.queue_before >= LEAST_QUEUE;
        let is_own = !is_certain || self.least <= (self.own_share * self.queue_before).max(self.own_seconds);
        if rounds < ONE || !is_own && rounds < self.patience {
            return Progress::Going;
        }
        let verdict = if is_own { Verdict::Own } else { Verdict::Shared };
        Progress::Over(Some(Found { verdict, left: self.least, is_certain }))
    }

    fn unless_too_long(&self, now: Time, base: f64) -> Progress {
        let is_too_long = now.since(self.began).as_secs_f64() > LONGEST_DIP * (base + self.queue_before);
        if is_too_long { Progress::Over(None) } else { Progress::Going }
    }
}
