//! Scenario files, run as `hawser sim run` runs them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hawser_policy::{
    Assignment, Commands, Decision, Event, Interests, PathId, Scheduler, SchedulerInit, SendView, Time,
};
use hawser_scenario::{Direction, Scenario};
use hawser_sim::run::{
    End, FlowSample, LinkOutcome, NoRecorder, Options, Outcome, Probes, Recorder, Simulation,
};

use crate::common::registry;

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "test.toml", &mut |_| Err("there is none".into())).expect("a scenario")
}

fn run(scenario: &Scenario) -> Outcome {
    Simulation::new(scenario, &registry(), Options::default())
        .expect("it can be simulated")
        .run(&mut NoRecorder)
}

const TWO: &str = "version = 1\nduration = \"4 s\"\n\
    [[link]]\nname = \"a\"\nrate = \"50 Mbit/s\"\ndelay = \"10 ms\"\n\
    [[link]]\nname = \"b\"\nrate = \"20 Mbit/s\"\ndelay = \"30 ms\"\nloss = \"0.5 %\"\n";

#[test]
fn the_same_seed_gives_the_same_run_and_another_another() {
    let mut scenario = scenario(TWO);
    let outcomes = [run(&scenario), run(&scenario)];
    assert_eq!(outcomes[0], outcomes[1]);
    let first = &outcomes[0];
    println!("{}", serde_json::to_string(first).unwrap());
    assert_eq!(first.end, End::Duration);
    assert!(first.goodput_bps > 50e6, "{}", first.goodput_bps);
    assert_eq!(first.paths.len(), 2);
    scenario.seed = 2;
    assert_ne!(run(&scenario).trace_hash, first.trace_hash);
}

/// Has enough of a run after so many instants.
struct Impatient(u32);

impl Recorder for Impatient {
    fn goes_on(&mut self) -> bool {
        self.0 = self.0.saturating_sub(1);
        self.0 > 0
    }
}

#[test]
fn a_recorder_ends_a_run_where_it_has_enough() {
    let scenario = scenario(TWO);
    let simulation = Simulation::new(&scenario, &registry(), Options::default());
    let outcome = simulation.expect("it can be simulated").run(&mut Impatient(100));
    assert_eq!(outcome.end, End::Stopped);
    assert!(outcome.events < 100 && outcome.simulated_seconds < 4.0, "{outcome:?}");
}

/// Times of samples, and what the flow had received then.
struct Course {
    interval: Duration,
    samples: Vec<(Time, u64)>,
}

impl Recorder for Course {
    fn sample_interval(&self) -> Option<Duration> {
        Some(self.interval)
    }

    fn flow(&mut self, sample: &FlowSample<'_>) {
        self.samples.push((sample.at, sample.bytes));
    }
}

fn course(text: &str, interval: Duration) -> (Outcome, Vec<(Time, u64)>) {
    let mut course = Course { interval, samples: Vec::new() };
    let simulation = Simulation::new(&scenario(text), &registry(), Options::default());
    let outcome = simulation.expect("it can be simulated").run(&mut course);
    (outcome, course.samples)
}

#[test]
fn the_end_of_a_run_is_sampled_once_also_at_the_time_of_a_sample() {
    let (outcome, samples) = course(TWO, Duration::from_millis(100));
    assert_eq!(outcome.end, End::Duration);
    let times: Vec<u64> = samples.iter().map(|(at, _)| at.as_nanos() / 1_000_000).collect();
    assert_eq!(times, (0..=40).map(|step| step * 100).collect::<Vec<_>>());
}

#[test]
fn the_last_sample_has_everything_when_the_work_is_done_at_its_time() {
    let text = format!("{TWO}[[flow]]\nname = \"main\"\nkind = \"bulk\"\nsize = \"1 MB\"\n");
    let (_, samples) = course(&text, Duration::from_secs(10));
    let end = samples.last().expect("the end").0;
    let (outcome, samples) = course(&text, end.since(Time::ZERO));
    assert_eq!(outcome.end, End::Finished);
    assert_eq!(samples, [(Time::ZERO, 0), (end, 1_000_000)]);
}

/// What is listened to is what happens anyway.
#[test]
fn notes_and_samples_change_nothing() {
    let scenario = scenario(&format!("{TWO}[transport]\nscheduler = \"mams\"\ncongestion = \"cubic\"\n"));
    let probes = Probes::every(Duration::from_millis(100), &["flow.*.bytes", "path.*.*.window_bytes"]);
    let names = ["mams.plan", "controller.begin", "controller.sent", "controller.ack", "controller.loss"];
    let mut probes = probes.expect("they are known").with_notes(&names);
    let simulation = Simulation::new(&scenario, &registry(), Options::default());
    let heard = simulation.expect("it can be simulated").run(&mut probes);
    assert_eq!(heard, run(&scenario));
    for name in names {
        assert!(probes.notes().any(|(_, note)| note.name == name), "{name}");
    }
    let times: Vec<Time> = probes.notes().map(|(_, note)| note.at).collect();
    assert!(times.is_sorted());
    let begun: Vec<&str> = probes.notes().filter_map(|(_, note)| note.word("name")).collect();
    assert_eq!(begun, ["cubic"; 4], "two paths with two ends");
    let (flow, bytes) = probes.each("flow.", ".bytes").next().expect("there is a flow");
    assert_eq!(bytes.values().last(), Some(heard.flows[0].bytes as f64), "{flow}");
}

/// When a link was told of, which, and with how many forecasts.
type News = (Time, u32, usize);

/// Round robin that notes the capacity it was told of each link, and how far ahead.
#[derive(Default)]
struct Listener {
    told: Arc<Mutex<Vec<News>>>,
    last: Option<PathId>,
}

impl Scheduler for Listener {
    fn name(&self) -> &'static str {
        "listener"
    }

    fn schedule(&mut self, view: &SendView<'_>, _: &mut Commands) -> Decision {
        let next = view
            .preferred()
            .filter(|path| path.sendable() > 0)
            .min_by_key(|path| (Some(path.id) <= self.last, path.id));
        let Some(path) = next else { return Decision::Wait(None) };
        self.last = Some(path.id);
        Decision::Send(
            Assignment::next(path.id)
                .with(|assignment| assignment.max_bytes = u64::from(path.max_datagram_size)),
        )
    }

    fn interests(&self) -> Interests {
        Interests::LINKS
    }

    fn on_event(&mut self, event: &Event<'_>, _commands: &mut Commands) {
        let Event::Link(update) = event else { return };
        let news = (update.now, update.link.0, update.forecasts.len());
        self.told.lock().expect("nobody panicked").push(news);
    }
}

#[test]
fn schedulers_hear_of_the_future_of_links_as_far_as_the_scenario_lets_them() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let mut registry = registry();
    let shared = told.clone();
    registry.add_scheduler("listener", move |_: &SchedulerInit| {
        Box::new(Listener { told: shared.clone(), last: None }) as Box<dyn Scheduler>
    });
    let text = "version = 1\nduration = \"5 s\"\n[transport]\nscheduler = \"listener\"\n\
        [scene.road]\nmodel = \"highway\"\n\
        [[link]]\nname = \"wifi0\"\nchannel = { scene = \"road\", link = \"wifi\" }\nforecast = \"perfect\"\n\
        [[link]]\nname = \"lte0\"\nchannel = { scene = \"road\", link = \"lte\" }\n\
        [[flow]]\nname = \"up\"\nkind = \"bulk\"\ndirection = \"up\"\n";
    let outcome = Simulation::new(&scenario(text), &registry, Options::default())
        .expect("it can be simulated")
        .run(&mut NoRecorder);
    assert_eq!(outcome.end, End::Duration);
    let told = told.lock().expect("nobody panicked");
    let of_wifi = told.iter().filter(|(_, link, _)| *link == 0).count();
    // Ten times a second from the connection on; nothing is known of the other link.
    assert!((40..=51).contains(&of_wifi), "{of_wifi}");
    assert!(told.iter().all(|(_, link, forecasts)| *link == 0 && *forecasts == 2), "{told:?}");
}

/// The same scenario with real TLS.
fn with_tls(scenario: &Scenario) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.transport.tls = true;
    scenario
}

#[test]
fn with_tls_the_same_seed_gives_the_same_run_and_another_another() {
    let mut scenario = with_tls(&scenario(TWO));
    let outcomes = [run(&scenario), run(&scenario)];
    assert_eq!(outcomes[0], outcomes[1]);
    assert!(outcomes[0].goodput_bps > 50e6, "{}", outcomes[0].goodput_bps);
    let here = outcomes[0].trace_hash.clone();
    let there = std::thread::scope(|scope| {
        let scenario = &scenario;
        let busy = scope.spawn(move || run(&Scenario { seed: 9, ..scenario.clone() }).trace_hash);
        let same = scope.spawn(move || run(scenario).trace_hash).join().unwrap();
        assert_ne!(busy.join().unwrap(), same);
        same
    });
    assert_eq!(here, there);
    scenario.seed = 2;
    assert_ne!(run(&scenario).trace_hash, here);
}

#[test]
fn tls_and_the_null_session_have_the_same_packets() {
    let null = scenario(TWO);
    let [plain, real] = [run(&null), run(&with_tls(&null))];
    assert_ne!(real.trace_hash, plain.trace_hash);
    // What is inside differs and nothing else: every time, counter and delay is the same.
    assert_eq!(Outcome { trace_hash: plain.trace_hash.clone(), ..real }, plain);
}

#[test]
fn a_foreign_server_is_refused_where_it_could_not_be_understood() {
    let null = scenario(TWO);
    let options = || Options { server: Some(Box::new(|_, _| unreachable!())), ..Options::default() };
    let error = Simulation::new(&null, &registry(), options()).err().unwrap();
    assert!(error.to_string().contains("expected `crypto = \"tls\"`"), "{error}");
}

#[test]
fn packets_without_a_transport_arrive_and_are_measured() {
    for (kind, direction) in [("cbr", "down"), ("cbr", "up"), ("poisson", "down")] {
        let text = format!(
            "{TWO}[[flow]]\nname = \"noise\"\nkind = \"{kind}\"\nlinks = [\"a\"]\nrate = \"5 Mbit/s\"\n\
             direction = \"{direction}\"\nsize = 1000\n"
        );
        let outcome = run(&scenario(&text));
        let [noise] = &outcome.flows[..] else { panic!("one flow") };
        // 10 ms of packets are on their way at the end.
        assert!(noise.sent > 2_300 && noise.sent - noise.completed < 15, "{kind} {direction}: {noise:?}");
        assert_eq!(noise.bytes, noise.completed * 972, "without headers");
        assert!((9.9..13.0).contains(&noise.delay.min_ms), "{:?}", noise.delay);
        assert!(outcome.goodput_bps.is_sign_positive(), "no connection carried anything");
    }
}

#[test]
fn silence_until_the_end_counts() {
    let gap = |link: &str| {
        let text = format!(
            "version = 1\nduration = \"8 s\"\n[[link]]\nname = \"a\"\nrate = \"10 Mbit/s\"\n{link}\n"
        );
        run(&scenario(&text)).flows[0].longest_gap_ms
    };
    let gone = gap("outage = [{ from = \"3 s\" }]");
    assert!((4_900.0..5_010.0).contains(&gone), "the link is gone after 3 s: {gone}");
    assert_eq!(gap("loss = 1"), 8_000.0, "nothing ever arrived");
}

/// A round trip of 20 ms and 20 Mbit/s: 30 objects of 10 kB one after the other take 30 round trips, all at once one and what 300 kB
/// take. Frames of 10 kB every 10 ms are 8 Mbit/s, whatever becomes of each.
#[test]
fn requests_come_several_at_a_time_or_at_a_pace() {
    let flow = |more: &str| {
        let text = format!(
            "version = 1\nduration = \"4 s\"\n[[link]]\nname = \"a\"\nrate = \"20 Mbit/s\"\ndelay = \"10 ms\"\n\
             [[flow]]\nname = \"main\"\nkind = \"requests\"\nresponse = \"10 kB\"\n{more}\n"
        );
        run(&scenario(&text)).flows.swap_remove(0)
    };
    let completion = |more: &str| flow(more).completion_seconds.expect("it ends");
    let (one, all) = (completion("number = 30"), completion("number = 30\nparallel = 30"));
    assert!((0.6..0.9).contains(&one) && (0.12..0.25).contains(&all), "{one} {all}");
    let half = completion("number = 30\nparallel = 2");
    assert!((0.3..0.5).contains(&half), "{half}");
    let live = flow("every = \"10 ms\"");
    assert!((390..=400).contains(&live.completed) && live.delay.p99_ms < 40.0, "{live:?}");
    // Slower than it is to be: what is late does not hold up what comes next, until the peer allows no more streams.
    let late = flow("every = \"2 ms\"\nnumber = 500");
    assert!(late.completed == 500 && late.delay.max_ms > 300.0, "{late:?}");
}

/// What a link carried is compared with the rates that this run had, not with those that such links have on average: a
/// link that is never idle is used to the full, whatever it drew. A token bucket carries its first burst besides.
#[test]
fn links_that_never_idle_are_used_to_the_full_and_not_beyond() {
    let text = "version = 1\nduration = \"6 s\"\n\
        [[link]]\nname = \"redraw\"\nrate = { model = \"redraw\", range = [\"5 Mbit/s\", \"50 Mbit/s\"], every = \"2 s\" }\n\
        [[link]]\nname = \"bucket\"\nrate = { model = \"token-bucket\", rate = \"10 Mbit/s\", burst = \"2 MB\" }\n\
        [flow.flood]\nkind = \"cbr\"\nrate = \"60 Mbit/s\"\ndirection = \"down\"\nlinks = [\"redraw\"]\n\
        [flow.flood-bucket]\nkind = \"cbr\"\nrate = \"60 Mbit/s\"\ndirection = \"down\"\nlinks = [\"bucket\"]\n";
    let mut capacities = Vec::new();
    for seed in 1..=10 {
        let mut scenario = scenario(text);
        scenario.seed = seed;
        let links = run(&scenario).links;
        let flooded = |link: &&LinkOutcome| link.direction == Direction::Down;
        for link in links.iter().filter(flooded) {
            let used = link.utilisation.expect("a limited rate");
            assert!(used > 0.9 && used <= 1.0, "{} of {}, seed {seed}", used, link.link);
        }
        capacities.extend(links[1].capacity_bps);
    }
    // The mean of the model is 27.5 Mbit/s: three draws are often above it, and often below.
    assert!(capacities.iter().any(|rate| *rate > 30_000_000), "{capacities:?}");
    assert!(capacities.iter().any(|rate| *rate < 25_000_000), "{capacities:?}");
}
