//! What wpa_supplicant says on its control socket: datagrams of text over a Unix socket (its `wpa_ctrl` interface).
//!
//! A client sends commands (`SCAN`, `STATUS`) and gets an answer to each; after `ATTACH` it also gets events, which begin with a
//! level in angle brackets: `<3>CTRL-EVENT-CONNECTED - Connection to 02:00:5e:00:00:01 completed`. Texts of other programs are read here as
//! any peer's: what is not understood is left out, and nothing grows without bound.

mod commands;
mod event;
mod results;

pub use commands::scan_commands;
pub use event::Event;
pub use results::{Status, networks, scan_results};

/// Longest datagram that is read: a list of scan results is cut there.
pub const MAX_DATAGRAM: usize = 64 << 10;
/// Most networks of its configuration that are read.
pub const MAX_NETWORKS: usize = 256;

/// A text as wpa_supplicant prints names of networks: bytes that are no plain text as `\xNN`, and `\"`, `\\`, `\e`, `\n`, `\r`, `\t`.
/// What is no text after that is replaced by U+FFFD.
pub fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let digit = |digit: Option<u8>| digit.and_then(|digit| char::from(digit).to_digit(16));
        match rest.next() {
            Some(b'x') => {
                if let (Some(high), Some(low)) = (digit(rest.next()), digit(rest.next())) {
                    bytes.push((high * 16 + low) as u8);
                }
            }
            Some(b'e') => bytes.push(0x1b),
            Some(b'n') => bytes.push(b'\n'),
            Some(b'r') => bytes.push(b'\r'),
            Some(b't') => bytes.push(b'\t'),
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests;
