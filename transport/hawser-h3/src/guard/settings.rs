//! The server's settings, remembered for 0-RTT (RFC 9114 section 7.2.4.2).
//!
//! What a client sends with its first packets keeps to the settings of the connection in which it got its ticket. A server that
//! takes 0-RTT must not fall behind them; whether it did, the client sees when its SETTINGS frame comes.

use h3::error::Code;

use super::Violation;
use super::frames::varint;

/// How a setting is compared with what is remembered of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A limit or a capability, zero if it is left out: it must not be lower.
    Least,
    /// A limit, and none if it is left out: it must not be lower, nor come to be.
    Unlimited,
    /// RFC 9204 section 3.2.3: what was not zero must be the same.
    TableCapacity,
}

/// Those that the client understands. Others say nothing to it, reserved ones in particular, which are new each time.
const KNOWN: [(u64, Kind); 5] = [
    // QPACK_MAX_TABLE_CAPACITY (RFC 9204 section 5).
    (0x01, Kind::TableCapacity),
    (MAX_FIELD_SECTION_SIZE, Kind::Unlimited),
    // QPACK_BLOCKED_STREAMS (RFC 9204 section 5).
    (0x07, Kind::Least),
    (ENABLE_CONNECT_PROTOCOL, Kind::Least),
    (H3_DATAGRAM, Kind::Least),
];

/// RFC 9220 section 3.
const ENABLE_CONNECT_PROTOCOL: u64 = 0x08;
/// RFC 9297 section 2.1.1.
const H3_DATAGRAM: u64 = 0x33;

/// RFC 9114 section 7.2.4.1.
const MAX_FIELD_SECTION_SIZE: u64 = 0x06;

/// Bytes of a setting that is remembered: which of [`KNOWN`], and its value.
const ENCODED: usize = 9;

/// What a SETTINGS frame says, of what is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings([Option<u64>; KNOWN.len()]);

impl Settings {
    /// Reads the content of a SETTINGS frame; `None` if it can not be read.
    pub(crate) fn read(mut payload: &[u8]) -> Option<Self> {
        let mut settings = Settings::default();
        while !payload.is_empty() {
            let (id, rest) = varint(payload)?;
            let (value, rest) = varint(rest)?;
            if let Some(at) = KNOWN.iter().position(|(known, _)| *known == id) {
                settings.0[at] = Some(value);
            }
            payload = rest;
        }
        Some(settings)
    }

    /// To be remembered. Equal settings have equal encodings.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let said = self.0.iter().zip(0_u8..).filter_map(|(value, at)| Some((at, (*value)?)));
        said.flat_map(|(at, value)| std::iter::once(at).chain(value.to_be_bytes())).collect()
    }

    /// What was remembered.
    pub(crate) fn decode(bytes: &[u8]) -> Self {
        let mut settings = Settings::default();
        for entry in bytes.chunks_exact(ENCODED) {
            if let Some((&at, value)) = entry.split_first()
                && let (Some(place), Ok(value)) = (settings.0.get_mut(usize::from(at)), value.try_into())
            {
                *place = Some(u64::from_be_bytes(value));
            }
        }
        settings
    }

    /// Most bytes of a field section; `None`: as many as one likes.
    pub(crate) fn max_field_section_size(&self) -> Option<u64> {
        self.value(MAX_FIELD_SECTION_SIZE)
    }

    /// Whether HTTP Datagrams are taken.
    pub(crate) fn takes_datagrams(&self) -> bool {
        self.value(H3_DATAGRAM) == Some(1)
    }

    /// Whether CONNECT requests with `:protocol` are taken.
    pub(crate) fn takes_extended_connect(&self) -> bool {
        self.value(ENABLE_CONNECT_PROTOCOL) == Some(1)
    }

    /// # Errors
    /// When a setting that is 0 or 1 is something else (RFC 8441 section 3, RFC 9297 section 2.1.1).
    pub(crate) fn check_values(&self) -> Result<(), Violation> {
        if [ENABLE_CONNECT_PROTOCOL, H3_DATAGRAM]
            .iter()
            .any(|id| self.value(*id).is_some_and(|value| value > 1))
        {
            return Err(Violation::new(Code::H3_SETTINGS_ERROR, "a setting that is neither 0 nor 1"));
        }
        Ok(())
    }

    fn value(&self, id: u64) -> Option<u64> {
        let at = KNOWN.iter().position(|(known, _)| *known == id)?;
        *self.0.get(at)?
    }

    /// Whether what was sent in trust of `remembered`, and taken, may stand.
    ///
    /// # Errors
    /// The server fell behind what it had said, or left it out.
    //= rfc9114-7.2.4.2-11: settings that do not fit the remembered ones: H3_SETTINGS_ERROR
    //= rfc9114-7.2.4.2-12: remembered settings that are left out: H3_SETTINGS_ERROR
    pub(crate) fn check(&self, remembered: &Settings) -> Result<(), Violation> {
        let pairs = self.0.iter().zip(&remembered.0).zip(KNOWN);
        for ((now, before), (_, kind)) in pairs {
            let is_kept = match kind {
                Kind::Least => now.unwrap_or(0) >= before.unwrap_or(0),
                Kind::Unlimited => now.unwrap_or(u64::MAX) >= before.unwrap_or(u64::MAX),
                Kind::TableCapacity => before.unwrap_or(0) == 0 || now == before,
            };
            // Left out although it was said, as anything but the default.
            let is_missing =
                now.is_none() && before.is_some_and(|before| kind == Kind::Unlimited || before > 0);
            if !is_kept || is_missing {
                let (code, reason) = match kind {
                    Kind::TableCapacity => (
                        Code::QPACK_DECODER_STREAM_ERROR,
                        "0-RTT was taken, and the capacity of the QPACK table is another",
                    ),
                    _ => (
                        Code::H3_SETTINGS_ERROR,
                        "0-RTT was taken, and the settings are below those of its ticket",
                    ),
                };
                return Err(Violation::new(code, reason));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn settings(payload: &[u8]) -> Settings {
        Settings::read(payload).unwrap()
    }

    /// What was said before, what is said now, and whether that may be.
    type Case = (&'static [u8], &'static [u8], Result<(), Code>);

    //= rfc9114-7.2.4.2-11, rfc9114-7.2.4.2-12
    #[test]
    fn settings_may_grow_and_not_shrink() {
        let settings_error = Err(Code::H3_SETTINGS_ERROR);
        let cases: [Case; 12] = [
            // MAX_FIELD_SECTION_SIZE: the same, more, less, left out, and where there was none.
            (b"\x06\x20", b"\x06\x20", Ok(())),
            (b"\x06\x20", b"\x06\x21", Ok(())),
            (b"\x06\x20", b"\x06\x1f", settings_error),
            (b"\x06\x20", b"", settings_error),
            (b"", b"\x06\x3f", settings_error),
            // H3_DATAGRAM, with a reserved setting that comes and goes.
            (b"\x33\x01\x21\x05", b"\x33\x01\x40\x40\x06", Ok(())),
            (b"\x33\x01", b"\x33\x00", settings_error),
            (b"\x33\x01", b"", settings_error),
            (b"\x33\x00", b"", Ok(())),
            // QPACK_MAX_TABLE_CAPACITY: from nothing to something only.
            (b"\x01\x00", b"\x01\x20", Ok(())),
            (b"\x01\x20", b"\x01\x21", Err(Code::QPACK_DECODER_STREAM_ERROR)),
            (b"\x01\x20", b"", Err(Code::QPACK_DECODER_STREAM_ERROR)),
        ];
        for (before, now, expected) in cases {
            let checked = settings(now).check(&settings(before)).map_err(|violation| violation.code);
            assert_eq!(checked, expected, "{before:x?}, then {now:x?}");
        }
        assert_eq!(Settings::read(b"\x06"), None);
        assert_eq!(settings(b"\x06\x20").max_field_section_size(), Some(32));
    }

    proptest! {
        #[test]
        fn what_is_remembered_is_what_was_said(
            pairs in prop::collection::vec((0_u8..0x40, 0_u8..0x40), 0..20),
            rubbish in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let payload: Vec<u8> = pairs.into_iter().flat_map(|(id, value)| [id, value]).collect();
            let said = settings(&payload);
            prop_assert_eq!(Settings::decode(&said.encode()), said);
            prop_assert!(said.check(&said).is_ok());
            let _ = Settings::decode(&rubbish);
            let _ = Settings::read(&rubbish);
        }
    }
}
