use super::*;

#[test]
fn crypto_send_repeats_exactly_what_was_lost() {
    let mut send = CryptoSend::default();
    send.append(b"0123456789");
    assert_eq!(send.take(4), Some((0, &b"0123"[..])));
    assert_eq!(send.take(100), Some((4, &b"456789"[..])));
    assert!(!send.has_pending());
    send.on_lost(2, 3);
    send.append(b"ab");
    assert_eq!(send.take(100), Some((2, &b"234"[..])));
    assert_eq!(send.take(100), Some((10, &b"ab"[..])));
    send.on_lost(0, 4);
    send.on_lost(8, 2);
    send.on_lost(3, 6);
    assert_eq!(send.take(100), Some((0, &b"0123456789"[..])), "overlapping losses merge");
}

#[test]
fn crypto_receive_orders_overlapping_pieces() {
    let mut receive = CryptoReceive::default();
    receive.insert(4, b"4567").unwrap();
    assert_eq!(receive.read(), None);
    assert!(receive.has_gap());
    receive.insert(0, b"01").unwrap();
    receive.insert(1, b"12345").unwrap();
    let mut got = Vec::new();
    while let Some(piece) = receive.read() {
        got.extend(piece);
    }
    assert_eq!(got, b"01234567");
    receive.insert(2, b"23").unwrap();
    assert_eq!(receive.read(), None, "old bytes are not delivered twice");
}

//= rfc9000-7.5-1, rfc9000-7.5-2
#[test]
fn crypto_receive_is_bounded() {
    let mut receive = CryptoReceive::default();
    let error = receive.insert(crypto_stream::MAX_CRYPTO_BUFFER, b"x").unwrap_err();
    assert_eq!(error.code, Code::CRYPTO_BUFFER_EXCEEDED);
    let mut receive = CryptoReceive::default();
    let outcome: Result<(), _> = (1..=100u64).try_for_each(|i| receive.insert(i * 2, b"y"));
    assert_eq!(outcome.unwrap_err().code, Code::CRYPTO_BUFFER_EXCEEDED, "many one-byte pieces are refused");
}
