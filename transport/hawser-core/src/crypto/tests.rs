//! What every session implementation must do: a client and a server wired back to back.

use super::{KeyChange, Keys, Level, OpenError, PacketKeys, ServerId, Session};
use crate::TransportError;

/// A server at the usual port.
pub(crate) fn server_id(name: &str) -> ServerId<'_> {
    ServerId { name, port: 443 }
}

/// A session, the keys it gave, and the flights it sent as (level, bytes).
pub(super) struct End {
    pub(super) session: Box<dyn Session>,
    pub(super) handshake: Option<Keys>,
    pub(super) one_rtt: Option<Keys>,
    level: Level,
    pub(super) sent: Vec<(Level, usize)>,
    pub(super) handshake_data_reports: usize,
}

impl End {
    fn new(session: Box<dyn Session>) -> Self {
        let sent = Vec::new();
        End {
            session,
            handshake: None,
            one_rtt: None,
            level: Level::Initial,
            sent,
            handshake_data_reports: 0,
        }
    }

    pub(super) fn write(&mut self) -> Vec<(Level, Vec<u8>)> {
        let mut out = Vec::new();
        loop {
            let mut bytes = Vec::new();
            let level = self.level;
            let change = self.session.write_handshake(&mut bytes);
            let done = change.is_none() && bytes.is_empty();
            match change {
                Some(KeyChange::Handshake(keys)) => {
                    (self.level, self.handshake) = (Level::Handshake, Some(keys))
                }
                Some(KeyChange::OneRtt(keys)) => (self.level, self.one_rtt) = (Level::OneRtt, Some(keys)),
                None => {}
            }
            if !bytes.is_empty() {
                self.sent.push((level, bytes.len()));
                out.push((level, bytes));
            }
            if done {
                return out;
            }
        }
    }

    pub(super) fn read(
        &mut self,
        flight: &[(Level, Vec<u8>)],
    ) -> Result<Vec<(Level, Vec<u8>)>, TransportError> {
        let mut answer = Vec::new();
        for (level, bytes) in flight {
            // In pieces, as CRYPTO frames bring them.
            for piece in bytes.chunks(100) {
                self.handshake_data_reports += usize::from(self.session.read_handshake(*level, piece)?);
            }
            answer.append(&mut self.write());
        }
        Ok(answer)
    }
}

/// A client and a server session.
pub(super) struct Pair {
    pub(super) client: End,
    pub(super) server: End,
}

impl Pair {
    pub(super) fn new(client: Box<dyn Session>, server: Box<dyn Session>) -> Self {
        Pair { client: End::new(client), server: End::new(server) }
    }

    /// Runs the handshake to its end on both sides.
    pub(super) fn handshake(&mut self) -> Result<(), TransportError> {
        let mut flight = self.client.write();
        for _ in 0..4 {
            let answer = self.server.read(&flight)?;
            flight = self.client.read(&answer)?;
        }
        assert!(!self.client.session.is_handshaking() && !self.server.session.is_handshaking());
        assert_eq!((self.client.handshake_data_reports, self.server.handshake_data_reports), (1, 1));
        Ok(())
    }
}

/// Whether what `sender` seals opens with `receiver`, and only unchanged, on its path and with its number.
fn check(sender: &PacketKeys, receiver: &PacketKeys) {
    let plain = [&b"header"[..], b"some frames", &[0; 16]].concat();
    for (path, packet_number) in [(0, 0), (0, 7), (5, 7), (u32::MAX, (1 << 62) - 1)] {
        let mut packet = plain.clone();
        sender.local.seal(path, packet_number, &mut packet, 6);
        let (header, sealed) = packet.split_at(6);
        let open = |path, number, header: &[u8], sealed: &[u8]| {
            receiver.remote.open(path, number, header, &mut sealed.to_vec())
        };
        assert_eq!(open(path, packet_number, header, sealed), Ok(11));
        assert_eq!(open(path ^ 1, packet_number, header, sealed), Err(OpenError));
        assert_eq!(open(path, packet_number ^ 1, header, sealed), Err(OpenError));
        assert_eq!(open(path, packet_number, b"Header", sealed), Err(OpenError));
        assert_eq!(open(path, packet_number, header, &sealed[..10]), Err(OpenError), "shorter than a tag");
        for byte in 0..sealed.len() {
            let mut changed = sealed.to_vec();
            changed[byte] ^= 0x10;
            assert_eq!(open(path, packet_number, header, &changed), Err(OpenError), "byte {byte}");
        }
        assert!(
            sender.remote.open(path, packet_number, header, &mut sealed.to_vec()).is_err(),
            "directions differ"
        );
    }
    assert_eq!(sender.local.tag_length(), 16);
}

/// All levels, both directions, and three key updates; each phase has its own keys.
pub(super) fn check_keys_match(pair: &mut Pair) {
    let Pair { client, server } = pair;
    for (one, other) in [(&client.handshake, &server.handshake), (&client.one_rtt, &server.one_rtt)] {
        let (one, other) = (&one.as_ref().unwrap().packet, &other.as_ref().unwrap().packet);
        check(one, other);
        check(other, one);
    }
    let mut previous = server.one_rtt.take().unwrap().packet;
    for _ in 0..3 {
        let ours = client.session.next_packet_keys().unwrap();
        let theirs = server.session.next_packet_keys().unwrap();
        check(&ours, &theirs);
        check(&theirs, &ours);
        let mut packet = vec![0; 40];
        ours.local.seal(0, 9, &mut packet, 4);
        let (header, sealed) = packet.split_at_mut(4);
        assert_eq!(previous.remote.open(0, 9, header, sealed), Err(OpenError), "keys of the phase before");
        previous = theirs;
    }
    let mut exported = [[0; 40]; 3];
    client.session.export_keying_material(&mut exported[0], b"label", b"context").unwrap();
    server.session.export_keying_material(&mut exported[1], b"label", b"context").unwrap();
    server.session.export_keying_material(&mut exported[2], b"label", b"other").unwrap();
    assert_eq!(exported[0], exported[1]);
    assert_ne!(exported[1], exported[2]);
}
