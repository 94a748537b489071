//! What every decoder has to withstand, as functions of bytes that panic where it does not.
//!
//! They serve twice: as libFuzzer targets (`make fuzz`), and in `cargo test`, which plays back the kept inputs of
//! `corpus/TARGET` and a short run of random ones.
//!
//! The decoders all check the same things: no panic, an end, offsets inside the input, and that what was understood means
//! the same when written and read again. What is asked of whole connections stands at [`endpoint`] and [`connection`].

mod connection;
mod endpoint;
mod fields;
mod files;
mod gateway;
mod http3;
mod json;
mod masque;
mod measure;
mod memory;
mod relay;
mod repair;
mod vr360;
mod wifi;

pub use connection::connection;
pub use endpoint::endpoint;
pub use fields::fields;
pub use files::files;
pub use gateway::gateway;
use hawser_wire::packet::{PacketNumber, peek_destination_cid};
use hawser_wire::{
    Frame, FrameIter, PacketType, PartialHeader, PlainHeader, Reader, Role, TransportParameters,
    TruncatedPacketNumber, Version, Writer, varint,
};
pub use http3::http3;
pub use masque::masque;
pub use measure::measure;
pub use relay::relay;
pub use repair::repair;
pub use vr360::vr360;
pub use wifi::wifi;

/// A target: its name, which is that of its corpus, and its check.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: &[Target] = &[
    ("varint", varint),
    ("frames", frames),
    ("packet", packet),
    ("packet_number", packet_number),
    ("transport_parameters", transport_parameters),
    ("endpoint", endpoint),
    ("connection", connection),
    ("http3", http3),
    ("repair", repair),
    ("files", files),
    ("masque", masque),
    ("relay", relay),
    ("vr360", vr360),
    ("measure", measure),
    ("gateway", gateway),
    ("wifi", wifi),
    ("fields", fields),
];

/// A run of variable-length integers.
pub fn varint(data: &[u8]) {
    let mut r = Reader::new(data);
    loop {
        let before = r.position();
        let Ok(value) = r.read_varint() else {
            assert_eq!(r.position(), before, "a failed read consumes nothing");
            break;
        };
        assert!(value <= varint::MAX);
        assert_eq!(r.position() - before, varint::len_from_first_byte(data[before]));
        let mut buffer = [0; 8];
        let mut w = Writer::new(&mut buffer);
        w.write_varint(value).expect("eight bytes are enough");
        assert!(w.position() <= r.position() - before, "what is written is never longer than what was read");
        assert_eq!(Reader::new(w.written()).read_varint(), Ok(value));
    }
}

/// A packet payload.
pub fn frames(data: &[u8]) {
    let mut items = 0;
    for item in FrameIter::new(data) {
        items += 1;
        match item {
            Ok(frame) => frame_means_the_same(&frame),
            Err(error) => {
                assert_ne!(error.transport_error_code(), 0);
                assert!(!error.to_string().is_empty());
            }
        }
    }
    assert!((1..=data.len().max(1)).contains(&items));
}

fn frame_means_the_same(frame: &Frame<'_>) {
    let mut buffer = vec![0; frame.encoded_len()];
    let mut w = Writer::new(&mut buffer);
    frame.encode(&mut w).expect("encoded_len is exact");
    assert_eq!(w.remaining(), 0, "encoded_len is exact");
    let mut again = FrameIter::new(&buffer);
    assert_eq!(again.next(), Some(Ok(*frame)));
    assert_eq!(again.next(), None);
    assert!(frame.allowed_in(PacketType::OneRtt));
    if let Frame::Ack(ack) = frame {
        assert_eq!(ack.ranges.iter().count() as u64, ack.ranges.count());
        let mut above = None;
        for range in &ack.ranges {
            assert!(range.start() <= range.end());
            assert!(above.is_none_or(|above| range.end() + 1 < above), "ranges neither touch nor overlap");
            above = Some(*range.start());
        }
        for exponent in [0, 20] {
            let timestamps =
                ack.receive_timestamps.map(|timestamps| (timestamps.iter(exponent).count(), timestamps));
            assert!(timestamps.is_none_or(|(count, timestamps)| count as u64 == timestamps.count()));
        }
    }
}

/// A datagram behind its first byte, which says how long local connection IDs are.
pub fn packet(data: &[u8]) {
    let Some((cid_len, mut rest)) = data.split_first() else { return };
    let cid_len = usize::from(cid_len % 24);
    while let Ok(header) = PartialHeader::decode(rest, cid_len) {
        let length = header.packet_len(rest);
        assert!(0 < length && length <= rest.len());
        let destination_cid = peek_destination_cid(rest, cid_len).expect("the header was read");
        match &header {
            PartialHeader::Protected(header) => {
                assert_eq!(header.destination_cid.as_bytes(), destination_cid);
                assert_eq!(header.version.is_none(), header.packet_type == PacketType::OneRtt);
                assert_eq!(header.token(rest).len(), header.token.len());
                assert!(header.packet_number_offset <= length);
                assert!(header.sample().is_none_or(|sample| sample.end <= length));
                if let Some(plain) = PlainHeader::decode(&rest[..length], header) {
                    assert!(plain.payload_offset <= length);
                    assert!(plain.packet_number.expand(None) <= u64::from(u32::MAX));
                }
            }
            PartialHeader::Retry(retry) => {
                assert_eq!(retry.destination_cid.as_bytes(), destination_cid);
                assert_eq!(retry.without_tag.len() + retry.integrity_tag.len(), rest.len());
            }
            PartialHeader::VersionNegotiation(packet) => assert!(packet.versions().count() > 0),
            PartialHeader::UnknownVersion(header) => {
                assert!(header.version != 0 && Version::from_number(header.version).is_none());
            }
        }
        rest = &rest[length..];
    }
}

/// A packet number, the largest before it, and how the peer knows them.
pub fn packet_number(data: &[u8]) {
    let mut r = Reader::new(data);
    let (Ok(number), Ok(acked), Ok(ahead)) = (r.read_varint(), r.read_varint(), r.read_varint()) else {
        return;
    };
    let number: PacketNumber = number;
    let acked = acked.min(number);
    // The peer has received something from the acknowledged packet on, and not yet this one.
    let truncated = TruncatedPacketNumber::new(number, Some(acked));
    if acked < number && number - acked < 1 << 31 {
        let received = acked + ahead % (number - acked);
        assert_eq!(truncated.expand(Some(received)), number);
    }
    let any = truncated.expand(Some(ahead));
    assert!(any <= varint::MAX);
    assert_eq!(TruncatedPacketNumber::with_len(any, truncated.byte_len()), truncated);
    if let Some(field) = TruncatedPacketNumber::from_bytes(r.read_rest()) {
        assert!(field.expand(Some(acked)) <= varint::MAX);
    }
}

/// The transport parameters of either side.
pub fn transport_parameters(data: &[u8]) {
    for sender in [Role::Client, Role::Server] {
        match TransportParameters::decode(data, sender) {
            Ok(parameters) => {
                let bytes = parameters.to_vec(None);
                assert_eq!(TransportParameters::decode(&bytes, sender), Ok(parameters));
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}
