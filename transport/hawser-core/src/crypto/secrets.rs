//! Traffic secrets on their way from the TLS library to [`KeyDerivation`](super::traffic::KeyDerivation).

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use ::rustls::KeyLog;
use ::rustls::crypto::tls13::OkmBlock;

use super::Level;
use super::traffic::TrafficSecrets;

/// The library's names for the secrets of the client, then of the server.
const LABELS: [(Level, [&str; 2]); 2] = [
    (Level::Handshake, ["CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET"]),
    (Level::OneRtt, ["CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"]),
];

/// Holds the traffic secrets of one handshake until they are [taken](SecretTap::take), and passes all on to the
/// configured log.
///
/// The library hands traffic secrets out in no other way than to a key log.
pub(super) struct SecretTap {
    log: Arc<dyn KeyLog>,
    secrets: Mutex<Vec<(Level, usize, OkmBlock)>>,
}

impl SecretTap {
    pub(super) fn new(log: Arc<dyn KeyLog>) -> Self {
        SecretTap { log, secrets: Mutex::default() }
    }

    /// The secrets of a level, once; `None` before they exist.
    pub(super) fn take(&self, level: Level) -> Option<TrafficSecrets> {
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        let mut one = |end: usize| {
            let at = secrets.iter().position(|(of, by, _)| (*of, *by) == (level, end))?;
            Some(secrets.swap_remove(at).2)
        };
        Some(TrafficSecrets { client: one(0)?, server: one(1)? })
    }
}

/// Level and end of the secret with this label, if it is one for packets.
fn place(label: &str) -> Option<(Level, usize)> {
    LABELS.iter().find_map(|(level, labels)| Some((*level, labels.iter().position(|known| *known == label)?)))
}

impl KeyLog for SecretTap {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        if let Some((level, end)) = place(label) {
            let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
            secrets.push((level, end, OkmBlock::new(secret)));
        }
        if self.log.will_log(label) {
            self.log.log(label, client_random, secret);
        }
    }

    fn will_log(&self, label: &str) -> bool {
        place(label).is_some() || self.log.will_log(label)
    }
}

impl fmt::Debug for SecretTap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretTap").finish_non_exhaustive()
    }
}
