//! Sending and receiving what is measured.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::{BufMut, Bytes, BytesMut};
use tokio::task::JoinSet;

use super::protocol::{DatagramCounts, Outcome, Request, broken};
use hawser::{
    Connection, ConnectionError, DatagramError, ReadError, RecvStream, SendDatagramError, SendStream,
};
use hawser_command::exit::{Exit, Failure};
use hawser_command::transfer::RateLimit;

/// Bytes written at a time.
const BLOCK: usize = 128 << 10;
/// Rate of datagrams when the user names none, as in iperf3.
const DEFAULT_DATAGRAM_RATE: u64 = 1_000_000;
/// How long the first datagram may take, beyond that silence.
const FIRST_DATAGRAM: Duration = Duration::from_secs(60);
/// Silence after which datagrams are taken to have ended.
const DATAGRAM_SILENCE: Duration = Duration::from_secs(2);
/// The same when the sender has said that it sends no more, beyond two round trips.
const DATAGRAM_LATE: Duration = Duration::from_millis(200);
/// How long what was sent may take to arrive after the time is over: a full queue of a slow link, but not a dead link.
const TAIL: Duration = Duration::from_secs(1);
/// Code of a stream whose time is over.
const TIME_IS_OVER: u64 = 0;

/// Bytes so far, per stream and in total. Shared with the report that is printed while the measurement runs.
#[derive(Debug, Default)]
pub(super) struct Counters {
    streams: Vec<AtomicU64>,
}

impl Counters {
    pub(super) fn new(streams: u32) -> Arc<Self> {
        Arc::new(Counters { streams: (0..streams.max(1)).map(|_| AtomicU64::new(0)).collect() })
    }

    fn add(&self, stream: usize, bytes: u64) {
        if let Some(counter) = self.streams.get(stream) {
            counter.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Bytes of every stream.
    pub(super) fn read(&self) -> Vec<u64> {
        self.streams.iter().map(|counter| counter.load(Ordering::Relaxed)).collect()
    }

    /// Bytes in total.
    pub(super) fn total(&self) -> u64 {
        self.read().iter().sum()
    }
}

/// When to stop sending.
#[derive(Clone, Debug)]
struct Budget {
    until: Option<Instant>,
    bytes_left: Option<Arc<AtomicI64>>,
}

impl Budget {
    fn of(request: &Request) -> Self {
        let time = Duration::try_from_secs_f64(request.seconds).unwrap_or(Duration::from_secs(10));
        Budget {
            until: request.bytes.is_none().then(|| Instant::now() + time),
            bytes_left: request
                .bytes
                .map(|bytes| Arc::new(AtomicI64::new(i64::try_from(bytes).unwrap_or(i64::MAX)))),
        }
    }

    /// Waits for the end of the time, if it has one, and `more`.
    async fn over(&self, more: Duration) {
        match self.until {
            Some(until) => tokio::time::sleep_until((until + more).into()).await,
            None => std::future::pending().await,
        }
    }

    /// How many of `wanted` bytes may still be sent.
    fn take(&self, wanted: usize) -> usize {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return 0;
        }
        match &self.bytes_left {
            None => wanted,
            Some(left) => {
                let before = left.fetch_sub(wanted as i64, Ordering::Relaxed);
                usize::try_from(before.max(0)).unwrap_or(usize::MAX).min(wanted)
            }
        }
    }
}

/// Sends what the request asks for.
pub(super) async fn send(
    connection: &Connection,
    request: &Request,
    counters: &Arc<Counters>,
) -> Result<Outcome, Failure> {
    let started = Instant::now();
    let datagrams = if request.datagram {
        Some(send_datagrams(connection, request, counters).await?)
    } else {
        send_streams(connection, request, counters).await?;
        None
    };
    Ok(Outcome { bytes: counters.total(), seconds: started.elapsed().as_secs_f64(), datagrams, error: None })
}

async fn send_streams(
    connection: &Connection,
    request: &Request,
    counters: &Arc<Counters>,
) -> Result<(), Failure> {
    let budget = Budget::of(request);
    let mut tasks = JoinSet::new();
    for index in 0..request.streams {
        let stream = connection.open_uni().await.map_err(|error| broken(&error))?;
        let bytes_per_second = rate(request, None).map(|rate| rate / 8 / u64::from(request.streams));
        tasks.spawn(fill(stream, index as usize, budget.clone(), bytes_per_second, counters.clone()));
    }
    while let Some(ended) = tasks.join_next().await {
        ended.map_err(|error| Failure::new(Exit::Failure, error.to_string()))??;
    }
    Ok(())
}

/// The rate asked for, in bit/s; `None`: no limit.
fn rate(request: &Request, default: Option<u64>) -> Option<u64> {
    request.bitrate.or(default).filter(|rate| *rate > 0)
}

async fn fill(
    mut stream: SendStream,
    index: usize,
    budget: Budget,
    bytes_per_second: Option<u64>,
    counters: Arc<Counters>,
) -> Result<(), Failure> {
    let mut limit = bytes_per_second.map(RateLimit::new);
    // Ten blocks a second are even enough.
    let tenth = bytes_per_second.map_or(BLOCK, |rate| usize::try_from(rate / 10).unwrap_or(BLOCK));
    let block = Bytes::from_static(&[0x68; BLOCK]).slice(..tenth.clamp(1, BLOCK));
    loop {
        let count = budget.take(block.len());
        if count == 0 {
            break;
        }
        let mut rest = block.slice(..count);
        let is_over = tokio::select! {
            written = poll_fn(|cx| stream.poll_write_chunk(cx, &mut rest)) => {
                written.map_err(|error| broken(&error))?;
                false
            }
            () = budget.over(Duration::ZERO) => true,
        };
        counters.add(index, (count - rest.len()) as u64);
        if is_over {
            break;
        }
        if let Some(limit) = &mut limit {
            tokio::select! {
                () = limit.pace(count as u64) => {}
                () = budget.over(Duration::ZERO) => break,
            }
        }
    }
    let _ = stream.finish();
    // What counts has arrived.
    let arrived = tokio::select! {
        arrived = stream.stopped() => Some(arrived),
        () = budget.over(TAIL) => None,
    };
    match arrived {
        Some(arrived) => arrived.map(|_| ()).map_err(|error| broken(&error)),
        None => {
            let _ = stream.reset(TIME_IS_OVER);
            Ok(())
        }
    }
}

async fn send_datagrams(
    connection: &Connection,
    request: &Request,
    counters: &Arc<Counters>,
) -> Result<DatagramCounts, Failure> {
    let budget = Budget::of(request);
    let mut limit = rate(request, Some(DEFAULT_DATAGRAM_RATE)).map(|rate| RateLimit::new(rate / 8));
    let origin = Instant::now();
    let mut number = 0_u64;
    loop {
        let Some(size) = connection.max_datagram_size() else {
            return Err(Failure::new(Exit::Handshake, "the other end takes no datagrams"));
        };
        let count = budget.take(size.max(16));
        if count == 0 {
            break;
        }
        let mut datagram = BytesMut::with_capacity(count.max(16));
        datagram.put_u64(number);
        datagram.put_u64(u64::try_from(origin.elapsed().as_nanos()).unwrap_or(u64::MAX));
        datagram.resize(count.max(16), 0x68);
        match connection.send_datagram_wait(datagram.freeze()).await {
            Ok(()) => {}
            // The path's MTU has just shrunk.
            Err(DatagramError::Send(SendDatagramError::TooLarge { .. })) => continue,
            Err(error) => return Err(broken(&error)),
        }
        number += 1;
        counters.add(0, count as u64);
        if let Some(limit) = &mut limit {
            limit.pace(count as u64).await;
        }
    }
    let mut end = connection.open_uni().await.map_err(|error| broken(&error))?;
    let _ = end.finish();
    Ok(DatagramCounts { count: number, ..DatagramCounts::default() })
}

/// Receives what the request announces.
pub(super) async fn receive(
    connection: &Connection,
    request: &Request,
    counters: &Arc<Counters>,
) -> Result<Outcome, Failure> {
    if request.datagram {
        return receive_datagrams(connection, request, counters).await;
    }
    let mut tasks = JoinSet::new();
    let mut started = None;
    for index in 0..request.streams {
        let stream = connection.accept_uni().await.map_err(|error| broken(&error))?;
        started.get_or_insert_with(Instant::now);
        tasks.spawn(drain(stream, index as usize, counters.clone()));
    }
    while let Some(ended) = tasks.join_next().await {
        ended.map_err(|error| Failure::new(Exit::Failure, error.to_string()))??;
    }
    let seconds = started.map_or(0.0, |started| started.elapsed().as_secs_f64());
    Ok(Outcome { bytes: counters.total(), seconds, datagrams: None, error: None })
}

async fn drain(mut stream: RecvStream, index: usize, counters: Arc<Counters>) -> Result<(), Failure> {
    loop {
        match stream.read_chunk(usize::MAX).await {
            Ok(Some(chunk)) => counters.add(index, chunk.len() as u64),
            Ok(None) | Err(ReadError::Reset(TIME_IS_OVER)) => return Ok(()),
            Err(error) => return Err(broken(&error)),
        }
    }
}

async fn receive_datagrams(
    connection: &Connection,
    request: &Request,
    counters: &Arc<Counters>,
) -> Result<Outcome, Failure> {
    let time = Duration::try_from_secs_f64(request.seconds).unwrap_or(Duration::from_secs(10));
    let mut counts = DatagramCounts::default();
    let mut watch = Transit::default();
    let mut span: Option<(Instant, Instant)> = None;
    let mut has_ended = false;
    loop {
        // The first may take a while. The word that there are no more may overtake the last ones.
        let patience = match span {
            _ if has_ended => DATAGRAM_LATE + 2 * longest_rtt(connection),
            Some(_) => DATAGRAM_SILENCE,
            None => time.min(FIRST_DATAGRAM) + DATAGRAM_SILENCE,
        };
        let received = tokio::select! {
            received = tokio::time::timeout(patience, connection.read_datagram()) => received,
            end = connection.accept_uni(), if !has_ended => {
                end.map_err(|error| broken(&error))?;
                has_ended = true;
                continue;
            }
        };
        let datagram = match received {
            Ok(Ok(datagram)) => datagram,
            Err(_) => break,
            Ok(Err(ConnectionError::PeerApplication { code: 0, .. })) => break,
            Ok(Err(error)) => return Err(broken(&error)),
        };
        let now = Instant::now();
        let first = span.map_or(now, |(first, _)| first);
        span = Some((first, now));
        counts.count += 1;
        counters.add(0, datagram.len() as u64);
        if let Some((number, sent)) = header(&datagram) {
            watch.arrived(number, sent, now.duration_since(first), &mut counts);
        }
    }
    let seconds = span.map_or(0.0, |(first, last)| last.duration_since(first).as_secs_f64());
    Ok(Outcome { bytes: counters.total(), seconds, datagrams: Some(counts), error: None })
}

fn longest_rtt(connection: &Connection) -> Duration {
    let stats = connection.paths().into_iter().filter_map(|path| connection.path_stats(path.id));
    stats.map(|stats| stats.smoothed_rtt).max().unwrap_or_default()
}

fn header(datagram: &[u8]) -> Option<(u64, Duration)> {
    let number = datagram.get(..8)?.try_into().ok()?;
    let sent = datagram.get(8..16)?.try_into().ok()?;
    Some((u64::from_be_bytes(number), Duration::from_nanos(u64::from_be_bytes(sent))))
}

/// Order and jitter of datagrams.
#[derive(Debug, Default)]
struct Transit {
    largest: Option<u64>,
    previous: Option<f64>,
}

impl Transit {
    fn arrived(&mut self, number: u64, sent: Duration, received: Duration, counts: &mut DatagramCounts) {
        if self.largest.is_some_and(|largest| number < largest) {
            counts.out_of_order += 1;
        }
        self.largest = Some(self.largest.map_or(number, |largest| largest.max(number)));
        // The clocks differ by a constant, which the difference of two transit times does not have.
        let transit = received.as_secs_f64() - sent.as_secs_f64();
        if let Some(previous) = self.previous {
            let deviation = (transit - previous).abs() * 1e3;
            counts.jitter_ms += (deviation - counts.jitter_ms) / 16.0;
        }
        self.previous = Some(transit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_jitter() {
        let (mut watch, mut counts) = (Transit::default(), DatagramCounts::default());
        let ms = Duration::from_millis;
        for (number, sent, received) in [(0, 0, 50), (1, 10, 60), (3, 30, 80), (2, 20, 86), (4, 40, 90)] {
            watch.arrived(number, ms(sent), ms(received), &mut counts);
        }
        assert_eq!(counts.out_of_order, 1);
        // Only the late one differs, by 16 ms on its coming and on the next one's: 1 ms, then 1 + 15/16.
        assert!((counts.jitter_ms - 1.9375).abs() < 1e-6, "{counts:?}");
    }

    #[test]
    fn a_budget_of_bytes_is_shared_exactly() {
        let request = Request {
            reverse: false,
            datagram: false,
            streams: 2,
            seconds: 1.0,
            bytes: Some(250),
            bitrate: None,
        };
        let budget = Budget::of(&request);
        let other = budget.clone();
        assert_eq!([budget.take(100), other.take(100), budget.take(100), other.take(100)], [100, 100, 50, 0]);
    }
}
