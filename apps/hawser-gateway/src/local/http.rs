//! CONNECT of HTTP/1.1, as browsers and git ask proxies.

use std::io;

use hawser_masque::status::{ProxyError, ProxyStatus};
use hawser_masque::target::Target;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::OpenError;

/// Most bytes of the header of a request.
const MAX_HEADER: usize = 16 << 10;
/// Most fields in it.
const MAX_FIELDS: usize = 64;

/// Why a program cannot be served.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    /// It broke off, or its header is too long.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// What it says is no HTTP.
    #[error("neither SOCKS nor HTTP")]
    NoHttp,
    /// It asks for something else than CONNECT; to be answered.
    #[error("{0} instead of CONNECT")]
    Method(String),
    /// It names no target; to be answered.
    #[error("{0}")]
    Target(String),
}

/// Reads a CONNECT request. What follows its header is left in the stream.
pub(super) async fn read_request(stream: &mut TcpStream) -> Result<Target, HttpError> {
    let mut header = Vec::new();
    loop {
        // Looked at before it is taken: what is behind the header belongs to the tunnel.
        let mut peeked = [0; 4096];
        let there = stream.peek(&mut peeked).await?;
        if there == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        let from = header.len();
        header.extend_from_slice(&peeked[..there]);
        let parsed = parse(&header);
        let end = parsed.as_ref().ok().and_then(Option::as_ref).map_or(header.len(), |(_, end)| *end);
        let mut taken = vec![0; end - from];
        stream.read_exact(&mut taken).await?;
        match parsed? {
            Some((target, _)) => return Ok(target),
            None if header.len() > MAX_HEADER => return Err(HttpError::NoHttp),
            None => {}
        }
    }
}

/// The target of a request, and where its header ends; `None` when more of it must come.
pub(crate) fn parse(header: &[u8]) -> Result<Option<(Target, usize)>, HttpError> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let status = request.parse(header).map_err(|_| HttpError::NoHttp)?;
    let httparse::Status::Complete(end) = status else { return Ok(None) };
    let method = request.method.unwrap_or_default();
    if method != "CONNECT" {
        return Err(HttpError::Method(method.chars().take(16).collect()));
    }
    let target = request.path.unwrap_or_default();
    target
        .parse()
        .map(|target| Some((target, end)))
        .map_err(|error: hawser_masque::target::InvalidTarget| HttpError::Target(error.to_string()))
}

/// Says that the tunnel is there.
pub(super) async fn accept(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await
}

/// Says why no connection exists, in words for people.
pub(super) async fn refuse(stream: &mut TcpStream, error: &OpenError) -> io::Result<()> {
    let status = match error {
        OpenError::Refused(status) => status.clone(),
        OpenError::UnknownKey => ProxyStatus::new(ProxyError::HttpRequestDenied, error),
        OpenError::NoAnswer(_) => ProxyStatus::new(ProxyError::ConnectionTimeout, error),
        OpenError::GatewayDown(_) => ProxyStatus::new(ProxyError::DestinationIpUnroutable, error),
        OpenError::NoUdp | OpenError::NoAddress(_) | OpenError::Protocol(_) => {
            ProxyStatus::new(ProxyError::ProxyInternalError, error)
        }
    };
    let code = status.error.status();
    let field = status.to_field(crate::named::PROXY_NAME);
    answer(stream, code, &format!("Proxy-Status: {field}\r\n"), &error.to_string()).await
}

/// Says what is wrong with a request.
pub(super) async fn reject(stream: &mut TcpStream, error: &HttpError) -> io::Result<()> {
    let (code, words) = match error {
        HttpError::Method(_) => (
            http::StatusCode::METHOD_NOT_ALLOWED,
            "This proxy takes CONNECT and SOCKS. For http:// addresses let your program use SOCKS: socks5h://HOST:PORT".to_owned(),
        ),
        HttpError::Target(words) => (http::StatusCode::BAD_REQUEST, words.clone()),
        HttpError::NoHttp | HttpError::Read(_) => (http::StatusCode::BAD_REQUEST, error.to_string()),
    };
    answer(stream, code, "Allow: CONNECT\r\n", &words).await
}

async fn answer(stream: &mut TcpStream, code: http::StatusCode, fields: &str, words: &str) -> io::Result<()> {
    let length = words.len() + 1;
    let text = format!(
        "HTTP/1.1 {code}\r\n{fields}Content-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{words}\n"
    );
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn targets_are_read_of_whole_headers() {
        let request = b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n";
        let target = Some(("example.org:443".parse().unwrap(), request.len()));
        assert_eq!(parse(request).unwrap(), target);
        for length in 0..request.len() {
            assert_eq!(parse(&request[..length]).unwrap(), None, "{length}");
        }
        assert!(
            matches!(parse(b"GET http://a/ HTTP/1.1\r\n\r\n"), Err(HttpError::Method(method)) if method == "GET")
        );
        assert!(matches!(parse(b"CONNECT a HTTP/1.1\r\n\r\n"), Err(HttpError::Target(_))));
        assert!(matches!(parse(b"\x16\x03\x01"), Err(HttpError::NoHttp)));
    }

    #[tokio::test]
    async fn what_follows_the_header_stays_in_the_stream() {
        let whole: &[&str] = &["CONNECT a:1 HTTP/1.1\r\nX: y\r\n\r\nfirst bytes"];
        let cut: &[&str] = &["CONNECT a:1 HTTP/1.1\r\nX: y\r", "\n\r\nfirst bytes"];
        // Lines may end without a carriage return (RFC 9112 section 2.2).
        let bare: &[&str] = &["CONNECT a:1 HTTP/1.1\nX: y\n\nfirst bytes"];
        for pieces in [whole, cut, bare] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let mut program = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let mut stream = listener.accept().await.unwrap().0;
            let reading = tokio::spawn(async move { (read_request(&mut stream).await.unwrap(), stream) });
            for piece in pieces {
                program.write_all(piece.as_bytes()).await.unwrap();
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
            drop(program);
            let (target, mut stream) = reading.await.unwrap();
            assert_eq!(target.to_string(), "a:1");
            let mut rest = String::new();
            stream.read_to_string(&mut rest).await.unwrap();
            assert_eq!(rest, "first bytes", "{pieces:?}");
        }
    }
}
