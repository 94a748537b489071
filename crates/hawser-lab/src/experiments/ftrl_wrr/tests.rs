use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

use super::*;
use crate::data::sweep::{RunSettings, Shard};
use crate::experiments::verify::{Settings, Verdict, Verification, judge, run};

/// What an item says, with the system or with something else in its place.
fn verdict(id: &str, substitute: Option<&str>) -> Verdict {
    let settings = Settings {
        scenarios: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios"),
        seeds: Some(1),
        full: false,
        substitute: substitute.map(str::to_owned),
        items: vec![id.to_owned()],
    };
    let folder = TempDir::new().unwrap();
    let verification = Verification::new(&LIST, settings, Arc::new(hawser_net::policies())).unwrap();
    let verification = Arc::new(verification);
    let settings = RunSettings { folder: folder.path().to_owned(), threads: 1, shard: Shard::ALL };
    run(&verification, &settings, &mut |_| ControlFlow::Continue(())).unwrap();
    let (verdicts, _) = judge(&verification, folder.path()).unwrap();
    verdicts.items.first().expect("the item").verdict
}

/// Negative control: what does not learn does not learn a hand-over.
#[test]
fn a_hand_over_is_learnt_by_nobody_else() {
    assert_eq!(verdict("R7", None), Verdict::Holds);
    for other in ["fixed-split", "minrtt", "default"] {
        assert_eq!(verdict("R7", Some(other)), Verdict::FallsShort, "{other}");
    }
}

/// Negative control: no ordering against MinRTT is met by MinRTT itself.
#[test]
fn orderings_against_a_policy_exclude_equality() {
    let against = LIST.items().flat_map(|item| item.claims).filter(|claim| {
        claim.value.is_ordering() && matches!(claim.bound, Bound::Below(_) | Bound::Above(_))
    });
    for claim in against {
        let equal = crate::experiments::verify::Estimate::exact(1.0);
        assert!(!claim.bound.admits(&equal), "{claim:?}");
    }
}

/// Formulas hold whatever schedules.
#[test]
fn computations_hold() {
    for id in ["1", "2", "3", "6", "7"] {
        assert_eq!(verdict(id, None), Verdict::Holds, "{id}");
    }
}
