//! The 4-tuple in use on a path, and what happens when packets come from another one (RFC 9000 section 9).
//!
//! The path id stays the same: a change of addresses with connection ids of one path is a migration of that path
//! (draft-ietf-quic-multipath-21 section 3.1.2). Nothing here depends on other paths; two may share a 4-tuple.

use std::time::Duration;

use hawser_policy::{Side, Time};
use hawser_wire::Writer;

use super::amplification::Amplification;
use super::validation::{ResponseEffect, TupleValidation, ValidationFailure, ValidationPacer};
use crate::FourTuple;
use crate::connection::recovery::TupleGenerations;

/// Stamp for packets to addresses that are neither in use nor may be returned to: it is nobody's.
const NO_GENERATION: u32 = u32::MAX;

/// What the decision about a received packet depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketFacts {
    /// It held only PATH_CHALLENGE, PATH_RESPONSE, NEW_CONNECTION_ID and PADDING frames (RFC 9000 section 9.1).
    pub(crate) is_probing: bool,
    /// Its number is the largest of all non-probing packets received on the path. An older one that was overtaken says
    /// nothing about where the peer is now (RFC 9000 section 9.3).
    pub(crate) is_largest: bool,
    /// Size of its datagram.
    pub(crate) datagram_size: usize,
    /// The handshake is confirmed; before that nobody migrates (RFC 9000 section 9).
    pub(crate) handshake_confirmed: bool,
}

/// What a received packet means for the addresses of its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TupleDecision {
    /// Nothing.
    Keep,
    /// One end moved, or its NAT did: from now on packets go over the new addresses, which are being validated. The
    /// caller switches the connection id and lets recovery follow. `drops_previous`: the
    /// addresses that an earlier migration left are of no more use, their connection id is to be released first.
    Moved { drops_previous: bool },
    /// The path is back on its previous addresses, which need no validation, and on their connection id.
    Returned,
    /// The packet must be ignored.
    Discard,
}

/// What became of a validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TupleEvent {
    /// The addresses in use are the peer's. `releases_previous` as in
    /// [`PreviousReleased`](TupleEvent::PreviousReleased).
    Validated { releases_previous: bool },
    /// The addresses in use could not be validated: back to those before (RFC 9000 section 9.3.2).
    FellBack,
    /// The addresses left in a migration are of no more interest; their connection id can be retired.
    PreviousReleased,
    /// The addresses that were probed answer: the path may move there.
    CandidateAnswered(FourTuple),
    /// They do not answer. The connection id that was used there must not be used anywhere else.
    CandidateFailed,
    /// Validation failed, begun when it says, and there is nothing to fall back to.
    Failed { failure: ValidationFailure, began: Time },
}

/// When and how long to validate.
//= rfc9000-9.4-3: the timer of a validation is no shorter than RFC 9002 says
#[derive(Debug)]
pub(crate) struct ValidationContext<'a> {
    pub(crate) now: Time,
    /// The larger of the path's probe timeout and that of a path without samples.
    pub(crate) probe_timeout: Duration,
    pub(crate) pacer: &'a mut ValidationPacer,
}

impl ValidationContext<'_> {
    fn begin(&mut self) -> TupleValidation {
        TupleValidation::new(self.pacer.begin(self.now), self.probe_timeout)
    }
}

#[derive(Clone, Debug)]
struct Addresses {
    tuple: FourTuple,
    /// Rises with every change to other hosts, so that what was sent on others is told apart.
    generation: u32,
    amplification: Amplification,
    validation: Option<TupleValidation>,
}

/// The addresses of one path.
#[derive(Clone, Debug)]
pub(crate) struct Tuples {
    side: Side,
    current: Addresses,
    /// The last validated ones, during a migration: where to return if it turns out to be spurious. They are
    /// validated again, which calls the peer back if the migration was an attacker's (RFC 9000 section 9.3.3).
    previous: Option<Addresses>,
    /// Until when a client that has moved keeps the previous ones. The server asks there too (RFC 9000 section 9.3.3), and
    /// the answer needs the connection id of those addresses (section 9.5).
    answers_until: Option<Time>,
    /// Addresses to move to once they answer: nothing but probes goes there before (RFC 9000 section 21.5.3). Client only.
    candidate: Option<Addresses>,
    last_generation: u32,
}

impl Tuples {
    /// The addresses of the handshake, which validates them: see
    /// [`on_handshake_validated`](Self::on_handshake_validated).
    pub(crate) fn of_handshake(side: Side, tuple: FourTuple) -> Self {
        let amplification = match side {
            // RFC 9000 section 8.1: the limit is the server's.
            Side::Client => Amplification::validated(),
            Side::Server => Amplification::unvalidated(),
        };
        Tuples::with(side, tuple, amplification, None)
    }

    /// The addresses of a new path, to be validated by both ends. `address_known`: the peer's address was validated
    /// on another path with the same local address, so that nothing limits what is sent; a client knows its server.
    //= multipath-3.1-3: a client validates the addresses of a new path
    //= multipath-3.1-4: a server validates the addresses of a new path before it sends data
    pub(crate) fn of_new_path(
        side: Side,
        tuple: FourTuple,
        address_known: bool,
        context: &mut ValidationContext<'_>,
    ) -> Self {
        let amplification = if address_known || side.is_client() {
            Amplification::validated()
        } else {
            Amplification::unvalidated()
        };
        Tuples::with(side, tuple, amplification, Some(context.begin()))
    }

    fn with(
        side: Side,
        tuple: FourTuple,
        amplification: Amplification,
        validation: Option<TupleValidation>,
    ) -> Self {
        let current = Addresses { tuple, generation: 0, amplification, validation };
        Tuples { side, current, previous: None, answers_until: None, candidate: None, last_generation: 0 }
    }

    /// The addresses in use.
    #[inline]
    pub(crate) fn current(&self) -> FourTuple {
        self.current.tuple
    }

    /// The addresses left in a migration that is not over.
    pub(crate) fn previous(&self) -> Option<FourTuple> {
        self.previous.as_ref().map(|addresses| addresses.tuple)
    }

    /// Stamp for packets sent now. A packet with another stamp was sent to other addresses and says nothing about the
    /// present ones (RFC 9000 section 9.4); after a return to earlier addresses theirs is valid again. Addresses that
    /// differ in ports only have the same stamp.
    #[inline]
    pub(crate) fn generation(&self) -> u32 {
        self.current.generation
    }

    /// Stamp for packets to these addresses, which need not be those in use.
    pub(crate) fn generation_of(&self, tuple: FourTuple) -> u32 {
        self.find(tuple).map_or(NO_GENERATION, |addresses| addresses.generation)
    }

    /// The stamps that may count, now or after a return.
    pub(crate) fn generations(&self) -> TupleGenerations {
        let previous = self.previous.as_ref().map(|addresses| addresses.generation);
        TupleGenerations { current: self.current.generation, previous }
    }

    /// Whether the addresses in use are validated.
    #[inline]
    pub(crate) fn is_validated(&self) -> bool {
        self.current.amplification.is_validated()
    }

    /// Whether a validation is under way, of the addresses in use or of the previous ones.
    #[inline]
    pub(crate) fn is_validating(&self) -> bool {
        self.all().any(|addresses| addresses.validation.is_some())
    }

    /// Bytes that may be sent to the addresses in use.
    #[inline]
    pub(crate) fn allowance(&self) -> u64 {
        self.current.amplification.allowance()
    }

    /// Bytes that may be sent to these addresses; `None` if they are neither in use nor the previous ones.
    pub(crate) fn allowance_of(&self, tuple: FourTuple) -> Option<u64> {
        self.find(tuple).map(|addresses| addresses.amplification.allowance())
    }

    /// Whether a datagram that came over these addresses may be processed. RFC 9000 section 9: a client ignores what
    /// comes from an address that is not the server's.
    //= rfc9000-9-5: a client drops packets from unknown server addresses
    //= rfc9000-9.6-1: a client drops what comes from an address it did not choose
    #[inline]
    pub(crate) fn accepts(&self, tuple: FourTuple) -> bool {
        let is_known = |addresses: &Addresses| addresses.tuple.remote == tuple.remote;
        self.side.is_server()
            || is_known(&self.current)
            || self.previous.as_ref().is_some_and(is_known)
            || self.candidate.as_ref().is_some_and(is_known)
    }

    /// Whether a challenge that came over these addresses may be answered: not from an address for which a client has no
    /// connection id that it uses nowhere else (RFC 9000 section 9.5).
    pub(crate) fn may_answer(&self, tuple: FourTuple) -> bool {
        self.side.is_server() || self.all().any(|addresses| addresses.tuple.local == tuple.local)
    }

    /// A datagram for this path came over these addresses, whether or not it could be decrypted.
    #[inline]
    pub(crate) fn on_datagram(&mut self, tuple: FourTuple, bytes: usize) {
        if self.current.tuple == tuple {
            self.current.amplification.on_received(bytes);
        } else {
            self.on_datagram_elsewhere(tuple, bytes);
        }
    }

    #[cold]
    fn on_datagram_elsewhere(&mut self, tuple: FourTuple, bytes: usize) {
        self.learn_local(tuple);
        if let Some(addresses) = self.find_mut(tuple) {
            addresses.amplification.on_received(bytes);
        }
    }

    /// A datagram was sent over these addresses.
    #[inline]
    pub(crate) fn on_sent(&mut self, tuple: FourTuple, bytes: usize) {
        if let Some(addresses) = self.find_mut(tuple) {
            addresses.amplification.on_sent(bytes);
        }
    }

    /// The handshake proved the peer's address (RFC 9000 section 8.1).
    pub(crate) fn on_handshake_validated(&mut self) {
        self.current.amplification.validate();
    }

    /// A packet of this path was authenticated and its frames read.
    //= multipath-3.1.2-1: other addresses under a path id are a migration of that path, with its ids
    //= rfc9000-9.6.2-2: the server stays at its first address until the client moved
    //= rfc9000-21.5.6-2: addresses are not refused without knowledge of the network
    pub(crate) fn on_packet(
        &mut self,
        tuple: FourTuple,
        packet: PacketFacts,
        context: &mut ValidationContext<'_>,
    ) -> TupleDecision {
        if tuple == self.current.tuple {
            return TupleDecision::Keep;
        }
        if !self.accepts(tuple) || !packet.handshake_confirmed {
            return TupleDecision::Discard;
        }
        // A client moves when it wants to, never because of what arrives where.
        if self.side.is_client() || packet.is_probing || !packet.is_largest {
            return TupleDecision::Keep;
        }
        if let Some(previous) = self.previous.take_if(|previous| previous.tuple == tuple) {
            self.return_to(previous);
            return TupleDecision::Returned;
        }
        // RFC 9000 section 8.1: the limit protects the peer's address. That is proven already where only the local one is another
        // one, as when a client goes to a preferred address.
        //= rfc9000-9-4: a changed address of the peer is validated
        //= rfc9000-9.3-1: a server follows a client's move and validates
        //= rfc9000-9.6.2-3: the server validates from its preferred address
        //= rfc9000-9.6.3-3: a client that appears at the preferred address from elsewhere is unvalidated
        //= rfc9000-9.6.3-4: a server validates a client that probes its preferred address from elsewhere
        let is_proven = tuple.remote == self.current.tuple.remote && self.is_validated();
        let amplification = if is_proven { Amplification::validated() } else { Amplification::unvalidated() };
        let drops_previous = self.move_to(tuple, amplification, context);
        self.current.amplification.on_received(packet.datagram_size);
        // RFC 9000 section 9.3.3: asking at the old addresses too calls the peer back if it never left. It did not where only
        // our address is another one.
        //= rfc9000-9.3.3-1: an apparent move has the old address challenged, too
        if let Some(previous) =
            self.previous.as_mut().filter(|previous| !is_proven && previous.validation.is_none())
        {
            previous.validation = Some(context.begin());
        }
        TupleDecision::Moved { drops_previous }
    }

    /// A client changes its own address, or the server's to the preferred one.
    //= rfc9000-9.6.3-1: a client that moves validates the server's first and preferred addresses
    pub(crate) fn migrate(&mut self, tuple: FourTuple, context: &mut ValidationContext<'_>) -> TupleDecision {
        if tuple == self.current.tuple {
            return TupleDecision::Keep;
        }
        // RFC 9000 section 9.6.3: what is probed is probed from the new address from now on.
        if let Some(candidate) = &mut self.candidate {
            candidate.tuple.local = tuple.local;
        }
        // RFC 9000 section 9.2: the peer's address is known, so nothing limits what we send there.
        TupleDecision::Moved { drops_previous: self.move_to(tuple, Amplification::validated(), context) }
    }

    /// A client finds out whether these addresses answer before it moves there.
    //= rfc9000-9.6.2-1: the preferred address is validated before the move
    //= rfc9000-21.5.3-1: an unvalidated preferred address is sent nothing but probes
    pub(crate) fn probe(&mut self, tuple: FourTuple, context: &mut ValidationContext<'_>) {
        self.candidate = Some(Addresses {
            tuple,
            generation: NO_GENERATION,
            amplification: Amplification::validated(),
            validation: Some(context.begin()),
        });
    }

    /// The addresses that are probed.
    pub(crate) fn candidate(&self) -> Option<FourTuple> {
        self.candidate.as_ref().map(|addresses| addresses.tuple)
    }

    /// The addresses over which a challenge is to be sent now.
    pub(crate) fn challenges_due(&self, now: Time) -> impl Iterator<Item = FourTuple> + '_ {
        let due = move |addresses: &&Addresses| addresses.validation.as_ref().is_some_and(|v| v.is_due(now));
        self.all().filter(due).map(|addresses| addresses.tuple)
    }

    /// Writes the challenge that is due for these addresses; see [`TupleValidation::write`].
    pub(crate) fn write_challenge(
        &mut self,
        tuple: FourTuple,
        now: Time,
        data: [u8; 8],
        full_size: bool,
        writer: &mut Writer<'_>,
    ) -> bool {
        let validation = self.find_mut(tuple).and_then(|addresses| addresses.validation.as_mut());
        validation.is_some_and(|validation| validation.write(now, data, full_size, writer))
    }

    /// A PATH_RESPONSE arrived on this path, over any addresses.
    //= rfc9000-8.2.2-4: the challenger accepts PATH_RESPONSE from any path
    pub(crate) fn on_response(&mut self, now: Time, data: [u8; 8]) -> Option<TupleEvent> {
        if let Some(validation) = &mut self.current.validation {
            let effect = validation.on_response(now, data);
            if effect != ResponseEffect::None {
                return self.on_current_answered(effect);
            }
        }
        if let Some(candidate) = &mut self.candidate
            && let Some(validation) = &mut candidate.validation
        {
            let effect = validation.on_response(now, data);
            if effect != ResponseEffect::None {
                let tuple = candidate.tuple;
                return self
                    .candidate
                    .take_if(|_| effect == ResponseEffect::Complete)
                    .map(|_| TupleEvent::CandidateAnswered(tuple));
            }
        }
        let previous = self.previous.as_mut()?;
        if previous.validation.as_mut()?.on_response(now, data) == ResponseEffect::None {
            return None;
        }
        previous.validation = None;
        self.release_previous().then_some(TupleEvent::PreviousReleased)
    }

    /// What the time that has passed means. To be called until it returns `None`.
    //= rfc9000-9.3.2-1: a validation that fails returns to the last validated address
    //= rfc9000-9.6.1-3: a client stays at the first address if the preferred one fails validation
    pub(crate) fn on_timeout(&mut self, now: Time) -> Option<TupleEvent> {
        if self.answers_until.take_if(|until| *until <= now).is_some() && self.release_previous() {
            return Some(TupleEvent::PreviousReleased);
        }
        if let Some(previous) = &mut self.previous
            && previous.validation.as_ref().is_some_and(|v| v.failure(now).is_some())
        {
            // It remains the place to fall back to: an outage fails all validations alike.
            previous.validation = None;
            if self.release_previous() {
                return Some(TupleEvent::PreviousReleased);
            }
        }
        let is_over = |candidate: &mut Addresses| {
            candidate.validation.as_ref().is_none_or(|validation| validation.failure(now).is_some())
        };
        if self.candidate.take_if(is_over).is_some() {
            return Some(TupleEvent::CandidateFailed);
        }
        let validation = self.current.validation.as_ref()?;
        let (failure, began) = (validation.failure(now)?, validation.began());
        self.current.validation = None;
        match self.previous.take() {
            Some(previous) => {
                self.return_to(previous);
                Some(TupleEvent::FellBack)
            }
            None => Some(TupleEvent::Failed { failure, began }),
        }
    }

    /// When something is to be done. A challenge that may not leave now has no time of its own: it waits for something
    /// to arrive, not for a clock.
    #[inline]
    pub(crate) fn timeout(&self, may_send: impl Fn(FourTuple) -> bool) -> Option<Time> {
        let is_idle = self.answers_until.is_none() && !self.is_validating();
        if is_idle { None } else { self.validation_timeout(may_send) }
    }

    #[cold]
    fn validation_timeout(&self, may_send: impl Fn(FourTuple) -> bool) -> Option<Time> {
        let deadline = |addresses: &Addresses| {
            let validation = addresses.validation.as_ref()?;
            Some(if may_send(addresses.tuple) { validation.timeout() } else { validation.give_up() })
        };
        self.all().filter_map(deadline).chain(self.answers_until).min()
    }

    /// The addresses in use could not be validated, but are worth another attempt.
    pub(crate) fn validate_again(&mut self, context: &mut ValidationContext<'_>) {
        self.current.validation = Some(context.begin());
    }

    /// The path is abandoned: nothing is validated any more.
    pub(crate) fn stop(&mut self) {
        self.current.validation = None;
        self.previous = None;
        self.answers_until = None;
        self.candidate = None;
    }

    fn on_current_answered(&mut self, effect: ResponseEffect) -> Option<TupleEvent> {
        self.current.amplification.validate();
        if effect != ResponseEffect::Complete {
            return None;
        }
        let validation = self.current.validation.take();
        if self.side.is_client() && self.previous.is_some() {
            self.answers_until = validation.map(|validation| validation.give_up());
        }
        Some(TupleEvent::Validated { releases_previous: self.release_previous() })
    }

    /// Forgets the previous addresses once they are neither being validated nor needed.
    fn release_previous(&mut self) -> bool {
        let is_settled = self.current.validation.is_none()
            && self.current.amplification.is_validated()
            && self.answers_until.is_none();
        is_settled && self.previous.take_if(|previous| previous.validation.is_none()).is_some()
    }

    /// Back to validated addresses, which need not prove themselves again (RFC 9000 section 9.3).
    fn return_to(&mut self, previous: Addresses) {
        self.answers_until = None;
        self.current = Addresses { validation: None, ..previous };
    }

    /// Returns whether this displaced previous addresses.
    //= rfc9000-9.3-2: a server limits what it sends to an address until it is validated
    fn move_to(
        &mut self,
        tuple: FourTuple,
        amplification: Amplification,
        context: &mut ValidationContext<'_>,
    ) -> bool {
        let generation = if differs_in_port_only(self.current.tuple, tuple) {
            self.current.generation
        } else {
            self.last_generation += 1;
            self.last_generation
        };
        let next = Addresses { tuple, generation, amplification, validation: Some(context.begin()) };
        self.answers_until = None;
        let left = std::mem::replace(&mut self.current, next);
        // Only validated addresses are worth returning to; else the ones before them remain.
        if left.validation.is_none() && left.amplification.is_validated() {
            return self.previous.replace(left).is_some();
        }
        false
    }

    /// A socket bound to the wildcard address learns its own from the first datagram.
    fn learn_local(&mut self, tuple: FourTuple) {
        let current = &mut self.current.tuple;
        let is_wildcard = current.local.ip().is_unspecified() && current.local.port() == tuple.local.port();
        if is_wildcard && current.remote == tuple.remote {
            current.local = tuple.local;
        }
    }

    fn all(&self) -> impl Iterator<Item = &Addresses> {
        std::iter::once(&self.current).chain(&self.previous).chain(&self.candidate)
    }

    fn find(&self, tuple: FourTuple) -> Option<&Addresses> {
        self.all().find(|addresses| addresses.tuple == tuple)
    }

    fn find_mut(&mut self, tuple: FourTuple) -> Option<&mut Addresses> {
        std::iter::once(&mut self.current)
            .chain(&mut self.previous)
            .chain(&mut self.candidate)
            .find(|addresses| addresses.tuple == tuple)
    }
}

/// Whether both lead between the same hosts: most likely a NAT that forgot (RFC 9000 section 9.4).
//= rfc9000-9.4-2: another host: window and round-trip time are reset; another port: both stay
fn differs_in_port_only(a: FourTuple, b: FourTuple) -> bool {
    a.remote.ip() == b.remote.ip() && a.local.ip() == b.local.ip()
}

#[cfg(test)]
mod tests;
