//! Codepoints of differentiated services, as people name them.

/// Reads a codepoint: `EF`, `VA`, `LE`, `CS0` to `CS7`, `AF11` to `AF43` (RFC 2474, 2597, 3246, 5865, 8622), or its number, 0 to 63.
///
/// # Errors
/// What was expected.
pub fn dscp(text: &str) -> Result<u8, String> {
    let name = text.to_ascii_uppercase();
    let digits = |prefix: &str| name.strip_prefix(prefix).map(str::as_bytes);
    let found = match name.as_str() {
        "EF" => Some(46),
        "VA" => Some(44),
        "LE" => Some(1),
        _ => match (digits("CS"), digits("AF")) {
            (Some(&[class @ b'0'..=b'7']), _) => Some((class - b'0') * 8),
            (_, Some(&[class @ b'1'..=b'4', drop @ b'1'..=b'3'])) => {
                Some((class - b'0') * 8 + (drop - b'0') * 2)
            }
            _ => name.parse().ok().filter(|number| *number < 64),
        },
    };
    found.ok_or_else(|| "expected EF, VA, LE, CS0 to CS7, AF11 to AF43, or a number from 0 to 63".to_owned())
}

#[cfg(test)]
mod tests {
    use super::dscp;

    #[test]
    fn codepoints_have_names_and_numbers() {
        for (text, expected) in
            [("EF", 46), ("ef", 46), ("CS5", 40), ("AF41", 34), ("af13", 14), ("0", 0), ("63", 63), ("LE", 1)]
        {
            assert_eq!(dscp(text), Ok(expected), "{text}");
        }
        for text in ["", "64", "-1", "CS8", "AF44", "AF5", "best effort"] {
            assert!(dscp(text).unwrap_err().contains("AF11 to AF43"), "{text}");
        }
    }
}
