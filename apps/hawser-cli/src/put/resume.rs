//! How much of a file the server has from an upload that broke off.

use http::Method;

use super::body::Source;
use hawser_command::digest::{REPR_DIGEST, UPLOAD_OFFSET};
use hawser_command::exit::{Exit, Failure};
use hawser_command::http_client::{ask, describe, request, text};
use hawser_command::session::Requests;
use hawser_command::url::Url;

/// The bytes that need not be sent: none if the server knows nothing of such an upload, or cannot go on with one.
///
/// # Errors
/// When the connection is lost.
pub(super) async fn offset(requests: &mut Requests, url: &Url, source: &Source) -> Result<u64, Failure> {
    let Some((length, digest)) = &source.known else { return Ok(0) };
    let question = request(Method::HEAD, url, &[(REPR_DIGEST, digest.to_field())])?;
    let answer = ask(requests, question).await;
    let (_, response) = answer.map_err(|error| Failure::new(Exit::ConnectionLost, describe(&error)))?;
    let offset = text(response.headers(), &UPLOAD_OFFSET).and_then(|value| value.parse().ok());
    Ok(offset.filter(|offset: &u64| offset < length).unwrap_or(0))
}
