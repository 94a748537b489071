//! Policy sets of several parts over two links: what each is for, measured.

mod common;
mod sets;

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use common::{Net, client_side, finish, open, server_side};
use hawser_core::{
    Chunk, Code, Connection, ConnectionHandle, Event, FourTuple, StreamEvent, TransportConfig,
};
use hawser_link::{DirectionConfig, QueueConfig};
use hawser_policy::{
    Composition, FrameInfo, PathId, PathStatus, PolicyKind, Registry, Reliability, StreamId, Time,
};
use hawser_sim::testing::{SERVER, client, client_address, client_config, link, server};
use hawser_sim::{Application, Download, Network, Serve, Sockets, Verdict};

/// What comes with the project, and the sets of these tests.
fn registry() -> Registry {
    let mut registry = common::registry();
    sets::budget::register(&mut registry);
    sets::advised::register(&mut registry);
    sets::punctual::register(&mut registry);
    registry
}

/// The transport of a set by name.
fn policy(text: &str) -> TransportConfig {
    let wanted = Composition::of(text.parse().expect("it is a policy"));
    TransportConfig::with_policies(registry().set(&wanted).expect("it is registered"))
}

/// A download with sets of their own at both ends.
fn download(seed: u64, client_set: &str, server_set: &str, length: u64) -> Net {
    println!("seed {seed}, {client_set} from {server_set}");
    let mut host = client(Download::default(), seed);
    let config = client_config(Arc::new(policy(client_set)));
    host.connect(Time::ZERO, config, client_address(0), SERVER, "server.test").expect("the address is valid");
    Network::new(host, server(Arc::new(policy(server_set)), Serve::new(length), seed), seed)
}

#[test]
fn each_set_tells_of_its_parameters() {
    let registry = registry();
    let names: Vec<_> = registry.names(PolicyKind::Set).collect();
    assert!(["advised", "budget", "punctual"].iter().all(|name| names.contains(name)), "{names:?}");
    let wrong = |text: &str| {
        let wanted = Composition::of(text.parse().expect("it is a policy"));
        registry.set(&wanted).err().map(|error| error.to_string())
    };
    assert!(wrong("budget,bytes=5").is_some_and(|error| error.contains("20000")));
    assert!(wrong("advised,interval=1h").is_some());
    assert_eq!(wrong("advised,interval=1s,messages=off"), None);
}

const BUDGET: u64 = 200_000;

/// The sum of the server's windows.
fn windows(network: &mut Net) -> u64 {
    let Some(server) = network.server.first_connection() else { return 0 };
    let paths = server.paths();
    paths.iter().filter_map(|path| server.path_stats(path.id)).map(|stats| stats.congestion_window).sum()
}

/// Runs a stretch and returns the rate of the download in it, in Mbit/s. The windows stay within the budget throughout.
fn rate_until(network: &mut Net, end: Time) -> f64 {
    let (start, before) = (network.now(), network.client.application.received);
    let mut largest = 0;
    network.run_until(end, |network| {
        largest = windows(network).max(largest);
        false
    });
    println!("until {end}: windows of {largest} bytes at most");
    assert!(largest <= BUDGET, "{largest}");
    let bytes = network.client.application.received - before;
    bytes as f64 * 8.0 / end.since(start).as_secs_f64() / 1e6
}

/// Both links have 40 ms there and back and more room than the budget fills: it is the budget per round trip that arrives.
#[test]
fn windows_share_a_budget() {
    for seed in 1..=3 {
        let set = format!("budget,bytes={BUDGET}");
        let mut network = download(seed, &set, &set, 200_000_000);
        let handles = [0, 1].map(|n| network.add_link(client_address(n).ip(), &link(60, 20), &link(60, 20)));
        let second = open(&mut network, 1, PathStatus::Available);
        network.run_to(Time::from_secs(1));
        let allowed = BUDGET as f64 * 8.0 / 0.04 / 1e6;

        let undisturbed = rate_until(&mut network, Time::from_secs(4));
        println!("{undisturbed:.1} of {allowed:.1} Mbit/s");
        assert!((0.85 * allowed..=allowed).contains(&undisturbed), "{undisturbed:.1}");

        // One link loses packets: what it gives up goes to the other, and the cut path rests for a round trip.
        let lossy = handles[1];
        let mut n = 97 * seed; // Other packets with each seed.
        let quiet = Rc::new(Cell::new(0_u64));
        let (seen, mut dropped_at, mut last) = (quiet.clone(), Time::ZERO, Time::ZERO);
        network.set_filter(move |now, link, packet| {
            if link != lossy || packet.tuple.local != SERVER || packet.payload.len() < 1_000 {
                return Verdict::Pass;
            }
            if now.since(last) >= Duration::from_millis(30) && dropped_at > Time::ZERO {
                seen.set(seen.get() + 1);
            }
            last = now;
            n += 1;
            if n % 500 == 0 {
                dropped_at = now;
                return Verdict::Drop;
            }
            Verdict::Pass
        });
        let sent = |network: &mut Net| {
            [PathId::ZERO, second].map(|id| server_side(network).path_stats(id).map_or(0, |s| s.bytes_sent))
        };
        let before = sent(&mut network);
        let disturbed = rate_until(&mut network, Time::from_secs(10));
        let after = sent(&mut network);
        let [first, other] = [after[0] - before[0], after[1] - before[1]];
        let lost = server_side(&mut network).path_stats(second).map_or(0, |s| s.packets_lost);
        println!("{disturbed:.1} Mbit/s, {first} and {other} bytes, {lost} lost, {} rests", quiet.get());
        assert!(disturbed >= 0.75 * allowed, "{disturbed:.1}");
        assert!(first > 2 * other, "{first}, {other}");
        // Every cut is followed by a silence of most of a round trip.
        assert!(lost > 3 && quiet.get() + 1 >= lost, "{} of {lost}", quiet.get());

        // The share of a path that is closed is spent on the other.
        let now = network.now();
        client_side(&mut network)
            .abandon_path(now, PathId::ZERO, Code::APPLICATION_ABANDON_PATH)
            .expect("it lives");
        network.set_filter(|_, _, _| Verdict::Pass);
        network.run_to(Time::from_secs(15));
        let alone = rate_until(&mut network, Time::from_secs(18));
        println!("{alone:.1} Mbit/s over the one that is left");
        assert!((0.85 * allowed..=allowed).contains(&alone), "{alone:.1}");
    }
}

/// Six intervals to count in, twice as long when there are few packets; one way for the message; what the queue of 100 ms
/// holds.
const PATIENCE: Duration = Duration::from_millis(800);

/// A download of 30 MB during which every tenth packet of a link is lost after two seconds. Returns the bytes that this link
/// was given in the half second before, and those more than [`PATIENCE`] later.
fn lossy_link(seed: u64, bad: usize, ends: [&str; 2]) -> ([u64; 2], Time, Net) {
    let mut network = download(seed, ends[0], ends[1], 30_000_000);
    let handles = [(40, 10), (30, 20)].map(|(rate, delay)| (link(rate, delay), delay));
    let handles =
        [0, 1].map(|n| network.add_link(client_address(n as u8).ip(), &handles[n].0, &handles[n].0));
    open(&mut network, 1, PathStatus::Available);
    let (carried, mut n) = (Rc::new(Cell::new([0, 0])), seed);
    let (counted, lossy, from) = (carried.clone(), handles[bad], Time::from_secs(2));
    network.set_filter(move |now, link, packet| {
        if link != lossy || packet.tuple.local != SERVER {
            return Verdict::Pass;
        }
        let [mut before, mut after] = counted.get();
        let bytes = packet.payload.len() as u64;
        before += if now < from && now + Duration::from_millis(500) > from { bytes } else { 0 };
        after += if now > from + PATIENCE { bytes } else { 0 };
        counted.set([before, after]);
        n += u64::from(now >= from);
        if now >= from && n % 10 == 0 { Verdict::Drop } else { Verdict::Pass }
    });
    let at = finish(&mut network, 60);
    (carried.get(), at, network)
}

#[test]
fn a_receiver_steers_the_sender_off_a_lossy_link() {
    for seed in 1..=3 {
        for bad in [0, 1] {
            let client_set = format!("advised,first={bad}");
            let ([before, carried], at, mut network) = lossy_link(seed, bad, [&client_set, "advised"]);
            let ignored = client_side(&mut network).stats().policy_commands_ignored;
            println!(
                "link {bad}: {before} bytes before, {carried} afterwards, done at {at}, {ignored} commands ignored"
            );
            assert!(before > 1_000_000, "the link is in use: {before}");
            // Probes and acknowledgements are left.
            assert!(carried < 10_000, "{carried}");
            assert_eq!(ignored, 0);
        }
    }
}

/// Without messages both links are used all the time, whichever end does without.
#[test]
fn without_the_feature_the_connection_works() {
    for (seed, ends) in [
        (1, ["advised", "advised,messages=off"]),
        (2, ["advised,messages=off", "advised"]),
        (3, ["advised", "minrtt"]),
        (4, ["minrtt", "advised"]),
    ] {
        let ([_, carried], at, mut network) = lossy_link(seed, 1, ends);
        let ignored = client_side(&mut network).stats().policy_commands_ignored;
        println!("{ends:?}: {carried} bytes afterwards, done at {at}, {ignored} commands ignored");
        assert!(carried > 100_000, "{carried}");
        // The receiver that speaks to nobody is refused, and that is all.
        assert_eq!(ignored > 0, ends[0].starts_with("advised"), "{ignored}");
    }
}

const FRAMES: usize = 300;
const FRAME_BYTES: u64 = 25_000;
const INTERVAL: Duration = Duration::from_micros(33_333);
const LIFETIME: Duration = Duration::from_millis(400);

/// A frame that was taken, and where it went.
struct Frame {
    taken_at: Time,
    range: Range<u64>,
    /// Not written yet.
    left: u64,
}

/// Writes frames, and notes what its policies say they discarded.
#[derive(Default)]
struct Camera {
    stream: Option<(ConnectionHandle, StreamId)>,
    next_frame: Option<Time>,
    frames: Vec<Frame>,
    written: u64,
    discarded: Vec<Range<u64>>,
}

impl Camera {
    fn write(&mut self, now: Time, connection: &mut Connection) {
        let Some((_, id)) = self.stream else { return };
        for (number, frame) in self.frames.iter_mut().enumerate() {
            let deadline = frame.taken_at + LIFETIME;
            if frame.range.is_empty() && now >= deadline {
                frame.left = 0; // There was no room for it in time.
            }
            let info = FrameInfo {
                id: number as u64,
                deadline: Some(deadline),
                reliability: Reliability::UntilDeadline,
                ..FrameInfo::default()
            };
            // Until nothing is taken any more: only then the stream says when there is room again.
            while frame.left > 0 {
                let rest = Bytes::from(vec![0; frame.left as usize]);
                let Ok(count) = connection.write_frame(id, &info, rest) else { return };
                if frame.range.is_empty() {
                    frame.range = self.written..self.written;
                }
                self.written += count as u64;
                frame.range.end = self.written;
                frame.left -= count as u64;
            }
        }
        if self.frames.len() == FRAMES {
            let _ = connection.finish(id);
        }
    }
}

impl Application for Camera {
    fn on_event(&mut self, now: Time, _: ConnectionHandle, connection: &mut Connection, event: &Event) {
        match event {
            Event::Policy(message) => {
                assert_eq!(message.feature, sets::punctual::DISCARDED);
                let (offset, length) = message.payload.split_at(8);
                let [offset, length] =
                    [offset, length].map(|bytes| u64::from_be_bytes(bytes.try_into().expect("eight bytes")));
                self.discarded.push(offset..offset + length);
                // The rest of it need not be written.
                let of_frame = |frame: &&mut Frame| frame.range.contains(&offset);
                self.frames.iter_mut().filter(of_frame).for_each(|frame| frame.left = 0);
            }
            Event::Stream(StreamEvent::Writable(_)) => self.write(now, connection),
            _ => {}
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.next_frame
    }

    fn on_timeout(&mut self, now: Time, sockets: &mut Sockets) {
        let Some((handle, _)) = self.stream else { return };
        self.frames.push(Frame { taken_at: now, range: 0..0, left: FRAME_BYTES });
        self.next_frame = (self.frames.len() < FRAMES).then_some(now + INTERVAL);
        if let Some(connection) = sockets.connection(handle) {
            self.write(now, connection);
        }
    }
}

/// Notes when each byte and each gap could be read.
#[derive(Default)]
struct Viewer {
    data: Vec<(Time, Range<u64>)>,
    gaps: Vec<Range<u64>>,
    has_ended: bool,
}

impl Application for Viewer {
    fn on_event(&mut self, now: Time, _: ConnectionHandle, connection: &mut Connection, event: &Event) {
        let Event::Stream(StreamEvent::Readable(id)) = event else { return };
        while let Ok(chunk) = connection.next_chunk(*id, usize::MAX) {
            match chunk {
                Chunk::Data { offset, bytes } => self.data.push((now, offset..offset + bytes.len() as u64)),
                Chunk::Gap { offset, length } => self.gaps.push(offset..offset + length),
                Chunk::End => {
                    self.has_ended = true;
                    return;
                }
            }
        }
    }
}

/// Neighbours made one.
fn joined(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut sorted = ranges.to_vec();
    sorted.sort_by_key(|range| range.start);
    sorted.into_iter().fold(Vec::new(), |mut joined: Vec<Range<u64>>, range| {
        match joined.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => joined.push(range),
        }
        joined
    })
}

/// 6 Mbit/s of frames over links of 5 Mbit/s.
#[test]
fn late_frames_are_gaps_and_the_others_are_in_time() {
    for seed in 1..=3 {
        println!("seed {seed}");
        let transport = Arc::new(policy("punctual,margin=60ms"));
        let mut host = client(Camera::default(), seed);
        let config = client_config(transport.clone());
        let handle =
            host.connect(Time::ZERO, config, client_address(0), SERVER, "server.test").expect("valid");
        let mut network = Network::new(host, server(transport, Viewer::default(), seed), seed);
        for (n, (rate, delay)) in [(3, 15), (2, 30 + seed)].into_iter().enumerate() {
            // Nothing is lost, so that nothing is missing but what was discarded.
            let link = DirectionConfig { queue: QueueConfig::bytes(500_000), ..link(rate, delay) };
            network.add_link(client_address(n as u8).ip(), &link, &link);
        }
        network.run_until(Time::from_secs(1), |network| {
            let (now, tuple) = (network.now(), FourTuple { local: client_address(1), remote: SERVER });
            let connection = network.client.connection(handle).expect("it lives");
            connection.open_path(now, tuple, PathStatus::Available, None).is_ok()
        });
        network.run_to(Time::from_secs(1));
        let connection = network.client.connection(handle).expect("it lives");
        let id = connection.open_stream(false).expect("allowed");
        network.client.application.stream = Some((handle, id));
        network.client.application.next_frame = Some(Time::from_secs(1));
        let ended = network.run_until(Time::from_secs(30), |network| network.server.application.has_ended);
        assert!(ended);

        let stats = network.client.connection(handle).expect("it lives").stats();
        let (camera, viewer) = (&network.client.application, &network.server.application);
        let discarded: u64 = camera.discarded.iter().map(|range| range.end - range.start).sum();
        println!(
            "{} frames discarded; {} bytes of {discarded}; {} gaps; {} commands ignored",
            camera.discarded.len(),
            stats.stream_bytes_discarded,
            viewer.gaps.len(),
            stats.policy_commands_ignored
        );
        let (gaps, announced) = (joined(&viewer.gaps), joined(&camera.discarded));
        assert_eq!(gaps, announced, "gaps are what the policy discarded, to the byte");
        assert_eq!(stats.policy_commands_ignored, 0);

        // Each frame is complete or left out as a whole.
        let (mut complete, mut damaged, mut worst) = (0, 0, Duration::ZERO);
        for frame in camera.frames.iter().filter(|frame| !frame.range.is_empty()) {
            let touches = |gap: &&Range<u64>| gap.start < frame.range.end && frame.range.start < gap.end;
            if let Some(gap) = gaps.iter().find(touches) {
                damaged += usize::from(gap.start > frame.range.start || gap.end < frame.range.end);
                continue;
            }
            let is_end = |range: &Range<u64>| range.start < frame.range.end && frame.range.end <= range.end;
            let (at, _) = viewer.data.iter().find(|(_, range)| is_end(range)).expect("no gap");
            complete += 1;
            worst = worst.max(at.since(frame.taken_at));
        }
        println!("{complete} frames complete, {} ms at worst; {damaged} in part", worst.as_millis());
        assert_eq!(damaged, 0);
        assert!(worst <= LIFETIME, "{worst:?}");
        assert!((FRAMES / 2..FRAMES * 5 / 6).contains(&complete), "{complete}");
    }
}
