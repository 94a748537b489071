//! Certificates that clients show to servers: the options of a client, and what a refusal means at either end.

use std::path::PathBuf;

use clap::Args;
use hawser::{AcceptError, Code, ConnectionError, Identity, Printable, TransportError};

use crate::exit::Failure;

/// Which certificate a client shows to a server that asks for one.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Connection")]
pub struct ClientCertificate {
    /// Show this certificate chain (PEM) to a server that asks for one (`hawser serve --client-ca`)
    #[arg(
        long,
        value_name = "FILE",
        requires = "client_key",
        conflicts_with = "session_file",
        hide_short_help = true
    )]
    client_cert: Option<PathBuf>,
    /// Private key of that certificate (PEM), readable by its owner only
    #[arg(long, value_name = "FILE", requires = "client_cert", hide_short_help = true)]
    client_key: Option<PathBuf>,
}

impl ClientCertificate {
    /// Reads both files, if they are named.
    ///
    /// # Errors
    /// One of them cannot be read, or the key is not that of the certificate.
    pub fn identity(&self) -> Result<Option<Identity>, Failure> {
        let (Some(certificate), Some(key)) = (&self.client_cert, &self.client_key) else { return Ok(None) };
        Ok(Some(Identity::from_pem_files(certificate, key)?))
    }
}

/// What a client has to know of a server that closed because of the client's certificate; `None`: it closed for another reason.
pub fn refused_by_server(error: &ConnectionError) -> Option<String> {
    const REQUIRED: Code = Code::crypto(116);
    let ConnectionError::PeerTransport(error) = error else { return None };
    if error.code == REQUIRED {
        let text =
            "the server wants a certificate of its clients: name one with --client-cert and --client-key";
        return Some(text.to_owned());
    }
    Some(format!("the server refuses the client's certificate (--client-cert): {}", reason(error)?))
}

/// Why a server refused a client's certificate; `None`: the handshake failed for another reason.
pub fn refused_client(error: &AcceptError) -> Option<String> {
    let AcceptError::Handshake(ConnectionError::Transport(error)) = error else { return None };
    Some(format!("the client's certificate is refused: {}", reason(error)?))
}

/// The TLS alert about a certificate in words (RFC 8446 section 6.2).
fn reason(error: &TransportError) -> Option<String> {
    let text = match error.code.0.checked_sub(Code::CRYPTO_ERROR.0)? {
        43 => "it is not for clients",
        44 => "it was revoked",
        45 => "it has expired, or is not valid yet",
        48 => "no authority that the server knows has signed it",
        42 | 46 => return Some(Printable::new(&*error.reason).to_string()),
        _ => return None,
    };
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_about_certificates_are_told_from_others() {
        let error = |alert| TransportError::new(Code::crypto(alert), "in the library's words");
        let by_server = |alert| refused_by_server(&ConnectionError::PeerTransport(error(alert)));
        assert!(by_server(45).unwrap().ends_with("it has expired, or is not valid yet"));
        assert!(by_server(42).unwrap().ends_with("in the library's words"));
        assert!(by_server(116).unwrap().contains("--client-cert and --client-key"));
        // No application protocol in common, and a server of which this end thinks the same.
        assert_eq!(by_server(120), None);
        assert_eq!(refused_by_server(&ConnectionError::Transport(error(45))), None);
        let client =
            |alert| refused_client(&AcceptError::Handshake(ConnectionError::Transport(error(alert))));
        assert!(client(48).unwrap().contains("no authority that the server knows"));
        assert_eq!(client(120), None);
    }
}
