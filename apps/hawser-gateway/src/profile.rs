//! How the transport behaves that carries tunnels.

use hawser_net::TransportConfig;

/// The congestion controller of both ends where none is chosen. A call shares each link with downloads: what they keep waiting
/// in its queue, it waits for. Two links of 50 Mbit/s, 20 ms and queues of 100 ms, 160 bytes 50 times a second next to a download, in
/// the simulator: with CUBIC 99 % of them within 110 ms, with Tide as it is by default within 65, with this bound within 37, and the
/// download as fast. BBRv3 has 31 ms, and carries less over links that move (`starlink-leocc` 0.85 of the capacity, here 0.93).
/// Where the rate of a link does not move 0.6 of that queue is enough: next to a download over `tunnel-mix-a` the median of a call is
/// 41 ms one way, and 51 without `calm`. A browser opens six connections for a page, each with a first window of its own; here one
/// connection over two links or more stands for them.
pub const CONTROLLER: &str = "tide,bound=50ms,calm=0.6,first=3";
/// Bytes that a peer may send on one stream before any of it is read. It grows while the stream is read.
const STREAM_WINDOW: u64 = 1 << 20;
/// What it may grow to: 1 Gbit/s at 130 ms.
const MAX_STREAM_WINDOW: u64 = 16 << 20;
/// Bytes that a peer may send on all streams together. A tunnel that nobody reads keeps its window full for as long as it is
/// open, and every byte of that counts here: with 48 MiB as many tunnels would stop all others. So that the
/// windows of streams are what limits, this is more than a thousand of them; memory is bounded by the receive memory of the
/// endpoint.
const CONNECTION_WINDOW: u64 = 2 << 30;
/// Bytes of UDP payloads that wait to be sent or read: 20 ms at 400 Mbit/s. What waits longer is of no use to most.
const DATAGRAM_BUFFER: usize = 1 << 20;

/// Streams beyond those of a user's tunnels: questions about the gateway, and refusals.
const OTHER_STREAMS: u64 = 64;

/// Makes a transport one for tunnels, of which the peer may open so many.
pub fn apply(transport: &mut TransportConfig, tunnels: u64) {
    transport.initial_stream_window = STREAM_WINDOW;
    transport.max_stream_window = MAX_STREAM_WINDOW;
    transport.initial_connection_window = CONNECTION_WINDOW;
    transport.max_connection_window = CONNECTION_WINDOW;
    transport.datagram_receive_buffer = Some(DATAGRAM_BUFFER);
    transport.datagram_send_buffer = DATAGRAM_BUFFER;
    transport.max_bidirectional_streams = tunnels.saturating_add(OTHER_STREAMS);
}
