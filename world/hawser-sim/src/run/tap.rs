//! Hands packets to the recorder, and counts their delays.

use hawser_link::{Arrival, DropCause, Failure, LinkIndex};
use hawser_policy::Time;
use hawser_scenario::Direction;

use super::build::RouteInfo;
use super::delivery::Followed;
use super::meter::Delays;
use super::recorder::{PacketRecord, Recorder};
use crate::Packet;
use crate::observer::Observer;

/// Hands packets to the recorder.
pub(super) struct PacketTap<'a, R> {
    pub(super) recorder: &'a mut R,
    pub(super) wanted: bool,
    pub(super) delays: &'a mut [Delays],
    pub(super) routes: &'a [RouteInfo],
    pub(super) links: &'a [String],
    pub(super) followed: &'a Followed,
}

impl<R: Recorder> PacketTap<'_, R> {
    fn record(
        &mut self,
        sent: u64,
        at: u64,
        route: usize,
        length: u32,
        packet: &Packet,
        dropped: Option<(LinkIndex, DropCause)>,
    ) {
        let Some(info) = self.routes.get(route) else { return };
        let tuple = packet.tuple;
        let client = if info.direction == Direction::Up { tuple.local } else { tuple.remote };
        self.recorder.packet(&PacketRecord {
            sent: Time::from_nanos(sent),
            at: Time::from_nanos(at),
            route: &info.name,
            direction: info.direction,
            port: client.port(),
            length,
            ecn: packet.ecn,
            dropped: dropped.map(|(link, cause)| (self.links[link.as_usize() / 2].as_str(), cause)),
            payload: &packet.payload,
            addresses: tuple,
            followed: self.followed.ended(packet.label).then_some(packet.label),
        });
    }
}

impl<R: Recorder> Observer for PacketTap<'_, R> {
    fn arrived(&mut self, arrival: &Arrival<Packet>) {
        let route = arrival.route.as_usize();
        if let Some(delays) = self.delays.get_mut(route) {
            delays.record_nanos(arrival.at - arrival.sent, 1);
        }
        if self.wanted {
            self.record(arrival.sent, arrival.at, route, arrival.length, &arrival.payload, None);
        }
    }

    fn failed(&mut self, failure: &Failure<Packet>) {
        let dropped = Some((failure.link, failure.cause));
        self.record(
            failure.sent,
            failure.at,
            failure.route.as_usize(),
            failure.length,
            &failure.payload,
            dropped,
        );
    }
}
