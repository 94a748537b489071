//! What typical exchanges take: datagrams and bytes of each end, and round trips.
//!
//! The figures stand in `efficiency.txt`, and a change of any of them fails here: a change of what is sent shows what it costs, or
//! saves. `HAWSER_UPDATE_SNAPSHOTS=1 cargo test -p hawser-core efficiency` writes the file; the commit says why.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use hawser_policy::{Side, StreamId, Time};

use super::pair::{DELAY, Pair, Sent, Settings, client_address};
use crate::Event;

const STEP: Duration = Duration::from_millis(1);
/// No exchange takes so long.
const LONGEST: Duration = Duration::from_secs(60);
const MEGABYTE: usize = 1_000_000;

/// Does something with two ends that are connected, and is over when it returns.
type Exchange = fn(&mut Pair);

const EXCHANGES: &[(&str, Exchange)] = &[
    ("100 bytes up", |pair| transfer(pair, Side::Client, &[100])),
    ("100 bytes down", |pair| transfer(pair, Side::Server, &[100])),
    ("a request of 100 bytes, an answer of 10 kB", |pair| {
        transfer(pair, Side::Client, &[100]);
        transfer(pair, Side::Server, &[10_000]);
    }),
    ("1 MB up", |pair| transfer(pair, Side::Client, &[MEGABYTE])),
    ("1 MB down", |pair| transfer(pair, Side::Server, &[MEGABYTE])),
    ("1 MB down, a datagram in 64 lost", |pair| {
        pair.lose = |sent| chance(sent, 64);
        transfer(pair, Side::Server, &[MEGABYTE]);
    }),
    ("1 MB down, a datagram in 16 lost", |pair| {
        pair.lose = |sent| chance(sent, 16);
        transfer(pair, Side::Server, &[MEGABYTE]);
    }),
    ("100 bytes up, the first datagram lost", |pair| {
        pair.lose_nth = Some(pair.sent.len());
        transfer(pair, Side::Client, &[100]);
    }),
    ("10 streams of 100 kB down", |pair| transfer(pair, Side::Server, &[100_000; 10])),
    ("20 streams of 1 kB up", |pair| transfer(pair, Side::Client, &[1_000; 20])),
    ("50 messages of 100 bytes up, one every 20 ms", |pair| {
        for _ in 0..50 {
            pair.write(Side::Client, 100);
            pair.run(Duration::from_millis(20));
        }
    }),
    ("50 datagrams of 100 bytes up, one every 20 ms", |pair| {
        for _ in 0..50 {
            pair.client().send_datagram(Bytes::from_static(&[7; 100]), None).unwrap();
            pair.run(Duration::from_millis(20));
        }
    }),
    ("a second path", |pair| {
        pair.open(1);
    }),
    ("1 MB down over two paths", |pair| {
        pair.open(1);
        transfer(pair, Side::Server, &[MEGABYTE]);
    }),
    ("1 MB up over two paths", |pair| {
        pair.open(1);
        transfer(pair, Side::Client, &[MEGABYTE]);
    }),
    ("1 MB down over two paths, of which one dies", |pair| {
        pair.open(1);
        pair.dead.push(client_address(1));
        transfer(pair, Side::Server, &[MEGABYTE]);
    }),
    ("10 s of silence", |pair| pair.run(Duration::from_secs(10))),
    ("the end", |pair| {
        let now = pair.now;
        pair.client().close(now, 0, Bytes::new());
        until(pair, |pair| pair.server.closed().is_some());
    }),
];

/// How the two ends are connected at first.
const HANDSHAKES: &[(&str, fn() -> Pair)] = &[
    ("handshake", || Pair::new(Settings::default())),
    ("handshake with Retry", || Pair::new(Settings { always_retry: true, ..Settings::default() })),
    ("handshake, the client's first datagram lost", || losing(0)),
    ("handshake, the server's first datagram lost", || losing(1)),
];

fn losing(nth: usize) -> Pair {
    let mut pair = Pair::new(Settings::default());
    pair.lose_nth = Some(nth);
    pair
}

/// One in so many, by what is in it.
fn chance(sent: &Sent, one_in: u32) -> bool {
    sent.payload.iter().rev().take(4).fold(0, |sum: u32, byte| sum.rotate_left(8) ^ u32::from(*byte)) % one_in
        == 0
}

fn until(pair: &mut Pair, is_over: impl Fn(&Pair) -> bool) {
    let began = pair.now;
    while !is_over(pair) {
        pair.run(STEP);
        assert!(pair.now.since(began) < LONGEST, "it does not end");
    }
}

/// One end sends so many bytes on a stream each; the other one reads them.
fn transfer(pair: &mut Pair, by: Side, lengths: &[usize]) {
    let (began, payload) = (pair.now, vec![7; MEGABYTE]);
    let mut left: Vec<(StreamId, usize, usize)> = Vec::new();
    for length in lengths {
        let id = pair.end(by).connection.as_mut().unwrap().open_stream(false).unwrap();
        left.push((id, *length, *length));
    }
    let reader = if by.is_client() { Side::Server } else { Side::Client };
    while left.iter().any(|(_, _, unread)| *unread > 0) {
        for (id, unwritten, unread) in &mut left {
            let writer = pair.end(by).connection.as_mut().unwrap();
            *unwritten -= writer.write(*id, &payload[..*unwritten]).unwrap_or(0);
            let connection = pair.end(reader).connection.as_mut().unwrap();
            while let Ok(Some(chunk)) = connection.read_chunk(*id, usize::MAX) {
                *unread -= chunk.len();
            }
        }
        pair.run(STEP);
        assert!(pair.now.since(began) < LONGEST, "it does not end");
    }
}

/// Datagrams and bytes of each end since some of them were sent, and round trips.
fn line(name: &str, pair: &Pair, before: usize, time: Duration) -> String {
    let of = |side: Side| {
        let sent = pair.sent[before..].iter().filter(|sent| sent.by == side);
        sent.fold((0, 0), |(count, bytes), sent| (count + 1, bytes + sent.payload.len()))
    };
    let (up, down) = (of(Side::Client), of(Side::Server));
    let round_trips = time.as_secs_f64() / (2.0 * DELAY.as_secs_f64());
    format!("{name:46}{:6}{:9}{:6}{:9}{round_trips:8.1}", up.0, up.1, down.0, down.1)
}

#[test]
fn efficiency_is_as_it_was() {
    let mut table = format!(
        "{:46}{:>6}{:>9}{:>6}{:>9}{:>8}\n",
        "exchange", "up", "bytes", "down", "bytes", "round trips"
    );
    for (name, begin) in HANDSHAKES {
        let mut pair = begin();
        until(&mut pair, |pair| {
            [&pair.client, &pair.server].iter().all(|end| end.events.contains(&Event::HandshakeConfirmed))
        });
        let time = pair.now.since(Time::ZERO);
        writeln!(table, "{}", line(name, &pair, 0, time)).unwrap();
    }
    for (name, exchange) in EXCHANGES {
        let mut pair = Pair::connected(Settings::default());
        let (before, began) = (pair.sent.len(), pair.now);
        exchange(&mut pair);
        let time = pair.now.since(began);
        writeln!(table, "{}", line(name, &pair, before, time)).unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/connection/tests/efficiency.txt");
    if std::env::var_os("HAWSER_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, &table).unwrap();
    }
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    let changed: Vec<_> = table.lines().filter(|line| !before.lines().any(|other| other == *line)).collect();
    assert!(table == before, "changed, see the top of this file:\n{}\nbefore:\n{before}", changed.join("\n"));
}
