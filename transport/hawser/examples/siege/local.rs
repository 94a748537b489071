//! HTTP/1 as browsers and players speak it to a program on this machine.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks for something with this `Host`, and leaves the connection open.
pub(crate) fn get(address: &str, path: &str, host: &str) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes())?;
    Ok(stream)
}

/// The status of an answer; none if there is no answer.
pub(crate) fn status(stream: &mut TcpStream) -> Option<u16> {
    let mut head = [0; 12];
    stream.read_exact(&mut head).ok()?;
    std::str::from_utf8(&head).ok()?.strip_prefix("HTTP/1.1 ")?.parse().ok()
}

/// The status of an answer, and all that follows it.
pub(crate) fn answer(mut stream: TcpStream) -> io::Result<(Option<u16>, Vec<u8>)> {
    let status = status(&mut stream);
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest)?;
    Ok((status, rest))
}

/// Leaves as a browser does whose page is closed.
pub(crate) fn leave(stream: &TcpStream) {
    let _ = stream.shutdown(Shutdown::Both);
}
