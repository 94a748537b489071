use hawser_wire::{ConnectionId, Version};

use super::{is_valid, tag};

/// RFC 9001 appendix A.4, RFC 9369 appendix A.4.
#[test]
fn matches_the_vectors_of_the_standards() {
    let original = ConnectionId::new(&hex::decode("8394c8f03e515708").unwrap()).unwrap();
    for (version, packet) in [
        (Version::V1, "ff000000010008f067a5502a4262b5746f6b656e04a265ba2eff4d829058fb3f0f2496ba"),
        (Version::V2, "cf6b3343cf0008f067a5502a4262b5746f6b656ec8646ce8bfe33952d955543665dcc7b6"),
    ] {
        let packet = hex::decode(packet).unwrap();
        let (head, expected) = packet.split_last_chunk::<16>().unwrap();
        assert_eq!(tag(version, &original, head), *expected);
        for other in Version::ALL {
            assert_eq!(is_valid(other, &original, &packet), other == version);
        }
    }
}

//= rfc9000-17.2.5.2-3
#[test]
fn any_change_is_found() {
    let original = ConnectionId::new(&[7; 8]).unwrap();
    let mut packet = vec![0xf0, 0, 0, 0, 1, 0, 2, 1, 2, 99, 98, 97];
    let sum = tag(Version::V1, &original, &packet);
    packet.extend_from_slice(&sum);
    for byte in 0..packet.len() {
        let mut broken = packet.clone();
        broken[byte] ^= 1;
        assert!(!is_valid(Version::V1, &original, &broken), "byte {byte}");
    }
    assert!(!is_valid(Version::V1, &ConnectionId::new(&[7; 9]).unwrap(), &packet));
    assert!(!is_valid(Version::V1, &original, &packet[..15]), "shorter than a tag");
}
