//! What a peer's frames can make the guard compute: the smallest form of each, next to a reference work.

use bytes::Bytes;
use hawser_toll::{PACKET, measure};

use super::{Frames, Rules};

/// What comes before everything else on such a stream.
fn beginning(rules: Rules) -> &'static [u8] {
    match rules {
        // GET / of localhost; 200.
        Rules::Request => b"\x01\x08\x00\x00\xd1\xd7\x50\x01l\xc1",
        Rules::Response => b"\x01\x03\x00\x00\xd9",
        Rules::Control => b"\x04\x00",
    }
}

/// Looks at all of this, packet after packet, or until a frame costs the connection. Returns the bytes until then.
fn look(rules: Rules, bytes: &Bytes) -> usize {
    let mut frames = Frames::new(rules);
    frames.push(Bytes::from_static(beginning(rules)));
    while let Ok(Some(_)) = frames.next() {}
    for start in (0..bytes.len()).step_by(PACKET) {
        let end = bytes.len().min(start + PACKET);
        frames.push(bytes.slice(start..end));
        loop {
            match frames.next() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                // It cost the connection, or the rest of the stream.
                Err(_) => return end,
            }
        }
    }
    bytes.len()
}

/// All types of one byte, among them all that are defined, on each kind of stream.
#[test]
fn no_frame_costs_more_than_its_bytes() {
    for rules in [Rules::Request, Rules::Response, Rules::Control] {
        for kind in 0..0x40_u8 {
            for length in 0..2_u8 {
                let frame = [&[kind, length][..], &vec![0; usize::from(length)]].concat();
                let bytes = Bytes::from(frame.repeat(20_000));
                measure(&format!("{rules:?}: type {kind:#x} with {length} bytes"), || look(rules, &bytes));
            }
        }
    }
}

/// Field lines in each form of RFC 9204 section 4.5, and settings.
#[test]
fn no_field_line_or_setting_costs_more_than_its_bytes() {
    let forms: [(&str, &[u8]); 8] = [
        ("indexed", b"\xc1"),
        ("indexed, of a large index", b"\xff\x10"),
        ("indexed behind the base", b"\x10"),
        ("with the name of the table", b"\x51\x00"),
        ("with the name of the table behind the base", b"\x00\x00"),
        ("literal", b"\x21a\x00"),
        ("literal without a name", b"\x20\x00"),
        ("in Huffman code", b"\x29\x1f\x81\x1f"),
    ];
    for (name, line) in forms {
        let section = [b"\x00\x00".as_slice(), &line.repeat(2_000)].concat();
        let length = u16::try_from(section.len()).unwrap() | 0x4000;
        let frame = [&[1], length.to_be_bytes().as_slice(), &section].concat();
        for rules in [Rules::Request, Rules::Response] {
            let frame = Bytes::from(frame.clone());
            measure(&format!("{rules:?}: lines {name}"), || look(rules, &frame));
        }
    }
    let content = [0x21, 0].repeat(2_000);
    let settings = [&[4], (content.len() as u16 | 0x4000).to_be_bytes().as_slice(), &content].concat();
    measure("settings", || {
        let mut frames = Frames::new(Rules::Control);
        frames.push(Bytes::from(settings.clone()));
        while let Ok(Some(_)) = frames.next() {}
        let _ = frames.take_settings().map(|settings| super::Settings::read(&settings));
        settings.len()
    });
}
