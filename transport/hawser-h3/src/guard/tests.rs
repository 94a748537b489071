use proptest::prelude::*;

use super::*;

/// What passes of `bytes` that come in pieces of `step`.
fn pass(rules: Rules, bytes: &[u8], step: usize) -> Result<Vec<u8>, Violation> {
    let (mut frames, mut passed) = (Frames::new(rules), Vec::new());
    for piece in bytes.chunks(step) {
        frames.push(bytes::Bytes::copy_from_slice(piece));
        while let Some(piece) = frames.next()? {
            passed.extend_from_slice(&piece);
        }
    }
    frames.end().map(|()| passed)
}

/// GET / of the static table, with trailers without a line.
const REQUEST: &[u8] = b"\x01\x07\x00\x00\xd1\xd7\x50\x01l\x00\x03abc\x01\x02\x00\x00";

//= rfc9114-4.1-9
#[test]
fn what_passes_does_not_depend_on_the_pieces() {
    // The value of :authority, then :path by its index; an unknown frame in between.
    let request = b"\x01\x08\x00\x00\xd1\xd7\x50\x01l\xc1\x21\x02xx\x00\x03abc\x01\x02\x00\x00";
    let passes = b"\x01\x08\x00\x00\xd1\xd7\x50\x01l\xc1\x00\x03abc\x01\x02\x00\x00";
    for step in 1..request.len() {
        assert_eq!(pass(Rules::Request, request, step).unwrap(), passes, "pieces of {step}");
    }
}

//= rfc9114-4.1.2-3, rfc9114-4.3-2
#[test]
fn names_are_known_in_each_form() {
    let malformed = b"\x01\x05\x00\x00\x21:\x00";
    // :status by index, with a value, as literal, and in Huffman code.
    let forms: [&[u8]; 4] =
        [b"\xd9", b"\x5f\x09\x03200", b"\x27\x00:status\x03200", b"\x2d\xb8\x84\x8d\x36\xa3\x03200"];
    for form in forms {
        let section = [b"\x00\x00".as_slice(), form].concat();
        let frame = [&[1, u8::try_from(section.len()).unwrap()], section.as_slice()].concat();
        assert_eq!(pass(Rules::Request, &frame, 100).unwrap(), malformed, "{form:x?}");
        assert_eq!(pass(Rules::Response, &frame, 100).unwrap(), frame, "{form:x?}");
    }
}

/// RFC 9114 section 4.2: fields of HTTP/1.1's connections, plain and in Huffman code, and what only resembles them.
//= rfc9114-4.1-5, rfc9114-4.2-3, rfc9114-4.2-4
#[test]
fn fields_about_the_connection_are_malformed() {
    let malformed = b"\x01\x05\x00\x00\x21:\x00";
    for (line, is_malformed) in [
        (b"\x27\x03connection\x05close".as_slice(), true),
        (b"\x2f\x00\x21\xea\xa8\xa4\x49\x8f\x57\x05close", true),
        (b"\x27\x0atransfer-encoding\x07chunked", true),
        (b"\x27\x00upgrade\x03h2c", true),
        (b"\x22te\x04gzip", true),
        (b"\x22te\x08trailers", false),
        (b"\x22te\x86\x4d\x83\x35\x05\xb1\x1f", false),
        (b"\x27\x04connections\x01x", false),
    ] {
        let section = [b"\x00\x00".as_slice(), line].concat();
        let frame = [&[1, u8::try_from(section.len()).unwrap()], section.as_slice()].concat();
        let passed = pass(Rules::Request, &frame, 100).unwrap();
        assert_eq!(passed, if is_malformed { malformed.to_vec() } else { frame }, "{line:x?}");
    }
}

/// RFC 9114 sections 4.1 and 4.3: a status after that of the final response is in trailers, where it is malformed; informational
/// responses come before.
#[test]
fn a_status_in_trailers_is_malformed() {
    const MALFORMED: &[u8] = b"\x01\x05\x00\x00\x21:\x00";
    let section = |line: &[u8]| [&[1, 2 + u8::try_from(line.len()).unwrap(), 0, 0], line].concat();
    let (final_, status) = (section(b"\xd9"), section(b"\x5f\x09\x03200"));
    let data = b"\x00\x01x".to_vec();
    // 100 and 103 by index, with a value, and in Huffman code.
    let informational: [&[u8]; 4] = [b"\xff\x00", b"\xd8", b"\x5f\x09\x03103", b"\x5f\x09\x82\x08\x19"];
    for before in informational {
        let good = [section(before), section(before), final_.clone(), data.clone()].concat();
        assert_eq!(pass(Rules::Response, &good, 100).unwrap(), good, "{before:x?}");
        let early = [section(before), data.clone()].concat();
        assert_eq!(pass(Rules::Response, &early, 100).unwrap_err().code, Code::H3_FRAME_UNEXPECTED);
    }
    for body in [data, Vec::new()] {
        let bad = [final_.clone(), body.clone(), status.clone()].concat();
        let passed = [final_.clone(), body, MALFORMED.to_vec()].concat();
        assert_eq!(pass(Rules::Response, &bad, 100).unwrap(), passed);
    }
}

/// RFC 9114 sections 4.6, 7.2.3, 7.2.5 and 7.2.7. We never send MAX_PUSH_ID, nor PUSH_PROMISE.
//= rfc9114-4.6-2, rfc9114-7.2.3-7, rfc9114-7.2.3-8, rfc9114-7.2.5-2, rfc9114-7.2.5-8, rfc9114-7.2.7-4
#[test]
fn pushes_that_nobody_allowed_cost_the_connection() {
    let cases: [(Rules, &[u8], Code); 4] = [
        (Rules::Response, b"\x05\x03\0\0\0", Code::H3_ID_ERROR),
        (Rules::Control, b"\x04\0\x05\x03\0\0\0", Code::H3_FRAME_UNEXPECTED),
        (Rules::Control, b"\x04\0\x03\x01\0", Code::H3_ID_ERROR),
        (Rules::Control, b"\x04\0\x0d\x01\x05\x0d\x01\x04", Code::H3_ID_ERROR),
    ];
    for (rules, bytes, code) in cases {
        assert_eq!(pass(rules, bytes, 100).unwrap_err().code, code, "{bytes:x?}");
    }
    let rising = b"\x04\0\x0d\x01\x05\x0d\x01\x05\x0d\x01\x06";
    assert_eq!(pass(Rules::Control, rising, 100).unwrap(), rising);
}

/// RFC 9204 section 3.1: the table has 99 entries, whether a line takes all of one or its name.
#[test]
fn what_lies_beyond_the_static_table_costs_the_connection() {
    let frame = |line: &[u8]| [&[1, 2 + line.len() as u8, 0, 0], line].concat();
    for (last, beyond) in [(b"\xff\x23".as_slice(), b"\xff\x24".as_slice()), (b"\x5f\x53\0", b"\x5f\x54\0")] {
        assert_eq!(pass(Rules::Request, &frame(last), 100).unwrap(), frame(last));
        let violation = pass(Rules::Request, &frame(beyond), 100).unwrap_err();
        assert_eq!(violation.code, Code::QPACK_DECOMPRESSION_FAILED, "{beyond:x?}");
    }
}

//= rfc9114-10.8-1
#[test]
fn lengths_are_refused_before_the_bytes_come() {
    for (rules, header) in [
        (Rules::Request, b"\x01\x80\x01\x00\x01".as_slice()),
        (Rules::Response, b"\x01\x80\x01\x00\x01"),
        (Rules::Control, b"\x04\x50\x01"),
    ] {
        assert_eq!(pass(rules, header, 1).unwrap_err().code, Code::H3_EXCESSIVE_LOAD, "{header:x?}");
    }
}

proptest! {
    /// Whatever comes, nothing panics, and no more passes than came, but for headers of replaced frames.
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400), start in prop::bool::ANY, step in 1_usize..50) {
        let bytes = if start { [REQUEST, &bytes].concat() } else { bytes };
        for rules in [Rules::Request, Rules::Response, Rules::Control] {
            if let Ok(passed) = pass(rules, &bytes, step) {
                prop_assert!(passed.len() <= bytes.len() * 4);
            }
        }
    }
}
