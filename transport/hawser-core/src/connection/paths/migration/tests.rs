use std::time::Duration;

use hawser_policy::{Side, Time};
use hawser_wire::Writer;

use super::{NO_GENERATION, PacketFacts, TupleDecision, TupleEvent, Tuples, ValidationContext};
use crate::FourTuple;
use crate::connection::paths::testing::{millis, tuple};
use crate::connection::paths::validation::{ValidationFailure, ValidationPacer};
use crate::connection::recovery::TupleGenerations;

const PROBE_TIMEOUT: Duration = Duration::from_millis(100);

const NEWEST: PacketFacts =
    PacketFacts { is_probing: false, is_largest: true, datagram_size: 1200, handshake_confirmed: true };

struct Path {
    tuples: Tuples,
    pacer: ValidationPacer,
}

impl Path {
    /// A path of the handshake, validated, over `tuple`.
    fn established(side: Side, tuple: FourTuple) -> Self {
        let mut tuples = Tuples::of_handshake(side, tuple);
        tuples.on_handshake_validated();
        Path { tuples, pacer: ValidationPacer::new(Duration::from_millis(999)) }
    }

    fn receive(&mut self, now: Time, tuple: FourTuple, packet: PacketFacts) -> TupleDecision {
        self.tuples.on_datagram(tuple, packet.datagram_size);
        let mut context = ValidationContext { now, probe_timeout: PROBE_TIMEOUT, pacer: &mut self.pacer };
        self.tuples.on_packet(tuple, packet, &mut context)
    }

    fn migrate(&mut self, now: Time, tuple: FourTuple) -> TupleDecision {
        let mut context = ValidationContext { now, probe_timeout: PROBE_TIMEOUT, pacer: &mut self.pacer };
        self.tuples.migrate(tuple, &mut context)
    }

    /// Sends all challenges due; the data tells the host they went to.
    fn challenge(&mut self, now: Time) -> Vec<FourTuple> {
        let mut sent = Vec::new();
        let due: Vec<_> = self.tuples.challenges_due(now).collect();
        for tuple in due {
            let mut buffer = [0; 9];
            let data = data_for(tuple);
            assert!(self.tuples.write_challenge(tuple, now, data, true, &mut Writer::new(&mut buffer)));
            sent.push(tuple);
        }
        sent
    }

    fn timeouts(&mut self, now: Time) -> Vec<TupleEvent> {
        std::iter::from_fn(|| self.tuples.on_timeout(now)).collect()
    }
}

fn data_for(tuple: FourTuple) -> [u8; 8] {
    (u64::from(tuple.remote.port())).to_be_bytes()
}

//= multipath-3.1.2-1, rfc9000-9.3-1, rfc9000-9.4-2
#[test]
fn nat_rebinding_is_followed_and_keeps_the_generation() {
    let (old, new) = (tuple(1, 1000), tuple(1, 2000));
    let mut path = Path::established(Side::Server, old);
    assert_eq!(path.tuples.allowance(), u64::MAX);
    assert_eq!(path.receive(millis(0), new, NEWEST), TupleDecision::Moved { drops_previous: false });
    assert_eq!(path.tuples.current(), new);
    assert_eq!(path.tuples.generation(), 0, "what is in flight counts on, and so do the estimates");
    assert_eq!(path.tuples.allowance(), 3600, "three times the datagram that came");
    assert_eq!(path.challenge(millis(0)), [new, old], "the old addresses are asked too");
    let validated = TupleEvent::Validated { releases_previous: false };
    assert_eq!(path.tuples.on_response(millis(20), data_for(new)), Some(validated));
    assert_eq!(path.tuples.allowance(), u64::MAX);
    assert_eq!(path.timeouts(millis(400)), [TupleEvent::PreviousReleased]);
    assert_eq!(path.tuples.timeout(|_| true), None, "no timer of what is gone");
}

//= rfc9000-9-4, rfc9000-9.3-1
#[test]
fn another_host_begins_anew() {
    let mut path = Path::established(Side::Server, tuple(1, 1000));
    path.receive(millis(0), tuple(2, 2000), NEWEST);
    let generations = TupleGenerations { current: 1, previous: Some(0) };
    assert_eq!(path.tuples.generations(), generations, "from the first packet on");
    path.challenge(millis(0));
    // The old addresses answer first: the client is still there, but moved on.
    assert_eq!(path.tuples.on_response(millis(10), data_for(tuple(1, 1000))), None);
    assert_eq!(
        path.tuples.on_response(millis(20), data_for(tuple(2, 2000))),
        Some(TupleEvent::Validated { releases_previous: true })
    );
}

#[test]
fn only_the_newest_non_probing_packet_moves_a_path() {
    let (old, new) = (tuple(1, 1000), tuple(2, 2000));
    let mut path = Path::established(Side::Server, old);
    let probing = PacketFacts { is_probing: true, ..NEWEST };
    let overtaken = PacketFacts { is_largest: false, ..NEWEST };
    let early = PacketFacts { handshake_confirmed: false, ..NEWEST };
    assert_eq!(path.receive(millis(0), new, probing), TupleDecision::Keep);
    assert_eq!(path.receive(millis(0), new, overtaken), TupleDecision::Keep);
    assert_eq!(path.receive(millis(0), new, early), TupleDecision::Discard);
    assert_eq!(path.tuples.current(), old, "a probe does not overwrite the addresses in use");
    assert_eq!((path.tuples.generation(), path.tuples.timeout(|_| true)), (0, None));
}

//= rfc9000-9.3.2-1
#[test]
fn spoofed_migration_falls_back() {
    let (home, victim) = (tuple(1, 1000), tuple(66, 6666));
    let mut path = Path::established(Side::Server, home);
    path.receive(millis(0), victim, NEWEST);
    path.challenge(millis(0));
    assert_eq!(path.tuples.on_response(millis(50), data_for(home)), None);
    path.challenge(millis(100));
    assert_eq!(path.timeouts(millis(299)), []);
    assert_eq!(path.timeouts(millis(300)), [TupleEvent::FellBack]);
    assert_eq!(path.tuples.current(), home);
    assert_eq!(path.tuples.allowance(), u64::MAX);
    assert_eq!(path.tuples.generation(), 0, "packets sent before the attack count again");
    assert_eq!(path.tuples.timeout(|_| true), None);
}

#[test]
fn the_peer_itself_calls_back_at_once() {
    let (home, victim) = (tuple(1, 1000), tuple(66, 6666));
    let mut path = Path::established(Side::Server, home);
    path.receive(millis(0), victim, NEWEST);
    assert_eq!(path.receive(millis(10), home, NEWEST), TupleDecision::Returned);
    assert_eq!((path.tuples.current(), path.tuples.generation()), (home, 0));
    assert!(!path.tuples.is_validating() && path.tuples.is_validated());
    assert_eq!(path.challenge(millis(1000)), [], "the victim hears no more");
}

#[test]
fn an_outage_during_a_migration_does_not_end_the_path() {
    let (home, new) = (tuple(1, 1000), tuple(1, 2000));
    let mut path = Path::established(Side::Server, home);
    path.receive(millis(0), new, NEWEST);
    // Neither address answers: both validations end at once.
    assert_eq!(path.timeouts(millis(5000)), [TupleEvent::FellBack]);
    assert_eq!(path.tuples.current(), home);
}

#[test]
fn many_migrations_keep_the_last_validated_addresses() {
    let home = tuple(1, 1000);
    let mut path = Path::established(Side::Server, home);
    for n in 0..100 {
        let moved = path.receive(millis(n), tuple(2, 2000 + n as u16), NEWEST);
        assert_eq!(moved, TupleDecision::Moved { drops_previous: false });
        assert_eq!(path.tuples.previous(), Some(home));
    }
    assert_eq!(path.tuples.generations(), TupleGenerations { current: 1, previous: Some(0) }, "ports only");
    let challenges = path.challenge(millis(100)).len();
    assert!(challenges <= 2, "what was left is not asked any more");
    assert_eq!(path.timeouts(Time::from_secs(1000)), [TupleEvent::FellBack]);
}

#[test]
fn a_second_migration_drops_what_the_first_left() {
    let mut path = Path::established(Side::Server, tuple(1, 1000));
    path.receive(millis(0), tuple(1, 2000), NEWEST);
    path.challenge(millis(0));
    path.tuples.on_response(millis(10), data_for(tuple(1, 2000)));
    let moved = path.receive(millis(20), tuple(1, 3000), NEWEST);
    assert_eq!(moved, TupleDecision::Moved { drops_previous: true });
    assert_eq!(path.tuples.previous(), Some(tuple(1, 2000)));
}

//= rfc9000-9-5, rfc9000-9.6-1
#[test]
fn client_ignores_other_servers_and_moves_only_by_itself() {
    let home = tuple(1, 443);
    let mut path = Path::established(Side::Client, home);
    assert!(!path.tuples.accepts(tuple(2, 443)));
    assert_eq!(path.receive(millis(0), tuple(2, 443), NEWEST), TupleDecision::Discard);

    let other_link = FourTuple { local: ([10, 0, 0, 7], 7).into(), ..home };
    assert!(path.tuples.accepts(other_link));
    assert_eq!(path.receive(millis(0), other_link, NEWEST), TupleDecision::Keep);
    assert_eq!(path.tuples.current(), home);

    assert_eq!(path.migrate(millis(10), other_link), TupleDecision::Moved { drops_previous: false });
    assert_eq!(path.migrate(millis(10), other_link), TupleDecision::Keep);
    assert_eq!(path.tuples.allowance(), u64::MAX, "the server's address is known");
    assert_eq!(path.challenge(millis(10)), [other_link], "its own old socket may be gone");
    assert_eq!(
        path.tuples.on_response(millis(30), data_for(other_link)),
        Some(TupleEvent::Validated { releases_previous: false })
    );
    // The server asks at the old address, too: there the old connection id answers, and no other.
    let stranger = FourTuple { local: ([10, 0, 0, 9], 9).into(), ..home };
    assert!(path.tuples.may_answer(home) && !path.tuples.may_answer(stranger));
    let until = millis(10) + 3 * PROBE_TIMEOUT;
    assert_eq!(path.tuples.timeout(|_| true), Some(until));
    assert_eq!(path.timeouts(millis(309)), []);
    assert_eq!(path.timeouts(until), [TupleEvent::PreviousReleased]);
    assert!(!path.tuples.may_answer(home) && path.tuples.may_answer(other_link));
    assert_eq!(path.tuples.timeout(|_| true), None);
}

#[test]
fn wildcard_socket_learns_its_address() {
    let real = tuple(1, 443);
    let wildcard = FourTuple { local: ([0, 0, 0, 0], real.local.port()).into(), ..real };
    let mut path = Path::established(Side::Client, wildcard);
    let stranger = FourTuple { local: ([10, 0, 0, 7], 7).into(), ..real };
    path.tuples.on_datagram(stranger, 100);
    assert_eq!(path.tuples.current(), wildcard);
    path.tuples.on_datagram(real, 100);
    assert_eq!((path.tuples.current(), path.tuples.generation()), (real, 0));
}

//= multipath-3.1-3
#[test]
fn new_path_that_is_never_answered_fails() {
    let mut pacer = ValidationPacer::new(Duration::from_millis(999));
    let mut context = ValidationContext { now: millis(0), probe_timeout: PROBE_TIMEOUT, pacer: &mut pacer };
    let tuples = Tuples::of_new_path(Side::Server, tuple(3, 3000), false, &mut context);
    let mut path = Path { tuples, pacer };
    assert_eq!(path.tuples.allowance(), 0);
    path.tuples.on_datagram(tuple(3, 3000), 1200);
    path.challenge(millis(0));
    path.tuples.on_sent(tuple(3, 3000), 1200);
    assert_eq!(path.tuples.allowance(), 2400);
    assert_eq!(
        path.timeouts(millis(300)),
        [TupleEvent::Failed { failure: ValidationFailure::Unreachable, began: millis(0) }]
    );
    assert_eq!(path.timeouts(millis(301)), [], "said once");
}

#[test]
fn a_challenge_is_credited_to_the_addresses_it_goes_to() {
    let (home, new, stranger) = (tuple(1, 1000), tuple(2, 2000), tuple(3, 3000));
    let mut path = Path::established(Side::Server, home);
    path.receive(millis(0), new, NEWEST);
    let stamps = [home, new, stranger].map(|tuple| path.tuples.generation_of(tuple));
    assert_eq!(stamps, [0, 1, NO_GENERATION]);
}
