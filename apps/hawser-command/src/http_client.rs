//! What `get` and `put` have in common: requests, status codes, errors in the middle of a body.

use bytes::{Buf, Bytes};
use h3::error::{Code, ConnectionError, StreamError};
use h3::quic::ConnectionErrorIncoming;
use hawser::{Connection, Printable};
use http::{HeaderMap, HeaderName, Method, Request, Response, StatusCode};

use crate::digest::{Digest, REPR_DIGEST};
use crate::exit::{Exit, Failure};
use crate::session::{Exchange, Requests};
use crate::url::Url;

#[cfg(test)]
mod tests;

/// Most bytes of an error's body that are shown.
/// How long they may take.
const EXPLANATION_TIME: std::time::Duration = std::time::Duration::from_secs(2);
const MAX_EXPLANATION: usize = 300;

/// A request without a body.
//= rfc9114-4.2-1: field names are lowercase
//= rfc9114-4.3-1: only the pseudo-header fields of the RFC are sent
//= rfc9114-4.3-5: pseudo-header fields come before the others
//= rfc9114-4.3.1-3: clients send :authority rather than Host
pub fn request(method: Method, url: &Url, headers: &[(HeaderName, String)]) -> Result<Request<()>, Failure> {
    let mut builder = Request::builder()
        .method(method)
        .uri(url.to_string())
        .header(http::header::USER_AGENT, concat!("hawser/", env!("CARGO_PKG_VERSION")));
    for (name, value) in headers {
        builder = builder.header(name, value);
    }
    builder.body(()).map_err(|error| Failure::new(Exit::BadUrl, format!("{url}: {error}")))
}

/// Sends a request that has no body, and waits for the header of the response.
///
/// # Errors
/// When the stream or the connection is lost.
//= rfc9114-4.1-1: one request on a stream
//= rfc9114-5.2-3: nothing new after a GOAWAY received
//= rfc9114-7.2.4.2-2: the defaults hold before the peer's settings come
//= rfc9114-7.2.4.2-4: requests do not wait for the peer's SETTINGS
//= rfc9114-7.2.5-9: clients send no PUSH_PROMISE
pub async fn ask(
    requests: &mut Requests,
    request: Request<()>,
) -> Result<(Exchange, Response<()>), StreamError> {
    let mut stream = requests.send_request(request).await?;
    let response = await_response(&mut stream).await?;
    Ok((stream, response))
}

/// Whether a client may send the request with 0-RTT: the server may have said how large its header may be.
//= rfc9114-7.2.4.2-6: a client with 0-RTT keeps to the remembered settings
pub fn fits_early(request: &Request<()>, connection: &Connection) -> bool {
    hawser::h3::early_field_section_limit(connection).is_none_or(|limit| field_section_size(request) <= limit)
}

/// RFC 9114 section 4.2.2: names and values, and 32 bytes for each field. Pseudo-header fields are fields as well.
fn field_section_size(request: &Request<()>) -> u64 {
    const OVERHEAD: usize = 32;
    let uri = request.uri();
    let part = |part: Option<&str>| part.map_or(0, str::len);
    let pseudo = [
        (":method".len(), request.method().as_str().len()),
        (":scheme".len(), part(uri.scheme_str())),
        (":authority".len(), part(uri.authority().map(http::uri::Authority::as_str))),
        (":path".len(), part(uri.path_and_query().map(http::uri::PathAndQuery::as_str))),
    ];
    let fields = request.headers().iter().map(|(name, value)| (name.as_str().len(), value.len()));
    pseudo.into_iter().chain(fields).map(|(name, value)| (name + value + OVERHEAD) as u64).sum()
}

/// Ends the request and waits for the header of the response.
//= rfc9114-4.1-6: a client ends its stream after the request
//= rfc9114-4.1-7: a client does not wait for the response before it ends its stream
//= rfc9114-4.1-12: a complete response counts although its request was stopped
async fn await_response(stream: &mut Exchange) -> Result<Response<()>, StreamError> {
    // A server that has answered already may not care for the end of the request. Its answer is no worse for that
    // (RFC 9114 section 4.1); without one, the receiving end says why.
    let _ = stream.finish().await;
    stream.recv_response().await
}

/// The failure that a status code stands for; `None` for success. The server's own words, if it sent a line of text,
/// are part of the message.
pub async fn check_status(url: &Url, response: &Response<()>, stream: &mut Exchange) -> Option<Failure> {
    let status = response.status();
    if content_length(response.headers()).is_err() {
        // RFC 9114 section 4.1.2: the message is malformed, and nothing of it is to be used.
        stream.stop_sending(Code::H3_MESSAGE_ERROR);
        let text = format!("{url}: the server's Content-Length is no length");
        return Some(Failure::new(Exit::Interrupted, text));
    }
    if status.is_success() {
        return None;
    }
    let exit = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::METHOD_NOT_ALLOWED => Exit::Forbidden,
        StatusCode::NOT_FOUND | StatusCode::GONE => Exit::NotFound,
        StatusCode::INSUFFICIENT_STORAGE => Exit::ServerDiskFull,
        _ => Exit::HttpStatus,
    };
    let mut message = format!("{url}: the server answered {status}");
    if let Some(location) = text(response.headers(), &http::header::LOCATION) {
        message.push_str(&format!(
            " (to {}); redirects to other servers are not followed",
            Printable::new(location)
        ));
    } else if is_text(response)
        && let Some(words) = explanation(stream).await
    {
        message.push_str(&format!(": {words}"));
    }
    Some(Failure::new(exit, message))
}

fn is_text(response: &Response<()>) -> bool {
    text(response.headers(), &http::header::CONTENT_TYPE).is_some_and(|kind| kind.starts_with("text/plain"))
}

/// The first line of a body, without anything that could confuse a terminal.
async fn explanation(stream: &mut Exchange) -> Option<String> {
    let mut body = Vec::new();
    let all = async {
        while let Ok(Some(mut data)) = stream.recv_data().await {
            body.extend_from_slice(&data.copy_to_bytes(data.remaining()));
            if body.len() > MAX_EXPLANATION {
                break;
            }
        }
    };
    // What came by then is as good: the status is known.
    let _ = tokio::time::timeout(EXPLANATION_TIME, all).await;
    let line = body.split(|byte| matches!(byte, b'\r' | b'\n')).next()?;
    let line = Printable::new(line.get(..MAX_EXPLANATION).unwrap_or(line)).to_string();
    (!line.is_empty()).then_some(line)
}

/// Where a response leads on the same server, if it is a redirect that keeps the method of a request without a body.
pub fn redirect(url: &Url, response: &Response<()>) -> Option<Url> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    url.redirected(text(response.headers(), &http::header::LOCATION)?)
}

/// Whether trying again later may help, by the status code.
pub fn is_transient(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 425 | 429 | 500 | 502 | 503 | 504)
}

/// The length of a body, if the header says it.
///
/// # Errors
/// What it says is no number of bytes, or different numbers (RFC 9110 section 8.6).
pub fn content_length(headers: &HeaderMap) -> Result<Option<u64>, BadLength> {
    let mut length = None;
    for field in headers.get_all(http::header::CONTENT_LENGTH) {
        for value in field.to_str().map_err(|_| BadLength)?.split(',') {
            let value = value.trim();
            let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
            let value = value.parse().ok().filter(|_| is_number).ok_or(BadLength)?;
            if length.is_some_and(|before| before != value) {
                return Err(BadLength);
            }
            length = Some(value);
        }
    }
    Ok(length)
}

/// A Content-Length that is no length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Content-Length is no number of bytes")]
pub struct BadLength;

/// A field as text.
pub fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// The digest of the whole file, if the server gave one.
pub fn repr_digest(headers: &HeaderMap) -> Option<Digest> {
    Digest::from_field(headers.get(REPR_DIGEST)?.to_str().ok()?)
}

/// The next piece of a body; `None` at its end.
//= rfc9114-4.1.1-8: the response of a cancelled stream is not used
pub async fn next_piece(stream: &mut Exchange) -> Result<Option<Bytes>, StreamError> {
    // h3 hands out the transport's buffers: this does not copy.
    Ok(stream.recv_data().await?.map(|mut data| data.copy_to_bytes(data.remaining())))
}

/// What went wrong on a stream to a server, in words.
pub fn describe(error: &StreamError) -> String {
    describe_stream("server", error)
}

/// What went wrong on a stream, in words; `peer` is the other end's role.
pub fn describe_stream(peer: &str, error: &StreamError) -> String {
    match error {
        StreamError::RemoteTerminate { code, .. } => format!("the {peer} broke off ({code})"),
        StreamError::ConnectionError { 0: error, .. } => describe_connection(peer, error),
        StreamError::RemoteClosing { .. } => format!("the {peer} is shutting down"),
        other => other.to_string(),
    }
}

/// What ended a connection, in words.
pub fn describe_connection(peer: &str, error: &ConnectionError) -> String {
    match error {
        ConnectionError::Timeout { .. } => {
            format!("the connection was lost: nothing was heard from the {peer} any more")
        }
        ConnectionError::Remote { 0: ConnectionErrorIncoming::ApplicationClose { error_code }, .. } => {
            format!("the connection was lost: the {peer} closed it ({})", Code::from(*error_code))
        }
        // Hawser's own: h3 knows no such thing.
        ConnectionError::Remote { 0: ConnectionErrorIncoming::Undefined(error), .. } => {
            format!("the connection was lost: {error}")
        }
        error => format!("the connection was lost: {error}"),
    }
}
