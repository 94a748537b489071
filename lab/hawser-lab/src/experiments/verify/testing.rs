//! Judging a single item of a list in tests.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

use super::{Settings, Verdict, Verification, judge};
use crate::data::sweep::{RunSettings, Shard, run_work};
use crate::experiments::lists;

/// What an item says after runs of one seed, with the system or with something else in its place.
pub(crate) fn verdict(list: &str, id: &str, substitute: Option<&str>) -> Verdict {
    let settings = Settings {
        scenarios: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios"),
        seeds: Some(1),
        full: false,
        substitute: substitute.map(str::to_owned),
        items: vec![id.to_owned()],
    };
    let folder = TempDir::new().unwrap();
    let verification =
        Verification::new(lists::find(list).unwrap(), settings, Arc::new(hawser_net::policies())).unwrap();
    let verification = Arc::new(verification);
    let settings = RunSettings { folder: folder.path().to_owned(), threads: 1, shard: Shard::ALL };
    run_work(&verification, &settings, &mut |_| ControlFlow::Continue(())).unwrap();
    let (verdicts, _) = judge(&verification, folder.path()).unwrap();
    verdicts.items.first().expect("the item").verdict
}
