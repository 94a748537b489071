//! Frames as qlog objects (draft-ietf-quic-qlog-quic-events-13 section 8.13). Frames of multipath, which that draft does
//! not have, are named likewise: the registered name in lower case, with a `path_id`.

use std::time::Duration;

use hawser_wire::frame::{
    Ack, ConnectionClose, Frame, MessageDelivery, PathStatus, Repair, RepairCode, StreamDirection,
};

use super::addresses::{Addresses, endpoint_info};
use super::closing::write_error;
use super::json::Json;
use crate::Code;

/// What has to be known of a packet to write its frames.
pub(super) struct FrameContext<'a> {
    /// Delays of acknowledgements count in 2^`exponent` microseconds.
    pub(super) exponent: u32,
    /// Whether this end sent it.
    pub(super) is_sent: bool,
    /// What stands for addresses.
    pub(super) addresses: &'a mut Addresses,
}

/// Writes a frame.
pub(super) fn write_frame(json: &mut Json, frame: &Frame<'_>, context: &mut FrameContext<'_>) {
    json.object(|json| {
        json.text("frame_type", frame_type(frame));
        write_fields(json, frame, context);
    });
}

fn frame_type(frame: &Frame<'_>) -> &'static str {
    match frame {
        Frame::Padding(_) => "padding",
        Frame::Ping => "ping",
        Frame::Ack(ack) if ack.path_id.is_some() => "path_ack",
        Frame::Ack(_) => "ack",
        Frame::ResetStream(_) => "reset_stream",
        Frame::ResetStreamAt(_) => "reset_stream_at",
        Frame::StopSending(_) => "stop_sending",
        Frame::Crypto(_) => "crypto",
        Frame::NewToken(_) => "new_token",
        Frame::Stream(_) => "stream",
        Frame::MaxData(_) => "max_data",
        Frame::MaxStreamData { .. } => "max_stream_data",
        Frame::MaxStreams { .. } => "max_streams",
        Frame::DataBlocked(_) => "data_blocked",
        Frame::StreamDataBlocked { .. } => "stream_data_blocked",
        Frame::StreamsBlocked { .. } => "streams_blocked",
        Frame::NewConnectionId(new) if new.path_id.is_some() => "path_new_connection_id",
        Frame::NewConnectionId(_) => "new_connection_id",
        Frame::RetireConnectionId(retire) if retire.path_id.is_some() => "path_retire_connection_id",
        Frame::RetireConnectionId(_) => "retire_connection_id",
        Frame::PathChallenge(_) => "path_challenge",
        Frame::PathResponse(_) => "path_response",
        Frame::ConnectionClose(_) => "connection_close",
        Frame::HandshakeDone => "handshake_done",
        Frame::Datagram(_) => "datagram",
        Frame::AckFrequency(_) => "ack_frequency",
        Frame::ImmediateAck => "immediate_ack",
        Frame::PathAbandon { .. } => "path_abandon",
        Frame::PathStatus { status: PathStatus::Available, .. } => "path_status_available",
        Frame::PathStatus { status: PathStatus::Backup, .. } => "path_status_backup",
        Frame::MaxPathId(_) => "max_path_id",
        Frame::PathsBlocked(_) => "paths_blocked",
        Frame::PathCidsBlocked { .. } => "path_cids_blocked",
        Frame::ObservedAddress(_) => "observed_address",
        Frame::PolicyMessage(_) => "policy_message",
        Frame::StreamSkip(_) => "stream_skip",
        Frame::Protected => "protected",
        Frame::Repair(_) => "repair",
        Frame::Recovered(_) => "recovered",
    }
}

fn write_fields(json: &mut Json, frame: &Frame<'_>, context: &mut FrameContext<'_>) {
    match frame {
        Frame::Padding(count) => raw(json, frame, *count),
        Frame::Ping | Frame::HandshakeDone | Frame::ImmediateAck | Frame::Protected => {}
        Frame::Ack(ack) => write_ack(json, ack, context.exponent),
        Frame::Crypto(crypto) => {
            json.number("offset", crypto.offset);
            raw(json, frame, crypto.data.len());
        }
        Frame::Stream(stream) => {
            json.number("stream_id", stream.stream_id);
            json.number("offset", stream.offset);
            if stream.fin {
                json.bool("fin", true);
            }
            raw(json, frame, stream.data.len());
        }
        Frame::Datagram(datagram) => raw(json, frame, datagram.data.len()),
        // A token lets its holder skip address validation: it does not belong in a log.
        Frame::NewToken(token) => json.member("token", |json| {
            json.member("raw", |json| json.number("length", token.len() as u64));
        }),
        Frame::ConnectionClose(close) => write_close(json, close),
        Frame::PolicyMessage(message) => {
            path_id(json, message.path_id);
            json.number("feature", message.feature);
            json.text("delivery", delivery(message.delivery));
            json.number("sequence_number", message.sequence_number);
            raw(json, frame, message.payload.len());
        }
        Frame::StreamSkip(skip) => {
            json.number("stream_id", skip.stream_id);
            json.number("offset", skip.offset);
            json.number("length", skip.length);
        }
        Frame::Repair(repair) => write_repair(json, frame, repair),
        Frame::Recovered(recovered) => {
            json.number("block", recovered.block);
            json.number("first_source", recovered.first);
            json.number("source_symbols", u64::from(recovered.bitmap.count_ones()));
        }
        Frame::ObservedAddress(observed) => {
            json.number("sequence_number", observed.sequence_number);
            // Who sends it says where the other one's packets come from.
            let addresses = &mut context.addresses;
            let shown = match context.is_sent {
                true => addresses.remote(observed.address),
                false => addresses.local(observed.address),
            };
            endpoint_info(json, shown);
        }
        _ => write_control(json, frame),
    }
}

fn write_repair(json: &mut Json, frame: &Frame<'_>, repair: &Repair<'_>) {
    json.number("block", repair.block);
    json.text(
        "code",
        match repair.code {
            RepairCode::Xor => "xor",
            RepairCode::ReedSolomon => "reed_solomon",
            RepairCode::RandomLinear => "random_linear",
        },
    );
    json.number("first_source", repair.first);
    json.number("source_symbols", repair.sources.len() as u64);
    json.number("repair_index", u64::from(repair.index));
    raw(json, frame, repair.symbol.len());
}

fn delivery(delivery: MessageDelivery) -> &'static str {
    match delivery {
        MessageDelivery::Latest => "latest",
        MessageDelivery::Reliable => "reliable",
        MessageDelivery::WithAcks => "with_acks",
    }
}

/// Frames that are a few numbers.
fn write_control(json: &mut Json, frame: &Frame<'_>) {
    match frame {
        Frame::ResetStream(reset) => {
            json.number("stream_id", reset.stream_id);
            application_error(json, reset.error_code);
            json.number("final_size", reset.final_size);
        }
        Frame::ResetStreamAt(reset) => {
            json.number("stream_id", reset.stream_id);
            application_error(json, reset.error_code);
            json.number("final_size", reset.final_size);
            json.number("reliable_size", reset.reliable_size);
        }
        Frame::StopSending(stop) => {
            json.number("stream_id", stop.stream_id);
            application_error(json, stop.error_code);
        }
        Frame::MaxData(maximum) => json.number("maximum", *maximum),
        Frame::MaxStreamData { stream_id, maximum } => {
            json.number("stream_id", *stream_id);
            json.number("maximum", *maximum);
        }
        Frame::MaxStreams { direction, maximum } => {
            json.text("stream_type", stream_type(*direction));
            json.number("maximum", *maximum);
        }
        Frame::DataBlocked(limit) => json.number("limit", *limit),
        Frame::StreamDataBlocked { stream_id, limit } => {
            json.number("stream_id", *stream_id);
            json.number("limit", *limit);
        }
        Frame::StreamsBlocked { direction, limit } => {
            json.text("stream_type", stream_type(*direction));
            json.number("limit", *limit);
        }
        _ => write_path_control(json, frame),
    }
}

/// Frames about paths and connection ids, and small extensions.
fn write_path_control(json: &mut Json, frame: &Frame<'_>) {
    match frame {
        Frame::NewConnectionId(new) => {
            path_id(json, new.path_id);
            json.number("sequence_number", new.sequence_number);
            json.number("retire_prior_to", new.retire_prior_to);
            // Without the reset token: anyone who reads it can end the connection.
            json.hex("connection_id", new.connection_id.as_bytes());
        }
        Frame::RetireConnectionId(retire) => {
            path_id(json, retire.path_id);
            json.number("sequence_number", retire.sequence_number);
        }
        Frame::PathChallenge(data) | Frame::PathResponse(data) => json.hex("data", data),
        Frame::PathAbandon { path_id, error_code } => {
            json.number("path_id", u64::from(*path_id));
            write_error(json, "error", Code(*error_code));
        }
        Frame::PathStatus { path_id, sequence_number, .. } => {
            json.number("path_id", u64::from(*path_id));
            json.number("sequence_number", *sequence_number);
        }
        Frame::MaxPathId(maximum) | Frame::PathsBlocked(maximum) => {
            json.number("maximum_path_id", u64::from(*maximum));
        }
        Frame::PathCidsBlocked { path_id, next_sequence_number } => {
            json.number("path_id", u64::from(*path_id));
            json.number("next_sequence_number", *next_sequence_number);
        }
        Frame::AckFrequency(frequency) => {
            json.number("sequence_number", frequency.sequence_number);
            json.number("ack_eliciting_threshold", frequency.ack_eliciting_threshold);
            json.number("requested_max_ack_delay", frequency.requested_max_ack_delay);
            json.number("reordering_threshold", frequency.reordering_threshold);
        }
        _ => {}
    }
}

fn write_ack(json: &mut Json, ack: &Ack<'_>, exponent: u32) {
    path_id(json, ack.path_id);
    let micros = ack.delay.saturating_mul(1 << exponent.min(20));
    json.millis("ack_delay", Duration::from_micros(micros));
    json.array("acked_ranges", |json| {
        for range in ack.ranges.iter() {
            json.nested(|json| {
                json.element(*range.start());
                if range.start() != range.end() {
                    json.element(*range.end());
                }
            });
        }
    });
    if let Some(ecn) = &ack.ecn {
        json.number("ect1", ecn.ect1);
        json.number("ect0", ecn.ect0);
        json.number("ce", ecn.ce);
    }
    if let Some(timestamps) = &ack.receive_timestamps {
        json.number("receive_timestamps", timestamps.count());
    }
}

fn write_close(json: &mut Json, close: &ConnectionClose<'_>) {
    match close {
        ConnectionClose::Transport { error_code, frame_type, .. } => {
            json.text("error_space", "transport");
            write_error(json, "error", Code(*error_code));
            if *frame_type != 0 {
                json.number("trigger_frame_type", *frame_type);
            }
        }
        ConnectionClose::Application { error_code, .. } => {
            json.text("error_space", "application");
            application_error(json, *error_code);
        }
    }
    if !close.reason().is_empty() {
        json.text("reason", &String::from_utf8_lossy(close.reason()));
    }
}

/// The application's codes mean nothing to us.
fn application_error(json: &mut Json, code: u64) {
    json.text("error", "unknown");
    json.number("error_code", code);
}

fn path_id(json: &mut Json, id: Option<u32>) {
    if let Some(id) = id {
        json.number("path_id", u64::from(id));
    }
}

fn stream_type(direction: StreamDirection) -> &'static str {
    match direction {
        StreamDirection::Bidirectional => "bidirectional",
        StreamDirection::Unidirectional => "unidirectional",
    }
}

fn raw(json: &mut Json, frame: &Frame<'_>, payload: usize) {
    json.member("raw", |json| {
        json.number("length", frame.encoded_len() as u64);
        json.number("payload_length", payload as u64);
    });
}
