//! What strangers and gateways say of tunnels: capsules, UDP payloads, addresses and routes, targets, paths, `Proxy-Status`.
//!
//! The first byte of an input chooses the decoder, the rest is what it reads. What must hold: no panic, an end, no more held
//! than may be, the same result however a stream is cut, and that what was understood means the same when it is written and
//! read again.

use bytes::Bytes;
use hawser_masque::capsule::{Capsule, CapsuleError, Capsules, DATAGRAM};
use hawser_masque::ip::{ADDRESS_ASSIGN, ADDRESS_REQUEST, ROUTE_ADVERTISEMENT};
use hawser_masque::status::ProxyStatus;
use hawser_masque::target::Target;
use hawser_masque::{capsule, ip, udp};

/// Most bytes of a capsule that is read.
const MOST: usize = 1_000;

/// One of the decoders.
pub fn masque(data: &[u8]) {
    let Some((&which, rest)) = data.split_first() else { return };
    let text = std::str::from_utf8(rest);
    match (which % 7, text) {
        (0, _) => capsules(rest),
        (1, _) => payload(rest),
        (2, _) => prefixes(rest),
        (3, _) => routes(rest),
        (4, Ok(text)) => target(text),
        (5, Ok(text)) => path(text),
        (6, Ok(text)) => status(text),
        _ => {}
    }
}

fn read(bytes: &[u8], piece: usize) -> (Vec<Capsule>, Result<(), CapsuleError>) {
    let kinds = &[DATAGRAM, ADDRESS_ASSIGN, ADDRESS_REQUEST, ROUTE_ADVERTISEMENT];
    let (mut capsules, mut found) = (Capsules::new(kinds, MOST), Vec::new());
    for piece in bytes.chunks(piece) {
        capsules.push(Bytes::copy_from_slice(piece));
        loop {
            match capsules.next() {
                Ok(Some(capsule)) => {
                    assert!(capsule.value.len() <= MOST);
                    found.push(capsule);
                }
                Ok(None) => break,
                Err(error) => return (found, Err(error)),
            }
        }
    }
    (found, capsules.end())
}

fn capsules(bytes: &[u8]) {
    let whole = read(bytes, usize::MAX);
    for piece in [1, 3, 17] {
        assert_eq!(read(bytes, piece), whole, "cut into pieces of {piece}");
    }
    let written: Vec<u8> = whole.0.iter().flat_map(|capsule| capsule::encode(capsule.kind, &capsule.value)).collect();
    assert_eq!(read(&written, usize::MAX), (whole.0, Ok(())));
}

fn payload(bytes: &[u8]) {
    if let Ok(Some(payload)) = udp::decode(Bytes::copy_from_slice(bytes)) {
        assert!(payload.len() < bytes.len());
        assert_eq!(udp::decode(udp::encode(&payload)), Ok(Some(payload)));
    }
}

fn prefixes(bytes: &[u8]) {
    if let Ok(entries) = ip::read_assignment(bytes) {
        assert!(entries.len() <= ip::MAX_ENTRIES);
        assert_eq!(ip::read_assignment(&ip::write_prefixes(&entries)), Ok(entries));
    }
    let _ = ip::read_request(bytes);
}

fn routes(bytes: &[u8]) {
    if let Ok(routes) = ip::read_routes(bytes) {
        assert!(routes.len() <= ip::MAX_ENTRIES);
        assert_eq!(ip::write_routes(&routes), bytes);
    }
}

fn target(text: &str) {
    if let Ok(target) = text.parse::<Target>() {
        assert_eq!(target.to_string().parse(), Ok(target));
    }
}

fn path(text: &str) {
    if let Ok(target) = udp::read_path(text) {
        let request = udp::request("proxy:1", &target).expect("a target can be asked for");
        assert_eq!(udp::read_path(request.uri().path()), Ok(target));
    }
}

fn status(text: &str) {
    if let Some(status) = ProxyStatus::parse(text) {
        assert_eq!(ProxyStatus::parse(&status.to_field("p")), Some(status));
    }
}
