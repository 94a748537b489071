//! Packets that only load the links: UDP flows of the scenario, sent and received inside the emulator.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hawser_link::{Fabric, Frame, Nanos, RouteIndex};
use hawser_scenario::{Departures, Direction, FlowKind, Layout, Scenario};

/// All background sources of a scenario.
#[derive(Debug)]
pub(crate) struct Background {
    sources: Vec<Source>,
    due: BinaryHeap<Reverse<(Nanos, usize)>>,
}

/// One copy of a UDP flow.
#[derive(Debug)]
pub(crate) struct Source {
    /// The flow, as an index into the scenario's.
    pub(crate) flow: usize,
    pub(crate) direction: Direction,
    pub(crate) sent: u64,
    pub(crate) delivered: u64,
    departures: Departures,
    route: RouteIndex,
    size: u32,
}

/// A packet to be sent.
#[derive(Debug)]
pub(crate) struct BackgroundPacket {
    pub(crate) at: Nanos,
    pub(crate) source: usize,
    pub(crate) route: RouteIndex,
    pub(crate) size: u32,
}

impl Background {
    /// Their port in records: discard (RFC 863).
    pub(crate) const PORT: u16 = 9;

    /// The sources of a scenario, with routes of their own.
    pub(crate) fn new<P: Frame>(scenario: &Scenario, layout: &Layout, fabric: &mut Fabric<P>) -> Self {
        let mut background = Background { sources: Vec::new(), due: BinaryHeap::new() };
        for (index, flow) in scenario.flows.iter().enumerate() {
            let FlowKind::Udp { direction, size, .. } = flow.kind else { continue };
            for copy in 0..flow.count {
                let route = layout.add_udp_route(scenario, fabric, flow);
                let departures = Departures::of(scenario, flow, copy);
                if let (Some(route), Some(departures)) = (route, departures) {
                    let source =
                        Source { flow: index, direction, sent: 0, delivered: 0, departures, route, size };
                    background.sources.push(source);
                    background.arm(background.sources.len() - 1);
                }
            }
        }
        background
    }

    pub(crate) fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// When the next packet is sent.
    pub(crate) fn next_at(&self) -> Option<Nanos> {
        self.due.peek().map(|Reverse((at, _))| *at)
    }

    /// The next packet that is sent by `now`, in the order of time.
    pub(crate) fn pop(&mut self, now: Nanos) -> Option<BackgroundPacket> {
        self.due.peek().filter(|Reverse((at, _))| *at <= now)?;
        let Reverse((_, index)) = self.due.pop()?;
        let source = self.sources.get_mut(index)?;
        let at = source.departures.pop(now)?;
        source.sent += 1;
        let packet = BackgroundPacket { at, source: index, route: source.route, size: source.size };
        self.arm(index);
        Some(packet)
    }

    /// Counts a packet that arrived.
    pub(crate) fn delivered(&mut self, source: usize) {
        if let Some(source) = self.sources.get_mut(source) {
            source.delivered += 1;
        }
    }

    fn arm(&mut self, index: usize) {
        if let Some(at) = self.sources[index].departures.next_at() {
            self.due.push(Reverse((at, index)));
        }
    }
}
