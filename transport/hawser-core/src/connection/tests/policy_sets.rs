//! Policy sets over whole connections: shared state, events, commands, messages, exchange while running.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hawser_cc::NewReno;
use hawser_policy::{
    Ack, Agent, Assignment, Command, Commands, Composed, CongestionController, ControllerInit, Decision,
    Event, FeatureId, FeatureSet, Interests, LimitedBy, Loss, Message, MessageOrigin, PathId, PathStatus,
    PolicySet, PolicySetFactory, Scheduler, SchedulerInit, SendView, SetInit, Siblings, Side, Time,
};
use hawser_sched::MinRtt;

use super::pair::{DELAY, Pair, Settings, client_address, transport, transport_with};
use crate::{Event as ConnectionEvent, TransportConfig};

const STEER: FeatureId = FeatureId(4_711);

/// What the parts of one set share.
#[derive(Default)]
struct Shared {
    /// The only path that may be used, if one was chosen.
    chosen: Option<PathId>,
    seen: Seen,
}

/// What the agent was told.
#[derive(Clone, Debug, Default)]
struct Seen {
    sent: Vec<(PathId, u64, u64, LimitedBy)>,
    acked: Vec<(PathId, u64)>,
    received: Vec<(PathId, u64, u64)>,
    messages: Vec<(MessageOrigin, Vec<u8>)>,
    paths: usize,
    probe_timeouts: usize,
}

struct Obedient(Arc<Mutex<Shared>>);

impl Scheduler for Obedient {
    fn name(&self) -> &'static str {
        "obedient"
    }

    fn schedule(&mut self, view: &SendView<'_>, _: &mut Commands) -> Decision {
        let chosen = self.0.lock().unwrap().chosen;
        let allowed = |path: &&hawser_policy::PathView| chosen.is_none_or(|id| id == path.id);
        match view.preferred().filter(allowed).find(|path| path.sendable() > 0) {
            Some(path) => Decision::Send(Assignment::next(path.id)),
            None => Decision::Wait(None),
        }
    }
}

/// Notes what it is told; a message of one byte chooses a path, and is confirmed to the application.
struct Steering {
    shared: Arc<Mutex<Shared>>,
    interests: Interests,
}

impl Agent for Steering {
    fn interests(&self) -> Interests {
        self.interests
    }

    fn on_event(&mut self, event: &Event<'_>, commands: &mut Commands) {
        let shared = &mut *self.shared.lock().unwrap();
        let seen = &mut shared.seen;
        match event {
            Event::Sent(sent) => {
                let bytes = sent.ranges.iter().map(|range| range.range.end - range.range.start).sum();
                seen.sent.push((sent.path, sent.packet_number, bytes, sent.limited_by));
            }
            Event::Acked(acked) => seen.acked.push((acked.path, acked.packet_number)),
            Event::Received(received) => {
                seen.received.push((received.path, received.packet_number, received.gap))
            }
            Event::Path { .. } => seen.paths += 1,
            Event::ProbeTimeout { .. } => seen.probe_timeouts += 1,
            Event::Message { origin, message, .. } => {
                seen.messages.push((*origin, message.payload.clone()));
                match (origin, message.payload.first()) {
                    (MessageOrigin::Peer, Some(id)) => {
                        shared.chosen = Some(PathId(u32::from(*id)));
                        commands.push(Command::Tell(Message::latest(STEER, "steered")));
                    }
                    // The application's wish goes to the peer.
                    (MessageOrigin::Application, _) => commands.push(Command::Send((*message).clone())),
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

#[derive(Clone)]
struct SteeredSet {
    shared: Arc<Mutex<Shared>>,
    interests: Interests,
}

impl PolicySetFactory for SteeredSet {
    fn build(&self, _: &SetInit) -> PolicySet {
        let base = Composed::new(
            Arc::new(|_: &SchedulerInit| Box::new(MinRtt) as Box<_>),
            Arc::new(|init: &ControllerInit| Box::new(NewReno::new(init)) as Box<_>),
            Arc::new(|| Box::new(hawser_paths::FastestReturn::default()) as Box<_>),
        );
        let init = SetInit::new(Side::Client, 1, Time::ZERO);
        base.build(&init).with(|set| {
            set.scheduler = Box::new(Obedient(self.shared.clone()));
            set.agent = Some(Box::new(Steering { shared: self.shared.clone(), interests: self.interests }));
            set.features = self.features();
        })
    }

    fn features(&self) -> FeatureSet {
        FeatureSet::NONE.with(STEER)
    }
}

fn steered(interests: Interests) -> (SteeredSet, Arc<Mutex<Shared>>) {
    let shared = Arc::new(Mutex::new(Shared::default()));
    (SteeredSet { shared: shared.clone(), interests }, shared)
}

fn pair_of(client: &SteeredSet, server: &SteeredSet) -> Pair {
    Pair::connected(Settings {
        client: TransportConfig::with_policies(Arc::new(client.clone())),
        server: TransportConfig::with_policies(Arc::new(server.clone())),
        ..Settings::default()
    })
}

#[test]
fn a_receiver_steers_the_sender_by_a_message() {
    let (client, at_client) = steered(Interests::MESSAGES);
    let (server, at_server) = steered(Interests::MESSAGES);
    let mut pair = pair_of(&client, &server);
    pair.open(1);
    let began = pair.now;
    // The application at the receiver asks for path 1; its set passes that on.
    pair.server().tell_policies(began, &Message::latest(STEER, vec![1]));
    assert_eq!(at_server.lock().unwrap().seen.messages, [(MessageOrigin::Application, vec![1])]);
    pair.run(DELAY);
    assert_eq!(at_client.lock().unwrap().seen.messages, [(MessageOrigin::Peer, vec![1])]);
    assert_eq!(at_client.lock().unwrap().chosen, Some(PathId(1)));
    let told = pair
        .client
        .events
        .iter()
        .any(|event| matches!(event, ConnectionEvent::Policy(message) if message.payload == b"steered"));
    assert!(told, "{:?}", pair.client.events);
    let began = pair.now;
    pair.write(Side::Client, 50_000);
    pair.run(Duration::from_millis(100));
    let data = pair.datagrams(Side::Client, began).filter(|sent| sent.payload.len() > 900);
    let (chosen, others): (Vec<_>, Vec<_>) = data.partition(|sent| sent.tuple.local == client_address(1));
    assert!(
        chosen.len() >= 35 && others.is_empty(),
        "{} on the chosen path, {} beside it",
        chosen.len(),
        others.len()
    );
}

#[test]
fn each_packet_is_told_once_to_who_asked() {
    let all = Interests::SENT | Interests::ACKED | Interests::RECEIVED | Interests::PATHS;
    let (client, at_client) = steered(all);
    let (server, at_server) = steered(Interests::RECEIVED);
    let mut pair = pair_of(&client, &server);
    pair.open(1);
    for at in [&at_client, &at_server] {
        at.lock().unwrap().seen = Seen::default();
    }
    let length = 40_000;
    pair.write(Side::Client, length);
    pair.run(Duration::from_millis(300));
    let seen = at_client.lock().unwrap().seen.clone();
    assert_eq!(seen.sent.iter().map(|(.., bytes, _)| bytes).sum::<u64>(), length as u64);
    let data: Vec<_> = seen.sent.iter().filter(|(.., bytes, _)| *bytes > 0).collect();
    assert_eq!(data[0].3, LimitedBy::Application, "nothing was there to send before");
    assert!(data.windows(2).all(|pair| pair[0].0 != pair[1].0 || pair[0].1 < pair[1].1), "numbers rise");
    for (path, number, ..) in &data {
        assert_eq!(seen.acked.iter().filter(|acked| **acked == (*path, *number)).count(), 1);
        let arrived = at_server.lock().unwrap().seen.received.clone();
        assert_eq!(arrived.iter().filter(|(on, which, _)| (on, which) == (path, number)).count(), 1);
    }
    // Nobody asked the server's set about what it sent.
    assert!(at_server.lock().unwrap().seen.sent.is_empty());
}

#[test]
fn a_set_is_exchanged_while_the_connection_runs() {
    // Nobody reads at the server: its windows hold all that is sent here.
    let window = 32 << 20;
    let server =
        TransportConfig { initial_stream_window: window, initial_connection_window: window, ..transport() };
    let mut pair = Pair::connected(Settings { server, ..Settings::default() });
    pair.open(1);
    pair.write(Side::Client, 20 << 20);
    pair.run(Duration::from_millis(100));
    let (set, shared) = steered(Interests::NONE);
    shared.lock().unwrap().chosen = Some(PathId(1));
    let now = pair.now;
    let window = |pair: &mut Pair| pair.client().path_stats(PathId(1)).unwrap().congestion_window;
    let before = window(&mut pair);
    pair.client().set_policies(now, &set);
    // NewReno begins with what was in flight and delivered, not with what an unfilled window would have allowed.
    let after = window(&mut pair);
    assert!((before / 2..=before).contains(&after), "the window was {before} bytes, and is {after}");
    pair.run(Duration::from_millis(30));
    let began = pair.now;
    pair.run(Duration::from_millis(100));
    let data: Vec<_> = pair.datagrams(Side::Client, began).filter(|sent| sent.payload.len() > 900).collect();
    let on_chosen = data.iter().filter(|sent| sent.tuple.local == client_address(1)).count();
    assert!(on_chosen > 20 && on_chosen == data.len(), "{on_chosen} of {}", data.len());
}

/// Gives one command with its first decision.
struct Once(Option<Vec<Command>>);

impl Scheduler for Once {
    fn name(&self) -> &'static str {
        "once"
    }

    fn schedule(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        if view.queue.unsent > 10_000 {
            commands.extend(self.0.take().unwrap_or_default());
        }
        MinRtt.schedule(view, commands)
    }
}

fn commanded(commands: Vec<Command>) -> Pair {
    let make = move |_: &SchedulerInit| Box::new(Once(Some(commands.clone()))) as Box<dyn Scheduler>;
    let congestion = |init: &ControllerInit| Box::new(NewReno::new(init)) as Box<_>;
    let client = transport_with(Arc::new(make), Arc::new(congestion));
    let mut pair = Pair::connected(Settings { client, ..Settings::default() });
    pair.open(1);
    pair.write(Side::Client, 200_000);
    pair
}

#[test]
fn commands_without_sense_are_ignored_and_counted() {
    let (stream, path) = (hawser_policy::StreamId(400), PathId(77));
    let nonsense = vec![
        Command::Ping { path },
        Command::ScalePacing { path, percent: 50 },
        Command::ReplaceController { path },
        Command::Reinject { from: path, to: PathId::ZERO, max_bytes: 1 },
        Command::Reinject { from: PathId::ZERO, to: PathId::ZERO, max_bytes: 1 },
        Command::Copy { stream, range: 5..5, to: PathId::ZERO },
        Command::Copy { stream, range: 0..10, to: path },
        Command::Discard { stream, range: 0..u64::MAX },
        Command::RequestAck { path },
        Command::ReturnAcks { acked: path, on: None },
        Command::ReturnAcks { acked: PathId::ZERO, on: Some(path) },
        Command::Send(Message::latest(STEER, "not negotiated")),
        Command::Send(Message::latest(STEER, vec![0; 5_000])),
    ];
    let expected = nonsense.len() as u64;
    let mut pair = commanded(nonsense);
    pair.run(Duration::from_secs(1));
    assert_eq!(pair.client().stats().policy_commands_ignored, expected);
    assert_eq!(pair.client.closed(), None);
    // A thousand commands in one call: the first 256 are applied.
    let mut pair = commanded(vec![Command::Ping { path: PathId(1) }; 1_000]);
    pair.run(Duration::from_secs(1));
    assert_eq!(pair.client().stats().policy_commands_ignored, 1_000 - 256);
}

/// Orders something once there were a few acknowledgements.
#[derive(Debug)]
struct Ordering(NewReno, Option<Vec<Command>>, u32);

impl CongestionController for Ordering {
    fn name(&self) -> &'static str {
        "ordering"
    }

    fn on_ack(&mut self, ack: &Ack, siblings: &Siblings<'_>) {
        self.0.on_ack(ack, siblings);
        self.2 += 1;
    }

    fn on_loss(&mut self, loss: &Loss, siblings: &Siblings<'_>) {
        self.0.on_loss(loss, siblings);
    }

    fn on_max_datagram_size(&mut self, bytes: u16) {
        self.0.on_max_datagram_size(bytes);
    }

    fn window(&self) -> u64 {
        self.0.window()
    }

    fn gives_commands(&self) -> bool {
        true
    }

    fn commands(&mut self, commands: &mut Commands) {
        if self.2 >= 4 {
            commands.extend(self.1.take().unwrap_or_default());
        }
    }
}

#[test]
fn a_receiver_has_its_acknowledgements_return_where_it_wants() {
    // Each path's acknowledgements are ordered onto the other one.
    let orders = [(0, 1), (1, 0)]
        .map(|(acked, on)| Command::ReturnAcks { acked: PathId(acked), on: Some(PathId(on)) })
        .to_vec();
    let congestion = move |init: &ControllerInit| {
        let orders = (init.path == PathId(1)).then(|| orders.clone());
        Box::new(Ordering(NewReno::new(init), orders, 0)) as Box<dyn CongestionController>
    };
    let min_rtt = |_: &SchedulerInit| Box::new(MinRtt) as Box<dyn Scheduler>;
    let server = TransportConfig::new(Arc::new(min_rtt), Arc::new(congestion));
    let mut pair = Pair::connected(Settings { server, ..Settings::default() });
    pair.open(1);
    // Path 1 of the server gets its acknowledgements, and with them its controller the turn to order.
    for _ in 0..6 {
        let stream = pair.server().open_stream(false).unwrap();
        pair.server().write(stream, &[1; 3_000]).unwrap();
        let now = pair.now;
        pair.client().set_path_status(now, PathId::ZERO, PathStatus::Backup).unwrap();
        pair.run(Duration::from_millis(100));
    }
    // The client sends on path 1 alone; what the server says about it leaves on path 0.
    let began = pair.now;
    pair.write(Side::Client, 30_000);
    pair.run(Duration::from_millis(100));
    let answers: Vec<_> = pair.datagrams(Side::Server, began).map(|sent| sent.tuple.remote).collect();
    let on_zero = answers.iter().filter(|remote| **remote == client_address(0)).count();
    assert!(on_zero >= 8 && on_zero * 10 >= answers.len() * 9, "{on_zero} of {}", answers.len());
}

#[test]
fn pacing_is_scaled_within_its_bounds() {
    for (percent, applied) in [(50, 50), (0, 10), (u16::MAX, 1_000)] {
        let mut pair = commanded(vec![Command::ScalePacing { path: PathId::ZERO, percent }]);
        pair.run(Duration::from_millis(100));
        let now = pair.now;
        let ratio = |view: &hawser_policy::PathView| {
            let rate = hawser_policy::Rate::from_bytes_over(view.congestion_window, view.smoothed_rtt);
            let usual = if view.in_slow_start { 2.89 } else { 1.25 };
            view.pacing_rate.bits_per_second() as f64 / rate.bits_per_second() as f64 / usual * 100.0
        };
        let views = pair.client().path_views(now);
        let scaled = ratio(&views[0]);
        assert!((scaled - f64::from(applied)).abs() < 1.0, "{percent} %: {scaled}");
        assert!((ratio(&views[1]) - 100.0).abs() < 1.0, "the other path keeps its rate");
    }
}
