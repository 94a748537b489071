//! What the list runs in the simulator.

use hawser_cc::sscc::{Candidate, Choice};

use hawser_policy::PathId;

use super::environments::Environments;
use super::watched::{Watched, policies, run, run_in, run_with_cuts};
use crate::data::statistics::{jain, mean};
use crate::experiments::verify::{Measured, Request};

/// Seconds in which shares are measured (the thesis: 120 to 180 s).
const LATE: (f64, f64) = (120.0, 180.0);

/// F1: one bottleneck, NewReno joins at 20 s.
pub(super) fn fixed_bottleneck(request: &Request<'_>) -> Result<Measured, String> {
    let watched = run(request)?;
    let rates = ["main", "newreno"].map(|flow| watched.rate(flow, LATE.0, LATE.1));
    Ok(watched
        .measured()
        .with("jain", jain(&rates))
        .with("share_of_multipath", rates[0] / (rates[0] + rates[1]).max(1e-9))
        .with("coupled_by_seconds", watched.all_coupled_by())
        .with("coupled_share", watched.coupled_share(60.0, 180.0))
        .with("changes", watched.decisions.changes.len() as f64))
}

/// F2: the bottleneck moves to the common link at 20 s; a NewReno flow per path joins at 40 s.
pub(super) fn moving_bottleneck(request: &Request<'_>) -> Result<Measured, String> {
    let watched = run(request)?;
    let others = watched.outcome.flows.iter().map(|flow| flow.flow.as_str());
    let others = others.filter(|flow| flow.starts_with("newreno"));
    let rates: Vec<f64> =
        ["main"].into_iter().chain(others).map(|flow| watched.rate(flow, LATE.0, LATE.1)).collect();
    let of = |path: &PathId| watched.ran_share(*path, &[Candidate::Bbr], LATE.0, LATE.1);
    let paths = watched.paths();
    let bbr = mean(&paths.iter().map(of).collect::<Vec<f64>>());
    Ok(watched
        .measured()
        .with("jain", jain(&rates))
        .with("uncoupled_share_before", 1.0 - watched.coupled_share(5.0, 20.0))
        .with("rate_before_mbps", watched.rate("main", 5.0, 20.0))
        .with("coupled_share", watched.coupled_share(60.0, 180.0))
        .with("rate_late_mbps", rates[0])
        .with("bbr_share", bbr))
}

/// Paths that share nothing.
pub(super) fn apart(request: &Request<'_>) -> Result<Measured, String> {
    let watched = run(request)?;
    let seconds = watched.outcome.simulated_seconds;
    let paths = watched.paths().len().max(1) as f64;
    Ok(watched
        .measured()
        .with("coupled_share", watched.coupled_share(0.0, seconds))
        .with("changes_per_path_and_2_s", watched.decisions.changes.len() as f64 / paths / seconds * 2.0)
        .with("goodput_mbps", goodput(&watched))
        .with("mean_queueing_ms", watched.queueing_delay().0)
        .with("p95_queueing_ms", watched.queueing_delay().1))
}

/// P1 mixed: short and long downloads over two moving carriers, each of which counts alike.
pub(super) fn mixed(request: &Request<'_>) -> Result<Measured, String> {
    let [short, long] = request.scenarios else { return Err("expected two scenarios".to_owned()) };
    let of = |file: &str| run_in(request, &request.scenario_of(file, &policies(request))?);
    let (short, long) = (of(short)?, of(long)?);
    let (of_short, of_long) = (goodput(&short), goodput(&long));
    Ok(short
        .measured()
        .with("short_mbps", of_short)
        .with("long_mbps", of_long)
        .with("goodput_mbps", (of_short * of_long).sqrt())
        .with("mean_queueing_ms", f64::midpoint(short.queueing_delay().0, long.queueing_delay().0)))
}

/// Two paths share a bottleneck until 40 s.
pub(super) fn parting(request: &Request<'_>) -> Result<Measured, String> {
    let watched = run(request)?;
    Ok(watched
        .measured()
        .with("coupled_by_seconds", watched.all_coupled_by())
        .with("coupled_share_before", watched.coupled_share(10.0, 40.0))
        .with("released_after_seconds", watched.released_after(40.0)))
}

/// What random losses harm less than CUBIC.
const LOSS_TOLERANT: &[Candidate] = &[Candidate::Bbr, Candidate::Westwood];

/// D1: the WiFi path loses 5 % from 10 to 20 s.
pub(super) fn switching(request: &Request<'_>) -> Result<Measured, String> {
    let watched = run(request)?;
    let path = watched.path_over("wifi0").ok_or("there is no path over wifi0")?;
    let other = watched.decisions.first.iter().any(|(_, first)| *first != Choice::Single(Candidate::Cubic));
    Ok(watched
        .measured()
        .with("goodput_mbps", goodput(&watched))
        .with("rate_lossy_mbps", watched.path_rate(path, 11.0, 20.0))
        .with("tolerant_share", watched.ran_share(path, LOSS_TOLERANT, 11.0, 20.0))
        .with("begins_otherwise", f64::from(u8::from(other))))
}

/// Item 12: BBR and CUBIC take turns twice a second where one path loses 5 %, so that changes fall into recovery.
pub(super) fn second_cuts(request: &Request<'_>) -> Result<Measured, String> {
    let watched = run_with_cuts(request)?;
    let cuts = watched.cuts();
    Ok(watched
        .measured()
        .with("changes", watched.decisions.changes.len() as f64)
        .with("cuts", cuts.cuts as f64)
        .with("second_cuts", cuts.second as f64))
}

/// Item 8: an environment that nothing was trained in; the seed is its number. Rewards are on the scale of the links, so that those
/// of several controllers compare: on the scale of its own connection one that never uses the path looks good.
pub(super) fn held_out(request: &Request<'_>) -> Result<Measured, String> {
    let environment = Environments::JUDGE.get(request.seed);
    let links = environment.links.ok_or("its links change")?;
    let set: Vec<String> = environment.set.iter().cloned().chain(policies(request)).collect();
    let watched = run_in(request, &(request.load)(environment.file, &set)?)?;
    Ok(watched.measured().with("reward", watched.mean_reward(&links)))
}

/// A steady path; the controller changes every two seconds, or not.
pub(super) fn steady(request: &Request<'_>) -> Result<Measured, String> {
    let watched = run(request)?;
    // A round-trip time with a full queue is 120 ms; the sheet's bound is for one.
    let rises = watched.rises(0.1);
    let mean = rises.iter().sum::<f64>() / rises.len().max(1) as f64;
    Ok(watched
        .measured()
        .with("rate_mbps", watched.rate("main", 5.0, 40.0))
        .with("changes", rises.len() as f64)
        .with("largest_rise_share", rises.iter().copied().fold(0.0, f64::max))
        .with("mean_rise_share", mean))
}

/// The same twice.
pub(super) fn twice(request: &Request<'_>) -> Result<Measured, String> {
    let once = || run(request);
    let (first, second) = (once()?, once()?);
    let differs =
        first.outcome.trace_hash != second.outcome.trace_hash || first.decisions != second.decisions;
    Ok(first
        .measured()
        .with("differences", f64::from(u8::from(differs)))
        .with("decisions", (first.decisions.groups.len() + first.decisions.changes.len()) as f64))
}

fn goodput(watched: &Watched) -> f64 {
    let main = watched.outcome.flows.iter().find(|flow| flow.flow == "main");
    main.map_or(0.0, |flow| flow.goodput_bps / 1e6)
}
