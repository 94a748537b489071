//! The table of RFC 9000 section 12.4, and what later documents add to it.

use super::*;
use crate::codepoints::frame;
use crate::packet::PacketType;

/// Frame types with the packets they may be in, as the standards list them: Initial, Handshake, 0-RTT, 1-RTT; and N for
/// not ack-eliciting, P for probing. 0-RTT follows the text of section 12.5, which excludes RETIRE_CONNECTION_ID.
const TABLE: &[(u64, &str, &str)] = &[
    (frame::PADDING, "IH01", "NP"),
    (frame::PING, "IH01", ""),
    (frame::RESET_STREAM, "01", ""),
    (frame::STOP_SENDING, "01", ""),
    (frame::CRYPTO, "IH1", ""),
    (frame::NEW_TOKEN, "1", ""),
    (frame::STREAM, "01", ""),
    (frame::MAX_DATA, "01", ""),
    (frame::MAX_STREAM_DATA, "01", ""),
    (frame::MAX_STREAMS_BIDI, "01", ""),
    (frame::MAX_STREAMS_UNI, "01", ""),
    (frame::DATA_BLOCKED, "01", ""),
    (frame::STREAM_DATA_BLOCKED, "01", ""),
    (frame::STREAMS_BLOCKED_BIDI, "01", ""),
    (frame::STREAMS_BLOCKED_UNI, "01", ""),
    (frame::NEW_CONNECTION_ID, "01", "P"),
    (frame::RETIRE_CONNECTION_ID, "1", ""),
    (frame::PATH_CHALLENGE, "01", "P"),
    (frame::PATH_RESPONSE, "1", "P"),
    (frame::CONNECTION_CLOSE, "IH01", "N"),
    (frame::CONNECTION_CLOSE_APPLICATION, "01", "N"),
    (frame::HANDSHAKE_DONE, "1", ""),
    (frame::IMMEDIATE_ACK, "1", ""),
    (frame::RESET_STREAM_AT, "01", ""),
    (frame::DATAGRAM_LEN, "01", ""),
    (frame::ACK_FREQUENCY, "1", ""),
    (frame::PATH_ABANDON, "1", ""),
    (frame::PATH_STATUS_BACKUP, "1", ""),
    (frame::PATH_STATUS_AVAILABLE, "1", ""),
    (frame::PATH_NEW_CONNECTION_ID, "1", "P"),
    (frame::PATH_RETIRE_CONNECTION_ID, "1", ""),
    (frame::MAX_PATH_ID, "1", ""),
    (frame::PATHS_BLOCKED, "1", ""),
    (frame::PATH_CIDS_BLOCKED, "1", ""),
    (frame::OBSERVED_ADDRESS_IPV4, "01", "P"),
    (frame::OBSERVED_ADDRESS_IPV6, "01", "P"),
    (frame::STREAM_SKIP, "1", ""),
    (frame::PROTECTED, "1", ""),
    (frame::REPAIR, "1", ""),
    (frame::RECOVERED, "1", ""),
];

/// Hawser's: alone it makes the peer acknowledge, unless it rides with acknowledgements.
//= rfc9001-9.2-4
#[test]
fn policy_messages() {
    for (delivery, marks) in
        [(MessageDelivery::Latest, ""), (MessageDelivery::Reliable, ""), (MessageDelivery::WithAcks, "N")]
    {
        let message = PolicyMessage { feature: 1, delivery, path_id: None, sequence_number: 0, payload: b"" };
        check(&Frame::PolicyMessage(message), "1", marks);
    }
}

fn check(frame: &Frame<'_>, packets: &str, marks: &str) {
    for (packet, mark) in [
        (PacketType::Initial, 'I'),
        (PacketType::Handshake, 'H'),
        (PacketType::ZeroRtt, '0'),
        (PacketType::OneRtt, '1'),
    ] {
        assert_eq!(frame.allowed_in(packet), packets.contains(mark), "{frame:?} in {packet:?}");
    }
    assert!(!frame.allowed_in(PacketType::Retry) && !frame.allowed_in(PacketType::VersionNegotiation));
    assert_eq!(frame.is_ack_eliciting(), !marks.contains('N'), "{frame:?}");
    assert_eq!(frame.is_probing(), marks.contains('P'), "{frame:?}");
}

//= multipath-4-1, multipath-4-2, rfc9000-12.4-3, rfc9000-12.5-1, rfc9000-12.5-2, rfc9000-17.2.4-1,
//= rfc9000-19.21-3, rfc9001-9.2-4, rfc9221-5-3, rfc9221-6-1
#[test]
fn as_the_tables_say() {
    let messages = |frame: &Frame<'_>| matches!(frame, Frame::PolicyMessage(_));
    for (_, frame) in strategies::known_frames().into_iter().filter(|(_, frame)| !messages(frame)) {
        // The eight STREAM types share a line.
        let listed = match frame {
            Frame::Stream(_) => frame::STREAM,
            _ => frame.frame_type(),
        };
        let (_, packets, marks) = TABLE
            .iter()
            .find(|(frame_type, ..)| *frame_type == listed)
            .unwrap_or_else(|| panic!("{frame:?}"));
        check(&frame, packets, marks);
    }
    let others = strategies::known_frames().iter().filter(|(_, frame)| !messages(frame)).count();
    assert_eq!(TABLE.len() + 3, others, "STREAM comes in four forms");
}

//= rfc9000-13.2.6-2, rfc9000-17.2.3-4
#[test]
fn acknowledgments() {
    for (bytes, packets) in [
        ("0200000000", "IH1"),
        ("0300000000000000", "IH1"),
        ("3e0000000000", "1"),
        ("3f0000000000000000", "1"),
        ("831783070000000000", "1"),
        ("83178308 00000000 000000 00", "1"),
        ("83178309 00 00000000 00", "1"),
        ("8317830a 00 00000000 000000 00", "1"),
    ] {
        let frame = single(&bytes.replace(' ', "")).unwrap();
        check(&frame, packets, "N");
        assert_eq!(hex::encode(encoded(&frame)), bytes.replace(' ', ""));
    }
}
