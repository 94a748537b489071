//! Figures, by example.

use super::*;

#[test]
fn pairs_of_links_are_compared() {
    let first = parsed("a.down.rate", "0 0.5\n1 5\n2 0.5\n3 5\n");
    let second = parsed("b.down.rate", "0 0.5\n1 5\n2 5\n3 5\n");
    let links = vec![first.links[0].clone(), second.links[0].clone()];
    let info = Info::of(&Trace { links, ..first });
    let pair = &info.pairs[0];
    assert_eq!((pair.joint_share_below_1mbps, pair.independent_share), (0.25, 0.125));
    // Two of four against one of four: 1/4 - 1/8 over the root of 1/4 times 3/16.
    assert!((pair.rate_correlation.unwrap() - 0.125 / (0.25f64 * 0.1875).sqrt()).abs() < 1e-12);
    let rate = info.links[0].directions[0].rate_bps.unwrap();
    assert_eq!((rate.mean, rate.p5, rate.median, rate.p95), (2.75e6, 0.5e6, 0.5e6, 5e6));
}
