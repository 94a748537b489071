//! What a server looks for in a ClientHello before it starts TLS (RFC 8446 section 4.1.2).
//!
//! The version of the connection depends on what is in it, and the TLS library wants the version first. So this reads two
//! extensions and leaves all judgement to the library, which reads the whole message afterwards.

use hawser_wire::Reader;

/// Extension quic_transport_parameters (RFC 9001 section 8.2).
const QUIC_TRANSPORT_PARAMETERS: u16 = 0x39;
/// Extension early_data (RFC 8446 section 4.2.10).
const EARLY_DATA: u16 = 42;
const CLIENT_HELLO: u8 = 1;

/// What matters of a ClientHello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientHello<'a> {
    /// The client's transport parameters, raw, if there are any.
    pub parameters: Option<&'a [u8]>,
    /// It sends 0-RTT packets.
    pub early_data: bool,
}

impl<'a> ClientHello<'a> {
    /// Reads a whole TLS ClientHello; `None` if it is none.
    pub(super) fn read(message: &'a [u8]) -> Option<Self> {
        let mut r = Reader::new(message);
        if r.read_u8().ok()? != CLIENT_HELLO {
            return None;
        }
        let [high, middle, low] = r.read_array().ok()?;
        let body = r.read_bytes(u32::from_be_bytes([0, high, middle, low]) as usize).ok()?;
        let mut r = Reader::new(body);
        // legacy_version and random, legacy_session_id, cipher_suites, legacy_compression_methods.
        r.read_bytes(2 + 32).ok()?;
        r.read_u8_prefixed().ok()?;
        read_u16_prefixed(&mut r)?;
        r.read_u8_prefixed().ok()?;
        let mut extensions = Reader::new(read_u16_prefixed(&mut r)?);
        let (mut parameters, mut early_data) = (None, false);
        while !extensions.is_empty() {
            let extension = extensions.read_u16().ok()?;
            let value = read_u16_prefixed(&mut extensions)?;
            match extension {
                QUIC_TRANSPORT_PARAMETERS => parameters = Some(value),
                EARLY_DATA => early_data = true,
                _ => {}
            }
        }
        Some(ClientHello { parameters, early_data })
    }
}

fn read_u16_prefixed<'a>(r: &mut Reader<'a>) -> Option<&'a [u8]> {
    let length = r.read_u16().ok()?;
    r.read_bytes(usize::from(length)).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The ClientHello of RFC 9369 appendix A.2.
    fn sample() -> Vec<u8> {
        let text = include_str!("vectors/client_initial_frame.hex");
        let frame = hex::decode(text.split_whitespace().collect::<String>()).unwrap();
        // The CRYPTO frame's type, offset and length.
        frame[4..].to_vec()
    }

    #[test]
    fn the_parameters_of_the_standard_are_found() {
        let message = sample();
        let hello = ClientHello::read(&message).unwrap();
        assert_eq!(hello.parameters.map(hex::encode).unwrap().get(..20), Some("0408ffffffffffffffff"));
        assert!(!hello.early_data);
        for length in 0..message.len() {
            assert_eq!(ClientHello::read(&message[..length]), None, "{length} bytes");
        }
    }

    proptest! {
        #[test]
        fn damaged_messages_do_not_panic(at: prop::sample::Index, byte: u8) {
            let mut message = sample();
            let at = at.index(message.len());
            message[at] = byte;
            let _ = ClientHello::read(&message);
        }
    }
}
