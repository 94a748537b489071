//! A paced UDP sender and a receiver, to measure what an emulated link really does.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use hawser_emu::{Emulation, Host, SERVER_ADDRESS};
use hawser_scenario::Scenario;

/// Bytes of IPv4 and UDP headers.
const HEADERS: usize = 28;
/// Payload that makes an IP packet of 1500 bytes.
const PAYLOAD: usize = 1500 - HEADERS;

/// What one flow measured.
pub(crate) struct FlowResult {
    /// Received, IP bytes per second times 8, from the first to the last packet.
    pub(crate) rate_bps: f64,
    /// One-way delays, milliseconds, sorted.
    pub(crate) delays_ms: Vec<f64>,
    /// Packets sent.
    pub(crate) sent: u64,
}

impl FlowResult {
    /// A quantile of the delay, milliseconds.
    pub(crate) fn delay_ms(&self, share: f64) -> f64 {
        let index =
            ((self.delays_ms.len() as f64 * share) as usize).min(self.delays_ms.len().saturating_sub(1));
        self.delays_ms.get(index).copied().unwrap_or(f64::NAN)
    }
}

/// A scenario from its text, without files.
pub(crate) fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "inline.toml", &mut |name| Err(format!("no file {name} here")))
        .expect("a correct scenario")
}

/// Sends `rate_bps` from the client to the server over each link at the same time; one result per link.
pub(crate) fn uplink(
    emulation: &Emulation,
    rate_bps: u64,
    duration: Duration,
) -> io::Result<Vec<FlowResult>> {
    let links: Vec<String> = emulation.link_names().into_iter().map(str::to_owned).collect();
    let mut flows = Vec::new();
    for link in &links {
        let receiver = emulation.run_on(Host::Server, || UdpSocket::bind("0.0.0.0:0"))??;
        let target = SocketAddr::from((SERVER_ADDRESS, receiver.local_addr()?.port()));
        let sender = emulation.run_on(Host::Client, || client_socket(link, target))??;
        flows.push((sender, receiver));
    }
    Ok(measure(&flows, rate_bps, duration))
}

/// Sends `rate_bps` from the first to the second socket of each pair at the same time; one result per pair.
pub(crate) fn measure(
    flows: &[(UdpSocket, UdpSocket)],
    rate_bps: u64,
    duration: Duration,
) -> Vec<FlowResult> {
    let epoch = Instant::now();
    thread::scope(|scope| {
        let threads: Vec<_> = flows
            .iter()
            .map(|(sender, receiver)| {
                let sending = scope.spawn(move || send_paced(sender, rate_bps, duration, epoch));
                let receiving = scope.spawn(move || receive(receiver, epoch));
                (sending, receiving)
            })
            .collect();
        threads
            .into_iter()
            .map(|(sending, receiving)| {
                let sent = sending.join().expect("the sender does not panic");
                let (rate_bps, delays_ms) = receiving.join().expect("the receiver does not panic");
                FlowResult { rate_bps, delays_ms, sent }
            })
            .collect()
    })
}

/// A socket bound to the device, as a multipath client has it.
pub(crate) fn client_socket(link: &str, target: SocketAddr) -> io::Result<UdpSocket> {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::DGRAM, None)?;
    socket.bind_device(Some(link.as_bytes()))?;
    socket.set_send_buffer_size(1 << 20)?;
    socket.connect(&target.into())?;
    Ok(socket.into())
}

/// Sends packets that carry their time of sending, at a constant rate; returns their number.
fn send_paced(socket: &UdpSocket, rate_bps: u64, duration: Duration, epoch: Instant) -> u64 {
    let interval = Duration::from_nanos((PAYLOAD + HEADERS) as u64 * 8 * 1_000_000_000 / rate_bps);
    let (began, mut sent, mut packet) = (Instant::now(), 0u32, vec![0; PAYLOAD]);
    // A sender that cannot keep up ends in time all the same.
    while began.elapsed() < duration {
        let ahead = (interval * sent).saturating_sub(began.elapsed());
        if !ahead.is_zero() {
            thread::sleep(ahead);
        }
        packet[..8].copy_from_slice(&(epoch.elapsed().as_nanos() as u64).to_be_bytes());
        if socket.send(&packet).is_ok() {
            sent += 1;
        }
    }
    u64::from(sent)
}

/// Receives until half a second of silence; returns the rate and the sorted delays.
fn receive(socket: &UdpSocket, epoch: Instant) -> (f64, Vec<f64>) {
    let _ = socket2::SockRef::from(socket).set_recv_buffer_size(4 << 20);
    let _ = socket.set_read_timeout(Some(Duration::from_millis(1500)));
    let (mut buffer, mut delays, mut bytes) = (vec![0; 2048], Vec::new(), 0);
    let (mut first, mut last) = (Duration::ZERO, Duration::ZERO);
    while let Ok(length) = socket.recv(&mut buffer) {
        let now = epoch.elapsed();
        if delays.is_empty() {
            first = now;
            let _ = socket.set_read_timeout(Some(Duration::from_millis(500)));
        } else {
            // The first packet opens the interval: its bytes do not count.
            bytes += length + HEADERS;
        }
        last = now;
        let stamp = u64::from_be_bytes(buffer[..8].try_into().expect("eight bytes"));
        delays.push((now.as_nanos() as u64 - stamp) as f64 / 1e6);
    }
    delays.sort_unstable_by(f64::total_cmp);
    (bytes as f64 * 8.0 / (last - first).as_secs_f64(), delays)
}
