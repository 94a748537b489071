//! TCP connections of programs, and under which addresses they reach the listener of this process.
//!
//! A program's connection `own:port -> far:port` is one of `peer:number -> local:listener` to the listener, where `number` is
//! that of the flow. Segments are given these ends on their way in, and the program's on their way out; nothing else of them changes,
//! so that both sides have the kernel's TCP.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use hawser_masque::packet::{Endpoints, Segment};

/// How long the ends of a connection that is over are remembered, for its last segments.
const LINGER: Duration = Duration::from_secs(5);
/// How long one may take from the program's first segment to the listener.
const OPENING: Duration = Duration::from_secs(60);
/// Connections that are being opened at the same time; first segments of further ones are dropped and come again.
const MOST_OPENING: usize = 1_024;

/// Where the listener of one family is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its address.
    pub listener: SocketAddr,
    /// The address that connections come from; the port is that of the flow.
    pub peer: std::net::IpAddr,
}

/// Which connection: also the port that it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowId(pub u16);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The far end has not answered.
    Opening,
    /// It has.
    Open,
    /// The connection is over since then.
    Over,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    ends: Endpoints,
    phase: Phase,
    /// When it last had a segment, to the second, or changed its phase.
    last: Duration,
}

/// What happens to a segment of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It opens a connection: keep it until that is [opened](Table::opened), or [failed](Table::closed).
    Open {
        /// The new flow.
        flow: FlowId,
        /// One that has to end for it: the one that was silent for longest.
        evicted: Option<FlowId>,
    },
    /// Give it these ends and hand it to the kernel.
    Pass(Endpoints),
    /// It is dropped: its connection is being opened, or too many are.
    Drop,
    /// It belongs to no connection.
    Reset,
}

/// The connections of one family.
#[derive(Debug)]
pub struct Table {
    place: Place,
    most: usize,
    flows: HashMap<FlowId, Flow>,
    by_ends: HashMap<Endpoints, FlowId>,
    /// Where the search for a free number begins.
    next: u16,
    opening: HashSet<FlowId>,
    /// Those that are not over, by when they last had a segment.
    idle: BTreeSet<(Duration, FlowId)>,
    /// Those that are, since when.
    over: VecDeque<(Duration, FlowId)>,
}

impl Table {
    /// For at most so many connections.
    pub fn new(place: Place, most: usize) -> Self {
        let most = most.clamp(1, 32_768);
        Table {
            place,
            most,
            flows: HashMap::new(),
            by_ends: HashMap::new(),
            next: 1,
            opening: HashSet::new(),
            idle: BTreeSet::new(),
            over: VecDeque::new(),
        }
    }

    /// Connections that are not over.
    pub fn len(&self) -> usize {
        self.idle.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Who the peer of the listener is.
    pub fn place(&self) -> Place {
        self.place
    }

    /// A segment comes from a program.
    pub fn outgoing(&mut self, now: Duration, ends: Endpoints, segment: &Segment) -> Action {
        let opens = segment.is_syn && !segment.is_ack;
        if let Some(id) = self.by_ends.get(&ends).copied() {
            let phase = self.flows.get(&id).map(|flow| flow.phase);
            match phase {
                Some(Phase::Opening) => return Action::Drop,
                // The program has forgotten the connection before, or it would not use these ends.
                Some(Phase::Over) if opens => self.forget(id),
                _ => {
                    self.touch(now, id);
                    return Action::Pass(self.inner_ends(id));
                }
            }
        }
        if !opens {
            return Action::Reset;
        }
        if self.opening.len() >= MOST_OPENING {
            return Action::Drop;
        }
        let evicted = if self.len() >= self.most { self.oldest() } else { None };
        if let Some(evicted) = evicted {
            self.closed(now, evicted);
        }
        let Some(flow) = self.free() else { return Action::Drop };
        self.flows.insert(flow, Flow { ends, phase: Phase::Opening, last: now });
        self.by_ends.insert(ends, flow);
        self.opening.insert(flow);
        self.idle.insert((now, flow));
        Action::Open { flow, evicted }
    }

    /// A segment comes from the listener: the ends that the program knows.
    pub fn returning(&mut self, now: Duration, destination: SocketAddr) -> Option<Endpoints> {
        if destination.ip() != self.place.peer {
            return None;
        }
        let id = FlowId(destination.port());
        self.touch(now, id);
        let flow = self.flows.get(&id)?;
        Some(Endpoints { source: flow.ends.destination, destination: flow.ends.source })
    }

    /// The far end has answered: the ends for the first segment, which was kept. `None` if it is over already.
    pub fn opened(&mut self, now: Duration, id: FlowId) -> Option<Endpoints> {
        let flow = self.flows.get_mut(&id).filter(|flow| flow.phase == Phase::Opening)?;
        flow.phase = Phase::Open;
        self.opening.remove(&id);
        self.touch(now, id);
        Some(self.inner_ends(id))
    }

    /// A connection is over, or came to nothing.
    pub fn closed(&mut self, now: Duration, id: FlowId) {
        let Some(flow) = self.flows.get_mut(&id) else { return };
        match flow.phase {
            Phase::Opening => self.forget(id),
            Phase::Open => {
                self.idle.remove(&(flow.last, id));
                (flow.phase, flow.last) = (Phase::Over, now);
                self.over.push_back((now, id));
            }
            Phase::Over => {}
        }
    }

    /// Forgets what is over for long enough. Returns those that were never opened in time.
    pub fn sweep(&mut self, now: Duration) -> Vec<FlowId> {
        while self.over.front().is_some_and(|(since, _)| now.saturating_sub(*since) >= LINGER) {
            self.forget_oldest();
        }
        let is_late =
            |id: &&FlowId| self.flows.get(id).is_some_and(|flow| now.saturating_sub(flow.last) >= OPENING);
        let late: Vec<FlowId> = self.opening.iter().filter(is_late).copied().collect();
        for id in &late {
            self.forget(*id);
        }
        late
    }

    /// Forgets the flow that is over for longest. Returns whether there was one.
    fn forget_oldest(&mut self) -> bool {
        while let Some((since, id)) = self.over.pop_front() {
            // Unless its number is another flow's by now.
            if self.flows.get(&id).is_some_and(|flow| flow.phase == Phase::Over && flow.last == since) {
                self.forget(id);
                return true;
            }
        }
        false
    }

    /// A flow had a segment. To the second: that is enough to tell which was silent for longest, and keeps this cheap.
    fn touch(&mut self, now: Duration, id: FlowId) {
        let Some(flow) = self.flows.get_mut(&id) else { return };
        if flow.phase != Phase::Over && flow.last.as_secs() != now.as_secs() {
            self.idle.remove(&(flow.last, id));
            flow.last = now;
            self.idle.insert((now, id));
        }
    }

    /// The ends that the listener knows.
    fn inner_ends(&self, id: FlowId) -> Endpoints {
        Endpoints { source: SocketAddr::new(self.place.peer, id.0), destination: self.place.listener }
    }

    fn forget(&mut self, id: FlowId) {
        let Some(flow) = self.flows.remove(&id) else { return };
        self.by_ends.remove(&flow.ends);
        self.opening.remove(&id);
        self.idle.remove(&(flow.last, id));
    }

    /// The connection that was silent for longest.
    fn oldest(&self) -> Option<FlowId> {
        self.idle.first().map(|(_, id)| *id)
    }

    /// A number that no flow has; of those that are over, the oldest one's if there is no other.
    fn free(&mut self) -> Option<FlowId> {
        if self.flows.len() >= usize::from(u16::MAX) && !self.forget_oldest() {
            return None;
        }
        for _ in 0..=u16::MAX {
            let id = FlowId(self.next);
            self.next = self.next.checked_add(1).unwrap_or(1);
            if !self.flows.contains_key(&id) {
                return Some(id);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(most: usize) -> Table {
        let place = Place { listener: socket("198.18.45.1:700"), peer: socket("198.18.45.2:1").ip() };
        Table::new(place, most)
    }

    fn socket(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn ends(port: u16) -> Endpoints {
        let source = SocketAddr::new(socket("10.118.0.2:1").ip(), port);
        Endpoints { source, destination: socket("192.0.2.1:443") }
    }

    fn segment(is_syn: bool) -> Segment {
        Segment {
            source: 0,
            destination: 0,
            sequence: 0,
            acknowledgment: 0,
            is_syn,
            is_ack: !is_syn,
            is_fin: false,
            is_reset: false,
            length: 0,
        }
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn open(table: &mut Table, now: Duration, port: u16) -> FlowId {
        let Action::Open { flow, evicted: None } = table.outgoing(now, ends(port), &segment(true)) else {
            panic!("no room");
        };
        assert!(table.opened(now, flow).is_some());
        flow
    }

    #[test]
    fn a_connection_is_opened_when_the_far_end_has_answered() {
        let mut table = table(10);
        let opened = table.outgoing(at(0), ends(1), &segment(true));
        let Action::Open { flow, evicted: None } = opened else { panic!("{opened:?}") };
        assert_eq!(table.outgoing(at(1), ends(1), &segment(true)), Action::Drop, "sent once more");
        let inner = table.opened(at(2), flow).unwrap();
        assert_eq!((inner.source, inner.destination), (socket("198.18.45.2:1"), socket("198.18.45.1:700")));
        assert_eq!(table.outgoing(at(3), ends(1), &segment(false)), Action::Pass(inner));
        let back = table.returning(at(3), inner.source).unwrap();
        assert_eq!((back.source, back.destination), (ends(1).destination, ends(1).source));
        assert_eq!(table.returning(at(3), socket("198.18.45.2:2")), None);
        assert_eq!(table.returning(at(3), socket("198.18.45.9:1")), None);
    }

    #[test]
    fn segments_of_no_connection_are_reset() {
        let mut table = table(10);
        assert_eq!(table.outgoing(at(0), ends(1), &segment(false)), Action::Reset);
        let Action::Open { flow, .. } = table.outgoing(at(0), ends(1), &segment(true)) else { panic!() };
        table.closed(at(1), flow);
        assert_eq!(table.opened(at(1), flow), None, "it failed");
        assert_eq!(table.outgoing(at(1), ends(1), &segment(false)), Action::Reset);
    }

    #[test]
    fn the_last_segments_of_a_connection_still_pass_and_its_ends_can_be_used_again() {
        let mut table = table(10);
        let flow = open(&mut table, at(0), 1);
        table.closed(at(1), flow);
        assert!(table.is_empty());
        assert!(matches!(table.outgoing(at(2), ends(1), &segment(false)), Action::Pass(_)));
        let Action::Open { flow: second, .. } = table.outgoing(at(3), ends(1), &segment(true)) else {
            panic!("the same ends again");
        };
        assert_ne!(second, flow);
        table.sweep(at(3));
        assert_eq!(table.outgoing(at(4), ends(1), &segment(true)), Action::Drop, "the second is there");
    }

    #[test]
    fn the_flow_that_was_silent_for_longest_gives_way() {
        let mut table = table(2);
        let first = open(&mut table, at(0), 1);
        open(&mut table, at(1), 2);
        table.outgoing(at(2), ends(1), &segment(false));
        let third = table.outgoing(at(3), ends(3), &segment(true));
        assert!(matches!(third, Action::Open { evicted: Some(FlowId(2)), .. }), "{third:?} {first:?}");
        assert_eq!(table.len(), 2);
    }

    #[test]
    fn a_hundred_thousand_flows_are_bounded() {
        let mut table = table(4_096);
        for number in 0..100_000_u32 {
            let now = Duration::from_millis(number.into());
            let mut ends = ends(u16::try_from(number % 60_000).unwrap());
            ends.destination.set_port(u16::try_from(number / 60_000 + 1).unwrap());
            if let Action::Open { flow, .. } = table.outgoing(now, ends, &segment(true)) {
                table.opened(now, flow);
            }
            assert!(table.len() <= 4_096 && table.flows.len() <= usize::from(u16::MAX));
        }
        assert_eq!(table.len(), 4_096);
        table.sweep(at(1_000));
        assert_eq!(table.flows.len(), 4_096);
        assert_eq!(table.by_ends.len(), 4_096);
    }

    #[test]
    fn what_never_opened_is_swept() {
        let mut table = table(10);
        let Action::Open { flow, .. } = table.outgoing(at(0), ends(1), &segment(true)) else { panic!() };
        assert_eq!(table.sweep(at(59)), []);
        assert_eq!(table.sweep(at(60)), [flow]);
        assert!(table.is_empty() && table.by_ends.is_empty());
    }
}
