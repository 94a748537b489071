//! What strangers say to pages on this machine, without a connection, for fuzzing (feature `fuzzing`).

use crate::local_http::{Head, Request};

/// The request at the front of these pieces; `None` if more must come.
///
/// # Errors
/// Why it is none.
pub fn request<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Option<Request>, String> {
    let mut head = Head::default();
    for piece in pieces {
        if let Some(request) = head.push(piece).map_err(|error| error.to_string())? {
            return Ok(Some(request));
        }
    }
    Ok(None)
}
