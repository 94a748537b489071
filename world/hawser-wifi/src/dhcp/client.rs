//! The client (RFC 2131 section 4.4): what it sends, when it sends it again, and what it makes of answers.

use std::net::Ipv4Addr;

use hawser_policy::Time;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::time::Duration;

use super::lease::Lease;
use super::message::{Kind, Message};
use crate::profile::{Profile, Retry};
use crate::retransmit::{Expired, Retransmit};

/// How often a server may refuse before the client goes elsewhere.
const MAX_REFUSALS: u32 = 3;
/// Shortest time between two attempts to renew (RFC 2131 section 4.4.5).
const RENEW_INTERVAL: Duration = Duration::from_secs(60);

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has an address: for the first time, or once more.
    Bound(Lease),
    /// No server answers, or it refuses.
    Failed,
    /// The lease has expired.
    Expired,
}

#[derive(Clone, Debug)]
enum State {
    /// Asks whether the address of an earlier lease may be used (INIT-REBOOT).
    Rebooting {
        address: Ipv4Addr,
        timer: Retransmit,
    },
    /// Waits for offers.
    Selecting {
        timer: Retransmit,
    },
    /// Asks for what was offered.
    Requesting {
        address: Ipv4Addr,
        server: Option<Ipv4Addr>,
        timer: Retransmit,
    },
    /// Has an address, and asks for more time at `renew`.
    Bound {
        lease: Lease,
        renew: Time,
        expires: Time,
    },
    Ended,
}

/// A DHCP client on one link. It sends by broadcast, and wants answers by broadcast, as long as it has no address.
#[derive(Clone, Debug)]
pub struct Client {
    mac: [u8; 6],
    retry: Retry,
    /// Re-sends after those of `retry`, once.
    patience: Option<Retry>,
    random: ChaCha8Rng,
    started: Time,
    xid: u32,
    state: State,
    message: Option<Vec<u8>>,
    outcome: Option<Outcome>,
    refusals: u32,
    resent: u32,
    is_known_address: bool,
}

impl Client {
    /// Begins now: with the address of this lease if the profile has it so, else with DISCOVER. A lease that another hardware address was
    /// given is not asked for: that would say who has drawn this one (RFC 7844 section 3.3).
    pub fn new(
        now: Time,
        mac: [u8; 6],
        profile: &Profile,
        known: Option<&Lease>,
        mut random: ChaCha8Rng,
    ) -> Self {
        let known = known.filter(|lease| lease.mac.is_none_or(|holder| holder == mac));
        let reboot = profile.reboot.zip(known);
        let state = match reboot {
            Some((retry, lease)) => {
                State::Rebooting { address: lease.address, timer: Retransmit::start(now, retry, &mut random) }
            }
            None => State::Selecting { timer: Retransmit::start(now, profile.dhcp, &mut random) },
        };
        let mut client = Client {
            mac,
            retry: profile.dhcp,
            patience: None,
            started: now,
            xid: random.random(),
            random,
            state,
            message: None,
            outcome: None,
            refusals: 0,
            resent: 0,
            is_known_address: false,
        };
        client.send(now);
        client
    }

    /// Goes on with these re-sends, once, when nobody answered those of the profile. The exchange stays the same, so that a late answer
    /// to any of them counts.
    #[must_use]
    pub fn with_patience(mut self, patience: Option<Retry>) -> Self {
        self.patience = patience;
        self
    }

    /// Messages that were sent again so far.
    pub fn resent(&self) -> u32 {
        self.resent
    }

    /// Whether the address that it has is that of an earlier lease, which the server has confirmed.
    pub fn is_known_address(&self) -> bool {
        self.is_known_address
    }

    /// The next message to broadcast from port 68 to port 67.
    pub fn poll_message(&mut self) -> Option<Vec<u8>> {
        self.message.take()
    }

    /// The newest outcome, once.
    pub fn poll_outcome(&mut self) -> Option<Outcome> {
        self.outcome.take()
    }

    /// When [`Client::handle_timeout`] wants to be called.
    pub fn poll_timeout(&self) -> Option<Time> {
        match &self.state {
            State::Rebooting { timer, .. } | State::Selecting { timer } | State::Requesting { timer, .. } => {
                Some(timer.expires)
            }
            State::Bound { renew, expires, .. } => Some((*renew).min(*expires)),
            State::Ended => None,
        }
    }

    /// A timer may have expired.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.poll_timeout().is_none_or(|expires| now < expires) {
            return;
        }
        match &mut self.state {
            State::Rebooting { timer, .. } => match timer.expire(now, &mut self.random) {
                Expired::SendAgain => self.send_again(now),
                // RFC 2131 section 3.2: the client may go on with the old lease. This one asks for a new one: nobody
                // has said that it is in the same network.
                Expired::Abandon => self.discover(now),
            },
            State::Selecting { timer } | State::Requesting { timer, .. } => {
                match (timer.expire(now, &mut self.random), self.patience) {
                    (Expired::SendAgain, _) => self.send_again(now),
                    (Expired::Abandon, Some(patience)) => {
                        *timer = Retransmit::start(now, patience, &mut self.random);
                        self.patience = None;
                        self.send_again(now);
                    }
                    (Expired::Abandon, None) => self.end(Outcome::Failed),
                }
            }
            State::Bound { renew, expires, .. } => {
                if now >= *expires {
                    self.end(Outcome::Expired);
                } else {
                    *renew = now + ((*expires - now) / 2).max(RENEW_INTERVAL);
                    self.send(now);
                }
            }
            State::Ended => {}
        }
    }

    /// A message arrived. What is not for this client, or not an answer to what it asked, is ignored.
    pub fn handle(&mut self, now: Time, bytes: &[u8]) {
        let Some(message) = Message::decode(bytes) else { return };
        if message.xid != self.xid || message.mac != self.mac {
            return;
        }
        match (&self.state, message.kind) {
            (State::Selecting { .. }, Kind::Offer) => self.take_offer(now, &message),
            (State::Requesting { server, .. }, Kind::Ack | Kind::Nak) if *server != message.server => {}
            // A server that gives another address than it was asked for has answered somebody else's question.
            (State::Rebooting { address, .. } | State::Requesting { address, .. }, Kind::Ack)
                if message.given == Some(*address) =>
            {
                self.bind(now, &message);
            }
            (State::Bound { lease, .. }, Kind::Ack) if message.given == Some(lease.address) => {
                self.bind(now, &message);
            }
            (State::Rebooting { .. } | State::Requesting { .. }, Kind::Nak) => {
                self.refusals += 1;
                if self.refusals > MAX_REFUSALS { self.end(Outcome::Failed) } else { self.discover(now) }
            }
            (State::Bound { .. }, Kind::Nak) => self.end(Outcome::Expired),
            _ => {}
        }
    }

    /// The first usable offer is taken: there is no time to wait for better ones.
    fn take_offer(&mut self, now: Time, offer: &Message) {
        let Some(address) = Lease::of(offer).map(|lease| lease.address) else { return };
        let timer = Retransmit::start(now, self.retry, &mut self.random);
        self.state = State::Requesting { address, server: offer.server, timer };
        self.send(now);
    }

    fn bind(&mut self, now: Time, ack: &Message) {
        let Some(lease) = Lease::of(ack) else { return };
        self.is_known_address |= matches!(self.state, State::Rebooting { .. });
        let seconds = |seconds: u32| Duration::from_secs(u64::from(seconds));
        let is_endless = lease.seconds == u32::MAX;
        let (renew, expires) = if is_endless {
            (Time::FAR_FUTURE, Time::FAR_FUTURE)
        } else {
            (now + seconds(lease.renew_seconds), now + seconds(lease.seconds))
        };
        self.outcome = Some(Outcome::Bound(lease.clone()));
        self.state = State::Bound { lease, renew, expires };
    }

    fn discover(&mut self, now: Time) {
        self.xid = self.random.random();
        self.state = State::Selecting { timer: Retransmit::start(now, self.retry, &mut self.random) };
        self.send(now);
    }

    fn end(&mut self, outcome: Outcome) {
        self.state = State::Ended;
        self.message = None;
        self.outcome = Some(outcome);
    }

    fn send_again(&mut self, now: Time) {
        self.resent += 1;
        self.send(now);
    }

    fn send(&mut self, now: Time) {
        let mut message = Message::new(Kind::Request, self.xid, self.mac);
        message.seconds = u16::try_from((now - self.started).as_secs()).unwrap_or(u16::MAX);
        message.broadcast = true;
        // RFC 2131 section 4.3.2, which says what a REQUEST contains in which state.
        match &self.state {
            State::Selecting { .. } => message.kind = Kind::Discover,
            State::Rebooting { address, .. } => message.requested = Some(*address),
            State::Requesting { address, server, .. } => {
                message.requested = Some(*address);
                message.server = *server;
            }
            State::Bound { lease, .. } => {
                message.current = Some(lease.address);
                message.broadcast = false;
            }
            State::Ended => return,
        }
        self.message = Some(message.encode());
    }
}
