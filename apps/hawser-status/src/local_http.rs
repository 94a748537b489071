//! HTTP/1 for programs on this machine: one GET per connection.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longest head of a request.
const MAX_REQUEST: usize = 8 << 10;
/// With which it ends.
const END: &[u8] = b"\r\n\r\n";
/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a client may take nothing of the answer.
const STALL: Duration = Duration::from_secs(30);

/// The head of a request.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// `GET` and the like.
    pub method: String,
    /// Without what stands behind a `?`.
    pub path: String,
    /// What stands behind it; empty without one.
    pub query: String,
    /// The fields `Host`.
    hosts: Vec<String>,
    /// The fields `Accept`.
    accepts: Vec<String>,
}

impl Request {
    /// Whether its sender says that it reads this media type.
    pub fn accepts(&self, kind: &str) -> bool {
        self.accepts.iter().any(|accepted| accepted.contains(kind))
    }

    /// Whether it is meant for a page of this machine: its `Host` is an address or `localhost`. Another name is one of a
    /// web page that had its name lead here (DNS rebinding), so that browsers let it read what is answered. Browsers always send
    /// the field; programs that do not are no browsers.
    pub fn is_for_this_machine(&self) -> bool {
        let host = match self.hosts.as_slice() {
            [] => return true,
            [host] => host,
            _ => return false,
        };
        let has_port = |text: &str| text.parse::<u16>().is_ok();
        let is_name = |name: &str| name.eq_ignore_ascii_case("localhost");
        host.parse::<std::net::SocketAddr>().is_ok()
            || host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok()
            || is_name(host)
            || host.rsplit_once(':').is_some_and(|(name, port)| is_name(name) && has_port(port))
    }
}

/// Reads the head of a request.
///
/// # Errors
/// It does not come, or is none.
pub async fn read_request(stream: &mut TcpStream) -> std::io::Result<Request> {
    tokio::time::timeout(PATIENCE, read(stream)).await?
}

async fn read(stream: &mut TcpStream) -> std::io::Result<Request> {
    let mut head = Head::default();
    loop {
        let mut block = [0; 1024];
        let count = stream.read(&mut block).await?;
        if count == 0 {
            return Err(invalid("the request is not complete"));
        }
        if let Some(request) = head.push(&block[..count])? {
            return Ok(request);
        }
    }
}

fn invalid(text: &str) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, text.to_owned())
}

/// The head of a request as it comes.
#[derive(Debug, Default)]
pub(crate) struct Head(Vec<u8>);

impl Head {
    /// Takes what came next; the request once its head is there. What stands behind it is not read: nothing follows a GET.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> std::io::Result<Option<Request>> {
        // An end may have begun before.
        let from = self.0.len().saturating_sub(END.len() - 1);
        self.0.extend_from_slice(bytes);
        let end = self.0[from..].windows(END.len()).position(|window| window == END);
        let length = end.map_or(self.0.len(), |at| from + at + END.len());
        if length > MAX_REQUEST {
            return Err(invalid("the request is too long"));
        }
        if end.is_none() {
            return Ok(None);
        }
        let request = parse(&String::from_utf8_lossy(&self.0[..length]));
        request.map(Some).ok_or_else(|| invalid("this is no HTTP/1 request"))
    }
}

fn parse(head: &str) -> Option<Request> {
    let mut lines = head.lines();
    let mut words = lines.next()?.split(' ');
    let (method, path, version) = (words.next()?, words.next()?, words.next()?);
    if !version.starts_with("HTTP/1.") {
        return None;
    }
    let fields: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(':')).collect();
    let values = |wanted: &str| {
        let named = fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
        named.map(|(_, value)| value.trim().to_owned()).collect()
    };
    Some(Request {
        method: method.to_owned(),
        path: path.split_once('?').map_or(path, |(path, _)| path).to_owned(),
        query: path.split_once('?').map_or("", |(_, query)| query).to_owned(),
        hosts: values("host"),
        accepts: values("accept"),
    })
}

/// What browsers may do with a page that brings its styles and scripts itself.
const INLINE_POLICY: &str = "default-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src 'self' blob:; \
     frame-ancestors 'none'";

/// Writes an answer that is there as a whole. Browsers are to take nothing from elsewhere, and show it in no other page.
///
/// # Errors
/// The client takes nothing of it, or has gone.
pub async fn respond(stream: &mut TcpStream, status: &str, kind: &str, body: &[u8]) -> std::io::Result<()> {
    respond_under(stream, status, kind, INLINE_POLICY, body).await
}

/// The same with another Content-Security-Policy.
///
/// # Errors
/// As [`respond`].
pub async fn respond_under(
    stream: &mut TcpStream,
    status: &str,
    kind: &str,
    policy: &str,
    body: &[u8],
) -> std::io::Result<()> {
    let head = head(status, kind, policy, Some(body.len()));
    let answer = [head.as_bytes(), body].concat();
    tokio::time::timeout(STALL, stream.write_all(&answer)).await??;
    stream.shutdown().await
}

/// The head of an answer; without a length it lasts until the connection is closed.
pub fn head(status: &str, kind: &str, policy: &str, length: Option<usize>) -> String {
    let length = length.map(|length| format!("Content-Length: {length}\r\n")).unwrap_or_default();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{length}Cache-Control: no-store\r\n\
         Content-Security-Policy: {policy}\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
         Connection: close\r\n\r\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_and_localhost_are_names_of_this_machine() {
        let asked = |fields: &str| parse(&format!("GET /state?x HTTP/1.1\r\n{fields}\r\n\r\n")).unwrap();
        for host in [
            "127.0.0.1:8360",
            "127.0.0.1",
            "[::1]:8360",
            "[::1]",
            "localhost",
            "LocalHost:8360",
            "192.0.2.1:80",
        ] {
            let request = asked(&format!("host: {host}"));
            assert!(request.is_for_this_machine(), "{host}");
            assert_eq!((request.path.as_str(), request.query.as_str()), ("/state", "x"));
        }
        for host in [
            "evil.example",
            "evil.example:8360",
            "localhost.evil.example",
            "localhost:x",
            "127.0.0.1.evil.example",
            "",
        ] {
            assert!(!asked(&format!("Host: {host}")).is_for_this_machine(), "{host}");
        }
        assert!(asked("Accept: */*").is_for_this_machine(), "no browser");
        assert!(!asked("Host: localhost\r\nHost: evil.example").is_for_this_machine());
        assert_eq!(parse("GET / HTTP/2"), None);
    }

    #[test]
    fn what_follows_a_head_is_no_part_of_it_wherever_it_is_cut() {
        let bytes = b"GET /a?b HTTP/1.1\r\nHost: localhost\r\n\r\nHost: evil.example\r\n\r\n";
        for piece in 1..=bytes.len() {
            let mut head = Head::default();
            let request = bytes.chunks(piece).find_map(|piece| head.push(piece).unwrap()).unwrap();
            assert!(request.is_for_this_machine(), "cut into pieces of {piece}");
            assert_eq!((request.path.as_str(), request.query.as_str()), ("/a", "b"));
        }
        let long = [b"GET / HTTP/1.1\r\nA: ", &[b'a'; MAX_REQUEST][..], END].concat();
        for piece in [1, 1_000, long.len()] {
            let mut head = Head::default();
            assert!(long.chunks(piece).any(|piece| head.push(piece).is_err()), "{piece}");
        }
    }
}
