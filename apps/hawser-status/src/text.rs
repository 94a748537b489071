//! Text of peers on its way to terminals and pages.

/// The longest text of a peer that is shown, in characters.
const MAX_TEXT: usize = 80;

/// Returns what may be shown of a peer's text: no control characters, no marks that change the direction of writing, not too much.
pub(crate) fn shown(text: &str) -> String {
    let is_mark =
        |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().filter(|c| !c.is_control() && !is_mark(*c)).take(MAX_TEXT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_of_peers_are_not_shown() {
        assert_eq!(shown("a\u{1b}[2Jb\u{202e}c\n"), "a[2Jbc");
        assert_eq!(shown(&"x".repeat(1000)).len(), MAX_TEXT);
    }
}
