//! The QUIC versions that are spoken, and where their packets differ.

use std::fmt;
use std::str::FromStr;

use crate::codepoints::version;
use crate::packet::PacketType;

/// A QUIC version that this crate reads and writes.
///
/// Version 2 (RFC 9369) is version 1 (RFC 9000) with other numbers, so that nobody on the way relies on those of version
/// 1. Where they differ on the wire is said here; keys and labels are a matter of cryptography.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Version {
    /// RFC 9000.
    #[default]
    V1,
    /// RFC 9369.
    V2,
}

impl Version {
    /// All of them.
    pub const ALL: [Version; 2] = [Version::V1, Version::V2];

    /// The version with this number in the Version field of long headers.
    #[inline]
    pub const fn from_number(number: u32) -> Option<Self> {
        match number {
            version::V1 => Some(Version::V1),
            version::V2 => Some(Version::V2),
            _ => None,
        }
    }

    /// Its number in the Version field of long headers.
    #[inline]
    pub const fn number(self) -> u32 {
        match self {
            Version::V1 => version::V1,
            Version::V2 => version::V2,
        }
    }

    /// What the type bits of a long header mean (RFC 9000 section 17.2, RFC 9369 section 3.2).
    #[inline]
    pub(crate) const fn long_packet_type(self, first: u8) -> PacketType {
        let types = [PacketType::Initial, PacketType::ZeroRtt, PacketType::Handshake, PacketType::Retry];
        types[(((first >> 4) & 0b11).wrapping_sub(self.type_offset()) & 0b11) as usize]
    }

    /// The type bits of a long header, given those of version 1: version 2 counts from 1 instead of 0.
    #[inline]
    pub(crate) const fn type_bits(self, version_1: u8) -> u8 {
        ((version_1 + self.type_offset()) & 0b11) << 4
    }

    const fn type_offset(self) -> u8 {
        match self {
            Version::V1 => 0,
            Version::V2 => 1,
        }
    }
}

impl fmt::Display for Version {
    /// The plain number: `1`, `2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Version::V1 => "1",
            Version::V2 => "2",
        })
    }
}

impl FromStr for Version {
    type Err = UnknownVersion;

    fn from_str(text: &str) -> Result<Self, UnknownVersion> {
        Version::ALL
            .into_iter()
            .find(|version| version.to_string() == text)
            .ok_or_else(|| UnknownVersion(text.to_owned()))
    }
}

/// A text that names no version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no QUIC version that is spoken here, expected 1 or 2")]
pub struct UnknownVersion(pub String);
