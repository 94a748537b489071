//! Packet protection keys from the secrets of a TLS handshake (RFC 9001 section 5.1, RFC 9369 section 3.3).
//!
//! The TLS library derives keys for the version with which a session began. A client whose server answered in another one
//! (RFC 9368 section 2.3) needs those of that version, from the same secrets.

use ::rustls::crypto::tls13::OkmBlock;
use ::rustls::{CipherSuite, Tls13CipherSuite};
use hawser_policy::Side;
use hawser_wire::{Version, multipath_nonce};

use super::provider::aead::{self, quic as header};
use super::{HeaderKey, Keys, OpenError, PacketKey, PacketKeys};

const TAG_LEN: usize = 16;
const IV_LEN: usize = 12;

/// The labels of HKDF-Expand-Label.
struct Labels {
    key: &'static [u8],
    iv: &'static [u8],
    header: &'static [u8],
    update: &'static [u8],
}

const fn labels(version: Version) -> Labels {
    match version {
        Version::V1 => Labels { key: b"quic key", iv: b"quic iv", header: b"quic hp", update: b"quic ku" },
        Version::V2 => {
            Labels { key: b"quicv2 key", iv: b"quicv2 iv", header: b"quicv2 hp", update: b"quicv2 ku" }
        }
    }
}

/// What a cipher suite asks for: the limits are those of RFC 9001 section 6.6.
struct Cipher {
    aead: &'static aead::Algorithm,
    header: &'static header::Algorithm,
    confidentiality_limit: u64,
    integrity_limit: u64,
}

fn cipher(suite: CipherSuite) -> Option<Cipher> {
    let aes =
        |aead, header| Cipher { aead, header, confidentiality_limit: 1 << 23, integrity_limit: 1 << 52 };
    Some(match suite {
        CipherSuite::TLS13_AES_128_GCM_SHA256 => aes(&aead::AES_128_GCM, &header::AES_128),
        CipherSuite::TLS13_AES_256_GCM_SHA384 => aes(&aead::AES_256_GCM, &header::AES_256),
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => Cipher {
            aead: &aead::CHACHA20_POLY1305,
            header: &header::CHACHA20,
            confidentiality_limit: u64::MAX,
            integrity_limit: 1 << 36,
        },
        _ => return None,
    })
}

/// Whether keys for this suite can be derived here.
pub(super) fn is_supported(suite: CipherSuite) -> bool {
    cipher(suite).is_some()
}

/// The secrets of both directions at one level.
pub(super) struct TrafficSecrets {
    pub(super) client: OkmBlock,
    pub(super) server: OkmBlock,
}

/// Derives the keys of one connection in one version.
pub(super) struct KeyDerivation {
    pub(super) suite: &'static Tls13CipherSuite,
    pub(super) version: Version,
    pub(super) side: Side,
}

impl KeyDerivation {
    /// All keys of a level; `None` for a suite that is not [supported](is_supported).
    pub(super) fn keys(&self, secrets: &TrafficSecrets) -> Option<Keys> {
        let (local, remote) = self.sorted(secrets);
        Some(Keys {
            header_remote: self.header_key(remote)?,
            header_local: self.header_key(local)?,
            packet: self.packet_keys(secrets)?,
        })
    }

    /// The packet keys alone, which is what changes with the key phase.
    pub(super) fn packet_keys(&self, secrets: &TrafficSecrets) -> Option<PacketKeys> {
        let (local, remote) = self.sorted(secrets);
        Some(PacketKeys { remote: self.packet_key(remote)?, local: self.packet_key(local)? })
    }

    /// The secrets of the next key phase (RFC 9001 section 6.1).
    pub(super) fn update(&self, secrets: &TrafficSecrets) -> Option<TrafficSecrets> {
        let next = |secret: &OkmBlock| {
            let mut bytes = [0; OkmBlock::MAX_LEN];
            let bytes = bytes.get_mut(..secret.as_ref().len())?;
            self.expand(secret, labels(self.version).update, bytes)?;
            Some(OkmBlock::new(bytes))
        };
        Some(TrafficSecrets { client: next(&secrets.client)?, server: next(&secrets.server)? })
    }

    /// The local one, then the peer's.
    fn sorted<'a>(&self, secrets: &'a TrafficSecrets) -> (&'a OkmBlock, &'a OkmBlock) {
        match self.side {
            Side::Client => (&secrets.client, &secrets.server),
            Side::Server => (&secrets.server, &secrets.client),
        }
    }

    fn packet_key(&self, secret: &OkmBlock) -> Option<Box<dyn PacketKey>> {
        let cipher = cipher(self.suite.common.suite)?;
        let (mut key, mut iv) = ([0; 32], [0; IV_LEN]);
        let key = key.get_mut(..cipher.aead.key_len())?;
        self.expand(secret, labels(self.version).key, key)?;
        self.expand(secret, labels(self.version).iv, &mut iv)?;
        let key = aead::LessSafeKey::new(aead::UnboundKey::new(cipher.aead, key).ok()?);
        Some(Box::new(DerivedPacketKey { key, iv, cipher }))
    }

    fn header_key(&self, secret: &OkmBlock) -> Option<Box<dyn HeaderKey>> {
        let cipher = cipher(self.suite.common.suite)?;
        let mut key = [0; 32];
        let key = key.get_mut(..cipher.aead.key_len())?;
        self.expand(secret, labels(self.version).header, key)?;
        Some(Box::new(DerivedHeaderKey(header::HeaderProtectionKey::new(cipher.header, key).ok()?)))
    }

    /// HKDF-Expand-Label without a context (RFC 8446 section 7.1).
    fn expand(&self, secret: &OkmBlock, label: &[u8], output: &mut [u8]) -> Option<()> {
        const PREFIX: &[u8] = b"tls13 ";
        let length = u16::try_from(output.len()).ok()?.to_be_bytes();
        let label_length = [u8::try_from(PREFIX.len() + label.len()).ok()?];
        let info = [&length[..], &label_length, PREFIX, label, &[0]];
        self.suite.hkdf_provider.expander_for_okm(secret).expand_slice(&info, output).ok()
    }
}

struct DerivedPacketKey {
    key: aead::LessSafeKey,
    iv: [u8; IV_LEN],
    cipher: Cipher,
}

impl DerivedPacketKey {
    #[inline]
    fn nonce(&self, path: u32, packet_number: u64) -> aead::Nonce {
        aead::Nonce::assume_unique_for_key(multipath_nonce(&self.iv, path, packet_number))
    }
}

impl PacketKey for DerivedPacketKey {
    #[inline]
    fn seal(&self, path: u32, packet_number: u64, packet: &mut [u8], header_length: usize) {
        let (header, payload) = packet.split_at_mut(header_length);
        let (plain, tag) = payload.split_at_mut(payload.len() - TAG_LEN);
        let nonce = self.nonce(path, packet_number);
        match self.key.seal_in_place_separate_tag(nonce, aead::Aad::from(&*header), plain) {
            Ok(computed) => tag.copy_from_slice(computed.as_ref()),
            // Cannot happen with packets of less than gigabytes. If it does, nothing must leave in the clear.
            Err(_) => payload.fill(0),
        }
    }

    #[inline]
    fn open(
        &self,
        path: u32,
        packet_number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<usize, OpenError> {
        let nonce = self.nonce(path, packet_number);
        let plain = self.key.open_in_place(nonce, aead::Aad::from(header), payload).map_err(|_| OpenError)?;
        Ok(plain.len())
    }

    #[inline]
    fn tag_length(&self) -> usize {
        TAG_LEN
    }

    fn confidentiality_limit(&self) -> u64 {
        self.cipher.confidentiality_limit
    }

    fn integrity_limit(&self) -> u64 {
        self.cipher.integrity_limit
    }
}

struct DerivedHeaderKey(header::HeaderProtectionKey);

impl DerivedHeaderKey {
    /// RFC 9001 section 5.4.1. `is_masked`: the packet number's length is behind the mask of the first byte.
    #[inline]
    fn apply(&self, offset: usize, packet: &mut [u8], is_masked: bool) -> Option<()> {
        let sample_at = offset.checked_add(4)?;
        let sample = packet.get(sample_at..sample_at.checked_add(self.sample_length())?)?;
        let mask = self.0.new_mask(sample).ok()?;
        let first = packet.first_mut()?;
        let bits = if *first & 0x80 == 0 { 0x1f } else { 0x0f };
        let before = *first;
        *first ^= mask[0] & bits;
        let plain = if is_masked { *first } else { before };
        let number = packet.get_mut(offset..offset + 1 + usize::from(plain & 0x03))?;
        number.iter_mut().zip(&mask[1..]).for_each(|(byte, mask)| *byte ^= mask);
        Some(())
    }
}

impl HeaderKey for DerivedHeaderKey {
    fn sample_length(&self) -> usize {
        self.0.algorithm().sample_len()
    }

    #[inline]
    fn protect(&self, offset: usize, packet: &mut [u8]) {
        let applied = self.apply(offset, packet, false);
        debug_assert!(applied.is_some(), "packet too short for header protection");
    }

    #[inline]
    fn unprotect(&self, offset: usize, packet: &mut [u8]) {
        // A packet that is too short stays as it is, and does not open.
        let _ = self.apply(offset, packet, true);
    }
}

#[cfg(test)]
mod tests;
