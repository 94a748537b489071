//! What an encoder can make us compute: the smallest form of each message, next to a reference work.

use bytes::{BufMut, BytesMut};
use hawser_toll::measure;

use super::amf::Value;
use super::chunk::{self, Message};
use super::tests::{command, message, publishing};

/// What a session does with this, read by read, as the relay drives it; or until it ends.
fn hear(bytes: &[u8]) -> usize {
    let mut session = publishing();
    for (index, piece) in bytes.chunks(16 << 10).enumerate() {
        session.push(piece);
        loop {
            match session.next_event() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return (index + 1) * (16 << 10),
            }
        }
        drop(session.take_output());
    }
    bytes.len()
}

/// All types of messages, the defined ones among them, empty and of some bytes; each with the shortest header that may follow.
#[test]
fn no_message_costs_more_than_its_bytes() {
    for kind in 0..=u8::MAX {
        for length in [0_u8, 1, 4, 6] {
            let mut bytes = BytesMut::new();
            // A full header, and then chunks that repeat its type and length.
            bytes.put_slice(&[0x03, 0, 0, 0, 0, 0, length, kind, 0, 0, 0, 0]);
            bytes.put_bytes(if kind == 1 { 1 } else { 0 }, usize::from(length));
            for _ in 0..5_000 {
                bytes.put_u8(0xc3);
                bytes.put_bytes(if kind == 1 { 1 } else { 0 }, usize::from(length));
            }
            measure(&format!("type {kind} with {length} bytes"), || hear(&bytes));
        }
    }
}

/// Chunks of a byte each, of one stream and of many in turn.
#[test]
fn no_chunk_costs_more_than_its_bytes() {
    let mut bytes = BytesMut::new();
    chunk::write(
        &mut bytes,
        2,
        &Message { kind: 1, stream: 0, timestamp: 0, payload: vec![0, 0, 0, 1].into() },
        128,
    );
    for stream in 4..16 {
        bytes.put_slice(&[stream, 0, 0, 0, 0, 0x20, 0, 9, 1, 0, 0, 0, 7]);
    }
    for n in 0..20_000_u32 {
        for stream in 4..16 {
            bytes.put_slice(&[0xc0 | stream, n as u8]);
        }
    }
    measure("chunks of a byte", || hear(&bytes));
}

#[test]
fn no_command_costs_more_than_its_bytes() {
    let shortest = Value::Null;
    for name in
        ["", "connect", "createStream", "releaseStream", "FCPublish", "play", "play2", "FCUnpublish", "x"]
    {
        let mut bytes = BytesMut::new();
        for _ in 0..2_000 {
            chunk::write(&mut bytes, 3, &command(name, 1.0, std::slice::from_ref(&shortest)), 128);
        }
        measure(&format!("command {name:?}"), || hear(&bytes));
    }
    for (name, value) in
        [("nulls", 5_u8), ("numbers that end", 0), ("objects that begin", 3), ("arrays that begin", 10)]
    {
        let mut bytes = BytesMut::new();
        for _ in 0..20 {
            let payload = [&b"\x02\0\x01x\0\0\0\0\0\0\0\0\0"[..], &vec![value; 60_000]].concat();
            chunk::write(&mut bytes, 3, &message(20, 0, &payload), 128);
        }
        measure(name, || hear(&bytes));
    }
    let mut parts = BytesMut::new();
    for _ in 0..1_000 {
        parts.put_slice(&[9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11]);
    }
    let mut bytes = BytesMut::new();
    for _ in 0..20 {
        chunk::write(&mut bytes, 3, &message(22, 0, &parts), 128);
    }
    measure("parts of aggregates", || hear(&bytes));
}
