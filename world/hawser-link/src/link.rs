//! One direction of a link: queue, server, loss, delay line.

use crate::config::DirectionConfig;
use crate::delay::DelayLine;
use crate::flight::{Departure, Flight};
use crate::foresight::{Foresight, plan_between_outages};
use crate::frame::Frame;
use crate::impairments::{Damage, Fate};
use crate::link_log::{Dropped, LinkLog};
use crate::loss::LossProcess;
use crate::outage::{OutagePolicy, Outages};
use crate::queue::{Backlog, Queue};
use crate::rate::RateServer;
use crate::stats::DropCause;
use crate::stats::LinkStats;
use crate::time::{NEVER, Nanos};
use crate::waiting::Waiting;

/// One direction of a link, carrying packets with a payload of type `P`.
///
/// Calls must come with times that never go back. Between calls nothing happens: the link catches up with
/// `now` first, so its results do not depend on how often it is called.
#[derive(Debug)]
pub struct Link<P> {
    server: RateServer,
    loss: LossProcess,
    damage: Damage,
    line: DelayLine,
    outages: Outages,
    outage_policy: OutagePolicy,
    mtu: u32,
    /// `Some(up)` overrides the schedule of outages.
    forced: Option<bool>,

    queue: Queue<P>,
    /// What the server took from the queue.
    sending: Option<Sending<P>>,
    flight: Flight<P>,
    log: LinkLog<P>,
    /// Of an observer that wants to know when packets will arrive.
    foresight: Option<Foresight>,
}

/// The packet being sent.
#[derive(Debug)]
struct Sending<P> {
    packet: Waiting<P>,
    /// When its first bit leaves: after the last outage that cuts it.
    began: Nanos,
    /// When its last bit will have left.
    finish: Nanos,
}

/// A packet that the link did not take, with its payload for reuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected<P> {
    /// Why.
    pub cause: DropCause,
    /// What was handed to [`Link::enqueue`].
    pub payload: P,
}

impl<P: Frame> Link<P> {
    /// A link at time zero. The same configuration, seed and calls give the same results on any machine.
    pub fn new(config: &DirectionConfig, seed: u64) -> Self {
        Self {
            server: RateServer::new(&config.rate, seed),
            loss: LossProcess::new(&config.loss, seed),
            damage: Damage::new(config.impairments, seed),
            line: DelayLine::new(&config.delay, seed),
            outages: config.outages.clone(),
            outage_policy: config.outage_policy,
            mtu: config.mtu,
            forced: None,
            queue: Queue::new(&config.queue, config.mtu, config.rate.peak(), seed),
            sending: None,
            flight: Flight::new(),
            log: LinkLog::new(),
            foresight: None,
        }
    }

    /// From now on tells of every packet that it takes, so that somebody knows when the next would arrive.
    pub(crate) fn tell(&mut self, foresight: Foresight) {
        self.foresight = Some(foresight);
    }

    /// Takes a packet of `length` bytes.
    ///
    /// # Errors
    /// Gives the payload back when the packet is dropped at the entrance: too large, link down, queue full, early
    /// drop. (Packets can also be lost later: [`Link::poll_dropped`].)
    pub fn enqueue(&mut self, now: Nanos, length: u32, payload: P) -> Result<(), Rejected<P>> {
        self.advance(now);
        let stats = &mut self.log.stats;
        stats.offered_packets += 1;
        stats.offered_bytes += u64::from(length);
        if let Some(cause) = self.refusal(now, length) {
            self.log.stats.dropped(cause);
            return Err(Rejected { cause, payload });
        }
        let packet = Waiting { arrived: now, length, payload };
        let is_idle = self.sending.is_none();
        if is_idle {
            self.server.idle_until(now);
            if self.queue.lets_pass(length) {
                self.tell_of(now, length, is_idle);
                let peak = &mut self.log.stats.queue_peak_bytes;
                *peak = (*peak).max(u64::from(length));
                self.begin(packet, now);
                self.advance(now);
                return Ok(());
            }
        }
        let in_service = self.in_service();
        if let Err((cause, payload)) =
            self.queue.enqueue(packet, in_service, || self.server.rate_at(now), &mut self.log)
        {
            self.log.stats.dropped(cause);
            return Err(Rejected { cause, payload });
        }
        self.tell_of(now, length, is_idle);
        let stats = &mut self.log.stats;
        stats.queue_peak_bytes = stats.queue_peak_bytes.max(self.queue.backlog().bytes + in_service.bytes);
        if self.sending.is_none() {
            // An idle link begins at once, and an unlimited one sends at once.
            self.begin_next(now);
            self.advance(now);
        }
        Ok(())
    }

    /// When [`Link::dequeue`] should be called next: nothing departs earlier. `None` when the link is empty or
    /// stuck indefinitely.
    ///
    /// Exact for packets on the way; for a packet that is still being sent it leaves out jitter and loss, so
    /// that the call may come back empty-handed.
    pub fn next_departure(&self) -> Option<Nanos> {
        let on_the_way = self.flight.next();
        let Some(sending) = self.sending.as_ref().filter(|sending| sending.finish < NEVER) else {
            return on_the_way;
        };
        let earliest = self.line.earliest_arrival(sending.finish);
        Some(on_the_way.map_or(earliest, |at| at.min(earliest)))
    }

    /// The next packet that has arrived by `now`, by time of arrival; call until `None`.
    pub fn dequeue(&mut self, now: Nanos) -> Option<Departure<P>> {
        self.advance(now);
        let packet = self.flight.pop(now)?;
        self.log.stats.delivered_packets += 1;
        self.log.stats.delivered_bytes += u64::from(packet.length);
        Some(packet)
    }

    /// From now on keeps packets that are lost inside the link for [`Self::poll_dropped`], or no longer does.
    pub fn keep_dropped(&mut self, keep: bool) {
        self.log.keep_dropped = keep;
        if !keep {
            self.log.dropped.clear();
        }
    }

    /// The next packet that was lost inside the link, in the order of their losses, as of the last call of
    /// [`Self::enqueue`] or [`Self::dequeue`]. Packets that `enqueue` gave back are not among them.
    ///
    /// Always `None` without [`Self::keep_dropped`]; with it, call this often: nobody else frees them.
    pub fn poll_dropped(&mut self) -> Option<Dropped<P>> {
        self.log.dropped.pop_front()
    }

    /// Takes the link down (`Some(false)`) or up (`Some(true)`) from `now` on, whatever its schedule says, or
    /// gives it back to the schedule (`None`).
    pub fn force(&mut self, now: Nanos, state: Option<bool>) {
        self.advance(now);
        let was_up = self.is_up(now);
        self.forced = state;
        if self.outage_policy == OutagePolicy::Drop {
            return;
        }
        // A packet that waits out an outage, or that would be cut by one, is planned again.
        let Some(mut sending) = self.sending.take() else { return };
        let start = if was_up && self.is_up(now) { sending.began.min(now) } else { now };
        (sending.began, sending.finish) = self.plan(start, sending.packet.length);
        self.sending = Some(sending);
        self.advance(now);
    }

    /// From `now` on rate, delay, loss and outages are those of `config`, such as those of another access point. What waits
    /// or is on its way stays, and so do queue and counters; the packet being sent starts again. `seed` is that of losses
    /// and jitter from now on.
    pub fn reconfigure(&mut self, now: Nanos, config: &DirectionConfig, seed: u64) {
        self.advance(now);
        self.server = RateServer::new(&config.rate, seed);
        self.server.idle_until(now);
        self.loss = LossProcess::new(&config.loss, seed);
        self.line.reconfigure(&config.delay, seed);
        self.outages = config.outages.clone();
        self.outage_policy = config.outage_policy;
        if let Some(sending) = self.sending.take() {
            self.begin(sending.packet, now);
        }
    }

    /// Whether the link is up at `now`.
    pub fn is_up(&self, now: Nanos) -> bool {
        self.forced.unwrap_or_else(|| !self.outages.is_down(now))
    }

    /// Counters since the start.
    pub fn stats(&self) -> &LinkStats {
        &self.log.stats
    }

    /// Bytes waiting to be sent, including the packet being sent, as of the last call.
    pub fn queued_bytes(&self) -> u64 {
        self.queue.backlog().bytes + self.in_service().bytes
    }

    /// Packets waiting to be sent, including the one being sent, as of the last call.
    pub fn queued_packets(&self) -> u64 {
        self.queue.backlog().packets + self.in_service().packets
    }

    /// A packet was taken.
    #[inline]
    fn tell_of(&self, now: Nanos, length: u32, was_idle: bool) {
        if let Some(foresight) = &self.foresight {
            foresight.enter(now, length, was_idle);
        }
    }

    fn in_service(&self) -> Backlog {
        match &self.sending {
            Some(sending) => Backlog { packets: 1, bytes: u64::from(sending.packet.length) },
            None => Backlog::default(),
        }
    }

    /// Why a packet cannot even come to the queue, if so.
    fn refusal(&self, now: Nanos, length: u32) -> Option<DropCause> {
        if length > self.mtu {
            Some(DropCause::Mtu)
        } else if self.outage_policy == OutagePolicy::Drop && !self.is_up(now) {
            Some(DropCause::Down)
        } else {
            None
        }
    }

    /// Moves every packet whose last bit has left by `now` from the server to the delay line.
    #[inline]
    fn advance(&mut self, now: Nanos) {
        while self.sending.as_ref().is_some_and(|sending| sending.finish <= now && sending.finish < NEVER) {
            self.complete();
        }
    }

    /// The last bit of the packet being sent has left, and the next one begins.
    #[inline(never)]
    fn complete(&mut self) {
        let Some(Sending { packet, finish, .. }) = self.sending.take() else { return };
        self.server.commit(finish);
        self.send(packet, finish);
        self.begin_next(finish);
    }

    /// The server is free at `now` and takes the next packet, if there is one: here the queue discipline decides.
    #[inline]
    fn begin_next(&mut self, now: Nanos) {
        if let Some(packet) = self.queue.dequeue(now, &mut self.log) {
            self.begin(packet, now);
        }
    }

    /// Sends a packet.
    #[inline]
    fn begin(&mut self, packet: Waiting<P>, now: Nanos) {
        let (began, finish) = self.plan(now, packet.length);
        self.sending = Some(Sending { packet, began, finish });
    }

    /// When the first and the last bit of a packet leave that the server takes at `start`.
    #[inline]
    fn plan(&mut self, start: Nanos, length: u32) -> (Nanos, Nanos) {
        if self.outage_policy == OutagePolicy::Drop || self.forced == Some(true) {
            (start, self.server.plan(start, length))
        } else {
            self.plan_between_outages(start, length)
        }
    }

    #[inline(never)]
    fn plan_between_outages(&mut self, start: Nanos, length: u32) -> (Nanos, Nanos) {
        if self.forced == Some(false) {
            return (start, NEVER);
        }
        plan_between_outages(&mut self.server, &self.outages, start, length)
    }

    /// Decides what becomes of a packet whose last bit left at `finish`.
    #[inline]
    fn send(&mut self, packet: Waiting<P>, finish: Nanos) {
        self.log.stats.queue_time_total += finish - packet.arrived;
        if self.outage_policy == OutagePolicy::Drop && !self.is_up(finish) {
            self.log.drop(finish, DropCause::Down, packet);
        } else if self.loss.loses(finish) {
            self.log.drop(finish, DropCause::Loss, packet);
        } else {
            match self.damage.next_fate() {
                None => self.launch(packet, finish, None),
                Some(fate) => self.send_damaged(packet, finish, fate),
            }
        }
    }

    /// The unusual ways of a packet.
    #[inline(never)]
    fn send_damaged(&mut self, mut packet: Waiting<P>, finish: Nanos, fate: Fate) {
        let stats = &mut self.log.stats;
        let copy = fate.duplicated.then(|| packet.payload.duplicate());
        stats.duplicated += u64::from(copy.is_some());
        if let Some(position) = fate.corrupted {
            stats.corrupted += 1;
            packet.payload.corrupt(position);
        }
        stats.held_back += u64::from(fate.held_back.is_some());
        let (arrived, length) = (packet.arrived, packet.length);
        self.launch(packet, finish, fate.held_back);
        if let Some(payload) = copy {
            self.launch(Waiting { arrived, length, payload }, finish, None);
        }
    }

    /// Puts a packet into the delay line, `held_back` by a time during which others overtake it.
    #[inline]
    fn launch(&mut self, packet: Waiting<P>, sent: Nanos, held_back: Option<Nanos>) {
        let at = self.line.arrival(sent).saturating_add(held_back.unwrap_or(0));
        let Waiting { arrived: entered, length, payload } = packet;
        self.flight.push(Departure { at, entered, sent, length, payload }, held_back.is_some());
    }
}

#[cfg(test)]
mod tests;
