//! The set as the core drives it: acknowledgements come in, controllers are exchanged.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hawser_policy::{
    AckDecision, AckOpportunity, AckPolicy, Command, Commands, Composition, CongestionController, Decision,
    Event, GroupId, LimitedBy, LossCause, Notes, PacketReport, PathChange, PathId, PolicySet,
    PolicySetFactory, Rate, Registry, ReturnPath, Scheduler, SendView, SetInit, Sibling, Siblings, Side, Tag,
    Time, Trace,
};

use super::models::tests::constant;
use super::state::{Common, State};
use super::*;
use crate::testing;

struct Nothing;

impl Scheduler for Nothing {
    fn name(&self) -> &'static str {
        "nothing"
    }

    fn schedule(&mut self, _: &SendView<'_>, _: &mut Commands) -> Decision {
        Decision::Wait(None)
    }
}

impl AckPolicy for Nothing {
    fn decide(&mut self, _: &AckOpportunity) -> AckDecision {
        AckDecision::Now
    }

    fn return_path(&mut self, _: Time, _: PathId, _: &[ReturnPath]) -> Option<PathId> {
        None
    }
}

/// Everything that this crate registers, sets with scheduler and acknowledgements that do nothing.
pub(crate) fn registry(parts: SsccParts) -> Registry {
    let mut registry = testing::registry();
    registry.add_scheduler("default", |_| Box::new(Nothing));
    registry.add_ack_policy("default", || Box::new(Nothing));
    register(&mut registry, parts).expect("all parts are there");
    crate::mptcp_sbd::register(&mut registry).expect("all parts are there");
    registry
}

pub(crate) fn factory(parts: SsccParts, spec: &str) -> Arc<dyn PolicySetFactory> {
    registry(parts).set(&Composition::of(spec.parse().expect("a spec"))).expect("it is registered")
}

pub(crate) const RTT: Duration = Duration::from_millis(50);

/// A connection with two paths; acknowledgements come every 5 ms on each.
pub(crate) struct Connection {
    pub(crate) set: PolicySet,
    pub(crate) controllers: Vec<Box<dyn CongestionController>>,
    pub(crate) now: Time,
    /// Names that ran, by path, each once in a row.
    history: Vec<Vec<&'static str>>,
}

impl Connection {
    pub(crate) fn new(set: &Arc<dyn PolicySetFactory>, remote: &str) -> Connection {
        let set = set.build(&SetInit::new(Side::Server, 1, Time::ZERO));
        let remote = SocketAddr::new(remote.parse().expect("an address"), 443);
        let init = |path| {
            testing::init(12_000).with(|init| {
                init.path = PathId(path);
                init.remote = remote;
            })
        };
        let controllers: Vec<_> = [0, 1].map(|path| set.congestion.build(&init(path))).into();
        let history = controllers.iter().map(|controller| vec![controller.name()]).collect();
        Connection { set, controllers, now: Time::ZERO, history }
    }

    /// Has the set note to this list.
    fn listen(&mut self, notes: &Arc<Notes>) {
        let agent = self.set.agent.as_mut().expect("it has one");
        agent.set_trace(&Trace::new(Side::Server, vec![notes.clone()]));
    }

    pub(crate) fn siblings(&self) -> Vec<Sibling> {
        let siblings = (0..).zip(&self.controllers).map(|(path, controller)| {
            testing::sibling(path, 10, 50).with(|sibling| {
                sibling.group = controller.bottleneck_group();
                sibling.congestion_window = controller.window();
            })
        });
        siblings.collect()
    }

    /// Acknowledges for a while. `delay` is the queueing delay of each path at a moment; `rate` of a path's bytes per
    /// acknowledgement.
    fn run(&mut self, duration: Duration, delay: impl Fn(u32, Time) -> Duration, bytes: u64) {
        let end = self.now + duration;
        while self.now < end {
            self.now += Duration::from_millis(5);
            for path in 0..2 {
                self.acknowledge(path, delay(path, self.now), bytes);
            }
        }
    }

    /// Lets the agent see acknowledgements for a while, of which the controllers hear nothing.
    pub(crate) fn observe(&mut self, duration: Duration, delay: impl Fn(u32, Time) -> Duration) {
        let end = self.now + duration;
        while self.now < end {
            self.now += Duration::from_millis(5);
            (0..2).for_each(|path| self.report(PathId(path), delay(path, self.now), 5_000));
        }
    }

    /// Tells the agent of an acknowledged packet.
    fn report(&mut self, path: PathId, queued: Duration, bytes: u64) {
        let report = PacketReport::default().with(|report| {
            report.now = self.now;
            report.path = path;
            report.packet_number = self.now.as_nanos();
            report.bytes = bytes;
            report.sent_at = self.now - RTT;
            report.bytes_in_flight_at_send = 0;
            report.tag = Tag::default();
            report.ranges = &[];
            report.one_way_delay = Some(Duration::from_secs(7) + queued);
        });
        let agent = self.set.agent.as_mut().expect("it has one");
        agent.on_event(&Event::Acked(&report), &mut Vec::new());
    }

    fn acknowledge(&mut self, path: u32, queued: Duration, bytes: u64) {
        let id = PathId(path);
        self.report(id, queued, bytes);
        let siblings = self.siblings();
        let siblings = Siblings { own: id, paths: &siblings };
        let ack = testing::ack(self.now, bytes, RTT).with(|ack| ack.limited_by = LimitedBy::Nothing);
        let controller = &mut self.controllers[path as usize];
        controller.on_ack(&ack, &siblings);
        let mut commands = Vec::new();
        controller.commands(&mut commands);
        if commands == [Command::ReplaceController { path: id }] {
            self.replace(path);
        }
    }

    fn replace(&mut self, path: u32) {
        let snapshot = testing::snapshot().with(|snapshot| {
            snapshot.now = self.now;
            snapshot.smoothed_rtt = RTT;
        });
        let init = testing::init(0).with(|init| {
            init.path = PathId(path);
            init.now = self.now;
            init.snapshot = Some(snapshot);
        });
        let successor = self.set.congestion.build(&init);
        self.history[path as usize].push(successor.name());
        self.controllers[path as usize] = successor;
    }

    fn names(&self) -> [&'static str; 2] {
        [0, 1].map(|path| self.controllers[path].name())
    }
}

/// Both queues swing in four seconds, mostly full; `lag` parts them.
pub(crate) fn congested(lag: [u64; 2]) -> impl Fn(u32, Time) -> Duration {
    move |path, now| {
        let at = (now.as_nanos() / 1_000_000 + 4_000 * lag[path as usize]) % 4_000;
        Duration::from_micros(if at < 3_200 { 40_000 + at % 7 * 700 } else { (at - 3_200) * 50 })
    }
}

pub(crate) fn idle(_: u32, _: Time) -> Duration {
    Duration::ZERO
}

#[test]
fn paths_that_share_a_bottleneck_are_coupled_and_let_go_again() {
    let mut connection = Connection::new(&factory(SsccParts::default(), "sscc"), "192.0.2.1");
    assert_eq!(connection.names(), ["cubic", "cubic"]);
    connection.run(Duration::from_secs(10), congested([0, 0]), 5_000);
    assert_eq!(connection.names(), ["olia", "olia"]);
    let group = connection.controllers[0].bottleneck_group();
    assert!(group != GroupId(0) && connection.controllers[1].bottleneck_group() == group);
    // 17.5 s of history, the vote, and ten seconds in which they are kept.
    connection.run(Duration::from_secs(33), idle, 5_000);
    assert_eq!(connection.history, vec![vec!["cubic", "olia", "cubic"]; 2]);
    assert_eq!(connection.controllers[0].bottleneck_group(), GroupId(0));
}

#[test]
fn a_closed_path_leaves_the_other_alone() {
    let mut connection = Connection::new(&factory(SsccParts::default(), "sscc"), "192.0.2.1");
    connection.run(Duration::from_secs(10), congested([0, 0]), 5_000);
    let gone = Event::Path { now: connection.now, path: PathId(1), change: PathChange::Abandoned };
    connection.set.agent.as_mut().expect("it has one").on_event(&gone, &mut Vec::new());
    assert_eq!(connection.controllers[0].bottleneck_group(), GroupId(0));
}

#[test]
fn coupling_can_be_left_out_and_one_set_stands_for_all_groups() {
    let mut uncoupled = Connection::new(&factory(SsccParts::default(), "sscc,coupling=off"), "192.0.2.1");
    uncoupled.run(Duration::from_secs(10), congested([0, 0]), 5_000);
    assert_eq!(uncoupled.history, vec![vec!["cubic"]; 2]);
    let mut single =
        Connection::new(&factory(SsccParts::default(), "sscc,single_coupled_set=on"), "192.0.2.1");
    single.run(Duration::from_secs(10), congested([0, 0]), 5_000);
    assert_eq!(single.controllers[1].bottleneck_group(), GroupId(1));
}

/// OLIA grows like Reno on a path that is in no group, whatever the other paths are; in a group it grows less.
#[test]
fn a_path_without_a_group_is_coupled_with_nobody() {
    let mut connection = Connection::new(&factory(SsccParts::default(), "sscc"), "192.0.2.1");
    connection.run(Duration::from_secs(10), congested([0, 0]), 5_000);
    assert_eq!(connection.names()[0], "olia");
    let grown = |connection: &mut Connection, group: GroupId| {
        let own = &mut connection.controllers[0];
        let paths = [0, 1].map(|path| testing::sibling(path, 80, 50).with(|sibling| sibling.group = group));
        let before = own.window();
        let ack = testing::ack(connection.now, before, RTT);
        own.on_ack(&ack, &Siblings { own: PathId(0), paths: &paths });
        own.window() - before
    };
    let alone = grown(&mut connection, GroupId(0));
    assert!((950..=1_010).contains(&alone), "a datagram per window: {alone}");
    // A quarter for two equal paths, and half of a datagram for the smaller window of two equally good ones (OLIA's alpha).
    let coupled = grown(&mut connection, GroupId(5));
    assert!((700..=780).contains(&coupled), "{coupled}");
}

fn with_models(text: &str) -> SsccParts {
    SsccParts { models: Some(Arc::new(Models::read(text).expect("models"))), ..SsccParts::default() }
}

/// Vegas below 10 Mbit/s, BBR above; these are models of this test.
fn vegas_or_bbr() -> SsccParts {
    with_models(&constant([0.1, 0.2, 0.9, 0.0, 0.0, 0.0], [0.9, 0.2, 0.1, 0.0, 0.0, 0.0]))
}

#[test]
fn a_model_chooses_and_what_it_wants_twice_is_done() {
    let mut connection =
        Connection::new(&factory(vegas_or_bbr(), "sscc,selection=model,rest=0s"), "192.0.2.1");
    // A unit takes 100 ms: twenty acknowledgements. The first begins it.
    connection.run(Duration::from_millis(195), idle, 5_000);
    assert_eq!(connection.names(), ["cubic", "cubic"]);
    connection.run(Duration::from_millis(15), idle, 5_000);
    assert_eq!(connection.names(), ["vegas", "vegas"], "8 Mbit/s");
    connection.run(Duration::from_secs(1), idle, 10_000);
    assert_eq!(connection.history, vec![vec!["cubic", "vegas", "bbr"]; 2]);
}

#[test]
fn a_choice_that_swings_is_not_followed() {
    let swing = |confirmations: u32| {
        let spec = format!("sscc,selection=model,rest=0s,confirmations={confirmations}");
        let mut connection = Connection::new(&factory(vegas_or_bbr(), &spec), "192.0.2.1");
        connection.run(Duration::from_secs(1), idle, 5_000);
        for _ in 0..20 {
            // A unit of each.
            connection.run(Duration::from_millis(100), idle, 10_000);
            connection.run(Duration::from_millis(100), idle, 3_000);
        }
        connection.history[0].len()
    };
    assert!(swing(1) > 10 && swing(2) <= 3, "{} {}", swing(1), swing(2));
}

/// The first change need not wait; each further one does, however often the models want another.
#[test]
fn a_path_changes_once_in_two_seconds() {
    let spec = "sscc,selection=model,confirmations=1,dwell=0";
    let mut connection = Connection::new(&factory(vegas_or_bbr(), spec), "192.0.2.1");
    connection.run(Duration::from_millis(500), idle, 5_000);
    assert_eq!(connection.history[0], ["cubic", "vegas"]);
    for _ in 0..50 {
        connection.run(Duration::from_millis(100), idle, 10_000);
        connection.run(Duration::from_millis(100), idle, 3_000);
    }
    let changes = connection.history[0].len() - 2;
    assert!((3..=5).contains(&changes), "{changes} changes in ten seconds");
}

/// Seconds for which a path has OLIA after it has left a group, each time that it was found in one.
fn probations(spec: &str, times: usize) -> Vec<u64> {
    let second = Duration::from_secs(1);
    let mut connection = Connection::new(&factory(vegas_or_bbr(), spec), "192.0.2.1");
    let mut seconds = Vec::new();
    for _ in 0..times {
        let is_grouped = |connection: &Connection| connection.controllers[0].bottleneck_group() != GroupId(0);
        for _ in 0..60 {
            connection.run(second, congested([0, 0]), 5_000);
            if is_grouped(&connection) {
                break;
            }
        }
        assert_eq!(connection.names(), ["olia", "olia"]);
        while is_grouped(&connection) {
            connection.run(second, idle, 5_000);
        }
        let released = connection.now;
        while connection.names()[0] == "olia" {
            connection.run(second, idle, 5_000);
        }
        seconds.push(connection.now.since(released).as_secs());
        assert_eq!(connection.names()[0], "vegas");
    }
    seconds
}

/// A controller that keeps the queue short would hide from the detection what is shared: who was let go keeps OLIA as long as the
/// detection remembers, and for longer where it has been wrong.
#[test]
fn a_path_that_was_let_go_is_watched_before_it_is_chosen_for() {
    let seconds = probations("sscc,selection=model,keep_coupled=0s", 3);
    for (seconds, expected) in seconds.iter().zip([20, 40, 80]) {
        assert!((expected - 1..=expected + 1).contains(seconds), "{seconds} s, not {expected}");
    }
    assert!(probations("sscc,selection=model,keep_coupled=0s,probation=0s", 1)[0] <= 1);
}

#[test]
fn without_models_there_is_no_choice_by_models() {
    let registry = registry(SsccParts::default());
    let set = |spec: &str| registry.set(&Composition::of(spec.parse().expect("a spec")));
    let error = set("sscc,selection=model").err().expect("there are none").to_string();
    assert!(error.contains("rule or alternate or random"), "{error}");
    let info = registry.policy(hawser_policy::PolicyKind::Set, "sscc").expect("registered");
    assert!(info.summary.contains("there are no models"), "{}", info.summary);
    assert!(set("sscc,initial=vegas,vote=tumbling,detector=rfc8382").is_ok());
}

/// Item 13: the memory outlives connections, and a path of a third one begins with what the first two wanted most.
#[test]
fn a_third_connection_begins_with_what_worked() {
    let memory = Arc::new(Mutex::new(PrefixMemory::default()));
    let parts = SsccParts { memory: Some(memory.clone()), ..vegas_or_bbr() };
    let set = factory(parts, "sscc,selection=model");
    for _ in 0..2 {
        let mut connection = Connection::new(&set, "203.0.113.7");
        connection.run(Duration::from_secs(2), idle, 5_000);
    }
    let third = Connection::new(&set, "203.0.113.200");
    assert_eq!(third.names(), ["vegas", "vegas"]);
    assert_eq!(Connection::new(&set, "203.0.114.7").names(), ["cubic", "cubic"]);
    let key = PrefixKey::new("203.0.113.9:1".parse().expect("an address"), None);
    let weights = super::state::lock(&memory).weights(key).expect("recorded");
    // Many units, each a * w + 1: the sum of the series is 10.
    assert!((weights[Candidate::Vegas as usize] - 10.0).abs() < 0.2, "{weights:?}");
}

/// Endpoints of a simulation must not learn of each other.
#[test]
fn without_a_common_memory_each_endpoint_has_its_own() {
    let registry = registry(vegas_or_bbr());
    let endpoint = || {
        let spec = "sscc,selection=model".parse().expect("a spec");
        registry.set(&Composition::of(spec)).expect("it is registered")
    };
    let first = endpoint();
    Connection::new(&first, "203.0.113.7").run(Duration::from_secs(2), idle, 5_000);
    assert_eq!(Connection::new(&first, "203.0.113.7").names(), ["vegas", "vegas"]);
    assert_eq!(Connection::new(&endpoint(), "203.0.113.7").names(), ["cubic", "cubic"]);
}

#[test]
fn coupled_units_are_neither_recorded_nor_remembered() {
    let notes = Arc::new(Notes::default());
    let memory = Arc::new(Mutex::new(PrefixMemory::default()));
    let parts = SsccParts { memory: Some(memory.clone()), ..vegas_or_bbr() };
    let mut connection = Connection::new(&factory(parts, "sscc,selection=model"), "203.0.113.7");
    connection.listen(&notes);
    connection.run(Duration::from_secs(12), congested([0, 0]), 5_000);
    let key = PrefixKey::new("203.0.113.9:1".parse().expect("an address"), None);
    let rewards = || notes.take().into_iter().filter(|note| note.name == "sscc.reward").collect::<Vec<_>>();
    let (before, weights) = (rewards(), super::state::lock(&memory).weights(key));
    assert!(before.len() > 20 && weights.is_some());
    assert!(before.iter().all(|note| note.word("controller") != Some("olia")));
    assert!(before.iter().all(|note| note.number("reward").is_some_and(|reward| reward <= 1.0)));
    connection.run(Duration::from_secs(5), congested([0, 0]), 5_000);
    assert_eq!((rewards(), super::state::lock(&memory).weights(key)), (vec![], weights));
}

/// BBR has no threshold: a kernel's window-based successor slow-starts; one that takes over estimates does not.
#[test]
fn a_successor_of_bbr_slow_starts_only_as_in_a_kernel() {
    let build = |migration: &str| {
        let set = factory(SsccParts::default(), &format!("sscc,migration={migration}"));
        let set = set.build(&SetInit::new(Side::Server, 1, Time::ZERO));
        let bbr = testing::snapshot().with(|snapshot| {
            snapshot.slow_start_threshold = u64::MAX;
            snapshot.pipe_full = true;
        });
        set.congestion.build(&testing::init(12_000).with(|init| init.snapshot = Some(bbr)))
    };
    let carried = build("carry");
    // 60 kB are in flight, the bandwidth-delay product is 50 kB, the window was 80 kB.
    assert_eq!((carried.window(), carried.slow_start_threshold()), (60_000, 60_000));
    let linux = build("linux-like");
    assert_eq!(
        (linux.window(), linux.slow_start_threshold(), linux.in_slow_start()),
        (80_000, u64::MAX, true)
    );
}

/// The other direction: BBR begins in Startup in a kernel, and in its steady state here.
#[test]
fn bbr_takes_over_a_full_pipe_but_not_as_in_a_kernel() {
    let build = |migration: &str| {
        let spec = format!("sscc,initial=bbr,migration={migration}");
        let set = factory(SsccParts::default(), &spec).build(&SetInit::new(Side::Server, 1, Time::ZERO));
        let cubic = testing::snapshot().with(|snapshot| {
            snapshot.slow_start_threshold = 40_000;
            snapshot.pipe_full = true;
        });
        set.congestion.build(&testing::init(12_000).with(|init| init.snapshot = Some(cubic)))
    };
    let (carried, linux) = (build("carry"), build("linux-like"));
    assert!(!carried.in_slow_start() && linux.in_slow_start());
    assert!(carried.pacing_rate().expect("it has one") < Rate::from_megabits_per_second(14));
}

/// A slow start that ended without a queue, as the first random loss ends it, says nothing of what the path carries.
#[test]
fn bbr_looks_for_the_rate_of_a_path_that_was_never_full() {
    let set = factory(SsccParts::default(), "sscc,initial=bbr");
    let set = set.build(&SetInit::new(Side::Server, 1, Time::ZERO));
    let cubic = testing::snapshot().with(|snapshot| {
        snapshot.slow_start_threshold = 40_000;
        snapshot.pipe_full = false;
    });
    let bbr = set.congestion.build(&testing::init(12_000).with(|init| init.snapshot = Some(cubic)));
    assert!(bbr.in_slow_start());
}

/// RFC 9002 section 7.3.2, across a change: the epoch was answered by the predecessor.
#[test]
fn bbr_does_not_cut_for_the_epoch_of_its_predecessor() {
    let set = factory(SsccParts::default(), "sscc,initial=bbr");
    let set = set.build(&SetInit::new(Side::Server, 1, Time::ZERO));
    let cubic = testing::snapshot().with(|snapshot| snapshot.pipe_full = true);
    let mut bbr = set.congestion.build(&testing::init(12_000).with(|init| init.snapshot = Some(cubic)));
    let before = bbr.window();
    let loss = |new_epoch| {
        testing::loss(Time::from_millis(1_010), LossCause::Loss, new_epoch)
            .with(|loss| loss.bytes_in_flight = 20_000)
    };
    bbr.on_loss(&loss(false), &Siblings::NONE);
    assert_eq!(bbr.window(), before);
    bbr.on_loss(&loss(true), &Siblings::NONE);
    assert_eq!(bbr.window(), 20_000, "one of its own is answered");
}

#[test]
fn state_of_a_connection_is_bounded() {
    let parts = vegas_or_bbr();
    let common = Common {
        settings: settings_of("sscc"),
        models: parts.models.clone(),
        memory: Arc::default(),
        log: None,
    };
    let mut state = State::new(&common, Side::Server, 1);
    for path in 0..16 {
        state.build(&testing::init(12_000).with(|init| init.path = PathId(path)));
        for n in 0..1_000 {
            state.on_delay(Time::from_millis(100 * n), PathId(path), Some(RTT));
        }
    }
    assert!(state.memory() <= 64 << 10, "{} bytes", state.memory());
}

fn settings_of(spec: &str) -> super::settings::Settings {
    let info = super::settings::Settings::info(true);
    let spec = spec.parse().expect("a spec");
    let parameters = hawser_policy::Parameters::read(&info.parameters, &spec).expect("parameters");
    super::settings::Settings::read(&parameters)
}

/// Neither an acknowledgement nor a loss allocates once the set runs, and a choice takes less than 20 microseconds.
#[test]
#[allow(clippy::disallowed_methods, reason = "measures how long a choice takes")]
fn a_choice_costs_little() {
    let parts = vegas_or_bbr();
    let models = parts.models.clone().expect("they are there");
    let unit = super::testing::unit(8.0, 0.1, 50.0);
    let started = Instant::now();
    for _ in 0..1_000 {
        std::hint::black_box(models.choose(&unit, Candidate::Cubic));
    }
    assert!(started.elapsed() < Duration::from_millis(20), "{:?} for 1000 choices", started.elapsed());
}

#[test]
fn losses_reach_the_detector_and_the_units() {
    let notes = Arc::new(Notes::default());
    let mut connection = Connection::new(&factory(SsccParts::default(), "sscc"), "192.0.2.1");
    connection.listen(&notes);
    for _ in 0..10 {
        connection.run(Duration::from_millis(50), idle, 5_000);
        let loss = testing::loss(connection.now, LossCause::Loss, true);
        connection.controllers[0].on_loss(&loss, &Siblings::NONE);
    }
    let units: Vec<DataUnit> = notes.take().iter().filter_map(DataUnit::of_note).collect();
    let of = |path: u32| units.iter().filter(move |unit| unit.path == PathId(path));
    assert!(of(0).any(|unit| unit.loss > 0.0) && of(1).all(|unit| unit.loss == 0.0));
}
