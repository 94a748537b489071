//! Sessions of the fluid environment, and what is asked of the environment and the agent themselves.

use std::hint::black_box;
use std::time::Instant;

use hawser_ride::{
    Agent, Arrival, Batch, Config, DeadlineRule, Environment, FrameKind, Gop, Kind, KindMetrics, Metrics,
    Order, Outcome, PATHS, Policy, Purpose, TILES, UnitPolicy, Viewing, play,
};

use crate::data::statistics::{mean, quantile_of};
use crate::experiments::verify::{Measured, Request};

/// Observations of item 14.
const STATES: usize = 10_000;

/// A session as the runs have it: of `session.kind` (`episodic`, E1; `continuous`, E2; `fluid-check`, the check of sheet 5.4: 40 fixed
/// tiles, no loss), with the head of `session.viewing` and the agents of the family `session.agents`.
pub(super) fn session_of_runs(request: &Request<'_>) -> Result<Measured, String> {
    let kind = request.setting("session.kind").unwrap_or("episodic");
    let config = match kind {
        "episodic" => Config::episodic(Purpose::Judging),
        "continuous" => Config::continuous(Purpose::Judging),
        "fluid-check" => Config::fluid_check(),
        other => {
            return Err(format!(
                "there is no session `{other}`: expected episodic, continuous or fluid-check"
            ));
        }
    };
    let config = match request.setting("session.viewing") {
        None => config,
        // A head that turns sees more tiles, and has references fetched.
        Some("fixed") => Config { viewing: Viewing::Fixed, ..config },
        Some(other) => return Err(format!("there is no viewing `{other}`: expected fixed")),
    };
    sessions(&config, request, request.setting("session.agents").unwrap_or("ride"))
}

/// E1 with what the dissertation leaves open, the other way.
pub(super) fn variants(request: &Request<'_>) -> Result<Measured, String> {
    let base = || Config::episodic(Purpose::Judging);
    let playout = |delay| (format!("playout_{delay:.2}_s"), Config { playout_delay: delay, ..base() });
    let mut variants: Vec<(String, Config)> = [0.12, 0.15, 0.2, 0.25].map(playout).into();
    variants.extend([
        ("transitive".into(), Config { deadline_rule: DeadlineRule::Transitive, ..base() }),
        ("decode_order".into(), Config { order: Order::Decode, ..base() }),
        ("rounds".into(), Config { arrival: Arrival::Rounds, ..base() }),
    ]);
    let mut measured = Measured::new("");
    for (name, config) in variants {
        let found = sessions(&config, request, "ride")?;
        let value = |wanted: &str| found.metrics.iter().find(|it| it.0 == wanted).map_or(f64::NAN, |it| it.1);
        measured.events += found.events;
        measured.trace_hash.push_str(&found.trace_hash);
        measured = measured
            .with(format!("{name}_{REWARD}"), value(REWARD))
            .with(format!("{name}_b_zero_share"), value("b_zero_share"))
            .with(format!("{name}_p95_delay_s"), value("p95_delay_s"));
    }
    Ok(measured)
}

/// Training runs, each with a seed of its own.
pub(super) const TRAINED: usize = 5;

/// The agents of a family that is trained in the same way, by the seed of the training run.
pub(super) fn agent_names(family: &str) -> Vec<String> {
    let name = |number: usize| match (family, number) {
        ("ride", 1) => family.to_owned(),
        _ => format!("{family}-{number}"),
    };
    (1..=TRAINED).map(name).collect()
}

/// The policies that stand for the system: the agents of a family. `ride-no-skip` are those of E1 with their skips forbidden.
fn agents(policy: &str, family: &str, seed: u64, windows_bind: bool) -> Result<Vec<Policy>, String> {
    let all = || {
        let agent = |name: String| Agent::named(&name).ok_or_else(|| format!("no agent {name}"));
        agent_names(family).into_iter().map(agent).collect::<Result<Vec<Agent>, String>>()
    };
    let ride = |agent| Policy::Ride(Box::new(agent));
    Ok(match policy {
        "ride" => all()?.into_iter().map(ride).collect(),
        "ride-no-skip" => all()?.into_iter().map(|agent| ride(agent.never_skipping())).collect(),
        _ => vec![Policy::named(policy, seed, windows_bind).map_err(|error| error.to_string())?],
    })
}

/// The session of a seed: means over the agents, and the reward of each.
fn sessions(config: &Config, request: &Request<'_>, family: &str) -> Result<Measured, String> {
    let windows_bind = config.kind == Kind::Continuous;
    let policies = agents(request.policy, family, request.seed, windows_bind)?;
    let mut all = Vec::new();
    for mut policy in policies {
        let played = play(config.clone(), request.seed, &mut policy).map_err(|error| error.to_string())?;
        all.push(session(&played.0, played.1));
    }
    let reward = |of: &Measured| of.metrics.iter().find(|it| it.0 == REWARD).map_or(f64::NAN, |it| it.1);
    let rewards: Vec<f64> = all.iter().map(reward).collect();
    let mut mean = mean_of_runs(&all);
    for number in 0..TRAINED {
        // A substitute is the same in the place of each agent.
        let reward = rewards.get(number).unwrap_or(&rewards[0]);
        mean = mean.with(format!("agent_{}_reward_frames", number + 1), *reward);
    }
    Ok(mean)
}

/// The mean of each metric of runs, of which there is one at least.
fn mean_of_runs(all: &[Measured]) -> Measured {
    let hashes: Vec<&str> = all.iter().map(|it| it.trace_hash.as_str()).collect();
    let mut mean = Measured::new(hashes.join(""));
    mean.events = all.iter().map(|it| it.events).sum();
    for (at, (name, _)) in all[0].metrics.iter().enumerate() {
        let sum: f64 = all.iter().map(|it| it.metrics[at].1).sum();
        mean = mean.with(name.clone(), sum / all.len() as f64);
    }
    mean
}

const REWARD: &str = "reward_frames";

fn session(outcomes: &[Outcome], hash: u64) -> Measured {
    let metrics = Metrics::of(outcomes);
    let mut measured = Measured::new(format!("{hash:016x}"))
        .with(REWARD, metrics.reward)
        .with("b_reward_deviation_frames", metrics.reward_deviation_b)
        .with("viewing_bps", metrics.viewing_rate)
        .with("throughput_bps", metrics.throughput)
        .with("unseen_bps", metrics.throughput - metrics.viewing_rate)
        .with("sent_bps", metrics.sent_rate)
        .with("p95_delay_s", metrics.delay_p95)
        .with("delay_growth", delay_growth(outcomes));
    measured.events = outcomes.len() as u64;
    for (name, kind) in [("i", &metrics.i), ("p", &metrics.p), ("b", &metrics.b)] {
        measured = with_kind(measured, name, kind);
    }
    measured
}

fn with_kind(measured: Measured, name: &str, kind: &KindMetrics) -> Measured {
    measured
        .with(format!("{name}_zero_share"), kind.zero_share)
        .with(format!("{name}_zero_share_of_sent"), kind.zero_share_of_sent)
        .with(format!("{name}_interruption_share"), kind.interruption)
        .with(format!("{name}_skipped_share"), kind.skipped)
        .with(format!("{name}_longest_freeze_s"), kind.longest_freeze)
        .with(format!("{name}_late_by_a_frame_share"), kind.late_by_a_frame)
        .with(format!("{name}_late_by_more"), kind.late_by_more as f64)
        .with(format!("{name}_reward_frames"), kind.reward)
}

fn played(config: Config, policy: &str, seed: u64) -> Result<(Vec<Outcome>, u64), String> {
    let windows_bind = config.kind == Kind::Continuous;
    let mut policy = Policy::named(policy, seed, windows_bind).map_err(|error| error.to_string())?;
    play(config, seed, &mut policy).map_err(|error| error.to_string())
}

/// Mean delay of units in the last ten seconds over that from 20 to 30 s: a backlog that grows makes it grow.
fn delay_growth(outcomes: &[Outcome]) -> f64 {
    let delay = |from: f64, to: f64| {
        let then = outcomes.iter().filter(|it| (from..to).contains(&it.release) && it.was_sent());
        let delays: Vec<f64> = then.map(|it| it.arrival - it.release).collect();
        mean(&delays)
    };
    delay(50.0, 60.0) / delay(20.0, 30.0)
}

/// Item 13: views that switch every second; the policy's decisions, and random ones with skips.
pub(super) fn references(request: &Request<'_>) -> Result<Measured, String> {
    let config = Config { viewing: Viewing::Switching, ..Config::episodic(Purpose::Judging) };
    let frames = config.frames;
    let mut environment = Environment::new(config, request.seed).map_err(|error| error.to_string())?;
    let mut policy = Policy::named(request.policy, request.seed, false).map_err(|error| error.to_string())?;
    let mut random = hawser_learn::Random::new(request.seed);
    let gop = Gop::of_fifty();
    environment.record();
    let mut sent = vec![0u64; frames.div_ceil(gop.len()) * TILES];
    let (mut twice, mut fetched_b) = (0u64, 0u64);
    loop {
        let unit = *environment.unit();
        let is_random = random.fraction() < 0.3;
        let step = if is_random {
            environment.step((random.fraction() * 3.0) as usize)
        } else {
            policy.step(&mut environment)
        };
        if step.sent {
            let known = &mut sent[unit.frame / gop.len() * TILES + unit.tile];
            twice += u64::from((*known & unit.bundle).count_ones());
            *known |= unit.bundle;
            let fetched = unit.bundle & !(1 << (unit.frame % gop.len()));
            let is_b = |at: &usize| fetched >> at & 1 == 1 && gop.kind(*at) == FrameKind::B;
            fetched_b += (0..gop.len()).filter(is_b).count() as u64;
        }
        if step.ends_session {
            break;
        }
    }
    let outcomes = environment.take_outcomes();
    let decoded = || outcomes.iter().filter(|outcome| outcome.decode.is_finite());
    let missing = |outcome: &&Outcome| {
        let needed = gop.closure(outcome.frame % gop.len());
        needed & !sent[outcome.frame / gop.len() * TILES + outcome.tile] != 0
    };
    Ok(Measured::new(format!("{:016x}", environment.trace_hash()))
        .with("decoded_units", decoded().count() as f64)
        .with("undecodable_units", (outcomes.len() - decoded().count()) as f64)
        .with("decoded_without_references", decoded().filter(missing).count() as f64)
        .with("frames_sent_twice", twice as f64)
        .with("b_frames_fetched", fetched_b as f64))
}

/// Item 14: logits of 10,000 observations against PyTorch's: every 37th of 50 environments, with the decisions of
/// python/package/hawser/compare_ride.py on the way.
pub(super) fn logits(_: &Request<'_>) -> Result<Measured, String> {
    const PATTERN: [u8; 11] = [1, 1, 2, 1, 1, 2, 0, 1, 1, 2, 1];
    const COUNT: usize = 50;
    const EVERY: usize = 37;
    let mut batch = Batch::new(Config::episodic(Purpose::Judging), 1, COUNT).map_err(|it| it.to_string())?;
    let mut observations = vec![0.0; batch.observations_length()];
    batch.observe(&mut observations);
    let (mut rewards, mut ends) = ([0.0; COUNT], [false; COUNT]);
    let mut agent = Agent::shipped();
    let mut framework =
        Agent::REFERENCE_LOGITS.chunks_exact(4).map(|it| f32::from_le_bytes([it[0], it[1], it[2], it[3]]));
    let (mut off_by, mut other_actions, mut taken) = (0f32, 0u32, [0u32; PATHS + 1]);
    for step in 1..=STATES / COUNT * EVERY {
        if (step - 1) % EVERY == 0 {
            for observation in observations.chunks_exact(observations.len() / COUNT) {
                let ours = agent.logits(observation);
                let theirs = [(); PATHS + 1].map(|()| framework.next().unwrap_or(f32::NAN));
                let differences = ours.iter().zip(&theirs).map(|(ours, theirs)| (ours - theirs).abs());
                // No number is no agreement.
                off_by = differences.fold(off_by, |worst, it| if it <= worst { worst } else { it });
                other_actions += u32::from(largest(&ours) != largest(&theirs));
                taken[largest(&ours)] += 1;
            }
        }
        let actions: Vec<u8> = (0..COUNT).map(|number| PATTERN[(step * 7 + number * 5) % 11]).collect();
        batch.step_batch(&actions, &mut observations, &mut rewards, &mut ends);
    }
    Ok(Measured::new("")
        .with("off_by", f64::from(off_by))
        .with("other_actions", f64::from(other_actions))
        .with("states", f64::from(taken.iter().sum::<u32>()))
        .with("states_on_lte", f64::from(taken[PATHS])))
}

/// The position of the largest, the first of equals.
fn largest(logits: &[f32]) -> usize {
    (1..logits.len()).fold(0, |best, at| if logits[at] > logits[best] { at } else { best })
}

/// Item 14: the same seed gives the same decisions.
pub(super) fn same_seed(request: &Request<'_>) -> Result<Measured, String> {
    let config = || Config::episodic(Purpose::Judging);
    let first = played(config(), request.policy, request.seed)?;
    let again = played(config(), request.policy, request.seed)?;
    let other = played(config(), request.policy, request.seed + 1_000)?;
    let actions = |outcomes: &[Outcome]| outcomes.iter().map(|it| it.action).collect::<Vec<_>>();
    let differ = actions(&first.0).iter().zip(actions(&again.0)).filter(|(one, two)| **one != *two).count();
    Ok(Measured::new(format!("{:016x}", first.1))
        .with("decisions_differ", (differ + first.0.len().abs_diff(again.0.len())) as f64)
        .with("hashes_differ", f64::from(u8::from(first.1 != again.1)))
        .with("other_seed_same_hash", f64::from(u8::from(first.1 == other.1))))
}

/// Item 11: the learning curves that training left, next to RR in the sessions in which they were taken.
pub(super) fn curve(_: &Request<'_>) -> Result<Measured, String> {
    const SEEDS: u64 = 2;
    let mut rr = 0.0;
    for seed in 0..SEEDS {
        let (outcomes, _) = played(Config::episodic(Purpose::Selection), "rr", seed)?;
        rr += Metrics::of(&outcomes).reward / SEEDS as f64;
    }
    let mut measured = Measured::new("").with("rr_reward_frames", rr);
    let (mut latest, mut largest) = (0.0f64, 0.0f64);
    for (number, name) in (1..).zip(agent_names("ride")) {
        let (passed, change) = passed_and_change(&learning_curve(&name)?, rr);
        (latest, largest) = (latest.max(passed), largest.max(change));
        measured = measured
            .with(format!("agent_{number}_episodes_until_rr_is_passed"), passed)
            .with(format!("agent_{number}_change_at_the_end"), change);
    }
    Ok(measured.with("episodes_until_rr_is_passed", latest).with("change_at_the_end", largest))
}

/// Episodes, and the greedy reward then in sessions that are reserved for choosing weights.
pub(super) fn learning_curve(name: &str) -> Result<Vec<(f64, f64)>, String> {
    let curve = Agent::training_curve(name).ok_or_else(|| format!("no agent {name}"))?;
    let point = |line: &str| {
        let mut fields = line.split(',').map(|field| field.parse::<f64>().ok());
        Some((fields.next()??, fields.nth(1)??))
    };
    let points: Vec<(f64, f64)> = curve.lines().filter_map(point).collect();
    if points.is_empty() { Err(format!("the learning curve of {name} is empty")) } else { Ok(points) }
}

/// Episodes until a curve is above RR, and by how much the mean of its last 2,500 episodes differs from that of the 2,500
/// before.
fn passed_and_change(points: &[(f64, f64)], rr: f64) -> (f64, f64) {
    let end = points.last().map_or(0.0, |point| point.0);
    let passed = points.iter().find(|(_, reward)| *reward > rr).map_or(f64::INFINITY, |point| point.0);
    let reward = |from: f64, to: f64| {
        let then: Vec<f64> = points.iter().filter(|it| it.0 > from && it.0 <= to).map(|it| it.1).collect();
        mean(&then)
    };
    (passed, (reward(end - 2_500.0, end) / reward(end - 5_000.0, end - 2_500.0) - 1.0).abs())
}

/// Decisions per second of the environment on one core, and the time of one by the agent.
pub(super) fn speed(_: &Request<'_>) -> Result<Measured, String> {
    const COUNT: usize = 64;
    const STEPS: usize = 10_000;
    let config = Config::episodic(Purpose::Training);
    let mut batch = Batch::new(config, 1, COUNT).map_err(|error| error.to_string())?;
    let mut observations = vec![0.0; batch.observations_length()];
    let (mut rewards, mut ends) = ([0.0; COUNT], [false; COUNT]);
    let began = Instant::now();
    for step in 0..STEPS {
        let actions = [(step % 3) as u8; COUNT];
        batch.step_batch(black_box(&actions), &mut observations, &mut rewards, &mut ends);
    }
    let per_second = (COUNT * STEPS) as f64 / began.elapsed().as_secs_f64();
    let mut agent = Agent::shipped();
    let observation = black_box([0.3f32; 10]);
    let mut times = Vec::new();
    for _ in 0..200 {
        let began = Instant::now();
        (0..200).for_each(|_| {
            black_box(agent.logits(black_box(&observation)));
        });
        times.push(began.elapsed().as_secs_f64() * 1e6 / 200.0);
    }
    let decision = quantile_of(&times, 0.5);
    Ok(Measured::new("").with("decisions_per_second", per_second).with("decision_us", decision))
}
