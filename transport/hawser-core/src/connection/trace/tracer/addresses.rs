//! Addresses in records.

use std::net::SocketAddr;

use hawser_policy::PathId;

use super::json::Json;

/// A path's tuple: its id, or the empty default for the path of the handshake.
pub(super) fn tuple_id(json: &mut Json, name: &str, id: PathId) {
    if id == PathId::ZERO {
        json.text(name, "");
    } else {
        json.plain(name, format_args!("{id}"));
    }
}

/// One end of a tuple.
pub(super) fn endpoint_info(json: &mut Json, address: SocketAddr) {
    let (ip, port) = if address.is_ipv4() { ("ip_v4", "port_v4") } else { ("ip_v6", "port_v6") };
    json.plain(ip, format_args!("{}", address.ip()));
    json.number(port, u64::from(address.port()));
}
