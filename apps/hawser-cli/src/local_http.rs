//! HTTP/1 for programs on this machine: one GET per connection.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longest request.
const MAX_REQUEST: usize = 8 << 10;
/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a client may take nothing of the answer.
const STALL: Duration = Duration::from_secs(30);

/// Method and path of the request, without what stands behind a `?`.
pub(crate) async fn read_request(stream: &mut TcpStream) -> std::io::Result<(String, String)> {
    tokio::time::timeout(PATIENCE, read(stream)).await?
}

async fn read(stream: &mut TcpStream) -> std::io::Result<(String, String)> {
    let invalid = |text: &str| std::io::Error::new(std::io::ErrorKind::InvalidData, text.to_owned());
    let mut bytes = Vec::new();
    // Nothing follows a GET: what comes after the empty line is not read.
    while !bytes.windows(4).any(|window| window == b"\r\n\r\n") {
        if bytes.len() >= MAX_REQUEST {
            return Err(invalid("the request is too long"));
        }
        let mut block = [0; 1024];
        match stream.read(&mut block).await? {
            0 => return Err(invalid("the request is not complete")),
            count => bytes.extend_from_slice(&block[..count]),
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut words = text.lines().next().unwrap_or_default().split(' ');
    match (words.next(), words.next(), words.next()) {
        (Some(method), Some(path), Some(version)) if version.starts_with("HTTP/1.") => {
            let path = path.split('?').next().unwrap_or_default();
            Ok((method.to_owned(), path.to_owned()))
        }
        _ => Err(invalid("this is no HTTP/1 request")),
    }
}

/// Writes an answer that is there as a whole. Browsers are to take nothing from elsewhere, and show it in no other page.
pub(crate) async fn respond(
    stream: &mut TcpStream,
    status: &str,
    kind: &str,
    body: &[u8],
) -> std::io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Content-Security-Policy: default-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src 'self' blob:; \
         frame-ancestors 'none'\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let answer = [head.as_bytes(), body].concat();
    tokio::time::timeout(STALL, stream.write_all(&answer)).await??;
    stream.shutdown().await
}
