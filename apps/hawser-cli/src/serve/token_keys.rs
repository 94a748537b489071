//! Keys of address tokens that several servers share, and that change while they run.

use std::path::Path;

use hawser_command::exit::{Exit, Failure};

/// Keys of one file: the present one, the next, and those whose tokens have not expired.
const MAX_KEYS: usize = 16;

/// Reads a file with a key of 64 hexadecimal digits in each line. Tokens are made with the first and accepted of all. Empty
/// lines, and those that begin with `#`, mean nothing.
///
/// # Errors
/// When it cannot be read, or says something else.
pub(super) fn read(path: &Path) -> Result<Vec<[u8; 32]>, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::read(path, &error))?;
    parse(&text).map_err(|problem| Failure::new(Exit::NotRead, format!("{}: {problem}", path.display())))
}

fn parse(text: &str) -> Result<Vec<[u8; 32]>, String> {
    let mut keys = Vec::new();
    for (line, number) in text.lines().map(str::trim).zip(1..) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut key = [0; 32];
        if hex::decode_to_slice(line, &mut key).is_err() {
            return Err(format!(
                "line {number}: expected a key of 64 hexadecimal digits, as of `openssl rand -hex 32`"
            ));
        }
        if keys.len() == MAX_KEYS {
            return Err(format!("line {number}: expected at most {MAX_KEYS} keys"));
        }
        keys.push(key);
    }
    if keys.is_empty() { Err("expected a key of 64 hexadecimal digits".into()) } else { Ok(keys) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_in_the_order_of_the_file_and_what_is_none_is_named() {
        let (first, second) = ("01".repeat(32), "fe".repeat(32));
        let text = format!("# of this week\n{first}\n\n  {second}\n");
        assert_eq!(parse(&text), Ok(vec![[1; 32], [0xfe; 32]]));
        assert!(parse(&format!("{first}\n0102\n")).unwrap_err().starts_with("line 2: expected a key"));
        assert!(parse("# nothing\n").unwrap_err().contains("64 hexadecimal digits"));
        assert!(
            parse(&format!("{first}\n").repeat(17)).unwrap_err().starts_with("line 17: expected at most 16")
        );
    }
}
