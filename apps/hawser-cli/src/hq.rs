//! HTTP/0.9 over QUIC, as the QUIC interoperability tests use it (ALPN `hq-interop`): a request is `GET /PATH` on a
//! bidirectional stream of its own, the answer is the bytes of the file and the end of the stream. Nothing else: no status,
//! no fields, no lengths. A request that cannot be served ends with a reset.

use hawser_command::profile::Profile;

/// Its application protocol.
pub(crate) const PROFILE: Profile<'static> = Profile::of_streams(b"hq-interop");

/// Error code of a stream whose request cannot be served. The protocol has none of its own.
pub(crate) const NOT_SERVED: u64 = 1;

/// The path of a request; `None` if it is none.
pub(crate) fn parse_request(request: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(request).ok()?;
    let path = text.strip_prefix("GET ")?;
    // HTTP/0.9 has no version in its request; some clients say one all the same.
    let path = path.split([' ', '\r', '\n']).next()?;
    path.starts_with('/').then_some(path)
}

/// The request for a path.
pub(crate) fn request(path: &str) -> String {
    format!("GET {path}\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read() {
        for (text, path) in [
            ("GET /a%20b\r\n", Some("/a%20b")),
            ("GET /a", Some("/a")),
            ("GET /a HTTP/0.9\r\n", Some("/a")),
            ("GET a\r\n", None),
            ("PUT /a\r\n", None),
            ("", None),
        ] {
            assert_eq!(parse_request(text.as_bytes()), path, "{text}");
        }
        assert_eq!(parse_request(b"GET /\xff\r\n"), None);
        assert_eq!(parse_request(request("/x").as_bytes()), Some("/x"));
    }
}
