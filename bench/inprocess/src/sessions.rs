//! Cryptography of the measured connections.

use std::sync::Arc;

use bench_harness::Error;
use bench_harness::options::{CommonOptions, Provider};
use bench_harness::tls;
use clap::ValueEnum;
use hawser_core::crypto::null::{NullClient, NullServer};
use hawser_core::crypto::{ClientFactory, RustlsClient, RustlsServer, ServerFactory};
use serde::Serialize;

/// Real or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SessionKind {
    /// None: what is measured is the protocol alone.
    Null,
    /// TLS 1.3 with AES-128-GCM.
    Tls,
}

/// Makers of sessions for both ends.
pub(crate) struct Sessions {
    pub(crate) client: Arc<dyn ClientFactory>,
    pub(crate) server: Arc<dyn ServerFactory>,
}

impl Sessions {
    pub(crate) fn new(kind: SessionKind) -> Result<Self, Error> {
        match kind {
            SessionKind::Null => Ok(Sessions {
                client: Arc::new(NullClient::default()),
                server: Arc::new(NullServer::default()),
            }),
            SessionKind::Tls => {
                let folder = tempfile::tempdir()?;
                let made = rcgen::generate_simple_self_signed([tls::SERVER_NAME.to_owned()])?;
                std::fs::write(folder.path().join(tls::CERTIFICATE_FILE), made.cert.pem())?;
                std::fs::write(folder.path().join(tls::KEY_FILE), made.signing_key.serialize_pem())?;
                let options = CommonOptions {
                    identity: folder.path().to_owned(),
                    provider: Provider::AwsLcRs,
                    multipath: true,
                };
                Ok(Sessions {
                    client: Arc::new(RustlsClient::new(Arc::new(tls::client_config(&options)?))?),
                    server: Arc::new(RustlsServer::new(Arc::new(tls::server_config(&options)?))?),
                })
            }
        }
    }
}
