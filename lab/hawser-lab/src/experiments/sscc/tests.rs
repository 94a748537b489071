use std::path::Path;
use std::sync::Arc;

use hawser_cc::sscc::{self, Candidate, Choice, SsccParts};

use super::{formulas, watched};
use crate::experiments::verify::{Request, Verdict, testing};

fn verdict(id: &str, substitute: Option<&str>) -> Verdict {
    testing::verdict("sscc", id, substitute)
}

/// Items 12 and 14 must hold as well; the one takes long, and the other measures time: docs/sscc.md.
#[test]
fn of_what_must_hold_this_does() {
    for id in ["1", "2", "11", "13", "15"] {
        assert_eq!(verdict(id, None), Verdict::Holds, "{id}");
    }
}

/// Negative control: without coupling there are neither groups nor decisions.
#[test]
fn without_coupling_it_falls_short() {
    for id in ["15", "R1"] {
        assert_eq!(verdict(id, Some("sscc,coupling=off,selection=rule")), Verdict::FallsShort, "{id}");
    }
}

/// Models that somebody chose in place of those that come with the crate are the ones that are judged.
#[test]
fn the_models_of_the_registry_are_judged() {
    let mut registry = hawser_net::policies();
    let models = formulas::always_vegas().unwrap();
    sscc::register(&mut registry, SsccParts { models: Some(Arc::new(models)), ..SsccParts::default() })
        .unwrap();
    let load = |file: &str, set: &[String]| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(file);
        hawser_scenario::load(&path, set).map_err(|error| error.to_string())
    };
    let policy = "sscc,selection=model";
    let request = Request {
        runs: "",
        scenarios: &["sscc-steady.toml".to_owned()],
        set: &["duration=5 s".to_owned()],
        key: "transport.policy",
        policy,
        seed: 1,
        registry: &Arc::new(registry),
        load: &load,
    };
    let watched = watched::run(&request).unwrap();
    let chosen: Vec<Choice> = watched.decisions.changes.iter().map(|(_, _, to)| *to).collect();
    assert_eq!(chosen, [Choice::Single(Candidate::Vegas)]);
}
