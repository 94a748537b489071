//! The handshake: TLS messages, and the keys and packet-number spaces of each encryption level (RFC 9001 section 4).

mod crypto_stream;
mod first_flight;
mod keys;
#[cfg(test)]
mod tests;

use hawser_policy::Time;
use hawser_wire::Version;

use crate::connection::recovery::{PacketNumberSpace, SpaceKind};
use crate::connection::version::VersionState;
use crate::crypto::{HeaderKey, KeyChange, Keys, Level, PacketKey, Session};
use crate::{Code, TransportError};

pub(crate) use crypto_stream::{CryptoReceive, CryptoSend};
use first_flight::Decided;
pub(crate) use first_flight::FirstFlight;
pub(crate) use keys::{KeyChoice, OneRttKeys, PathKeyPhase};

/// An Initial or Handshake level while its keys exist: dropping it discards everything that belongs to it.
pub(crate) struct LongLevel {
    pub(crate) keys: Keys,
    pub(crate) space: PacketNumberSpace,
    pub(crate) send: CryptoSend,
    pub(crate) receive: CryptoReceive,
    /// Pending probes: ack-eliciting packets to send regardless of the congestion window (RFC 9002 section 6.2.4).
    pub(crate) probes: u8,
}

impl LongLevel {
    pub(crate) fn new(keys: Keys, space: PacketNumberSpace) -> Self {
        LongLevel { keys, space, send: CryptoSend::default(), receive: CryptoReceive::default(), probes: 0 }
    }

    pub(crate) fn header_local(&self) -> &dyn HeaderKey {
        &*self.keys.header_local
    }

    pub(crate) fn packet_local(&self) -> &dyn PacketKey {
        &*self.keys.packet.local
    }
}

/// What came of feeding TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Application-visible handshake data (ALPN, server name) became known.
    pub(crate) data_ready: bool,
    /// 1-RTT keys became available.
    pub(crate) one_rtt_ready: bool,
    /// The TLS handshake completed just now.
    pub(crate) completed: bool,
    /// The server decided for the version of the connection.
    pub(crate) decided: bool,
}

/// TLS: at a server it starts when the ClientHello is there.
pub(crate) enum Tls {
    FirstFlight(Box<FirstFlight>),
    Session(Box<dyn Session>),
}

/// The TLS session, the levels that exist and how far the handshake is.
pub(crate) struct Handshake {
    tls: Tls,
    pub(crate) version: VersionState,
    pub(crate) initial: Option<LongLevel>,
    /// Initial keys of the client's first flight, if the server answered in another version. They go with the level.
    original_keys: Option<Keys>,
    pub(crate) handshake: Option<LongLevel>,
    pub(crate) one_rtt: Option<OneRttKeys>,
    /// CRYPTO frames after the handshake: session tickets.
    pub(crate) late_send: CryptoSend,
    pub(crate) late_receive: CryptoReceive,
    /// See [`TransportConfig::key_update_after`](crate::TransportConfig::key_update_after).
    key_update_after: Option<u64>,
    write_level: Level,
    complete: bool,
    /// RFC 9001 section 4.1.2: for a server when complete, for a client when HANDSHAKE_DONE arrives.
    pub(crate) confirmed: bool,
    /// When handshake data last arrived, or a probe for it left.
    pub(crate) last_activity: Time,
}

impl Handshake {
    pub(crate) fn new(
        tls: Tls,
        version: VersionState,
        initial: Keys,
        now: Time,
        key_update_after: Option<u64>,
    ) -> Self {
        Handshake {
            tls,
            version,
            original_keys: None,
            initial: Some(LongLevel::new(initial, PacketNumberSpace::new(SpaceKind::Initial))),
            handshake: None,
            one_rtt: None,
            late_send: CryptoSend::default(),
            late_receive: CryptoReceive::default(),
            key_update_after,
            write_level: Level::Initial,
            complete: false,
            confirmed: false,
            last_activity: now,
        }
    }

    /// The TLS session, once it has started.
    pub(crate) fn session(&self) -> Option<&dyn Session> {
        match &self.tls {
            Tls::FirstFlight(_) => None,
            Tls::Session(session) => Some(&**session),
        }
    }

    fn session_mut(&mut self) -> Option<&mut Box<dyn Session>> {
        match &mut self.tls {
            Tls::FirstFlight(_) => None,
            Tls::Session(session) => Some(session),
        }
    }

    /// The keys that open Initial packets of this version.
    pub(crate) fn initial_keys(&self, version: Version) -> Option<&Keys> {
        if version == self.version.current() {
            self.initial.as_ref().map(|level| &level.keys)
        } else {
            self.original_keys.as_ref().filter(|_| version == self.version.original())
        }
    }

    /// The server answered in another version, in which Initial packets have these keys (client).
    pub(crate) fn switch_version(&mut self, version: Version, keys: Keys) {
        self.version.switch(version);
        if let Some(session) = self.session_mut() {
            session.set_version(version);
        }
        if let Some(level) = &mut self.initial {
            level.keys = keys;
        }
    }

    /// Whether TLS has completed on our side.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether Initial or Handshake packets may still be sent.
    #[inline]
    pub(crate) fn has_long_levels(&self) -> bool {
        self.initial.is_some() || self.handshake.is_some()
    }

    /// The level with this number, if its keys exist.
    pub(crate) fn long_level(&mut self, level: Level) -> Option<&mut LongLevel> {
        match level {
            Level::Initial => self.initial.as_mut(),
            Level::Handshake => self.handshake.as_mut(),
            Level::OneRtt => None,
        }
    }

    /// Takes a CRYPTO frame and lets TLS answer.
    pub(crate) fn on_crypto(
        &mut self,
        level: Level,
        offset: u64,
        data: &[u8],
    ) -> Result<Progress, TransportError> {
        let Some(receive) = self.receive_mut(level) else { return Ok(Progress::default()) };
        receive.insert(offset, data)?;
        let mut progress = Progress::default();
        while let Some(piece) = self.receive_mut(level).and_then(CryptoReceive::read) {
            match &mut self.tls {
                Tls::Session(session) => progress.data_ready |= session.read_handshake(level, &piece)?,
                Tls::FirstFlight(first) => {
                    let Some(decided) = first.read(&piece)? else { continue };
                    progress.data_ready |= self.start(level, decided)?;
                    progress.decided = true;
                }
            }
        }
        let driven = self.drive()?;
        progress.one_rtt_ready = driven.one_rtt_ready;
        progress.completed = driven.completed;
        Ok(progress)
    }

    /// The server's TLS starts, in the version that the ClientHello decided for, and reads that.
    fn start(&mut self, level: Level, mut decided: Decided) -> Result<bool, TransportError> {
        if let (Some(keys), Some(level)) = (decided.initial, &mut self.initial) {
            self.original_keys = Some(std::mem::replace(&mut level.keys, keys));
        }
        self.version.switch(decided.version);
        let data_ready = decided.session.read_handshake(level, &decided.received);
        self.tls = Tls::Session(decided.session);
        data_ready
    }

    /// A client starts again with another session, after a Version Negotiation packet.
    pub(crate) fn begin_anew(&mut self, session: Box<dyn Session>, keys: Keys) -> Result<(), TransportError> {
        self.tls = Tls::Session(session);
        self.initial = Some(LongLevel::new(keys, PacketNumberSpace::new(SpaceKind::Initial)));
        self.drive().map(|_| ())
    }

    /// Takes the Initial level away, with all its keys.
    pub(crate) fn take_initial(&mut self) -> Option<LongLevel> {
        self.original_keys = None;
        self.initial.take()
    }

    fn receive_mut(&mut self, level: Level) -> Option<&mut CryptoReceive> {
        match level {
            Level::Initial => self.initial.as_mut().map(|l| &mut l.receive),
            Level::Handshake => self.handshake.as_mut().map(|l| &mut l.receive),
            Level::OneRtt => Some(&mut self.late_receive),
        }
    }

    /// Lets TLS write what it has to say, and installs the keys that come with it.
    //= rfc9001-4.9-2: new CRYPTO data goes at the newest level
    pub(crate) fn drive(&mut self) -> Result<Progress, TransportError> {
        let mut progress = Progress::default();
        loop {
            let mut buffer = Vec::new();
            let Some(session) = self.session_mut() else { break };
            let change = session.write_handshake(&mut buffer);
            let idle = buffer.is_empty() && change.is_none();
            self.send(self.write_level).append(&buffer);
            match change {
                Some(KeyChange::Handshake(keys)) => {
                    check_consumed(self.initial.as_ref())?;
                    self.handshake = Some(LongLevel::new(keys, PacketNumberSpace::new(SpaceKind::Handshake)));
                    self.write_level = Level::Handshake;
                }
                Some(KeyChange::OneRtt(keys)) => {
                    check_consumed(self.handshake.as_ref())?;
                    self.install_one_rtt(keys)?;
                    self.write_level = Level::OneRtt;
                    progress.one_rtt_ready = true;
                }
                None => {}
            }
            if idle {
                break;
            }
        }
        if !self.complete && self.session().is_some_and(|session| !session.is_handshaking()) {
            self.complete = true;
            progress.completed = true;
        }
        Ok(progress)
    }

    fn install_one_rtt(&mut self, keys: Keys) -> Result<(), TransportError> {
        let next = self.session_mut().and_then(|session| session.next_packet_keys()).ok_or_else(|| {
            TransportError::new(Code::INTERNAL_ERROR, "TLS gave 1-RTT keys but none for the next key phase")
        })?;
        self.one_rtt = Some(OneRttKeys::new(keys, next, self.key_update_after));
        Ok(())
    }

    /// Moves both directions to the next key phase.
    pub(crate) fn update_keys(&mut self) -> Result<(), TransportError> {
        if self.one_rtt.is_none() {
            return Ok(());
        }
        let following =
            self.session_mut().and_then(|session| session.next_packet_keys()).ok_or_else(|| {
                TransportError::new(Code::KEY_UPDATE_ERROR, "TLS gave no keys for the next key phase")
            })?;
        if let Some(keys) = &mut self.one_rtt {
            keys.update(following);
        }
        Ok(())
    }

    /// Where outgoing handshake bytes of a level go. A discarded level takes them nowhere visible: TLS has moved on.
    fn send(&mut self, level: Level) -> &mut CryptoSend {
        let long = match level {
            Level::Initial => self.initial.as_mut(),
            Level::Handshake => self.handshake.as_mut(),
            Level::OneRtt => None,
        };
        long.map_or(&mut self.late_send, |l| &mut l.send)
    }

    /// A CRYPTO frame of this level was lost.
    //= rfc9001-4-1: CRYPTO data is retransmitted with the keys of its level
    //= rfc9001-4.9-1: CRYPTO data stays at its level
    pub(crate) fn on_crypto_lost(&mut self, level: Level, offset: u64, length: u32) {
        match level {
            Level::OneRtt => self.late_send.on_lost(offset, length),
            _ => {
                if let Some(long) = self.long_level(level) {
                    long.send.on_lost(offset, length);
                }
            }
        }
    }
}

/// RFC 9001 section 4.1.3: when keys of the next level come, nothing of this one may be left over.
//= rfc9001-4.1.3-3: data left over when keys change: PROTOCOL_VIOLATION
fn check_consumed(level: Option<&LongLevel>) -> Result<(), TransportError> {
    if level.is_some_and(|level| level.receive.has_gap()) {
        return Err(TransportError::protocol_violation("handshake data is left over at a change of keys"));
    }
    Ok(())
}
