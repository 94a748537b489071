//! What is written of a connection: packets, keys, its state; and, through their own parts, paths and stream data.
//!
//! | file | subject |
//! |---|---|
//! | `start` | how a trace begins |
//! | `copies` | stream data sent more than once |
//! | `paths` | states, addresses and recovery of paths; only changes are written |
//! | `notes` | what policies note |
//! | `header`, `parameters`, `frames`, `closing`, `addresses` | parts of records |
//! | `records`, `json` | where records go; text |

mod addresses;
mod closing;
mod copies;
mod frames;
mod header;
mod json;
mod notes;
mod parameters;
mod paths;
mod records;
mod start;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io::{self, Write};

use hawser_policy::{PathId, Side, Time};
use hawser_wire::frame::FrameIter;
use hawser_wire::{ConnectionId, TransportParameters, Version};

use self::addresses::{Addresses, endpoint_info};
use self::copies::StreamBytes;
use self::frames::{FrameContext, write_frame};
use self::header::Header;
use self::json::Json;
use self::parameters::write_parameters;
use self::paths::PathTrace;
use self::records::Records;
use super::packet::TracedPacket;
use crate::connection::arrival::SpaceId;
use crate::connection::close::CloseReason;
use crate::connection::paths::life_cycle::{LifeEvent, Move};
use crate::connection::paths::path::Path;
use crate::connection::recovery::{PacketKind, SentPacket};
use crate::connection::stats::ConnectionStats;
use crate::{ConnectionError, FourTuple, Versions};

/// Takes events of one connection down.
pub(in crate::connection) struct Tracer {
    records: Records,
    side: Side,
    state: &'static str,
    paths: PathTrace,
    stream_bytes: StreamBytes,
}

impl Tracer {
    /// Begins a trace with its header.
    fn new(writer: Box<dyn Write + Send>, now: Time, header: &Header<'_>) -> Self {
        let mut records = Records::new(writer, now);
        records.record(|json| header.write(json));
        let paths = PathTrace::new(Addresses::new(header.addresses, header.side));
        Tracer { records, side: header.side, state: "", paths, stream_bytes: StreamBytes::default() }
    }

    /// What ended the trace, if it could not be written.
    fn error(&self) -> Option<io::ErrorKind> {
        self.records.error()
    }

    /// Both addresses and our parameters.
    fn started(&mut self, now: Time, tuple: FourTuple, parameters: &TransportParameters) {
        let tuple = self.paths.addresses.tuple(tuple);
        self.records.event(now, "quic:connection_started", |json| {
            json.member("local", |json| endpoint_info(json, tuple.local));
            json.member("remote", |json| endpoint_info(json, tuple.remote));
        });
        self.keys(now, "initial", None, "tls");
        self.parameters(now, "local", parameters);
    }

    /// Our versions, and that of the connection.
    pub(in crate::connection) fn version(&mut self, now: Time, ours: &Versions, chosen: Version) {
        let member = if self.side.is_client() { "client_versions" } else { "server_versions" };
        self.records.event(now, "quic:version_information", |json| {
            json.array(member, |json| {
                ours.iter().for_each(|version| json.text_element(&hexadecimal(version)))
            });
            json.text("chosen_version", &hexadecimal(chosen));
        });
    }

    pub(in crate::connection) fn parameters(
        &mut self,
        now: Time,
        initiator: &str,
        parameters: &TransportParameters,
    ) {
        self.records.event(now, "quic:parameters_set", |json| {
            json.text("initiator", initiator);
            write_parameters(json, parameters);
        });
    }

    /// A packet leaves.
    #[inline(never)]
    pub(in crate::connection) fn packet_sent(
        &mut self,
        now: Time,
        packet: &TracedPacket<'_>,
        kind: PacketKind,
    ) {
        // We send the default exponent (RFC 9000 section 18.2).
        self.packet(now, true, packet, 3, kind == PacketKind::MtuProbe);
    }

    /// A packet was opened; its acknowledgement delays count in 2^`exponent` microseconds.
    #[inline(never)]
    pub(in crate::connection) fn packet_received(
        &mut self,
        now: Time,
        packet: &TracedPacket<'_>,
        exponent: u8,
    ) {
        self.packet(now, false, packet, u32::from(exponent), false);
    }

    fn packet(
        &mut self,
        now: Time,
        is_sent: bool,
        packet: &TracedPacket<'_>,
        exponent: u32,
        mtu_probe: bool,
    ) {
        let name = if is_sent { "quic:packet_sent" } else { "quic:packet_received" };
        let mut context = FrameContext { exponent, is_sent, addresses: &mut self.paths.addresses };
        self.records.event_on(now, packet.space.path(), name, |json| {
            json.member("header", |json| {
                write_header(json, packet.space, packet.long.is_some(), packet.number);
                if let Some((version, source)) = packet.long {
                    json.text("version", &hexadecimal(version));
                    json.hex("scid", source.as_bytes());
                }
                json.hex("dcid", packet.destination.as_bytes());
            });
            json.member("raw", |json| {
                json.number("length", packet.length as u64);
                json.number("payload_length", packet.payload.len() as u64);
            });
            json.array("frames", |json| {
                for frame in FrameIter::new(packet.payload).map_while(Result::ok) {
                    write_frame(json, &frame, &mut context);
                }
            });
            if mtu_probe {
                json.bool("is_mtu_probe_packet", true);
            }
        });
    }

    /// The server wants our address proved first.
    pub(in crate::connection) fn retry_received(
        &mut self,
        now: Time,
        version: Version,
        source: &ConnectionId,
        length: usize,
    ) {
        self.records.event(now, "quic:packet_received", |json| {
            json.member("header", |json| {
                json.text("packet_type", "retry");
                json.text("version", &hexadecimal(version));
                json.hex("scid", source.as_bytes());
            });
            json.member("raw", |json| json.number("length", length as u64));
        });
    }

    /// A packet came to nothing.
    #[inline(never)]
    pub(in crate::connection) fn packet_dropped(
        &mut self,
        now: Time,
        packet: (Option<SpaceId>, Option<u64>),
        length: usize,
        trigger: &str,
    ) {
        let (space, number) = packet;
        self.records.event_on(
            now,
            space.map_or(PathId::ZERO, SpaceId::path),
            "quic:packet_dropped",
            |json| {
                if let Some(space) = space {
                    json.member("header", |json| {
                        write_type(json, space, false);
                        if let Some(number) = number {
                            json.number("packet_number", number);
                        }
                    });
                }
                json.member("raw", |json| json.number("length", length as u64));
                json.text("trigger", trigger);
            },
        );
    }

    /// A packet waits for its keys.
    pub(in crate::connection) fn packet_buffered(&mut self, now: Time, space: SpaceId, length: usize) {
        self.records.event_on(now, space.path(), "quic:packet_buffered", |json| {
            json.member("header", |json| write_type(json, space, false));
            json.member("raw", |json| json.number("length", length as u64));
            json.text("trigger", "keys_unavailable");
        });
    }

    /// Packets were acknowledged for the first time.
    pub(in crate::connection) fn packets_acked(&mut self, now: Time, space: SpaceId, packets: &[SentPacket]) {
        if packets.is_empty() {
            return;
        }
        self.records.event_on(now, space.path(), "quic:packets_acked", |json| {
            json.text(
                "packet_number_space",
                match space {
                    SpaceId::Initial => "initial",
                    SpaceId::Handshake => "handshake",
                    SpaceId::Path(_) => "application_data",
                },
            );
            if let SpaceId::Path(id) = space {
                json.number("path_id", u64::from(id.0));
            }
            json.array("packet_numbers", |json| {
                packets.iter().for_each(|packet| json.element(packet.packet_number));
            });
        });
    }

    /// A packet was given up; without a trigger because its path was.
    pub(in crate::connection) fn packet_lost(
        &mut self,
        now: Time,
        space: SpaceId,
        packet: &SentPacket,
        trigger: Option<&str>,
    ) {
        self.records.event_on(now, space.path(), "quic:packet_lost", |json| {
            json.member("header", |json| write_header(json, space, false, packet.packet_number));
            if packet.kind == PacketKind::MtuProbe {
                json.bool("is_mtu_probe_packet", true);
            }
            if let Some(trigger) = trigger {
                json.text("trigger", trigger);
            }
        });
    }

    /// New keys of a level, in both directions.
    pub(in crate::connection) fn keys(&mut self, now: Time, level: &str, phase: Option<u64>, trigger: &str) {
        self.write_keys(now, "quic:key_updated", level, phase, Some(trigger));
    }

    /// The keys of a level are gone.
    pub(in crate::connection) fn keys_discarded(&mut self, now: Time, level: &str) {
        self.write_keys(now, "quic:key_discarded", level, None, None);
    }

    fn write_keys(&mut self, now: Time, name: &str, level: &str, phase: Option<u64>, trigger: Option<&str>) {
        for end in ["client", "server"] {
            self.records.event(now, name, |json| {
                json.plain("key_type", format_args!("{end}_{level}_secret"));
                if let Some(phase) = phase {
                    json.number("key_phase", phase);
                }
                if let Some(trigger) = trigger {
                    json.text("trigger", trigger);
                }
            });
        }
    }

    /// The application protocol was agreed on.
    pub(in crate::connection) fn application_protocol(&mut self, now: Time, chosen: &[u8]) {
        self.records.event(now, "quic:alpn_information", |json| {
            json.member("chosen_alpn", |json| {
                json.hex("byte_value", chosen);
                if let Ok(text) = std::str::from_utf8(chosen) {
                    json.text("string_value", text);
                }
            });
        });
    }

    /// The connection is in another state.
    pub(in crate::connection) fn state(&mut self, now: Time, state: &'static str) {
        let old = std::mem::replace(&mut self.state, state);
        if old == state {
            return;
        }
        self.records.event(now, "quic:connection_state_updated", |json| {
            if !old.is_empty() {
                json.text("old", old);
            }
            json.text("new", state);
        });
    }

    /// Whether the connection was last said to be in this state.
    pub(in crate::connection) fn state_is(&self, state: &str) -> bool {
        self.state == state
    }

    /// We closed.
    pub(in crate::connection) fn closed_locally(&mut self, now: Time, reason: &CloseReason) {
        self.records.event(now, "quic:connection_closed", |json| closing::write_local(json, reason));
    }

    /// The connection ended for a reason that is not local.
    pub(in crate::connection) fn closed(&mut self, now: Time, error: &ConnectionError) {
        self.records.event(now, "quic:connection_closed", |json| closing::write_remote(json, error));
    }

    /// Hands everything to where it goes.
    pub(in crate::connection) fn flush(&mut self) {
        self.records.flush();
    }

    /// The state of a path's life changed.
    pub(in crate::connection) fn path_moved(&mut self, now: Time, id: PathId, moved: Move, event: LifeEvent) {
        self.paths.moved(&mut self.records, now, id, moved, event);
    }

    /// A path that exists when the trace begins.
    fn path_found(&mut self, now: Time, path: &Path) {
        self.paths.found(&mut self.records, now, path);
    }

    /// Addresses, datagram size, ECN, metrics: writes whatever changed.
    pub(in crate::connection) fn path_changed(&mut self, now: Time, path: &Path) {
        self.paths.changed(&mut self.records, now, path);
    }

    /// Packets of a path's recovery were acknowledged or lost.
    pub(in crate::connection) fn path_settled(
        &mut self,
        now: Time,
        path: &Path,
        acked: &[SentPacket],
        lost: &[SentPacket],
    ) {
        self.paths.settled(&mut self.records, now, path, acked, lost);
    }

    /// Counters of stream data, where they changed.
    pub(in crate::connection) fn stream_bytes(&mut self, now: Time, stats: &ConnectionStats, is_end: bool) {
        self.stream_bytes.write(&mut self.records, now, stats, is_end);
    }
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracer").field("error", &self.records.error()).finish_non_exhaustive()
    }
}

/// A version as qlog has it.
fn hexadecimal(version: Version) -> String {
    format!("{:08x}", version.number())
}

/// Type, number and path of a packet.
fn write_header(json: &mut Json, space: SpaceId, is_long: bool, number: u64) {
    write_type(json, space, is_long);
    json.number("packet_number", number);
}

/// `is_long`: the header is known to be a long one, which tells 0-RTT packets from others of their space.
fn write_type(json: &mut Json, space: SpaceId, is_long: bool) {
    match space {
        SpaceId::Initial => json.text("packet_type", "initial"),
        SpaceId::Handshake => json.text("packet_type", "handshake"),
        SpaceId::Path(id) => {
            json.text("packet_type", if is_long { "0RTT" } else { "1RTT" });
            json.number("path_id", u64::from(id.0));
        }
    }
}
