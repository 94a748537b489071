//! How a sweep scales with cores.

use std::process::Command;

use bench_harness::Error;
use bench_harness::report::SweepReport;
use serde_json::json;

use super::{Findings, Suite, ask, spread, verdict};
use crate::quiet::Quiet;
use crate::statistics::Spread;

/// Two threads are to be so much faster than one.
const TARGET: f64 = 1.8;
/// Each with one thread and with two.
const ROUNDS: usize = 3;

pub(super) fn measure(suite: &Suite<'_>) -> Result<Findings, Error> {
    let mut quiet = Quiet::new(std::time::Duration::from_secs(suite.arguments.patience));
    let mut run = |threads: usize| {
        quiet.measure(|| {
            let folder = tempfile::tempdir_in(&suite.arguments.out)?;
            let mut command = Command::new(&suite.program);
            command.arg("sweep").arg(suite.scenario("sweep")).arg("-j").arg(threads.to_string());
            ask::<SweepReport>(command.arg("--out").arg(folder.path()))
        })
    };
    let rounds = (0..suite.arguments.runs.min(ROUNDS))
        .map(|_| Ok([run(1)?, run(2)?]))
        .collect::<Result<Vec<_>, Error>>()?;
    let ratios = || rounds.iter().map(|[one, two]| one.value.wall_seconds / two.value.wall_seconds);
    let ratio = Spread::of(ratios()).ok_or("no run")?;
    println!(
        "\nsweep of {} cells: {} s on one thread, {} s on two, medians of {} rounds",
        rounds[0][0].value.cells,
        spread(rounds.iter().map(|[one, _]| one.value.wall_seconds), 2),
        spread(rounds.iter().map(|[_, two]| two.value.wall_seconds), 2),
        rounds.len()
    );
    println!(
        "{:<6}  two threads are {} times as fast (at least {TARGET})",
        verdict(ratio.median >= TARGET),
        spread(ratios(), 2)
    );
    if rounds.iter().flatten().any(|run| run.noisy) {
        println!("some runs were disturbed by other processes: do not trust these numbers");
    }
    Ok((json!({ "ratio": ratio, "target": TARGET }), json!(rounds)))
}
