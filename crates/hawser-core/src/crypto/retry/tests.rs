use hawser_wire::ConnectionId;

use super::{is_valid, tag};

/// RFC 9001 appendix A.4.
#[test]
fn matches_the_rfc_vector() {
    let original = ConnectionId::new(&hex::decode("8394c8f03e515708").unwrap()).unwrap();
    let packet =
        hex::decode("ff000000010008f067a5502a4262b5746f6b656e04a265ba2eff4d829058fb3f0f2496ba").unwrap();
    let (head, expected) = packet.split_last_chunk::<16>().unwrap();
    assert_eq!(tag(&original, head), *expected);
    assert!(is_valid(&original, &packet));
}

#[test]
fn any_change_is_found() {
    let original = ConnectionId::new(&[7; 8]).unwrap();
    let mut packet = vec![0xf0, 0, 0, 0, 1, 0, 2, 1, 2, 99, 98, 97];
    let sum = tag(&original, &packet);
    packet.extend_from_slice(&sum);
    for byte in 0..packet.len() {
        let mut broken = packet.clone();
        broken[byte] ^= 1;
        assert!(!is_valid(&original, &broken), "byte {byte}");
    }
    assert!(!is_valid(&ConnectionId::new(&[7; 9]).unwrap(), &packet));
    assert!(!is_valid(&original, &packet[..15]), "shorter than a tag");
}
