//! P1 and P2: SSCC in a field of coupled controllers, on paths that share nothing.

use super::items::PAGE;
use super::{BALIA, LIA, MPCC, OLIA, WVEGAS};
use crate::experiments::verify::constant::Bound::{Above, AtLeast, AtMost, Below, Within};
use crate::experiments::verify::constant::Value::{Computed, Ratio};
use crate::experiments::verify::constant::{Claim, Deviation, Estimate, ITEM, Item, Kept, claim, of, ours};

/// Our goodput over that of another.
const fn goodput(runs: &'static str, other: &'static str) -> Claim {
    claim(Ratio(ours(runs, "goodput_mbps"), of(other, runs, "goodput_mbps")), Within(1.10, 1.45))
}

const fn delay(other: &'static str) -> Claim {
    const NAME: &str = "mean_queueing_ms";
    claim(Ratio(ours("emulated-mixed", NAME), of(other, "emulated-mixed", NAME)), AtMost(1.0))
}

const fn alike(first: &'static str, second: &'static str) -> Claim {
    const NAME: &str = "goodput_mbps";
    claim(
        Ratio(of(first, "emulated-mixed", NAME), of(second, "emulated-mixed", NAME)),
        Within(0.85, 1.0 / 0.85),
    )
}

const fn less(first: &'static str, second: &'static str, name: &'static str) -> Claim {
    claim(Ratio(of(first, "emulated-mixed", name), of(second, "emulated-mixed", name)), Below(1.0))
}

/// Item 9.
pub(super) const P1: Item = Item {
    id: "9",
    statement: "P1 mixed: goodput and delay against LIA, OLIA, BALIA, MPCC; more is gained moving than at rest; wVegas gets least, and MPCC less than the three in short downloads",
    threshold: "+10 to +45 %; delay <= 1.0 x each; LIA, OLIA, BALIA within 15 %",
    paper: "+21 to +32 %; delay -3 to -28 %",
    claims: &[
        goodput("emulated-mixed", LIA),
        goodput("emulated-mixed", OLIA),
        goodput("emulated-mixed", BALIA),
        goodput("emulated-mixed", MPCC),
        delay(LIA),
        delay(OLIA),
        delay(BALIA),
        delay(MPCC),
        claim(
            Computed {
                name: "gain over LIA, OLIA, BALIA and MPCC, moving over at rest",
                runs: &["emulated-mixed", "emulated-stationary"],
                compute: moving_over_rest,
            },
            AtLeast(1.0),
        ),
        less(WVEGAS, LIA, "goodput_mbps"),
        less(WVEGAS, OLIA, "goodput_mbps"),
        less(WVEGAS, BALIA, "goodput_mbps"),
        less(WVEGAS, MPCC, "goodput_mbps"),
        alike(LIA, OLIA),
        alike(OLIA, BALIA),
        alike(BALIA, LIA),
        less(MPCC, LIA, "short_mbps"),
        less(MPCC, OLIA, "short_mbps"),
        less(MPCC, BALIA, "short_mbps"),
    ],
    deviation: Some(Deviation {
        page: PAGE,
        cause: "synthetic carriers with random losses and deep queues: BBR fills both, and gets more and waits longer than the table",
    }),
    ..ITEM
};

/// P2. The sheet reports it and asks for nothing.
pub(super) const P2: Item = Item {
    id: "R4",
    statement: "P2 at rest: goodput against LIA, OLIA, BALIA, MPCC on two 5G links without background",
    threshold: "more than each",
    paper: "+13 to +26 %",
    claims: &[
        claim(Ratio(ours("real", "goodput_mbps"), of(LIA, "real", "goodput_mbps")), Above(1.0)),
        claim(Ratio(ours("real", "goodput_mbps"), of(OLIA, "real", "goodput_mbps")), Above(1.0)),
        claim(Ratio(ours("real", "goodput_mbps"), of(BALIA, "real", "goodput_mbps")), Above(1.0)),
        claim(Ratio(ours("real", "goodput_mbps"), of(MPCC, "real", "goodput_mbps")), Above(1.0)),
    ],
    deviation: Some(Deviation {
        page: PAGE,
        cause: "two 5G links without background or random losses, which any controller fills; the models save delay",
    }),
    ..ITEM
};

/// The gains over all four, short downloads moving and at rest.
fn moving_over_rest(kept: &Kept) -> Option<Estimate> {
    let mean = |values: Vec<(u64, f64)>| {
        let count = values.len();
        (count > 0).then(|| values.iter().map(|(_, value)| value).sum::<f64>() / count as f64)
    };
    let gain = |runs, name| {
        let others =
            [LIA, OLIA, BALIA, MPCC].map(|other| mean(kept.values(&(&of(other, runs, name)).into())));
        let others: Vec<f64> = others.into_iter().collect::<Option<_>>()?;
        Some(
            mean(kept.values(&(&ours(runs, name)).into()))?
                / (others.iter().sum::<f64>() / others.len() as f64),
        )
    };
    Some(Estimate::exact(
        gain("emulated-mixed", "short_mbps")? / gain("emulated-stationary", "goodput_mbps")?,
    ))
}
