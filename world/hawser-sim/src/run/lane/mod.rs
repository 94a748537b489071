//! The lane of packets at one end of a tunnel: what `hawser tunnel` does with packets, over a connection in virtual time.
//!
//! Flows are told apart and judged, packets numbered, those of calls sent on two paths, and put in order at the other end by the code that
//! the tunnel runs (`hawser-masque`). What stands in for the tunnel is where packets come from.

mod figures;
mod source;

use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use hawser_core::Connection;
use hawser_masque::datagrams;
use hawser_masque::flows::{Class, FlowTable, Verdict};
use hawser_masque::order::{self, Reorder};
use hawser_masque::twice::{Seen, Twice};
use hawser_media::Measure;
use hawser_policy::{Earliest, PathState, PathStatus, Time};
use hawser_scenario::{Direction, TunnelMix};

use self::figures::{Arrival, figures};
use self::source::{Source, received};
use super::meter::Meter;

/// The quarter stream ID of the first request (RFC 9297 section 2.1).
const QUARTER_STREAM_ID: u8 = 0;

/// What packets are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Call,
    Game,
    Udp,
}

impl Part {
    const ALL: [Part; 3] = [Part::Call, Part::Game, Part::Udp];
}

/// One end of the lane.
pub(crate) struct PacketLane {
    flows: FlowTable,
    /// Where packets of calls go, unless the scheduler chooses.
    twice: Option<Twice>,
    order: Reorder,
    /// What this end sends.
    sources: Vec<Source>,
    release_at: Option<Time>,
    /// What came of each part.
    heard: [Vec<Arrival>; 3],
}

impl PacketLane {
    /// The end at the beginning of a direction.
    pub(crate) fn new(mix: &TunnelMix, sends: Direction) -> Self {
        let udp = mix.udp.filter(|_| sends == Direction::Down);
        let parts = Part::ALL.into_iter().zip([mix.call, mix.game, udp]);
        PacketLane {
            flows: FlowTable::default(),
            twice: mix.copies.then(Twice::default),
            order: Reorder::default(),
            sources: parts.filter_map(|(part, packets)| Some(Source::new(part, packets?))).collect(),
            release_at: None,
            heard: Default::default(),
        }
    }

    /// The tunnel is there.
    pub(crate) fn start(&mut self, now: Time, connection: &mut Connection) {
        self.sources.iter_mut().for_each(|source| source.start(now));
        self.send(now, connection);
    }

    pub(crate) fn next_timeout(&self) -> Option<Time> {
        let sends = self.sources.iter().map(Source::next_at);
        sends.fold(Earliest::NONE, Earliest::or).or(self.release_at).time()
    }

    pub(crate) fn on_timeout(&mut self, now: Time, connection: &mut Connection, meter: &mut Meter) {
        self.send(now, connection);
        if self.release_at.is_some_and(|at| at <= now) {
            self.order.release(since_zero(now));
            self.hand_on(now, meter);
        }
    }

    /// Sends what is due.
    fn send(&mut self, now: Time, connection: &mut Connection) {
        for source in &mut self.sources {
            while let Some(packet) = source.next_due(now) {
                let verdict = self.flows.judge(since_zero(now), &packet, source.read());
                send(now, connection, &verdict, &packet, self.twice.as_mut());
            }
        }
    }

    /// Reads what came.
    pub(crate) fn receive(&mut self, now: Time, connection: &mut Connection, meter: &mut Meter) {
        while let Some(mut datagram) = connection.read_datagram() {
            if datagram.first() != Some(&QUARTER_STREAM_ID) {
                continue;
            }
            datagram.advance(1);
            if let Some(numbered) = order::read(datagram) {
                self.order.push(since_zero(now), numbered);
            }
        }
        self.hand_on(now, meter);
    }

    fn hand_on(&mut self, now: Time, meter: &mut Meter) {
        while let Some(packet) = self.order.pop() {
            let Some((part, sent)) = received(&packet) else { continue };
            let delay = now.since(sent);
            self.heard[part as usize].push(Arrival { sent, delay });
            if part == Part::Call {
                meter.delays.record(delay, 1);
            }
        }
        self.release_at = self.order.next_release(since_zero(now)).map(|at| Time::ZERO + at);
    }

    /// What became of the packets that one end sent to the other, on their way in this direction.
    pub(crate) fn measures(sender: &Self, receiver: &Self, direction: Direction, now: Time) -> Vec<Measure> {
        let of = |source: &Source| figures(source, &receiver.heard[source.part() as usize], direction, now);
        sender.sources.iter().flat_map(of).collect()
    }
}

/// Sends a packet as the tunnel does: of a call on two paths, as long as copies are within their budget.
fn send(now: Time, connection: &mut Connection, verdict: &Verdict, packet: &[u8], twice: Option<&mut Twice>) {
    let mut datagram = BytesMut::with_capacity(1 + order::HEADER + packet.len());
    datagram.put_u8(QUARTER_STREAM_ID);
    datagram.put_slice(&order::header(verdict));
    datagram.put_slice(packet);
    let datagram: Bytes = datagram.freeze();
    let pair = twice
        .filter(|_| verdict.class == Class::RealTime)
        .and_then(|twice| twice.paths(now, order::HEADER + packet.len(), || seen(connection)));
    let mut copy =
        |path| connection.send_newest_datagram_with(datagram.clone(), &datagrams::copy(now, path)).is_ok();
    if pair.is_some_and(|pair| pair.map(&mut copy).contains(&true)) {
        return;
    }
    // What is refused is lost, as on any full link.
    let _ = connection.send_newest_datagram_with(datagram, &datagrams::info(verdict.class));
}

/// The paths that packets of calls may take.
fn seen(connection: &Connection) -> Vec<Seen> {
    let active = connection.paths().into_iter().filter(|path| path.state == PathState::Active);
    let seen = active.filter_map(|path| {
        let stats = connection.path_stats(path.id)?;
        Some(Seen {
            id: path.id,
            is_kept_back: path.status != PathStatus::Available,
            smoothed_rtt: stats.smoothed_rtt,
            rtt_variance: stats.rtt_variance,
            delivery_rate: stats.delivery_rate,
            bytes_in_flight: stats.bytes_in_flight,
            heard_at: stats.heard_at,
        })
    });
    seen.collect()
}

fn since_zero(now: Time) -> Duration {
    now.since(Time::ZERO)
}
