//! Sessions are resumed only in the QUIC version that they come from (RFC 9369 section 5).

use std::sync::Arc;

use ::rustls::ServerConfig;
use ::rustls::server::{ProducesTickets, StoresServerSessions};
use hawser_wire::Version;

/// The configuration for servers in one version: the same, but that it knows only tickets of that version.
pub(super) fn server_config(config: &ServerConfig, version: Version) -> Arc<ServerConfig> {
    let mut config = config.clone();
    config.ticketer = Arc::new(ScopedTicketer { inner: config.ticketer, version });
    config.session_storage = Arc::new(ScopedSessions { inner: config.session_storage, version });
    Arc::new(config)
}

fn mark(version: Version) -> u8 {
    version.number().to_be_bytes()[3]
}

/// Tickets that name their version.
#[derive(Debug)]
struct ScopedTicketer {
    inner: Arc<dyn ProducesTickets>,
    version: Version,
}

impl ProducesTickets for ScopedTicketer {
    fn enabled(&self) -> bool {
        self.inner.enabled()
    }

    fn lifetime(&self) -> u32 {
        self.inner.lifetime()
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.inner.encrypt(&[plain, &[mark(self.version)]].concat())
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        let mut plain = self.inner.decrypt(cipher)?;
        (plain.pop()? == mark(self.version)).then_some(plain)
    }
}

/// Sessions that a server keeps, under names with the version in them.
#[derive(Debug)]
struct ScopedSessions {
    inner: Arc<dyn StoresServerSessions>,
    version: Version,
}

impl ScopedSessions {
    fn scoped(&self, key: &[u8]) -> Vec<u8> {
        [key, &[mark(self.version)]].concat()
    }
}

impl StoresServerSessions for ScopedSessions {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        self.inner.put(self.scoped(&key), value)
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.inner.get(&self.scoped(key))
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.inner.take(&self.scoped(key))
    }

    fn can_cache(&self) -> bool {
        self.inner.can_cache()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seals nothing.
    #[derive(Debug)]
    struct Plain;

    impl ProducesTickets for Plain {
        fn enabled(&self) -> bool {
            true
        }

        fn lifetime(&self) -> u32 {
            7
        }

        fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
            Some(plain.to_vec())
        }

        fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
            Some(cipher.to_vec())
        }
    }

    #[test]
    fn sessions_of_one_version_are_unknown_in_the_other() {
        let inner = ::rustls::server::ServerSessionMemoryCache::new(8);
        for version in Version::ALL {
            let ticketer = ScopedTicketer { inner: Arc::new(Plain), version };
            let sessions = ScopedSessions { inner: inner.clone(), version };
            let ticket = ticketer.encrypt(b"session").unwrap();
            assert!(sessions.put(b"name".to_vec(), b"session".to_vec()));
            for other in Version::ALL {
                let expected = (other == version).then(|| b"session".to_vec());
                let ticketer = ScopedTicketer { inner: Arc::new(Plain), version: other };
                assert_eq!(ticketer.decrypt(&ticket), expected);
                assert_eq!(ScopedSessions { inner: inner.clone(), version: other }.get(b"name"), expected);
            }
            assert_eq!(sessions.take(b"name"), Some(b"session".to_vec()));
            assert_eq!(ScopedTicketer { inner: Arc::new(Plain), version }.decrypt(&[]), None);
        }
    }
}
