//! TLS under RTMP (`rtmps://`), over TCP.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{AlertDescription, CertificateError, Error as TlsError};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use hawser::{Identity, Printable, Trust};
use hawser_command::exit::Failure;

/// A connection over TCP, with TLS or without.
pub(super) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// Returns what accepts TLS with this certificate.
///
/// # Errors
/// The certificate and the key do not fit.
pub(super) fn acceptor(identity: &Identity) -> Result<TlsAcceptor, Failure> {
    Ok(TlsAcceptor::from(Arc::new(identity.tls_config()?)))
}

/// Accepts TLS on a connection, or takes it as it is. The error is what to tell.
pub(super) async fn accept(
    acceptor: Option<&TlsAcceptor>,
    stream: TcpStream,
) -> Result<Box<dyn Wire>, String> {
    match acceptor {
        Some(acceptor) => {
            let accepted = acceptor.accept(stream).await.map_err(|error| words(&error))?;
            Ok(Box::new(accepted))
        }
        None => Ok(Box::new(stream)),
    }
}

/// How a service is known.
#[derive(Clone)]
pub(super) struct Connector(TlsConnector);

impl Connector {
    /// # Errors
    /// There are no authorities, or their certificates cannot be used.
    pub(super) fn new(trust: &Trust) -> Result<Self, Failure> {
        Ok(Connector(TlsConnector::from(Arc::new(trust.tls_config()?))))
    }

    /// Begins TLS with a service of this name. The error is what to tell.
    pub(super) async fn connect(&self, host: &str, stream: TcpStream) -> Result<Box<dyn Wire>, String> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| format!("`{}` is no name that a certificate can have", Printable::new(host)))?;
        let connected = self.0.connect(name, stream).await.map_err(|error| words(&error))?;
        Ok(Box::new(connected))
    }
}

/// Why there is no TLS.
fn words(error: &io::Error) -> String {
    let Some(problem) = error.get_ref().and_then(|inner| inner.downcast_ref::<TlsError>()) else {
        return format!("no TLS came about: {error}");
    };
    match problem {
        // Why a certificate was refused here, in words.
        TlsError::InvalidCertificate(CertificateError::Other(why)) => why.0.to_string(),
        TlsError::InvalidMessage(_) => "it does not speak TLS: rtmp:// and rtmps:// are not the same".to_owned(),
        TlsError::AlertReceived(
            AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnsupportedCertificate,
        ) => "it does not accept the certificate: it wants one that is signed by an authority (--cert, --key-file)"
            .to_owned(),
        problem => format!("TLS: {problem}"),
    }
}
