//! Sessions of the fluid environment, and what is asked of the environment and the agent themselves.

use std::hint::black_box;
use std::time::Instant;

use hawser_ride::{
    Agent, Batch, Config, Environment, FrameKind, Gop, Kind, KindMetrics, Metrics, Outcome, PATHS, Policy,
    Purpose, SKIP, TILES, UnitPolicy, Viewing, play,
};

use crate::experiments::verify::{Measured, Request};

/// Observations of item 14.
const STATES: usize = 10_000;

pub(super) fn episodic(request: &Request<'_>) -> Result<Measured, String> {
    session(Config::episodic(Purpose::Judging), request)
}

/// The check of sheet 5.4: 40 fixed tiles, no loss.
pub(super) fn fluid_check(request: &Request<'_>) -> Result<Measured, String> {
    session(Config::fluid_check(), request)
}

/// E2 with 40 fixed tiles, which are 36 Mbit/s; a head that turns sees more of them, and has references fetched.
pub(super) fn continuous(request: &Request<'_>) -> Result<Measured, String> {
    session(Config { viewing: Viewing::Fixed, ..Config::continuous(Purpose::Judging) }, request)
}

fn session(config: Config, request: &Request<'_>) -> Result<Measured, String> {
    let (outcomes, hash) = played(config, request.policy, request.seed)?;
    let metrics = Metrics::of(&outcomes);
    let mut measured = Measured::new(format!("{hash:016x}"))
        .with("reward_frames", metrics.reward)
        .with("b_reward_deviation_frames", metrics.reward_deviation_b)
        .with("viewing_bps", metrics.viewing_rate)
        .with("throughput_bps", metrics.throughput)
        .with("unseen_bps", metrics.throughput - metrics.viewing_rate)
        .with("sent_bps", metrics.sent_rate)
        .with("p95_delay_s", metrics.delay_p95)
        .with("delay_growth", delay_growth(&outcomes));
    measured.events = outcomes.len() as u64;
    for (name, kind) in [("i", &metrics.i), ("p", &metrics.p), ("b", &metrics.b)] {
        measured = with_kind(measured, name, kind);
    }
    Ok(measured)
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
    let mean = |from: f64, to: f64| {
        let then = outcomes.iter().filter(|it| (from..to).contains(&it.release) && it.was_sent());
        let delays: Vec<f64> = then.map(|it| it.arrival - it.release).collect();
        delays.iter().sum::<f64>() / delays.len().max(1) as f64
    };
    mean(50.0, 60.0) / mean(20.0, 30.0)
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
        let action = if is_random { (random.fraction() * 3.0) as usize } else { policy.choose(&environment) };
        if action != SKIP {
            let known = &mut sent[unit.frame / gop.len() * TILES + unit.tile];
            twice += u64::from((*known & unit.bundle).count_ones());
            *known |= unit.bundle;
            let fetched = unit.bundle & !(1 << (unit.frame % gop.len()));
            let is_b = |at: &usize| fetched >> at & 1 == 1 && gop.kind(*at) == FrameKind::B;
            fetched_b += (0..gop.len()).filter(is_b).count() as u64;
        }
        if environment.step(action).ends_session {
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
/// python/hawser/compare_ride.py on the way.
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

/// Item 11: the learning curve that training left, next to RR in the sessions in which it was taken.
pub(super) fn curve(_: &Request<'_>) -> Result<Measured, String> {
    const SEEDS: u64 = 2;
    let mut rr = 0.0;
    for seed in 0..SEEDS {
        let (outcomes, _) = played(Config::episodic(Purpose::Selection), "rr", seed)?;
        rr += Metrics::of(&outcomes).reward / SEEDS as f64;
    }
    let point = |line: &str| {
        let mut fields = line.split(',').map(|field| field.parse::<f64>().ok());
        Some((fields.next()??, fields.nth(1)??))
    };
    let points: Vec<(f64, f64)> = Agent::TRAINING_CURVE.lines().filter_map(point).collect();
    let end = points.last().ok_or("the learning curve is empty")?.0;
    let passed = points.iter().find(|(_, reward)| *reward > rr).map_or(f64::INFINITY, |point| point.0);
    let mean = |from: f64, to: f64| {
        let then: Vec<f64> = points.iter().filter(|it| it.0 > from && it.0 <= to).map(|it| it.1).collect();
        then.iter().sum::<f64>() / then.len().max(1) as f64
    };
    // The mean of the last 2,500 episodes over that of the 2,500 before.
    let change = (mean(end - 2_500.0, end) / mean(end - 5_000.0, end - 2_500.0) - 1.0).abs();
    Ok(Measured::new("")
        .with("episodes_until_rr_is_passed", passed)
        .with("change_at_the_end", change)
        .with("rr_reward_frames", rr)
        .with("last_reward_frames", mean(end - 500.0, end)))
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
    times.sort_by(f64::total_cmp);
    Ok(Measured::new("").with("decisions_per_second", per_second).with("decision_us", times[times.len() / 2]))
}
