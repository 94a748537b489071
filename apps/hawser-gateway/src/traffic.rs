//! What a gateway, or a client of one, carries, by kind: for those who look. Counted once for each block, payload or packet that is
//! relayed, without a lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use hawser_masque::flows::{Class, FlowTable};
use tokio::time::Instant;

/// Kinds of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// TCP connections, each a stream of its own.
    Tcp,
    /// UDP payloads of CONNECT-UDP.
    Udp,
    /// IP packets of flows that look like calls or games.
    RealTime,
    /// All other IP packets.
    Bulk,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 4] = [Kind::Tcp, Kind::Udp, Kind::RealTime, Kind::Bulk];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Tcp => "tcp",
            Kind::Udp => "udp",
            Kind::RealTime => "ip-real-time",
            Kind::Bulk => "ip-bulk",
        }
    }
}

impl From<Class> for Kind {
    fn from(class: Class) -> Self {
        match class {
            Class::RealTime => Kind::RealTime,
            Class::Bulk => Kind::Bulk,
        }
    }
}

/// What one kind carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenKind {
    /// Which.
    pub kind: Kind,
    /// TCP connections and UDP targets that are open, or flows of IP packets that were heard of in the last half minute.
    pub flows: u64,
    /// Bytes that left for the other end of the tunnel: what programs or targets sent, without headers of HTTP and QUIC.
    pub bytes_sent: u64,
    /// Bytes that came from there.
    pub bytes_received: u64,
    /// Packets that came and wait for those before them.
    pub waiting: u64,
    /// Packets that were dropped since a queue was full.
    pub dropped: u64,
}

#[derive(Debug, Default)]
struct Counters {
    flows: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
    waiting: AtomicU64,
    dropped: AtomicU64,
}

/// A table of flows of packets, and the moment from which on it counts time.
type Table = (Instant, Weak<Mutex<FlowTable>>);

#[derive(Debug, Default)]
struct Inner {
    counters: [Counters; 4],
    /// One for each tunnel of IP packets.
    tables: Mutex<Vec<Table>>,
    /// Where everything is counted as well.
    whole: Option<Traffic>,
}

/// Traffic of a gateway, of one user, or of a client. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Traffic(Arc<Inner>);

impl Traffic {
    /// A part of this traffic: what is counted in the part is counted in the whole.
    pub(crate) fn part(&self) -> Self {
        Traffic(Arc::new(Inner { whole: Some(self.clone()), ..Inner::default() }))
    }

    /// Returns the kinds of which there was anything, in the order of [`Kind::ALL`].
    pub fn seen(&self) -> Vec<SeenKind> {
        let in_tables = self.flows_in_tables();
        let seen = |(kind, in_tables): (Kind, u64)| {
            let counters = self.of(kind);
            let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
            SeenKind {
                kind,
                flows: read(&counters.flows) + in_tables,
                bytes_sent: read(&counters.sent),
                bytes_received: read(&counters.received),
                waiting: read(&counters.waiting),
                dropped: read(&counters.dropped),
            }
        };
        let is_there = |seen: &SeenKind| {
            seen.flows + seen.bytes_sent + seen.bytes_received + seen.waiting + seen.dropped > 0
        };
        Kind::ALL.into_iter().zip(in_tables).map(seen).filter(is_there).collect()
    }

    /// Flows of packets, of each kind.
    fn flows_in_tables(&self) -> [u64; 4] {
        let mut tables = self.0.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.retain(|(_, table)| table.strong_count() > 0);
        let mut flows = [0; 4];
        for (started, table) in &*tables {
            let Some(table) = table.upgrade() else { continue };
            let table = table.lock().unwrap_or_else(PoisonError::into_inner);
            let [real_time, bulk] = table.active(started.elapsed());
            flows[Kind::RealTime as usize] += real_time;
            flows[Kind::Bulk as usize] += bulk;
        }
        flows
    }

    /// Shows the flows of this table, whose times count from that moment, as long as it is there.
    pub fn watch(&self, started: Instant, table: &Arc<Mutex<FlowTable>>) {
        for traffic in self.each() {
            let mut tables = traffic.0.tables.lock().unwrap_or_else(PoisonError::into_inner);
            tables.retain(|(_, table)| table.strong_count() > 0);
            tables.push((started, Arc::downgrade(table)));
        }
    }

    /// Counts a flow until it is dropped.
    pub(crate) fn flow(&self, kind: Kind) -> Flow {
        self.add(kind, |counters| &counters.flows, 1);
        Flow { traffic: self.clone(), kind }
    }

    /// So many bytes left.
    pub(crate) fn sent(&self, kind: Kind, bytes: usize) {
        self.add(kind, |counters| &counters.sent, bytes as u64);
    }

    /// So many bytes came.
    pub(crate) fn received(&self, kind: Kind, bytes: usize) {
        self.add(kind, |counters| &counters.received, bytes as u64);
    }

    /// A packet was dropped.
    pub(crate) fn dropped(&self, kind: Kind) {
        self.add(kind, |counters| &counters.dropped, 1);
    }

    /// Packets that wait, of a tunnel that says how many whenever that changes.
    pub(crate) fn waiting(&self, kind: Kind) -> Waiting {
        Waiting { traffic: self.clone(), kind, count: 0 }
    }

    fn of(&self, kind: Kind) -> &Counters {
        &self.0.counters[kind as usize]
    }

    fn each(&self) -> impl Iterator<Item = &Traffic> {
        std::iter::successors(Some(self), |traffic| traffic.0.whole.as_ref())
    }

    fn add(&self, kind: Kind, counter: fn(&Counters) -> &AtomicU64, count: u64) {
        self.each().for_each(|traffic| {
            counter(traffic.of(kind)).fetch_add(count, Ordering::Relaxed);
        });
    }

    fn subtract(&self, kind: Kind, counter: fn(&Counters) -> &AtomicU64, count: u64) {
        self.each().for_each(|traffic| {
            counter(traffic.of(kind)).fetch_sub(count, Ordering::Relaxed);
        });
    }
}

/// A TCP connection or a UDP target that is open.
#[derive(Debug)]
pub(crate) struct Flow {
    traffic: Traffic,
    kind: Kind,
}

impl Flow {
    pub(crate) fn sent(&self, bytes: usize) {
        self.traffic.sent(self.kind, bytes);
    }

    pub(crate) fn received(&self, bytes: usize) {
        self.traffic.received(self.kind, bytes);
    }

    pub(crate) fn dropped(&self) {
        self.traffic.dropped(self.kind);
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.traffic.subtract(self.kind, |counters| &counters.flows, 1);
    }
}

/// Packets of one tunnel that wait.
#[derive(Debug)]
pub(crate) struct Waiting {
    traffic: Traffic,
    kind: Kind,
    count: u64,
}

impl Waiting {
    /// So many wait now.
    pub(crate) fn set(&mut self, count: usize) {
        let (before, now) = (self.count, count as u64);
        if now > before {
            self.traffic.add(self.kind, |counters| &counters.waiting, now - before);
        } else if now < before {
            self.traffic.subtract(self.kind, |counters| &counters.waiting, before - now);
        }
        self.count = now;
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_users_do_is_counted_for_the_gateway_and_stays_when_they_go() {
        let gateway = Traffic::default();
        let (alice, bob) = (gateway.part(), gateway.part());
        assert_eq!(gateway.seen(), []);
        let flow = alice.flow(Kind::Tcp);
        flow.sent(100);
        bob.received(Kind::Bulk, 7);
        bob.dropped(Kind::Bulk);
        let mut waiting = bob.waiting(Kind::Bulk);
        waiting.set(5);
        waiting.set(3);
        let tcp = SeenKind {
            kind: Kind::Tcp,
            flows: 1,
            bytes_sent: 100,
            bytes_received: 0,
            waiting: 0,
            dropped: 0,
        };
        let bulk =
            SeenKind { kind: Kind::Bulk, flows: 0, bytes_sent: 0, bytes_received: 7, waiting: 3, dropped: 1 };
        assert_eq!((alice.seen(), bob.seen()), (vec![tcp], vec![bulk]));
        assert_eq!(gateway.seen(), [tcp, bulk]);
        drop((flow, waiting, alice, bob));
        let ended = [SeenKind { flows: 0, ..tcp }, SeenKind { waiting: 0, ..bulk }];
        assert_eq!(gateway.seen(), ended, "totals never fall");
    }

    #[test]
    fn flows_of_packets_are_counted_while_their_tunnel_is_there() {
        let gateway = Traffic::default();
        let user = gateway.part();
        let table = Arc::new(Mutex::new(FlowTable::default()));
        user.watch(Instant::now(), &table);
        assert_eq!(gateway.seen(), []);
        let mut bytes = vec![0; 100];
        bytes[0] = 0x45;
        bytes[2..4].copy_from_slice(&100_u16.to_be_bytes());
        bytes[8..10].copy_from_slice(&[64, 17]);
        let packet = hawser_masque::packet::read(&bytes).unwrap();
        table.lock().unwrap().judge(std::time::Duration::ZERO, &bytes, &packet);
        let flows =
            |traffic: &Traffic| traffic.seen().iter().map(|seen| (seen.kind, seen.flows)).collect::<Vec<_>>();
        assert_eq!((flows(&user), flows(&gateway)), (vec![(Kind::RealTime, 1)], vec![(Kind::RealTime, 1)]));
        drop(table);
        assert_eq!(gateway.seen(), []);
    }
}
