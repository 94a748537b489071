use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

use super::*;
use crate::data::sweep::{RunSettings, Shard};
use crate::experiments::verify::{Bound, Estimate, Settings, Verdict, Verification, judge, run};

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

#[test]
fn what_must_hold_does() {
    for id in ["1", "2", "4", "6"] {
        assert_eq!(verdict(id, None), Verdict::Holds, "{id}");
    }
}

/// Negative control: OLIA carries no more than OLIA, and does not grow like MACO.
#[test]
fn olia_in_its_place_falls_short() {
    assert_eq!(verdict("R4", None), Verdict::Holds);
    for id in ["1", "4", "R4"] {
        assert_eq!(verdict(id, Some("olia")), Verdict::FallsShort, "{id}");
    }
}

/// Negative control: no ordering against a policy is met by that policy itself.
#[test]
fn orderings_exclude_equality() {
    let strict = LIST.items().flat_map(|item| item.claims).filter(|claim| {
        claim.value.is_ordering() && matches!(claim.bound, Bound::Below(_) | Bound::Above(_))
    });
    for claim in strict {
        assert!(!claim.bound.admits(&Estimate::exact(1.0)), "{claim:?}");
    }
}
