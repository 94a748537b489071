//! Percent-encoding (RFC 3986 section 2.1).

use std::fmt::Write;

/// All but unreserved characters encoded, as simple expansion of URI templates wants it (RFC 6570 section 3.2.2).
pub(crate) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// The text that was encoded; `None` where it is none.
pub(crate) fn decode(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
        decoded.push(u8::try_from(high << 4 | low).ok()?);
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(text: String) {
            let encoded = encode(&text);
            prop_assert!(encoded.is_ascii() && !encoded.contains(['/', ':', '?']));
            prop_assert_eq!(decode(&encoded), Some(text));
        }

        #[test]
        fn any_text_can_be_decoded(text: String) {
            let _ = decode(&text);
        }
    }

    #[test]
    fn half_a_code_is_none() {
        assert_eq!(decode("%3"), None);
        assert_eq!(decode("%zz"), None);
        assert_eq!(decode("%ff"), None, "no text");
        assert_eq!(encode("2001:db8::1"), "2001%3Adb8%3A%3A1");
    }
}
