//! What worked for a destination: with which controller a new path begins (F. Yang 2022, section 5.3.7).

mod file;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use hawser_policy::{LinkId, Time};

pub use file::PrefixFileError;

use super::{CANDIDATES, Candidate};

/// Prefixes that are remembered, and for how long.
const CAPACITY: usize = 1_024;
const EXPIRY: Duration = Duration::from_secs(24 * 3_600);

/// A destination network, seen over a local link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PrefixKey {
    /// The first address of the /24 (IPv4) or the /48 (IPv6).
    network: IpAddr,
    /// The local link: one destination can be behind links of several kinds.
    link: Option<LinkId>,
}

impl PrefixKey {
    /// The key of paths to this address over this link.
    pub fn new(remote: SocketAddr, link: Option<LinkId>) -> PrefixKey {
        let network = match remote.ip().to_canonical() {
            IpAddr::V4(address) => {
                let [a, b, c, _] = address.octets();
                IpAddr::V4(Ipv4Addr::new(a, b, c, 0))
            }
            IpAddr::V6(address) => {
                let [a, b, c, ..] = address.segments();
                IpAddr::V6(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0))
            }
        };
        PrefixKey { network, link }
    }
}

/// Weights of the candidates for a prefix.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Entry {
    weights: [f64; CANDIDATES],
    /// Seconds since the origin of time; negative for what was learned by an earlier process.
    used_at: f64,
}

/// Which controller worked recently, by prefix: 1024 of them, each for a day after its last use. The least recently used one
/// gives way.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PrefixMemory {
    entries: BTreeMap<PrefixKey, Entry>,
}

impl PrefixMemory {
    /// The controller with the largest weight; `None`: nothing is known.
    pub fn initial(&self, key: PrefixKey, now: Time) -> Option<Candidate> {
        let entry = self.entries.get(&key).filter(|entry| !entry.is_expired(now))?;
        let largest = entry.weights.iter().copied().fold(0.0, f64::max);
        let is_largest = |candidate: &Candidate| entry.weights[*candidate as usize] >= largest;
        (largest > 0.0).then(|| Candidate::ALL.into_iter().find(is_largest))?
    }

    /// A unit wanted this controller: all weights of the prefix are multiplied by `alpha`, and one is added to its own.
    pub fn record(&mut self, key: PrefixKey, wanted: Candidate, alpha: f64, now: Time) {
        let now_seconds = now.as_secs_f64();
        if let Some(entry) = self.entries.get_mut(&key).filter(|entry| !entry.is_expired(now)) {
            entry.weights.iter_mut().for_each(|weight| *weight *= alpha);
            entry.weights[wanted as usize] += 1.0;
            entry.used_at = now_seconds;
            return;
        }
        let mut weights = [0.0; CANDIDATES];
        weights[wanted as usize] = 1.0;
        self.insert(key, Entry { weights, used_at: now_seconds });
    }

    /// The weights of a prefix, in the order of [`Candidate::ALL`].
    pub fn weights(&self, key: PrefixKey) -> Option<[f64; CANDIDATES]> {
        self.entries.get(&key).map(|entry| entry.weights)
    }

    /// How many prefixes are remembered.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn insert(&mut self, key: PrefixKey, entry: Entry) {
        if self.entries.len() >= CAPACITY && !self.entries.contains_key(&key) {
            let oldest =
                self.entries.iter().min_by(|(_, one), (_, other)| one.used_at.total_cmp(&other.used_at));
            if let Some(oldest) = oldest.map(|(key, _)| *key) {
                self.entries.remove(&oldest);
            }
        }
        self.entries.insert(key, entry);
    }
}

impl Entry {
    fn is_expired(&self, now: Time) -> bool {
        now.as_secs_f64() - self.used_at > EXPIRY.as_secs_f64()
    }
}

#[cfg(test)]
mod tests;
