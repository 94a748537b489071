//! What users have sent and received within 30 days, across restarts of the gateway.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::meter::Meter;

/// After so long a volume begins again.
const PERIOD: Duration = Duration::from_secs(30 * 24 * 3_600);
/// Most bytes of the file that are read: some 100,000 users.
const MAX_FILE: u64 = 16 << 20;

/// What one user has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Used {
    bytes: u64,
    /// From when on, in seconds since 1970.
    since: u64,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    #[serde(default)]
    user: BTreeMap<String, Used>,
}

/// A file of volumes.
#[derive(Debug)]
pub(super) struct Usage {
    path: PathBuf,
    kept: Mutex<Content>,
}

impl Usage {
    /// Reads the file; one that is not there, or is of somebody else, is as one in which nobody has used anything.
    pub(super) fn open(path: PathBuf) -> Self {
        let read = || {
            if fs::metadata(&path)?.len() > MAX_FILE {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            toml::from_str(&fs::read_to_string(&path)?).map_err(io::Error::other)
        };
        let content = read().unwrap_or_else(|error| {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::warn!(%error, path = %path.display(), "volumes of users begin again");
            }
            Content::default()
        });
        Usage { path, kept: Mutex::new(content) }
    }

    /// A user who is known from now on goes on from what was used before.
    pub(super) fn restore(&self, name: &str, meter: &Meter) {
        if let Some(used) = self.kept().user.get(name) {
            meter.set_used(used.bytes);
        }
    }

    /// Writes what these users have used down, and lets those begin again whose time has come.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn save<'a>(
        &self,
        now: SystemTime,
        users: impl Iterator<Item = (&'a str, &'a Meter)>,
    ) -> io::Result<()> {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut kept = self.kept();
        let mut content = Content::default();
        for (name, meter) in users {
            let before = kept.user.get(name).copied().unwrap_or(Used { bytes: 0, since: now });
            // A clock that was set back begins again, too, rather than never.
            let is_over = now.abs_diff(before.since) >= PERIOD.as_secs();
            if is_over {
                meter.set_used(0);
            }
            let since = if is_over { now } else { before.since };
            content.user.insert(name.to_owned(), Used { bytes: meter.used(), since });
        }
        if *kept == content {
            return Ok(());
        }
        let draft = self.path.with_extension("draft");
        fs::write(&draft, toml::to_string(&content).map_err(io::Error::other)?)?;
        fs::rename(&draft, &self.path)?;
        *kept = content;
        Ok(())
    }

    fn kept(&self) -> MutexGuard<'_, Content> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 24 * 3_600;

    fn at(days: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(20_000 * DAY + days * DAY)
    }

    #[test]
    fn volumes_survive_a_restart_and_begin_again_after_thirty_days() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("usage.toml");
        let (usage, meter) = (Usage::open(path.clone()), Meter::default());
        meter.set_used(700);
        usage.save(at(0), [("alice", &meter)].into_iter()).unwrap();
        let (usage, meter) = (Usage::open(path.clone()), Meter::default());
        usage.restore("alice", &meter);
        usage.restore("bob", &Meter::default());
        assert_eq!(meter.used(), 700);
        usage.save(at(29), [("alice", &meter)].into_iter()).unwrap();
        assert_eq!(meter.used(), 700);
        usage.save(at(30), [("alice", &meter)].into_iter()).unwrap();
        assert_eq!(meter.used(), 0);
        std::fs::write(&path, "what?").unwrap();
        Usage::open(path).restore("alice", &meter);
        assert_eq!(meter.used(), 0);
    }
}
