//! Numbered packets: what a tunnel over several paths adds to CONNECT-IP, where both ends are Hawser's.
//!
//! ```text
//!   Context ID (i) = 2, in order, or 4, once | Flow (16) | Number (32) | IP Packet
//! ```
//!
//! Packets of a flow *in order* are handed on in the order of their numbers, since what ends in a transport that takes reordering
//! for loss is slower over two paths than over one otherwise. Those to be handed on *once* may have been sent on several paths. The
//! client offers both with a header field, and the gateway accepts with the same; contexts 2 and 4 are the client's to allocate
//! (RFC 9298 section 4).

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use bytes::{Buf, Bytes};

use crate::flows::{Class, Verdict};

/// The header field by which both ends say that they number packets; its value is the structured boolean `?1`.
pub const FIELD: &str = "hawser-numbered-packets";
/// Its value.
pub const FIELD_VALUE: &str = "?1";
/// Bytes before a numbered packet.
pub const HEADER: usize = 7;

const IN_ORDER: u8 = 2;
const ONCE: u8 = 4;

/// The longest that a packet waits for one before it, whatever the paths do.
pub const LONGEST_WAIT: Duration = Duration::from_millis(150);
/// How much longer than the latest packet of late one is waited for: a quarter, and this.
const MARGIN: Duration = Duration::from_millis(1);
/// For so long, at least, a packet that came late is remembered; and at most for twice as long.
const MEMORY: Duration = Duration::from_secs(1);
/// Flows that are remembered.
const MAX_FLOWS: usize = 4_096;
/// Packets that wait, of all flows; one more, and its flow waits no longer.
const MAX_HELD: usize = 16_384;
/// Ranges of numbers that were missing and are remembered, of a flow.
const MAX_HOLES: usize = 4_096;
/// A number so far from the one that is due is of another flow with the same number.
const FAR: u32 = 1 << 15;

/// The header of a packet.
pub fn header(verdict: &Verdict) -> [u8; HEADER] {
    let context = match verdict.class {
        Class::RealTime => ONCE,
        Class::Bulk => IN_ORDER,
    };
    let ([f0, f1], [n0, n1, n2, n3]) = (verdict.flow.to_be_bytes(), verdict.number.to_be_bytes());
    [context, f0, f1, n0, n1, n2, n3]
}

/// A packet and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// Its place.
    pub verdict: Verdict,
    /// The packet.
    pub packet: Bytes,
}

/// The numbered packet in a datagram; `None` if it is something else.
pub fn read(mut datagram: Bytes) -> Option<Numbered> {
    let class = match *datagram.first()? {
        IN_ORDER => Class::Bulk,
        ONCE => Class::RealTime,
        _ => return None,
    };
    if datagram.len() < HEADER {
        return None;
    }
    datagram.advance(1);
    let (flow, number) = (datagram.get_u16(), datagram.get_u32());
    Some(Numbered { verdict: Verdict { class, flow, number }, packet: datagram })
}

/// Numbered packets that arrive, and the order in which they are handed on.
///
/// How long a packet waits for those before it is measured: a quarter longer than the latest of them came after its successor in the
/// last second or two. Where nothing overtakes nothing waits, also behind a packet that is lost.
///
/// Whatever the other end writes into its headers: a packet costs the logarithm of what is remembered.
#[derive(Debug, Default)]
pub struct Reorder {
    flows: Recent<Ordered>,
    once: Recent<Window>,
    /// Lateness is a matter of paths, and so the same for all flows.
    lateness: Lateness,
    held: usize,
    /// The flows of which packets wait, by when the first of these began to.
    waiting: BTreeSet<(Duration, u16)>,
    ready: VecDeque<Bytes>,
}

impl Reorder {
    /// A packet arrives; `now` counts from any moment on.
    pub fn push(&mut self, now: Duration, numbered: Numbered) {
        let Numbered { verdict: Verdict { class, flow: id, number }, packet } = numbered;
        if class == Class::RealTime {
            self.once.make_room(id);
            if self.once.touch(now, id, Window::default).is_new(now, number) {
                self.ready.push_back(packet);
            }
            return;
        }
        if let Some((id, mut silent)) = self.flows.make_room(id) {
            self.waiting.remove(&(silent.listed, id));
            self.held = self.held.saturating_sub(silent.held.len());
            silent.give_up(&mut self.ready);
        }
        let flow = self.flows.touch(now, id, || Ordered::new(now, number));
        self.waiting.remove(&(flow.listed, id));
        self.held = self.held.saturating_sub(flow.held.len());
        flow.push(now, number, packet, &mut self.lateness, &mut self.ready);
        if self.held + flow.held.len() > MAX_HELD {
            flow.give_up(&mut self.ready);
        }
        flow.release(now, self.lateness.wait(now), &mut self.ready);
        self.held += flow.held.len();
        if !flow.held.is_empty() {
            flow.listed = flow.waits_since();
            self.waiting.insert((flow.listed, id));
        }
    }

    /// The next packet that waits for nothing.
    pub fn pop(&mut self) -> Option<Bytes> {
        self.ready.pop_front()
    }

    /// When [`release`](Self::release) is to be called; `None` while nothing waits.
    pub fn next_release(&self, now: Duration) -> Option<Duration> {
        let (since, _) = self.waiting.first()?;
        Some(*since + self.lateness.wait(now))
    }

    /// Hands on what has waited for long enough.
    pub fn release(&mut self, now: Duration) {
        let wait = self.lateness.wait(now);
        while let Some((since, id)) = self.waiting.first().copied()
            && since + wait <= now
        {
            self.waiting.remove(&(since, id));
            let Some(flow) = self.flows.get_mut(id) else { continue };
            self.held = self.held.saturating_sub(flow.held.len());
            flow.release(now, wait, &mut self.ready);
            self.held += flow.held.len();
            if !flow.held.is_empty() {
                flow.listed = flow.waits_since();
                self.waiting.insert((flow.listed, id));
            }
        }
    }

    /// How long a packet waits for one before it.
    pub fn wait(&self, now: Duration) -> Duration {
        self.lateness.wait(now)
    }

    /// Packets that wait.
    pub fn held(&self) -> usize {
        self.held
    }
}

/// The flows of which something came last, at most [`MAX_FLOWS`].
#[derive(Debug)]
struct Recent<F> {
    flows: HashMap<u16, (Duration, F)>,
    ages: BTreeSet<(Duration, u16)>,
}

impl<F> Default for Recent<F> {
    fn default() -> Self {
        Recent { flows: HashMap::new(), ages: BTreeSet::new() }
    }
}

impl<F> Recent<F> {
    /// Forgets the flow that was silent for longest if there is no room for this one.
    fn make_room(&mut self, id: u16) -> Option<(u16, F)> {
        if self.flows.len() < MAX_FLOWS || self.flows.contains_key(&id) {
            return None;
        }
        let (_, oldest) = self.ages.pop_first()?;
        self.flows.remove(&oldest).map(|(_, flow)| (oldest, flow))
    }

    /// The flow of which something comes now.
    fn touch(&mut self, now: Duration, id: u16, begin: impl FnOnce() -> F) -> &mut F {
        let (last, flow) = self.flows.entry(id).or_insert_with(|| (now, begin()));
        self.ages.remove(&(*last, id));
        self.ages.insert((now, id));
        *last = now;
        flow
    }

    fn get_mut(&mut self, id: u16) -> Option<&mut F> {
        self.flows.get_mut(&id).map(|(_, flow)| flow)
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.flows.len()
    }
}

/// How late packets came, the latest of this stretch of time and of the one before.
#[derive(Clone, Copy, Debug, Default)]
struct Lateness {
    began: Duration,
    latest: Duration,
    before: Duration,
}

impl Lateness {
    fn note(&mut self, now: Duration, late: Duration) {
        let age = now.saturating_sub(self.began);
        if age >= MEMORY {
            self.before = if age < 2 * MEMORY { self.latest } else { Duration::ZERO };
            self.latest = Duration::ZERO;
            self.began = now;
        }
        // What is later than anything would wait for it says nothing of the paths, but of an outage.
        if late <= LONGEST_WAIT {
            self.latest = self.latest.max(late);
        }
    }

    fn wait(&self, now: Duration) -> Duration {
        let latest = match now.saturating_sub(self.began) {
            age if age < MEMORY => self.latest.max(self.before),
            age if age < 2 * MEMORY => self.latest,
            _ => return Duration::ZERO,
        };
        if latest.is_zero() { latest } else { (latest + latest / 4 + MARGIN).min(LONGEST_WAIT) }
    }
}

/// A flow in order.
#[derive(Debug)]
struct Ordered {
    /// The number that is due.
    next: u32,
    /// Those that wait, by how far they are ahead of `origin`, which no number of the flow is below.
    held: BTreeMap<u64, Bytes>,
    /// `next`, without wrapping.
    due: u64,
    /// Behind the largest number that has come.
    end: u64,
    /// Numbers that were missing when a larger one came: the first of each range, the one behind its last, and when that was.
    holes: BTreeMap<u64, (u64, Duration)>,
    last: Duration,
    /// Since when it is among those that wait.
    listed: Duration,
}

impl Ordered {
    fn new(now: Duration, number: u32) -> Self {
        // The first packet of a flow may be overtaken, too: numbers begin with 0.
        let next = if number < 256 { 0 } else { number };
        let due = 1 << 32;
        let (held, holes) = (BTreeMap::new(), BTreeMap::new());
        Ordered { next, held, due, end: due, holes, last: now, listed: Duration::ZERO }
    }

    fn push(
        &mut self,
        now: Duration,
        number: u32,
        packet: Bytes,
        lateness: &mut Lateness,
        ready: &mut VecDeque<Bytes>,
    ) {
        let is_idle = now.saturating_sub(self.last) >= MEMORY;
        self.last = now;
        let ahead = number.wrapping_sub(self.next).cast_signed();
        if (is_idle && self.held.is_empty()) || ahead.unsigned_abs() >= FAR {
            self.give_up(ready);
            *self = Ordered::new(now, number);
            self.next = number;
        }
        let ahead = number.wrapping_sub(self.next).cast_signed();
        let position = self.due.saturating_add_signed(i64::from(ahead));
        if let Some(noticed) = self.fill(position) {
            lateness.note(now, now.saturating_sub(noticed));
        }
        if self.end < position {
            if self.holes.len() >= MAX_HOLES {
                self.holes.pop_first();
            }
            self.holes.insert(self.end, (position, now));
        }
        self.end = self.end.max(position + 1);
        if position < self.due {
            ready.push_back(packet);
            return;
        }
        self.held.insert(position, packet);
        self.hand_on(ready);
    }

    /// A number comes. Returns since when it was known to be missing, if it was.
    fn fill(&mut self, position: u64) -> Option<Duration> {
        let (first, (end, noticed)) =
            self.holes.range(..=position).next_back().map(|(first, hole)| (*first, *hole))?;
        if end <= position {
            return None;
        }
        self.holes.remove(&first);
        if first < position {
            self.holes.insert(first, (position, noticed));
        }
        if position + 1 < end {
            self.holes.insert(position + 1, (end, noticed));
        }
        if self.holes.len() > MAX_HOLES {
            self.holes.pop_first();
        }
        Some(noticed)
    }

    /// Hands on what is due.
    fn hand_on(&mut self, ready: &mut VecDeque<Bytes>) {
        while let Some(packet) = self.held.remove(&self.due) {
            ready.push_back(packet);
            self.advance(1);
        }
    }

    fn advance(&mut self, by: u64) {
        self.due += by;
        self.next = self.next.wrapping_add(by as u32);
    }

    /// Since when the packet that waits first does: since the one before it is known to be missing. Zero if that is forgotten.
    fn waits_since(&self) -> Duration {
        let first = self.held.first_key_value().map_or(0, |(first, _)| *first);
        self.holes.range(..first).next_back().map_or(Duration::ZERO, |(_, (_, noticed))| *noticed)
    }

    fn release(&mut self, now: Duration, wait: Duration, ready: &mut VecDeque<Bytes>) {
        while let Some((first, _)) = self.held.first_key_value()
            && self.waits_since() + wait <= now
        {
            self.advance(first - self.due);
            self.hand_on(ready);
        }
        while let Some((first, (end, noticed))) = self.holes.first_key_value()
            && *end <= self.due
            && now.saturating_sub(*noticed) >= MEMORY
        {
            let first = *first;
            self.holes.remove(&first);
        }
    }

    /// Hands on all that waits.
    fn give_up(&mut self, ready: &mut VecDeque<Bytes>) {
        if let Some((last, _)) = self.held.last_key_value() {
            self.advance(last + 1 - self.due);
        }
        ready.extend(std::mem::take(&mut self.held).into_values());
    }
}

/// Which of the newest numbers of a flow have come.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    newest: u32,
    /// Bit n: the newest but n.
    seen: u128,
    last: Duration,
}

impl Window {
    fn is_new(&mut self, now: Duration, number: u32) -> bool {
        let is_idle = now.saturating_sub(self.last) >= MEMORY;
        self.last = now;
        let ahead = number.wrapping_sub(self.newest).cast_signed();
        // A number before the first: of a flow that has taken the place of another.
        if self.seen == 0 || ahead.unsigned_abs() >= FAR || (is_idle && ahead < 0) {
            (self.newest, self.seen) = (number, 1);
            return true;
        }
        if ahead > 0 {
            self.newest = number;
            self.seen = self.seen.checked_shl(ahead.unsigned_abs()).unwrap_or(0) | 1;
            return true;
        }
        let bit = 1_u128.checked_shl(ahead.unsigned_abs()).unwrap_or(0);
        let is_new = bit != 0 && self.seen & bit == 0;
        self.seen |= bit;
        is_new
    }
}

#[cfg(test)]
mod tests;
