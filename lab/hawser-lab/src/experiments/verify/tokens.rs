//! The words of a claim.

/// A word, and where it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    /// Byte of the claim.
    pub(super) start: usize,
}

impl Token<'_> {
    /// For messages.
    pub(super) fn found(&self) -> String {
        format!("\"{}\"", self.text)
    }
}

/// Whether a name or a number may have this character: `up-20.goodput_bps`, `-` only within.
fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.')
}

/// Splits a claim into its words. A name takes all it can: `a - b` is a difference, `a-b` a name.
///
/// # Errors
/// A character that is part of no word.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, String> {
    let mut tokens = Vec::new();
    let mut start = 0;
    while let Some(letter) = text[start..].chars().next() {
        let rest = &text[start..];
        let length = match letter {
            letter if letter.is_whitespace() => {
                start += letter.len_utf8();
                continue;
            }
            '<' | '>' => 1 + usize::from(rest[1..].starts_with('=')),
            '(' | ')' | ',' | '+' | '-' | '*' | '/' | '%' => 1,
            letter if is_word(letter) => rest.find(|letter| !is_word(letter)).unwrap_or(rest.len()),
            other => return Err(format!("no word of a claim has \"{other}\"")),
        };
        tokens.push(Token { text: &rest[..length], start });
        start += length;
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_dashes_and_dots() {
        let words: Vec<&str> =
            tokens("ratio(a-1.x,b) - 1e-3>=-2").unwrap().iter().map(|it| it.text).collect();
        assert_eq!(words, ["ratio", "(", "a-1.x", ",", "b", ")", "-", "1e-3", ">=", "-", "2"]);
        assert!(tokens("a ? b").is_err());
    }
}
