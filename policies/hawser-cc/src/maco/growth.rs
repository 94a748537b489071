//! Coupled square-root growth (Algorithm 5, eqs. (3.25) and (3.26)).
//!
//! Elastic-TCP grows by U = sqrt(T w / rtt) / w datagrams per acknowledged one and gives up V = w / 2, so that
//! phi = U / V = 2 sqrt(T) x^(-3/2) / rtt^2 with the rate x = w / rtt, and d phi / d x = -3 sqrt(T x) / (rtt^2 x^3) (3.20). That
//! all paths react alike (3.18) with phi_r = theta_r / x_r (3.19) makes theta_r = 3 x_r^2 sqrt(T_r) / (rtt_r^2 x_TCP^(5/2));
//! that together they take what one flow would on the best of them (3.22) puts the sum of their rates in the place of x_TCP.
//! Windows are datagrams: U has the dimension of their -1/2 power.

use hawser_policy::Siblings;

use super::shared::Shared;
use crate::coupled::Coupled;
use crate::window::Window;

/// A path of the sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rate {
    /// Datagrams per second.
    pub(super) rate: f64,
    /// T, seconds.
    pub(super) largest_rtt: f64,
}

/// U: growth in datagrams per acknowledged one on a path with this round-trip time, at most one, which is slow start.
pub(super) fn coupled_increase(rtt: f64, paths: impl Iterator<Item = Rate>) -> f64 {
    let (mut most, mut sum) = (0.0f64, 0.0);
    for path in paths {
        most = most.max(path.rate * path.rate * path.largest_rtt.sqrt());
        sum += path.rate;
    }
    at_most_one(3.0 * most / (2.0 * rtt * sum * sum * sum.sqrt()))
}

/// Elastic-TCP (Alrshah 2019): what a path grows by that is not coupled.
pub(super) fn elastic_increase(rtt: f64, largest_rtt: f64, window: f64) -> f64 {
    at_most_one((largest_rtt * window / rtt).sqrt() / window)
}

/// Slow start's, also for what is no number.
fn at_most_one(increase: f64) -> f64 {
    if (0.0..1.0).contains(&increase) { increase } else { 1.0 }
}

/// The growth of a path among its siblings. `rtt` is its smoothed round-trip time in seconds.
pub(super) fn increase(
    window: &Window,
    rtt: f64,
    is_coupled: bool,
    shared: &Shared,
    siblings: &Siblings<'_>,
) -> f64 {
    let packets = window.exact() / window.datagram();
    let paths = shared.look();
    let own_largest = paths.largest_rtt(siblings.own).max(rtt);
    if !is_coupled {
        return elastic_increase(rtt, own_largest, packets);
    }
    match Coupled::new(siblings, window) {
        Some(coupled) => {
            let rate = |path: crate::coupled::CoupledPath<'_>| Rate {
                rate: path.rate(),
                largest_rtt: paths.largest_rtt(path.entry.path).max(path.rtt),
            };
            coupled_increase(rtt, coupled.paths().map(rate))
        }
        None => coupled_increase(rtt, [Rate { rate: packets / rtt, largest_rtt: own_largest }].into_iter()),
    }
}

#[cfg(test)]
mod tests;
