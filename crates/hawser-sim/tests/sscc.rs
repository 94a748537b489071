//! SSCC over simulated links: what shares a bottleneck is found and coupled, what does not is left alone.

mod common;

use std::path::Path;
use std::sync::{Arc, Mutex};

use hawser_cc::sscc::{self, Choice, Observer, SsccParts};
use hawser_policy::{GroupId, PathId, Registry, Side, Time};
use hawser_scenario::load;
use hawser_sim::run::{NoRecorder, Options, Outcome, Simulation};

/// Groups of the sending end over time.
#[derive(Default)]
struct Watch(Mutex<Vec<(Time, PathId, GroupId)>>);

impl Observer for Watch {
    fn on_group(&self, side: Side, now: Time, path: PathId, group: GroupId) {
        if side == Side::Server {
            self.0.lock().expect("nobody panicked").push((now, path, group));
        }
    }

    fn on_controller(&self, side: Side, now: Time, path: PathId, from: Option<Choice>, to: Choice) {
        if side == Side::Server && std::env::var_os("SSCC_SHOW").is_some() {
            eprintln!("{now} {path:?} {from:?} -> {to:?}");
        }
    }
}

/// A run, and what was seen of groups.
struct Run {
    outcome: Outcome,
    groups: Vec<(Time, PathId, GroupId)>,
    seconds: f64,
}

impl Run {
    fn new(file: &str, overrides: &[&str]) -> Run {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let overrides: Vec<String> = overrides.iter().map(|field| (*field).to_owned()).collect();
        let scenario = load(&folder.join(file), &overrides).unwrap_or_else(|error| panic!("{error}"));
        let watch = Arc::new(Watch::default());
        let mut registry: Registry = common::registry();
        let parts = SsccParts { observer: Some(watch.clone()), ..SsccParts::default() };
        sscc::register(&mut registry, parts).expect("all parts are there");
        let simulation = Simulation::new(&scenario, &registry, Options::default());
        let mut simulation = simulation.unwrap_or_else(|error| panic!("{file}: {error}"));
        let outcome = simulation.run(&mut NoRecorder);
        let groups = watch.0.lock().expect("nobody panicked").clone();
        Run { seconds: outcome.simulated_seconds, outcome, groups }
    }

    /// Share of a stretch of time in which a path was in a group with others.
    fn coupled_share(&self, path: u32, from: f64, until: f64) -> f64 {
        let (mut since, mut coupled) = (None, 0.0);
        let of_path = self.groups.iter().filter(|(_, of, _)| *of == PathId(path));
        let mut add = |from_time: f64, to: f64| coupled += (to.min(until) - from_time.max(from)).max(0.0);
        for (at, _, group) in of_path {
            let at = at.as_secs_f64();
            match (since, *group != GroupId(0)) {
                (None, true) => since = Some(at),
                (Some(began), false) => {
                    add(began, at);
                    since = None;
                }
                _ => {}
            }
        }
        if let Some(began) = since {
            add(began, self.seconds);
        }
        coupled / (until - from)
    }

    fn goodput(&self, flow: &str) -> f64 {
        let found = self.outcome.flows.iter().find(|of| of.flow == flow);
        found.map_or(0.0, |flow| flow.goodput_bps / 1e6)
    }
}

#[test]
fn show() {
    for file in std::env::var("SSCC_FILES").unwrap_or_default().split_whitespace() {
        let extra = std::env::var("SSCC_SET").unwrap_or_default();
        let extra: Vec<&str> = extra.split_whitespace().collect();
        let run = Run::new(file, &extra);
        for (at, path, group) in run.groups.iter().take(60) {
            eprintln!("{at} {path:?} {group:?}");
        }
        for flow in &run.outcome.flows {
            eprintln!("{} {:.2} Mbit/s", flow.flow, flow.goodput_bps / 1e6);
        }
        let paths = run.outcome.paths.iter().filter(|path| path.flow == "main").count() as u32;
        for path in 0..paths {
            eprintln!(
                "path {path}: coupled {:.3}, from 60 s on {:.3}",
                run.coupled_share(path, 0.0, run.seconds),
                run.coupled_share(path, 60.0, 180.0)
            );
        }
    }
}
