//! Transport parameters as `quic:parameters_set` has them.

use hawser_wire::{ConnectionId, TransportParameters};

use super::json::Json;

/// Writes all parameters, also those that were left out on the wire because they have their default. The stateless
/// reset token is a secret and not among them.
pub(super) fn write_parameters(json: &mut Json, parameters: &TransportParameters) {
    let p = parameters;
    cid(json, "original_destination_connection_id", p.original_destination_connection_id);
    cid(json, "initial_source_connection_id", p.initial_source_connection_id);
    cid(json, "retry_source_connection_id", p.retry_source_connection_id);
    json.bool("disable_active_migration", p.disable_active_migration);
    let numbers = [
        ("max_idle_timeout", p.max_idle_timeout),
        ("max_udp_payload_size", p.max_udp_payload_size),
        ("ack_delay_exponent", u64::from(p.ack_delay_exponent)),
        ("max_ack_delay", u64::from(p.max_ack_delay)),
        ("active_connection_id_limit", p.active_connection_id_limit),
        ("initial_max_data", p.initial_max_data),
        ("initial_max_stream_data_bidi_local", p.initial_max_stream_data_bidi_local),
        ("initial_max_stream_data_bidi_remote", p.initial_max_stream_data_bidi_remote),
        ("initial_max_stream_data_uni", p.initial_max_stream_data_uni),
        ("initial_max_streams_bidi", p.initial_max_streams_bidi),
        ("initial_max_streams_uni", p.initial_max_streams_uni),
        ("max_datagram_frame_size", p.max_datagram_frame_size),
    ];
    for (name, value) in numbers {
        json.number(name, value);
    }
    json.bool("grease_quic_bit", p.grease_quic_bit);
    json.bool("reset_stream_at", p.reset_stream_at);
    write_extensions(json, p);
}

/// Parameters of extensions that the draft does not list.
fn write_extensions(json: &mut Json, p: &TransportParameters) {
    let optional = [
        ("initial_max_path_id", p.initial_max_path_id.map(u64::from)),
        ("min_ack_delay", p.min_ack_delay),
        ("max_receive_timestamps_per_ack", p.max_receive_timestamps_per_ack),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            json.number(name, value);
        }
    }
    if let Some(features) = &p.features {
        json.array("hawser_features", |json| features.iter().for_each(|id| json.element(id)));
    }
}

fn cid(json: &mut Json, name: &str, cid: Option<ConnectionId>) {
    if let Some(cid) = cid {
        json.hex(name, cid.as_bytes());
    }
}
