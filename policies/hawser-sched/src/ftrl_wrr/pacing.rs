//! Pacing rates in the ratio of the shares (Li 2024, section 4.8).

use hawser_policy::{Command, Commands, MAX_PACING_PERCENT, PathId, SendView};

use super::parameters::FtrlPacing;

/// No rate is raised to more than this, in % of what the controller says.
const MOST: f64 = 200.0;

/// Sets the pacing of all paths for a step.
pub(super) fn set(
    paths: &[PathId],
    pacing: FtrlPacing,
    view: &SendView<'_>,
    share: impl Fn(usize) -> f64,
    commands: &mut Commands,
) {
    let rates = paths.iter().enumerate().map(|(at, id)| (super::rate(view, *id), share(at)));
    let whole = whole(rates);
    for (at, id) in paths.iter().enumerate() {
        let percent = match pacing {
            FtrlPacing::Controller => return,
            FtrlPacing::Off => MAX_PACING_PERCENT,
            FtrlPacing::Learner => scaled(super::rate(view, *id), share(at), whole),
        };
        commands.push(Command::ScalePacing { path: *id, percent });
    }
}

/// What all carry together if the share of each is what limits it: the most that any of them allows.
fn whole(paths: impl Iterator<Item = (f64, f64)>) -> f64 {
    paths.map(|(rate, share)| rate / share.max(1e-6)).fold(0.0, f64::max)
}

/// The rates at which two paths are paced, given their bandwidths and the share of the first: one is raised to the ratio of the
/// shares, to twice its bandwidth at most; none is lowered (Li 2024, section 4.8).
pub fn paced_rates(rates: [f64; 2], share: f64) -> [f64; 2] {
    let [first, second] = [(rates[0], share), (rates[1], 1.0 - share)];
    let whole = whole([first, second].into_iter());
    [first, second].map(|(rate, share)| rate * f64::from(scaled(rate, share, whole)) / 100.0)
}

/// The rate that belongs to a share of `whole`, in % of the whole: never less than that.
pub(super) fn scaled(rate: f64, share: f64, whole: f64) -> u16 {
    if rate <= 0.0 { 100 } else { (100.0 * share * whole / rate).clamp(100.0, MOST).round() as u16 }
}
