//! Sessions of a server that takes 0-RTT.
//!
//! A client keeps to the limits of the connection in which it got its ticket, so the server must not have reduced them
//! since (RFC 9000 section 7.4.1). They are kept with each session, and one with larger limits than those of today is not
//! found: the client then makes a full handshake, and its 0-RTT is rejected.

use std::sync::{Arc, Mutex, PoisonError};

use ::rustls::ServerConfig;
use ::rustls::server::StoresServerSessions;

use crate::connection::remembered::RememberedLimits;

/// The configuration for connections with some limits.
pub(super) struct EarlySessions {
    base: Arc<ServerConfig>,
    /// That for the limits of the last connection: nearly always those of the next one as well.
    last: Mutex<Option<(RememberedLimits, Arc<ServerConfig>)>>,
}

impl EarlySessions {
    pub(super) fn new(base: Arc<ServerConfig>) -> Self {
        EarlySessions { base, last: Mutex::new(None) }
    }

    /// The configuration for a connection that offers these transport parameters.
    pub(super) fn config(&self, parameters: &[u8]) -> Arc<ServerConfig> {
        let Some(limits) = RememberedLimits::of_encoded(parameters) else { return self.base.clone() };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, config)) = last.as_ref().filter(|(of, _)| *of == limits) {
            return config.clone();
        }
        let sessions = self.base.session_storage.clone();
        let mut config = (*self.base).clone();
        config.session_storage = Arc::new(SessionsWithLimits { sessions, limits });
        let config = Arc::new(config);
        *last = Some((limits, config.clone()));
        config
    }
}

/// The sessions that a connection with these limits may resume.
#[derive(Debug)]
struct SessionsWithLimits {
    sessions: Arc<dyn StoresServerSessions>,
    limits: RememberedLimits,
}

impl SessionsWithLimits {
    //= rfc9000-7.4.1-5: a server that accepts 0-RTT lowers no limit
    //= rfc9000-7.4.1-6: a server that accepts 0-RTT lowers none of the parameters that the RFC lists
    //= rfc9000-7.4.1-8: 0-RTT is rejected if the remembered values cannot be kept
    //= rfc9221-3-6: a server that accepts 0-RTT does not lower max_datagram_frame_size
    fn without_limits(&self, stored: Vec<u8>) -> Option<Vec<u8>> {
        let (limits, session) = RememberedLimits::decode(&stored)?;
        limits.fit_within(&self.limits).then(|| session.to_vec())
    }
}

impl StoresServerSessions for SessionsWithLimits {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        let mut stored = self.limits.encode();
        stored.extend_from_slice(&value);
        self.sessions.put(key, stored)
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.without_limits(self.sessions.get(key)?)
    }

    //= rfc9001-9.2-1: 0-RTT has replay protection
    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.without_limits(self.sessions.take(key)?)
    }

    fn can_cache(&self) -> bool {
        self.sessions.can_cache()
    }
}
