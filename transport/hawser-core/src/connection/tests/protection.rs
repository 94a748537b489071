//! Stream data under erasure codes over whole connections: what is lost comes back without being sent again.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hawser_paths::FastestReturn;
use hawser_policy::{
    Ack, Assignment, Commands, Composed, CongestionController, ControllerInit, Decision, ErasureCode,
    FeatureId, FrameInfo, Interests, Loss, PathId, Protection, ProtectionFactory, ProtectionInit,
    ProtectionPolicy, ProtectionView, Registry, Scheduler, SchedulerInit, SegmentKind, Selection, SendView,
    Siblings, Side, StreamId, Time,
};
use hawser_sched::MinRtt;
use hawser_wire::codepoints::private::feature;

use super::pair::{DELAY, Pair, Sent, Settings, client_address};
use crate::connection::stats::ConnectionStats;
use crate::{ConnectionError, TransportConfig};

/// A window that losses do not change: for random loss that is no congestion.
#[derive(Debug)]
struct Window(u64);

impl CongestionController for Window {
    fn name(&self) -> &'static str {
        "window"
    }

    fn on_ack(&mut self, _: &Ack, _: &Siblings<'_>) {}

    fn on_loss(&mut self, _: &Loss, _: &Siblings<'_>) {}

    fn on_max_datagram_size(&mut self, _: u16) {}

    fn window(&self) -> u64 {
        self.0
    }
}

fn protection(text: &str) -> Arc<dyn ProtectionFactory> {
    let mut registry = Registry::new();
    hawser_paths::register(&mut registry);
    registry.protection(text).unwrap()
}

fn transport_with<S: Scheduler + 'static>(
    text: &str,
    scheduler: impl Fn() -> S + Send + Sync + 'static,
) -> TransportConfig {
    protected_transport(protection(text), scheduler)
}

fn protected_transport<S: Scheduler + 'static>(
    protection: Arc<dyn ProtectionFactory>,
    scheduler: impl Fn() -> S + Send + Sync + 'static,
) -> TransportConfig {
    TransportConfig::with_policies(Arc::new(
        Composed::new(
            Arc::new(move |_: &SchedulerInit| Box::new(scheduler()) as Box<_>),
            Arc::new(|_: &ControllerInit| Box::new(Window(100_000)) as Box<_>),
            Arc::new(|| Box::new(FastestReturn::default()) as Box<_>),
        )
        .with(|set| set.protection = Some(protection)),
    ))
}

fn settings(text: &str) -> Settings {
    let transport = || TransportConfig { max_mtu: 1_200, ..transport_with(text, || MinRtt) };
    Settings { client: transport(), server: transport(), ..Settings::default() }
}

/// Reproducible noise from what a datagram is: even though nothing else is random here, a retransmission has a fate of its own.
fn noise(sent: &Sent) -> u64 {
    let start = sent.at.since(Time::ZERO).as_nanos() as u64 ^ (sent.payload.len() as u64) << 40;
    let hash = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    // Without the spin bit, which is as random, so that the pattern does not change with how it is chosen.
    let first = sent.payload[0] & !0x20;
    let bytes = std::iter::once(&first).chain(sent.payload.iter().take(40).skip(1));
    let sum = bytes.fold(start ^ 0xcbf2_9ce4_8422_2325, hash);
    (sum ^ (sum >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33
}

/// Loses 5 % of what the client sends once the handshake is over. Another seed loses other packets.
fn five_percent<const SEED: u64>(sent: &Sent) -> bool {
    let noise = (noise(sent) ^ SEED.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0x94d0_49bb_1331_11eb);
    sent.by.is_client() && sent.at > Time::from_millis(310) && (noise >> 33).is_multiple_of(20)
}

/// What became of a transfer.
struct Outcome {
    client: ConnectionStats,
    server: ConnectionStats,
    /// How long the bytes waited, from the moment at which the first of them could have come, to be readable in order.
    delays: Vec<Duration>,
    finished_after: Duration,
}

impl Outcome {
    fn percentile(&mut self, share: f64) -> Duration {
        self.delays.sort();
        self.delays[((self.delays.len() - 1) as f64 * share) as usize]
    }
}

/// The client sends `length` bytes in writes of `piece` every `pause`.
fn transfer(mut pair: Pair, length: usize, piece: usize, pause: Duration) -> Outcome {
    let began = pair.now;
    let id = pair.client().open_stream(false).unwrap();
    let (mut written, mut read, mut delays) = (Vec::new(), 0_usize, Vec::new());
    let content = |at: usize| (at / 7 % 251) as u8;
    let mut sent = 0;
    let mut next = pair.now;
    loop {
        let now = pair.now;
        while sent < length && next <= now {
            let data: Vec<u8> = (sent..(sent + piece).min(length)).map(content).collect();
            match pair.client().write(id, &data) {
                Ok(count) => sent += count,
                Err(_) => break,
            }
            written.push((now, sent));
            next = now + pause;
            if sent == length {
                pair.client().finish(id).unwrap();
            }
        }
        pair.run(Duration::from_millis(1));
        while let Some(opened) = pair.server().accept_stream(false) {
            assert_eq!(opened, id);
        }
        let now = pair.now;
        loop {
            match pair.server().read_chunk(id, 1 << 20) {
                Ok(Some(chunk)) => {
                    let end = read + chunk.len();
                    assert!(chunk.iter().enumerate().all(|(at, byte)| *byte == content(read + at)));
                    let first = written.partition_point(|(_, to)| *to <= read);
                    for (at, to) in &written[first..] {
                        if *to <= end {
                            delays.push(now.since(*at));
                        }
                    }
                    read = end;
                }
                Ok(None) => {
                    assert_eq!(read, length, "the end comes after the last byte");
                    let finished_after = now.since(began);
                    pair.run(Duration::from_millis(500));
                    let (client, server) = (pair.client().stats(), pair.server().stats());
                    assert_eq!((pair.client.closed(), pair.server.closed()), (None, None));
                    return Outcome { client, server, delays, finished_after };
                }
                Err(_) => break,
            }
        }
        assert!(now.since(began) < Duration::from_secs(120), "{read} of {length}");
    }
}

fn bulk(text: &str, lose: fn(&Sent) -> bool) -> Outcome {
    let mut pair = Pair::connected(settings(text));
    pair.lose = lose;
    transfer(pair, 2_000_000, 20_000, Duration::from_millis(8))
}

/// The same loss with other packets, eight times.
const SEEDS: [fn(&Sent) -> bool; 8] = [
    five_percent::<1>,
    five_percent::<2>,
    five_percent::<3>,
    five_percent::<4>,
    five_percent::<5>,
    five_percent::<6>,
    five_percent::<7>,
    five_percent::<8>,
];

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

/// 20 Mbit/s over a path of 20 ms that loses 5 %. What single packets a seed loses is chance, so that means are judged.
#[test]
fn what_repair_symbols_bring_back_is_not_sent_again() {
    let mut off = SEEDS.map(|lose| bulk("off", lose));
    for run in &off {
        assert!(run.client.stream_bytes_retransmitted > 80_000, "{:?}", run.client);
        assert_eq!((run.client.repair_symbols_sent, run.server.stream_bytes_recovered), (0, 0));
    }
    // Of 24 packets five or more are lost in 0.6 % of cases: of 98 blocks half of one, with 2,500 ± 3,600 bytes in
    // a run and 1,300 in the mean. Of six packets two or more are lost in 3 % of cases, which is beyond exclusive or, and
    // shows in the 99th percentile: of 333 blocks 11 with 22,000 ± 7,000 bytes, and 2,500 in the mean. The bounds are
    // three times that from what is expected. The delay of that 1 % is 0.45, 0.63 and 0.70 of that without protection.
    let cases = [
        ("fixed,rate=0.2", 0.0..6_400.0, 0.55),
        ("fixed,rate=0.2,code=random-linear", 0.0..6_400.0, 0.75),
        ("fixed,code=xor,block=5", 14_500.0..29_500.0, 0.8),
    ];
    let mut failures = Vec::new();
    for (text, expected, quicker) in cases {
        let mut on = SEEDS.map(|lose| bulk(text, lose));
        for run in &on {
            assert!(run.server.stream_bytes_recovered > 60_000, "{text}: {:?}", run.server);
            // All but what came back after it had been sent again, with a retransmission of another of its block.
            let (known, recovered) =
                (run.client.stream_bytes_recovered_by_peer, run.server.stream_bytes_recovered);
            assert!(known <= recovered && known * 5 >= recovered * 4, "{text}: {known} of {recovered}");
            assert_eq!(run.server.repair_symbols_dropped, 0);
        }
        let again = mean(on.iter().map(|run| run.client.stream_bytes_retransmitted as f64));
        let late = |runs: &mut [Outcome]| mean(runs.iter_mut().map(|run| run.percentile(0.99).as_secs_f64()));
        let delay = late(&mut on) / late(&mut off);
        // About a fifth more packets, and not a third.
        let sent = |runs: &[Outcome]| mean(runs.iter().map(|run| run.client.datagrams_sent as f64));
        let sent = sent(&on) / sent(&off);
        println!("{text}: {again} bytes again, {delay:.3} of the delay, {sent:.3} of the packets");
        if !(expected.contains(&again) && delay < quicker && (1.1..1.33).contains(&sent)) {
            failures.push(text);
        }
    }
    assert!(failures.is_empty(), "{failures:?}");
}

/// Loses every hundredth of the client's datagrams with data.
fn every_hundredth(sent: &Sent) -> bool {
    thread_local!(static COUNT: Cell<u64> = const { Cell::new(0) });
    let is_data = sent.by.is_client() && sent.at > Time::from_millis(310) && sent.payload.len() > 900;
    is_data && COUNT.with(|count| count.replace(count.get() + 1)) % 100 == 50
}

/// SEDPF's streaming code, over a path that loses one packet at a time: each comes back by a coded packet, and none is sent again.
/// It begins with one coded packet after 49 others, and goes on with one after 33 when the loss of a hundredth is known.
#[test]
fn single_losses_come_back_by_the_streaming_code_alone() {
    let mut registry = Registry::new();
    hawser_sched::Sedpf::register(&mut registry);
    let transport = || {
        let protection = registry.protection("sedpf").unwrap();
        TransportConfig { max_mtu: 1_200, ..protected_transport(protection, || MinRtt) }
    };
    let mut pair =
        Pair::connected(Settings { client: transport(), server: transport(), ..Settings::default() });
    pair.lose = every_hundredth;
    let run = transfer(pair, 2_000_000, 20_000, Duration::from_millis(8));
    let (client, server) = (&run.client, &run.server);
    let sources = 2_000_000 / 1_016;
    println!(
        "{} repair symbols, {} bytes recovered",
        client.repair_symbols_sent, server.stream_bytes_recovered
    );
    assert_eq!(client.stream_bytes_retransmitted, 0);
    // Nineteen losses at least, of which about every thirtieth is of a coded packet.
    assert!((17 * 1_000..22 * 1_016).contains(&server.stream_bytes_recovered), "{server:?}");
    assert_eq!(client.stream_bytes_recovered_by_peer, server.stream_bytes_recovered);
    // The spacing follows the loss as it is measured: between one after 49 and one after 25.
    assert!((sources / 49..sources / 25).contains(&client.repair_symbols_sent), "{client:?}");
}

/// Without loss nothing but the repair symbols is added, and nothing is dropped or recovered.
#[test]
fn without_loss_repair_symbols_are_all_that_it_costs() {
    let on = bulk("fixed,rate=0.2", |_| false);
    let (sources, symbols) = (2_000_000 / 1_016, on.client.repair_symbols_sent);
    assert!((sources / 5 - 10..sources / 5 + 40).contains(&symbols), "{symbols}");
    assert_eq!(on.client.stream_bytes_retransmitted, 0);
    assert_eq!((on.server.stream_bytes_recovered, on.server.stream_bytes_duplicate), (0, 0));
    assert_eq!(on.server.stream_bytes_received, 2_000_000);
}

/// The tail of a stream: nothing follows by which the loss of the last packets would be noticed, so that it takes a probe
/// timeout without repair symbols.
#[test]
fn the_last_packets_of_a_stream_need_no_probe() {
    let short = |text: &str| {
        let mut pair = Pair::connected(settings(text));
        // Every tenth packet, and so the last of the sixty that take the data.
        pair.lose = |sent| {
            thread_local!(static COUNT: Cell<u64> = const { Cell::new(0) });
            let data = sent.by.is_client() && sent.at == Time::from_millis(300) && sent.payload.len() > 900;
            data && COUNT.with(|count| count.replace(count.get() + 1)) % 10 == 9
        };
        transfer(pair, 60_000, 60_000, Duration::ZERO)
    };
    let (off, on) = (short("off"), short("fixed,rate=0.25"));
    assert!(on.server.stream_bytes_recovered > 0, "{:?}", on.server);
    assert_eq!(on.client.stream_bytes_retransmitted, 0);
    // The pacer spreads the packets over a few milliseconds.
    assert!(on.finished_after <= DELAY + Duration::from_millis(5), "{:?}", on.finished_after);
    assert!(off.finished_after >= DELAY * 3, "{:?}", off.finished_after);
}

/// Sends new data on path 0 alone.
struct First;

impl Scheduler for First {
    fn name(&self) -> &'static str {
        "first"
    }

    fn schedule(&mut self, view: &SendView<'_>, _: &mut Commands) -> Decision {
        match view.path(PathId::ZERO).or(view.paths.first()).filter(|path| path.sendable() > 0) {
            Some(path) => Decision::Send(Assignment::next(path.id)),
            None => Decision::Wait(None),
        }
    }
}

/// As [`First`], and puts repair symbols on path 1.
struct Places;

impl Scheduler for Places {
    fn name(&self) -> &'static str {
        "places"
    }

    fn interests(&self) -> Interests {
        Interests::REPAIR
    }

    fn schedule(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        if view.queue.repair > 0
            && let Some(path) = view.path(PathId(1)).filter(|path| path.sendable() > 0)
        {
            return Decision::Send(
                Assignment::next(path.id).with(|assignment| assignment.selection = Selection::Repair),
            );
        }
        match view.queue.total() {
            0 => Decision::Wait(None),
            _ => First.schedule(view, commands),
        }
    }
}

/// What the path of the data loses of a burst, repair symbols on the other path make good: the reader has all before the sender
/// has noticed. From `DIES` on the path of the data is dead for good.
fn burst_with_parity_on_the_other_path<S: Scheduler + 'static>(
    text: &str,
    scheduler: fn() -> S,
) -> (Pair, StreamId) {
    const DIES: Time = Time::from_millis(1_000);
    let client = TransportConfig { max_mtu: 1_200, ..transport_with(text, scheduler) };
    let mut pair = Pair::connected(Settings { client, ..settings("receive") });
    pair.open(1);
    pair.write(Side::Client, 30_000);
    pair.run(DIES.since(pair.now));
    // Every other packet of the burst goes with the path, and all that follows.
    pair.lose = |sent| {
        let first = sent.tuple.local == client_address(0) || sent.tuple.remote == client_address(0);
        let begins = sent.at == DIES && sent.by.is_client();
        first && sent.at >= DIES && !(begins && noise(sent).is_multiple_of(2))
    };
    let id = pair.write(Side::Client, 20_000);
    pair.run(DELAY + Duration::from_millis(3));
    (pair, id)
}

#[test]
fn parity_on_another_path_bridges_the_death_of_the_first() {
    let (mut pair, id) = burst_with_parity_on_the_other_path("fixed,rate=1,path=other", || First);
    let read = |pair: &mut Pair| {
        while pair.server().accept_stream(false).is_some() {}
        std::iter::from_fn(|| pair.server().read_chunk(id, 1 << 20).ok().flatten())
            .map(|c| c.len())
            .sum::<usize>()
    };
    // One way and the span of a block later the reader has it all; without, the sender waits for a probe timeout at least.
    pair.run(Duration::from_millis(11));
    assert_eq!(read(&mut pair), 20_000);
    assert!(pair.server().stats().stream_bytes_recovered > 5_000);
    let (mut pair, id) = burst_with_parity_on_the_other_path("off", || First);
    pair.run(Duration::from_millis(11));
    while pair.server().accept_stream(false).is_some() {}
    let without: usize =
        std::iter::from_fn(|| pair.server().read_chunk(id, 1 << 20).ok().flatten()).map(|c| c.len()).sum();
    assert!(without < 20_000);
}

#[test]
fn a_scheduler_that_asks_for_it_places_repair_symbols() {
    let (mut pair, id) = burst_with_parity_on_the_other_path("fixed,rate=1,path=scheduled", || Places);
    pair.run(Duration::from_millis(11));
    while pair.server().accept_stream(false).is_some() {}
    let read: usize =
        std::iter::from_fn(|| pair.server().read_chunk(id, 1 << 20).ok().flatten()).map(|c| c.len()).sum();
    assert_eq!(read, 20_000);
    assert!(pair.server().stats().stream_bytes_recovered > 5_000);
}

/// More is lost than the repair symbols make good: what is missing is retransmitted, once.
#[test]
fn what_cannot_be_brought_back_is_retransmitted() {
    fn third(sent: &Sent) -> bool {
        sent.by.is_client() && sent.at > Time::from_millis(310) && noise(sent).is_multiple_of(3)
    }
    let on = bulk("fixed,rate=0.1", third);
    let off = bulk("off", third);
    let again = on.client.stream_bytes_retransmitted as f64 / off.client.stream_bytes_retransmitted as f64;
    assert!((0.7..1.2).contains(&again), "{again}");
    assert!(
        on.finished_after < off.finished_after * 3 / 2,
        "{:?} {:?}",
        on.finished_after,
        off.finished_after
    );
}

/// Protects all but headers.
struct Bodies;

impl ProtectionPolicy for Bodies {
    fn name(&self) -> &'static str {
        "bodies"
    }

    fn protect(&mut self, view: &ProtectionView<'_>) -> Option<Protection> {
        let is_header = view.segment.kind == SegmentKind::Signalling;
        (!is_header).then_some(Protection::new(ErasureCode::ReedSolomon, 20, 10, Duration::from_millis(10)))
    }
}

/// Frames of a few packets, each a stream of its own, of which a short header shares the first packet with the body: that packet
/// is protected as the others are, and so are those behind it.
#[test]
fn a_header_does_not_keep_the_packet_that_it_shares_from_being_protected() {
    let transport = || {
        let bodies = |_: &ProtectionInit| Some(Box::new(Bodies) as Box<dyn ProtectionPolicy>);
        TransportConfig { max_mtu: 1_200, ..protected_transport(Arc::new(bodies), || MinRtt) }
    };
    let mut pair =
        Pair::connected(Settings { client: transport(), server: transport(), ..Settings::default() });
    pair.lose = five_percent::<1>;
    for number in 0..200 {
        let id = pair.client().open_stream(false).expect("allowed");
        let header = FrameInfo::default().with(|frame| {
            frame.id = number | 1 << 40;
            frame.kind = SegmentKind::Signalling;
        });
        let body = FrameInfo::default().with(|frame| {
            frame.id = number;
            frame.kind = SegmentKind::DeltaFrame;
        });
        for (info, length) in [(header, 20), (body, 2_500)] {
            let data = Bytes::from(vec![number as u8; length]);
            assert_eq!(pair.client().write_frame(id, &info, data), Ok(length));
        }
        pair.client().finish(id).expect("it is open");
        pair.run(Duration::from_millis(40));
        while let Some(id) = pair.server().accept_stream(false) {
            while let Ok(Some(_)) = pair.server().read_chunk(id, 1 << 20) {}
        }
    }
    let (client, server) = (pair.client().stats(), pair.server().stats());
    // Three packets and two repair symbols a frame: three losses of five, one frame in a thousand.
    assert!((390..=410).contains(&client.repair_symbols_sent), "{client:?}");
    assert!(server.stream_bytes_recovered > 15_000, "{server:?}");
    assert!(client.stream_bytes_retransmitted < 5_000, "{client:?}");
}

/// Nothing is held, kept or sent where the peer takes no repair symbols. It does not say that it takes some, either: the core's
/// own features are not for the application to offer.
#[test]
fn a_peer_without_erasure_codes_never_sees_any() {
    let mut both = settings("fixed,rate=0.2");
    both.server = transport_with("off", || MinRtt);
    both.server.features = [FeatureId(feature::ERASURE_CODES)].into_iter().collect();
    let mut pair = Pair::connected(both);
    pair.lose = five_percent::<0>;
    assert!(pair.client().extensions.repair.sender.is_none());
    let off = transfer(pair, 200_000, 20_000, Duration::from_millis(4));
    assert_eq!(off.client.repair_symbols_sent, 0);
}

/// An exchange of the set while data is held back: nothing is forgotten.
#[test]
fn protection_can_end_while_data_is_under_way() {
    let mut pair = Pair::connected(settings("fixed,rate=0.2"));
    pair.lose =
        |sent| sent.by.is_client() && sent.at > Time::from_millis(299) && noise(sent).is_multiple_of(4);
    let id = pair.write(Side::Client, 300_000);
    for step in 0..8 {
        pair.run(Duration::from_millis(12));
        let now = pair.now;
        let text = if step % 2 == 0 { "off" } else { "fixed,rate=0.3,code=random-linear" };
        let transport = transport_with(text, || MinRtt);
        pair.client().set_policies(now, &*transport.policies);
    }
    pair.lose = |_| false;
    pair.run(Duration::from_secs(3));
    while pair.server().accept_stream(false).is_some() {}
    let read: usize =
        std::iter::from_fn(|| pair.server().read_chunk(id, 1 << 20).ok().flatten()).map(|c| c.len()).sum();
    assert_eq!(read, 300_000);
    assert!(!matches!(pair.client.closed(), Some(ConnectionError::TimedOut)));
}
