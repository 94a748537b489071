//! Acknowledgements as often as the peer asks for them.

use std::sync::Arc;
use std::time::Duration;

use hawser_cc::NewReno;
use hawser_policy::{
    AckFrequency, Command, Commands, ControllerInit, Decision, PathId, Scheduler, SchedulerInit, SendView,
    Side, Time,
};
use hawser_sched::MinRtt;

use super::pair::{DELAY, Pair, Sent, Settings, transport};
use crate::TransportConfig;

fn every(packets: u64, max_ack_delay: Duration) -> AckFrequency {
    AckFrequency { ack_eliciting_threshold: packets - 1, max_ack_delay, reordering_threshold: 1 }
}

/// Datagrams of client and server while the server sends so many packets, one per millisecond.
fn trickle(pair: &mut Pair, packets: usize) -> [usize; 2] {
    let since = pair.now;
    let id = pair.server().open_stream(false).unwrap();
    for _ in 0..packets {
        assert_eq!(pair.server().write(id, &[1; 100]), Ok(100));
        pair.run(Duration::from_millis(1));
    }
    pair.run(Duration::from_secs(1));
    [Side::Client, Side::Server].map(|side| pair.datagrams(side, since).count())
}

fn connected() -> Pair {
    let mut pair = Pair::connected(Settings::default());
    // The datagram size is found, so that what follows is steady.
    pair.run(Duration::from_secs(2));
    pair
}

#[test]
fn the_peer_acknowledges_as_often_as_it_was_asked() {
    for packets in [1, 2, 10, 40] {
        let mut pair = connected();
        pair.server().request_ack_frequency(every(packets, Duration::from_millis(200))).unwrap();
        pair.run(Duration::from_millis(100));
        let [acknowledgements, sent] = trickle(&mut pair, 400);
        // The server answers a PING now and then, by which the client learns which acknowledgements arrived.
        assert!((400..=410).contains(&sent), "{packets}: {sent}");
        let expected = 400 / packets as usize;
        assert!((expected..=expected + 3).contains(&acknowledgements), "{packets}: {acknowledgements}");
    }
}

#[test]
fn a_single_packet_is_acknowledged_after_the_delay_that_was_asked_for() {
    let mut pair = connected();
    for millis in [100, 5, 40] {
        let delay = Duration::from_millis(millis);
        pair.server().request_ack_frequency(every(100, delay)).unwrap();
        pair.run(Duration::from_secs(1));
        let since = pair.now;
        pair.write(Side::Server, 100);
        pair.run(Duration::from_secs(1));
        let answer = pair.datagrams(Side::Client, since).next().unwrap().at;
        assert_eq!(answer, since + DELAY + delay, "{millis} ms");
        let packets = pair.datagrams(Side::Server, since).count();
        assert_eq!(packets, 1, "{millis} ms: no probe timeout comes before the acknowledgement");
    }
}

#[test]
fn an_acknowledgement_that_is_wanted_at_once_comes_at_once() {
    let mut pair = connected();
    let second = pair.open(1);
    pair.server().request_ack_frequency(every(100, Duration::from_millis(500))).unwrap();
    pair.run(Duration::from_secs(2));
    for path in [PathId::ZERO, second] {
        let since = pair.now;
        let before = pair.server().path_stats(path).unwrap().packets_acked;
        pair.server().request_immediate_ack(path).unwrap();
        pair.run(2 * DELAY);
        assert_eq!(pair.server().path_stats(path).unwrap().packets_acked, before + 1, "{path}");
        assert_eq!(pair.datagrams(Side::Server, since).count(), 1);
        pair.run(Duration::from_secs(1));
    }
}

#[test]
fn a_frequency_can_be_configured_and_a_lost_request_is_repeated() {
    let server =
        TransportConfig { ack_frequency: Some(every(20, Duration::from_millis(200))), ..transport() };
    let mut pair = Pair::new(Settings { server, ..Settings::default() });
    // Everything that the server sends in its first flights of 1-RTT packets.
    pair.lose = |sent: &Sent| !sent.by.is_client() && (25..200).contains(&millis(sent.at));
    pair.run(Duration::from_secs(2));
    pair.lose = |_| false;
    pair.run(Duration::from_secs(1));
    let [acknowledgements, _] = trickle(&mut pair, 400);
    assert!((400 / 20..=400 / 20 + 3).contains(&acknowledgements), "{acknowledgements}");
}

/// Orders something when it is asked for the first time.
struct Once(Vec<Command>);

impl Scheduler for Once {
    fn name(&self) -> &'static str {
        "once"
    }

    fn schedule(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        commands.append(&mut self.0);
        MinRtt.schedule(view, commands)
    }
}

fn ordering(commands: Vec<Command>, ack_frequency: Option<AckFrequency>) -> Pair {
    let scheduler = move |_: &SchedulerInit| Box::new(Once(commands.clone())) as Box<dyn Scheduler>;
    let controller = |init: &ControllerInit| Box::new(NewReno::new(init)) as Box<_>;
    let server =
        TransportConfig { ack_frequency, ..TransportConfig::new(Arc::new(scheduler), Arc::new(controller)) };
    let mut pair = Pair::connected(Settings { server, ..Settings::default() });
    pair.run(Duration::from_secs(2));
    pair
}

#[test]
fn policies_ask_for_a_frequency() {
    let command = Command::RequestAckFrequency(every(20, Duration::from_millis(200)));
    let mut pair = ordering(vec![command], None);
    let [acknowledgements, _] = trickle(&mut pair, 400);
    // In the first 20 ms the client does not know.
    assert!((20..=32).contains(&acknowledgements), "{acknowledgements}");
    assert_eq!(pair.server().stats().policy_commands_ignored, 0);
}

#[test]
fn policies_ask_for_an_acknowledgement_at_once() {
    let seldom = every(100, Duration::from_millis(500));
    for (commands, answer) in [
        (vec![], DELAY + Duration::from_millis(500)),
        (vec![Command::RequestAck { path: PathId::ZERO }], DELAY),
    ] {
        let mut pair = ordering(commands, Some(seldom));
        let since = pair.now;
        pair.write(Side::Server, 100);
        pair.run(Duration::from_secs(1));
        assert_eq!(pair.datagrams(Side::Client, since).next().unwrap().at, since + answer);
        assert_eq!(pair.datagrams(Side::Server, since).count(), 1, "IMMEDIATE_ACK rides with the data");
    }
    let mut pair = ordering(vec![Command::RequestAck { path: PathId(9) }], None);
    pair.write(Side::Server, 100);
    pair.run(Duration::from_secs(1));
    assert_eq!(pair.server().stats().policy_commands_ignored, 1);
}

fn millis(at: Time) -> u64 {
    at.as_nanos() / 1_000_000
}
