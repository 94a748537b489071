//! Which QUIC versions an endpoint speaks (RFC 9368, RFC 9369).

use std::fmt;
use std::str::FromStr;

use hawser_wire::Version;
use hawser_wire::transport_parameters::VersionInformation;
use hawser_wire::version::UnknownVersion;
use smallvec::SmallVec;

/// QUIC versions, most wanted first: at least one, none twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions(SmallVec<[Version; 2]>);

/// Why something is no list of versions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VersionsError {
    /// There has to be one.
    #[error("no QUIC version is listed")]
    Empty,
    /// The order would mean nothing.
    #[error("QUIC version {0} is listed twice")]
    Twice(Version),
    /// It is not spoken here.
    #[error(transparent)]
    Unknown(#[from] UnknownVersion),
}

impl Versions {
    /// These versions.
    ///
    /// # Errors
    /// The list is empty, or one of them comes twice.
    pub fn new(versions: impl IntoIterator<Item = Version>) -> Result<Self, VersionsError> {
        let mut list = SmallVec::new();
        for version in versions {
            if list.contains(&version) {
                return Err(VersionsError::Twice(version));
            }
            list.push(version);
        }
        if list.is_empty() { Err(VersionsError::Empty) } else { Ok(Versions(list)) }
    }

    /// This version and no other.
    pub fn only(version: Version) -> Self {
        Versions(SmallVec::from_slice(&[version]))
    }

    /// Whether it is among them.
    pub fn contains(&self, version: Version) -> bool {
        self.0.contains(&version)
    }

    /// All, most wanted first.
    pub fn iter(&self) -> impl Iterator<Item = Version> + '_ {
        self.0.iter().copied()
    }

    /// With which a client begins that has no reason to begin with another: version 1 if it is listed, which all servers
    /// know, so that no round trip is lost (RFC 9368 section 2.5).
    pub fn first_flight(&self) -> Version {
        self.iter().find(|version| *version == Version::V1).or(self.iter().next()).unwrap_or_default()
    }

    /// The most wanted of those whose numbers are `offered`.
    pub(crate) fn select(&self, mut offered: impl FnMut(u32) -> bool) -> Option<Version> {
        self.iter().find(|version| offered(version.number()))
    }

    /// The numbers, and one that nobody speaks, so that peers keep ignoring what they do not know (RFC 9000 section 15).
    pub(crate) fn advertised(&self, reserved: Option<u32>) -> Vec<u32> {
        self.iter().map(Version::number).chain(reserved).collect()
    }
}

impl Default for Versions {
    /// Version 1, then version 2: version 2 has nothing that version 1 lacks, and what a connection leaves for the next one,
    /// tickets and tokens, serves only the version that it came from (RFC 9369 section 5).
    fn default() -> Self {
        Versions(SmallVec::from_slice(&Version::ALL))
    }
}

impl fmt::Display for Versions {
    /// A list like `2,1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.iter().map(|version| version.to_string()).collect::<Vec<_>>().join(","))
    }
}

impl FromStr for Versions {
    type Err = VersionsError;

    /// Reads a list like `2,1`.
    fn from_str(text: &str) -> Result<Self, VersionsError> {
        let versions: Result<Vec<Version>, _> = text.split(',').map(|part| part.trim().parse()).collect();
        Versions::new(versions?)
    }
}

/// Who decides in which version a connection goes on, where client and server share several (RFC 9368 section 2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VersionPreference {
    /// The client: the first version of its list that the server speaks.
    #[default]
    Client,
    /// The server: the first version of its own list that the client offers.
    Server,
}

impl VersionPreference {
    /// In which version a server that speaks `ours` answers a client that began with `original` and said `client`.
    pub(crate) fn choose(
        self,
        ours: &Versions,
        original: Version,
        client: Option<&VersionInformation>,
    ) -> Version {
        let Some(client) = client else { return original };
        let chosen = match self {
            VersionPreference::Client => {
                let spoken = |number: &u32| Version::from_number(*number).filter(|v| ours.contains(*v));
                client.available.iter().find_map(spoken)
            }
            VersionPreference::Server => ours.select(|number| client.available.contains(&number)),
        };
        // Versions 1 and 2 are compatible with each other (RFC 9369 section 4).
        chosen.unwrap_or(original)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_checked() {
        let list = |text: &str| text.parse::<Versions>();
        assert_eq!(list("2, 1").unwrap().iter().collect::<Vec<_>>(), [Version::V2, Version::V1]);
        assert_eq!(list("1"), Ok(Versions::only(Version::V1)));
        assert_eq!(list("1,1"), Err(VersionsError::Twice(Version::V1)));
        for wrong in ["", "3", "1,", "v1", "1 2"] {
            assert!(list(wrong).unwrap_err().to_string().contains("expected 1 or 2"), "{wrong}");
        }
        assert_eq!(list("2,1").unwrap().first_flight(), Version::V1);
        assert_eq!(list("2").unwrap().first_flight(), Version::V2);
    }

    #[test]
    fn either_end_may_be_the_one_that_chooses() {
        let (v1, v2) = (Version::V1, Version::V2);
        let list = |versions: &[Version]| Versions::new(versions.iter().copied()).unwrap();
        let client = |available: &[u32]| VersionInformation { chosen: 1, available: available.to_vec() };
        let both = [0x1a2a_3a4a, v2.number(), v1.number()];
        for (preference, ours, offer, expected) in [
            (VersionPreference::Client, list(&[v1, v2]), &both[..], v2),
            (VersionPreference::Client, list(&[v1]), &both, v1),
            (VersionPreference::Client, list(&[v2, v1]), &[1, v2.number()], v1),
            (VersionPreference::Server, list(&[v2, v1]), &[1, v2.number()], v2),
            (VersionPreference::Server, list(&[v1, v2]), &both, v1),
            (VersionPreference::Server, list(&[v2, v1]), &[1], v1),
        ] {
            assert_eq!(
                preference.choose(&ours, v1, Some(&client(offer))),
                expected,
                "{preference:?} {ours:?}"
            );
        }
        assert_eq!(VersionPreference::Server.choose(&list(&[v2, v1]), v1, None), v1);
    }
}
