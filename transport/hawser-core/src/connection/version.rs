//! In which version a connection speaks, and how its ends agree on one (RFC 9368, RFC 9369 section 4).

use std::sync::Arc;

use hawser_wire::Version;
use hawser_wire::transport_parameters::VersionInformation;

use super::parameters;
use crate::crypto::{ClientFactory, ServerId, Session};
use crate::{Code, TransportError, Versions};

/// The version of a connection, and what may still change it.
pub(crate) struct VersionState {
    /// In which packets leave.
    current: Version,
    /// That of the client's first flight; after a Version Negotiation packet that of the second attempt.
    original: Version,
    /// The local ones, most wanted first.
    ours: Versions,
    /// No other version may come (client): the server's first CRYPTO data told which it is.
    settled: bool,
    /// The client started again because of a Version Negotiation packet.
    followed_negotiation: bool,
}

impl VersionState {
    /// A server's version is settled when it has read the ClientHello, which is not a matter of this type.
    pub(crate) fn new(original: Version, ours: Versions) -> Self {
        VersionState { current: original, original, ours, settled: false, followed_negotiation: false }
    }

    /// In which packets leave.
    #[inline]
    pub(crate) fn current(&self) -> Version {
        self.current
    }

    /// That of the client's first flight.
    pub(crate) fn original(&self) -> Version {
        self.original
    }

    /// The local ones, most wanted first.
    pub(crate) fn ours(&self) -> &Versions {
        &self.ours
    }

    /// The connection goes on in this version.
    pub(crate) fn switch(&mut self, version: Version) {
        self.current = version;
        self.settled = true;
    }

    /// CRYPTO data came: the version in which it came is the one (RFC 9369 section 4.1).
    pub(crate) fn settle(&mut self) {
        self.settled = true;
    }

    /// Whether the server may still turn to this version (client).
    pub(crate) fn may_become(&self, version: Version) -> bool {
        !self.settled && version != self.current && self.ours.contains(version)
    }

    /// With which version to start again because a server speaks `offered`; a few of these if they have none in common, and
    /// nothing where the packet is to be ignored (RFC 9368 sections 2.1 and 4).
    pub(crate) fn on_negotiation(
        &mut self,
        mut offered: impl Iterator<Item = u32> + Clone,
    ) -> Option<Result<Version, Vec<u32>>> {
        if self.followed_negotiation || offered.clone().any(|version| version == self.original.number()) {
            return None;
        }
        let Some(version) = self.ours.select(|ours| offered.clone().any(|offered| offered == ours)) else {
            return Some(Err(offered.by_ref().take(MAX_TOLD).collect()));
        };
        self.followed_negotiation = true;
        (self.current, self.original) = (version, version);
        Some(Ok(version))
    }

    /// Checks what the client said of versions, once TLS vouches for it (RFC 9368 section 4).
    pub(crate) fn check_client(&self, client: Option<&VersionInformation>) -> Result<(), TransportError> {
        match client {
            Some(client) if client.chosen != self.original.number() => Err(negotiation_error(format!(
                "the client says that it began with version {:#010x}, but its packets are of version {:#010x}",
                client.chosen,
                self.original.number()
            ))),
            _ => Ok(()),
        }
    }

    /// Checks what the server said of versions, once TLS vouches for it (RFC 9368 section 4).
    pub(crate) fn check_server(&self, server: Option<&VersionInformation>) -> Result<(), TransportError> {
        // RFC 9368 section 8: a server of version 1 need not know of any of this.
        let version_1_only =
            VersionInformation { chosen: Version::V1.number(), available: vec![Version::V1.number()] };
        let server = match server {
            Some(server) => server,
            None if self.current == self.original && !self.followed_negotiation => return Ok(()),
            None if self.current == self.original && self.current == Version::V1 => &version_1_only,
            None => return Err(negotiation_error("the server does not confirm the version")),
        };
        let current = self.current.number();
        if server.chosen != current {
            return Err(negotiation_error(format!(
                "the server chose version {:#010x}, but its packets are of version {current:#010x}",
                server.chosen
            )));
        }
        if !self.followed_negotiation {
            return Ok(());
        }
        let listed = |version| server.available.contains(&version) || version == current;
        if server.available.is_empty() || self.ours.select(listed) != Some(self.original) {
            return Err(negotiation_error("a Version Negotiation packet left out a version of the server"));
        }
        Ok(())
    }
}

/// Versions of a server that an error names.
const MAX_TOLD: usize = 8;

fn negotiation_error(reason: impl Into<std::borrow::Cow<'static, str>>) -> TransportError {
    TransportError::new(Code::VERSION_NEGOTIATION_ERROR, reason)
}

/// What a client needs to start again.
#[derive(Clone)]
pub(crate) struct ClientStart {
    pub(crate) crypto: Arc<dyn ClientFactory>,
    pub(crate) server_name: String,
    pub(crate) port: u16,
    /// Our transport parameters, all but version_information.
    pub(crate) parameters: Vec<u8>,
    /// A version that is added to the local ones, to be ignored.
    pub(crate) reserved: Option<u32>,
}

impl ClientStart {
    /// A session that begins in this version and offers all of `ours`.
    pub(crate) fn session(
        &self,
        version: Version,
        ours: &Versions,
    ) -> Result<Box<dyn Session>, TransportError> {
        let information = parameters::version_information(version, ours, self.reserved);
        let parameters = parameters::with_version_information(&self.parameters, information);
        let server = ServerId { name: &self.server_name, port: self.port };
        self.crypto.start(version, server, parameters)
    }
}

#[cfg(test)]
mod tests;
