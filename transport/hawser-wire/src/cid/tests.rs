use std::collections::BTreeSet;

use super::*;

//= rfc9000-17.2-2, rfc9000-17.2-5
#[test]
fn holds_up_to_twenty_bytes() {
    for length in 0..=20 {
        let bytes = vec![7; length];
        let id = ConnectionId::new(&bytes).unwrap();
        assert_eq!((id.as_bytes(), id.len(), id.is_empty()), (&bytes[..], length, length == 0));
    }
    assert_eq!(ConnectionId::new(&[0; 21]), None);
    assert_eq!(std::mem::size_of::<ConnectionId>(), 21);
}

#[test]
fn length_and_content_both_count() {
    let ids =
        ["", "00", "0000", "0001", "01"].map(|text| ConnectionId::new(&hex::decode(text).unwrap()).unwrap());
    let sorted: Vec<_> = ids.into_iter().rev().collect::<BTreeSet<_>>().into_iter().collect();
    assert_eq!(sorted, ids);
    assert_eq!(format!("{:?}", ids[3]), "ConnectionId(0001)");
}

//= rfc9000-10.3.1-3
#[test]
fn tokens_compare_by_all_bytes_and_stay_secret() {
    let token = StatelessResetToken([0x5a; 16]);
    assert_eq!(token, StatelessResetToken([0x5a; 16]));
    for byte in 0..16 {
        for bit in 0..8 {
            let mut other = token;
            other.0[byte] ^= 1 << bit;
            assert_ne!(token, other);
        }
    }
    assert!(!format!("{token:?}").contains("5a"));
}

#[test]
fn a_token_ends_a_datagram_of_at_least_21_bytes() {
    let datagram: Vec<u8> = (0..21).collect();
    let token = StatelessResetToken::at_end_of(&datagram).unwrap();
    assert_eq!(token.0[..], datagram[5..]);
    assert_eq!(StatelessResetToken::at_end_of(&datagram[1..]), None);
}
