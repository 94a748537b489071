//! Two ends that exchange packets of real frames, and a slow check of every total.

use std::ops::ControlFlow;

use bytes::Bytes;
use hawser_policy::{PathId, SendQueue, Side, StreamId};
use hawser_wire::codepoints::private::feature;
use hawser_wire::frame::{Frame, StreamDirection};
use hawser_wire::{FrameIter, TransportParameters, Writer};

use super::super::outgoing::WrittenData;
use super::super::send::{Amounts, SendStream};
use super::super::{Segments, Streams};
use super::test_config;
use crate::connection::frames::{SentFrame, SentFrames, SentStream};
use crate::{TransportConfig, TransportError};

/// Limits small enough to be met.
pub(super) fn small_config() -> TransportConfig {
    TransportConfig {
        max_bidirectional_streams: 3,
        max_unidirectional_streams: 2,
        initial_stream_window: 2_000,
        max_stream_window: 12_000,
        initial_connection_window: 5_000,
        max_connection_window: 30_000,
        max_send_buffer: 20_000,
        ..(*test_config()).clone()
    }
}

pub(super) fn parameters(config: &TransportConfig) -> TransportParameters {
    TransportParameters {
        initial_max_data: config.initial_connection_window,
        initial_max_stream_data_bidi_local: config.initial_stream_window,
        initial_max_stream_data_bidi_remote: config.initial_stream_window,
        initial_max_stream_data_uni: config.initial_stream_window,
        initial_max_streams_bidi: config.max_bidirectional_streams,
        initial_max_streams_uni: config.max_unidirectional_streams,
        reset_stream_at: true,
        features: Some([feature::STREAM_SKIP].into_iter().collect()),
        ..TransportParameters::default()
    }
}

/// A packet that was sent.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub(super) payload: Vec<u8>,
    pub(super) frames: SentFrames,
    pub(super) delivered: bool,
}

/// A client and a server that know each other's limits.
pub(super) fn pair(config: &TransportConfig) -> [Streams; 2] {
    [Side::Client, Side::Server].map(|side| {
        let mut streams = Streams::new(side, config);
        streams.set_peer_limits(&parameters(config));
        streams
    })
}

/// Builds a packet with room for `room` bytes of frames; `None` if there was nothing to put in.
pub(super) fn build(streams: &mut Streams, room: usize, skip: u64) -> Option<Packet> {
    build_counted(streams, room, skip).map(|(packet, _)| packet)
}

pub(super) fn build_counted(streams: &mut Streams, room: usize, skip: u64) -> Option<(Packet, WrittenData)> {
    build_on(streams, PathId::ZERO, room, skip)
}

/// Builds a packet for a path.
pub(super) fn build_on(
    streams: &mut Streams,
    path: PathId,
    room: usize,
    skip: u64,
) -> Option<(Packet, WrittenData)> {
    let mut frames = SentFrames::new();
    let mut buffer = vec![0xff; room];
    let mut w = Writer::new(&mut buffer);
    streams.write_control(&mut w, &mut frames);
    let before = streams.queue();
    let written = streams.write_data(&mut w, &mut frames, path, skip);
    let after = streams.queue();
    assert_eq!(before.unsent - after.unsent, written.new_bytes, "what was written left the queue");
    assert_eq!(before.retransmit - after.retransmit, written.retransmitted_bytes);
    let payload = w.written().to_vec();
    (!frames.is_empty()).then_some((Packet { payload, frames, delivered: false }, written))
}

/// Builds a packet with a copy of the stream ranges of another.
pub(super) fn build_copy(streams: &mut Streams, room: usize, original: &Packet) -> Option<Packet> {
    let mut frames = SentFrames::new();
    let mut buffer = vec![0xff; room];
    let mut w = Writer::new(&mut buffer);
    let before = streams.queue();
    for frame in &original.frames {
        if let SentFrame::Stream(range) = frame
            && let Some(rest) =
                streams.write_copy(&mut w, &mut frames, PathId(1), SentStream { copy: true, ..*range })
        {
            assert!(rest.offset >= range.offset && rest.end() == range.end());
            break;
        }
    }
    assert_eq!(streams.queue().total(), before.total(), "copies are not taken from the queue");
    let payload = w.written().to_vec();
    (!frames.is_empty()).then_some(Packet { payload, frames, delivered: false })
}

/// Hands the frames of a packet to the other end.
pub(super) fn receive(streams: &mut Streams, payload: &[u8]) -> Result<(), TransportError> {
    for frame in FrameIter::new(payload) {
        receive_frame(streams, &frame.expect("well formed"))?;
    }
    Ok(())
}

fn receive_frame(streams: &mut Streams, frame: &Frame<'_>) -> Result<(), TransportError> {
    let bidirectional = |direction: StreamDirection| direction == StreamDirection::Bidirectional;
    match *frame {
        Frame::Padding(_) => Ok(()),
        Frame::Stream(stream) => {
            let data = Bytes::copy_from_slice(stream.data);
            streams.on_stream(StreamId(stream.stream_id), stream.offset, stream.fin, data)
        }
        Frame::ResetStream(f) => streams.on_reset_stream(StreamId(f.stream_id), f.error_code, f.final_size),
        Frame::ResetStreamAt(f) => {
            streams.on_reset_stream_at(StreamId(f.stream_id), f.error_code, f.final_size, f.reliable_size)
        }
        Frame::StopSending(f) => streams.on_stop_sending(StreamId(f.stream_id), f.error_code),
        Frame::MaxData(limit) => {
            streams.on_max_data(limit);
            Ok(())
        }
        Frame::MaxStreamData { stream_id, maximum } => {
            streams.on_max_stream_data(StreamId(stream_id), maximum)
        }
        Frame::MaxStreams { direction, maximum } => streams.on_max_streams(bidirectional(direction), maximum),
        Frame::DataBlocked(_) => Ok(()),
        Frame::StreamDataBlocked { stream_id, .. } => streams.on_stream_data_blocked(StreamId(stream_id)),
        Frame::StreamsBlocked { direction, limit } => {
            streams.on_streams_blocked(bidirectional(direction), limit)
        }
        Frame::StreamSkip(f) => streams.on_stream_skip(StreamId(f.stream_id), f.offset, f.length),
        ref other => panic!("{other:?} is not a stream frame"),
    }
}

pub(super) fn acked(streams: &mut Streams, packet: &Packet) {
    for frame in &packet.frames {
        match frame {
            SentFrame::Stream(range) => streams.on_acked(range),
            SentFrame::StreamControl(control) => streams.on_control_acked(*control),
            SentFrame::StreamSkip(skip) => streams.on_skip_acked(skip),
            other => panic!("{other:?} is not a stream frame"),
        }
    }
}

pub(super) fn lost(streams: &mut Streams, packet: &Packet) {
    for frame in &packet.frames {
        match frame {
            SentFrame::Stream(range) => streams.on_lost(range, None),
            SentFrame::StreamControl(control) => streams.on_control_lost(*control),
            SentFrame::StreamSkip(skip) => streams.on_skip_lost(skip),
            other => panic!("{other:?} is not a stream frame"),
        }
    }
}

/// Sends, delivers and acknowledges everything in one direction. Returns the packets.
pub(super) fn flush(from: &mut Streams, to: &mut Streams) -> Vec<Packet> {
    let mut packets = Vec::new();
    while let Some(packet) = build(from, 1_200, 0) {
        receive(to, &packet.payload).expect("accepted");
        acked(from, &packet);
        packets.push(packet);
    }
    packets
}

fn halves(streams: &Streams) -> impl Iterator<Item = &SendStream> {
    streams.table.iter().filter_map(|stream| stream.send.as_ref())
}

/// Counts everything again, slowly.
pub(super) fn check(streams: &Streams) {
    let mut totals = Amounts::default();
    let (mut ranges, mut due) = (0, 0);
    for stream in streams.table.iter() {
        if let Some(send) = &stream.send {
            totals.replace(&Amounts::default(), &send.amounts());
        }
        due += usize::from(!stream.due.is_empty());
        ranges += usize::from(stream.send.is_none() && stream.recv.is_none());
    }
    assert_eq!(totals, streams.totals, "totals");
    assert_eq!(due, streams.control.streams, "streams with control frames due");
    assert_eq!(ranges, 0, "a stream without halves is kept");

    let (mut unsent, mut retransmit) = (0, 0);
    Segments(streams).segments(&mut |segment| {
        let length = segment.range.end - segment.range.start;
        assert!(length > 0);
        *(if segment.retransmission { &mut retransmit } else { &mut unsent }) += length;
        ControlFlow::Continue(())
    });
    let queue = streams.queue();
    assert_eq!(retransmit, queue.retransmit, "lost ranges in the order");
    let deferred: u64 = halves(streams).map(SendStream::deferred).sum();
    assert_eq!(unsent + deferred, totals.gaps + totals.tail, "unsent ranges in the order");
    assert_eq!(queue.unsent, totals.gaps + totals.tail.min(queue.connection_window_left));
}
