//! Percent-encoding (RFC 3986 section 2.1).

/// Encodes one segment of a path: everything but unreserved characters.
pub fn encode_segment(segment: &[u8]) -> String {
    encode(segment, |byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
}

/// Encodes what can not stand in a URL (controls, spaces, quotes, non-ASCII) and leaves the rest, escapes included.
pub fn encode_url(text: &str) -> String {
    encode(text.as_bytes(), |byte| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte))
}

fn encode(bytes: &[u8], stays: impl Fn(u8) -> bool) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if stays(byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

/// Undoes the encoding; `None` when an escape is broken.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if first != b'%' {
            bytes.push(first);
            rest = tail;
            continue;
        }
        let digits = tail.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = &tail[2..];
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_survive_encoding() {
        let every: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode_segment(&every)), Some(every));
    }

    #[test]
    fn broken_escapes_are_refused() {
        for text in ["%", "%4", "a%zz", "%+1"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
