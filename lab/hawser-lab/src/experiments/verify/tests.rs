use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use hawser_policy::{ParameterInfo, PolicyInfo, Registry};
use tempfile::TempDir;

use super::*;
use crate::data::sweep::{Progress, RunSettings, Shard, run_work};
use crate::experiments::lists;

/// Goodput 110, 120, 130 with the system, ten less with anything else; no delay with the third seed.
fn measure(request: &Request<'_>) -> Result<Measured, String> {
    let seed = request.seed as f64;
    let system = f64::from(u8::from(request.policy == "default"));
    let chosen_as_set = f64::from(u8::from(request.key == "transport.policy"));
    let measured = Measured::new(format!("{:016x}", request.seed))
        .with("goodput_bps", 90.0 + 10.0 * (seed + system))
        .with("chosen_as_set", chosen_as_set);
    Ok(if request.seed == 3 { measured } else { measured.with("delay_ms", 5.0) })
}

fn broken(_: &Request<'_>) -> Result<Measured, String> {
    Err("the link is missing".to_owned())
}

const LIST: &str = r#"
name = "test"
title = "A list"
source = "nothing"
page = "docs/reproductions.md"

[system]
"transport.scheduler" = "default"

[runs.runs]
program = "measure"
policies = ["@system", "minrtt"]
seeds = [3, 4]

[runs.broken]
program = "broken"

[[item]]
id = "mean"
statement = "a statement of a dozen words or so, which no narrow column takes in one line"
threshold = "value > the other value, as the sheet says it"
paper = "1.2"
claims = ["mean(runs.goodput_bps) in 119 to 121"]

[[item]]
id = "ratio"
statement = "a statement of a dozen words or so, which no narrow column takes in one line"
threshold = "value > the other value, as the sheet says it"
claims = ["ratio(runs.goodput_bps, minrtt.runs.goodput_bps) > 1"]

[[item]]
id = "two"
statement = "a statement of a dozen words or so, which no narrow column takes in one line"
threshold = "value > the other value, as the sheet says it"
must = true
claims = [
    "difference(runs.goodput_bps, minrtt.runs.goodput_bps) >= 10",
    "largest(runs.goodput_bps) <= 125",
]

[[item]]
id = "noisy"
statement = "a statement of a dozen words or so, which no narrow column takes in one line"
threshold = "value > the other value, as the sheet says it"
claims = ["mean(runs.goodput_bps) > 119"]
deviation = "a cause"

[[item]]
id = "missing"
statement = "a statement of a dozen words or so, which no narrow column takes in one line"
threshold = "value > the other value, as the sheet says it"
claims = ["smallest(runs.delay_ms) <= 9"]

[[item]]
id = "broken"
statement = "a statement of a dozen words or so, which no narrow column takes in one line"
threshold = "value > the other value, as the sheet says it"
claims = ["sum(broken.x) <= 9"]

[[item]]
id = "own"
statement = "a statement of a dozen words or so, which no narrow column takes in one line"
threshold = "value > the other value, as the sheet says it"
claims = ["sum(runs.goodput_bps / runs.goodput_bps) + 2 >= 5"]

[[figure]]
name = "bars"
title = "Bars"
metric = "goodput_bps"
runs = ["runs"]
policies = ["@system", "minrtt"]
"#;

const PROGRAMS: &[Program] = &[
    Program {
        name: "measure",
        run: measure,
        metrics: &["{goodput_bps|chosen_as_set|delay_ms}"],
        outcome: false,
    },
    Program { name: "broken", run: broken, metrics: &["x"], outcome: false },
];
const KNOWN: Known = Known { programs: &[PROGRAMS], plots: &[] };

fn list() -> Arc<List> {
    Arc::new(read(LIST, "test.toml", KNOWN).unwrap())
}

fn registry() -> Arc<Registry> {
    // Only names matter here; what they do is tested where they are.
    let mut registry = Registry::new();
    for name in ["default", "minrtt"] {
        registry.add_scheduler(name, |_| unreachable!("nothing is simulated"));
    }
    let bytes = ParameterInfo::integer("bytes", 1..=9, 5);
    registry.add_set_with(PolicyInfo::new("together", "a set").parameter(bytes), |_, _| {
        unreachable!("nothing is simulated")
    });
    Arc::new(registry)
}

fn settings(substitute: Option<&str>) -> Settings {
    Settings {
        scenarios: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios"),
        seeds: None,
        full: false,
        substitute: substitute.map(str::to_owned),
        items: Vec::new(),
    }
}

fn verification(settings: Settings) -> Arc<Verification> {
    Arc::new(Verification::new(list(), settings, registry()).unwrap())
}

/// Runs until so many cells are done.
fn run_some(verification: &Arc<Verification>, folder: &Path, cells: usize) {
    let settings = RunSettings { folder: folder.to_owned(), threads: 1, shard: Shard::ALL };
    let mut watch = |progress: &Progress| match progress.ran < cells {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    };
    run_work(verification, &settings, &mut watch).unwrap();
}

fn verified(settings: Settings, folder: &Path) -> Verdicts {
    let verification = verification(settings);
    run_some(&verification, folder, usize::MAX);
    judge(&verification, folder).unwrap().0
}

fn row<'a>(verdicts: &'a Verdicts, id: &str) -> &'a Row {
    verdicts.items.iter().find(|row| row.id == id).unwrap()
}

#[test]
fn items_are_judged_from_their_runs() {
    let folder = TempDir::new().unwrap();
    let verdicts = verified(settings(None), folder.path());
    let found: Vec<(&str, Verdict)> =
        verdicts.items.iter().map(|row| (row.id.as_str(), row.verdict)).collect();
    let expected = [
        ("mean", Verdict::Holds),
        ("ratio", Verdict::Holds),
        ("two", Verdict::FallsShort),
        ("noisy", Verdict::Deviates),
        ("missing", Verdict::FallsShort),
        ("broken", Verdict::FallsShort),
        ("own", Verdict::Holds),
    ];
    assert_eq!(found, expected);
    let mean = row(&verdicts, "mean");
    assert_eq!(mean.value, Some(120.0));
    // s = 10, t(2) = 4.3027, so ± 24.84.
    assert!((mean.low.unwrap() - 95.159).abs() < 1e-3 && (mean.high.unwrap() - 144.841).abs() < 1e-3);
    let ratio = row(&verdicts, "ratio");
    assert!((ratio.value.unwrap() - 120.0 / 110.0).abs() < 1e-12, "{ratio:?}");
    // Every seed differs by the same: pairs are certain where means are not.
    assert_eq!((ratio.low, ratio.high), (ratio.value, ratio.value));
    assert_eq!(row(&verdicts, "two").value, Some(130.0), "the claim that is not met decides");
    assert!(row(&verdicts, "missing").claims[0].reason.as_ref().unwrap().contains("2 of 3 runs have it"));
    assert!(row(&verdicts, "broken").claims[0].reason.as_ref().unwrap().contains("the link is missing"));
    assert!(!verdicts.is_good());
}

#[test]
fn a_substitute_is_not_excused_and_loses_orderings() {
    let folder = TempDir::new().unwrap();
    let verdicts = verified(settings(Some("minrtt")), folder.path());
    assert_eq!(verdicts.policy, "minrtt");
    for id in ["ratio", "noisy"] {
        assert_eq!(row(&verdicts, id).verdict, Verdict::FallsShort, "{id}");
    }
    let unknown = Verification::new(list(), settings(Some("nobody")), registry()).err().unwrap();
    assert!(unknown.to_string().contains("minrtt"), "{unknown}");
}

/// The list with `minrtt` as its negative control, and items that it fulfils as well, or that are about nothing else.
fn with_control() -> String {
    let more = r#"
[[item]]
id = "for-all"
statement = "what every policy does"
threshold = "50 and more"
claims = ["mean(runs.goodput_bps) >= 50", "ratio(runs.goodput_bps, minrtt.runs.goodput_bps) >= 1"]

[[item]]
id = "baseline"
statement = "what the other policy does"
threshold = "50 and more"
claims = ["mean(minrtt.runs.goodput_bps) >= 50"]

[[item]]
id = "formula"
statement = "a computation"
threshold = "50 and more"
data = "none"
claims = ["mean(runs.goodput_bps) >= 50"]

[[item]]
id = "without"
statement = "what nothing can stand in for"
threshold = "50 and more"
control = "none"
claims = ["mean(runs.goodput_bps) >= 50"]

[[figure]]"#;
    LIST.replace("[system]", "control = \"minrtt\"\n\n[system]").replacen("\n[[figure]]", more, 1)
}

#[test]
fn only_what_the_negative_control_fails_is_counted() {
    let folder = TempDir::new().unwrap();
    let list = Arc::new(read(&with_control(), "test.toml", KNOWN).unwrap());
    let verification = Arc::new(Verification::new(list, settings(None), registry()).unwrap());
    run_some(&verification, folder.path(), usize::MAX);
    let (verdicts, _) = judge(&verification, folder.path()).unwrap();
    let weight = |id: &str| row(&verdicts, id).weight;
    assert_eq!(weight("ratio"), Weight::Effect);
    assert_eq!(weight("for-all"), Weight::Trivial);
    assert_eq!(weight("baseline"), Weight::Baselines);
    assert_eq!(weight("formula"), Weight::Computation);
    assert_eq!(weight("without"), Weight::Effect);
    let control = row(&verdicts, "ratio").control.as_ref().unwrap();
    assert_eq!((control.policy.as_str(), control.holds, control.value), ("minrtt", false, Some(1.0)));
    assert!(row(&verdicts, "without").control.is_none());
    // What the control lacks as well, it does not fulfil: `missing` falls short with both.
    assert_eq!(weight("missing"), Weight::Effect);
    let text = table(&verdicts, 120);
    let tally = "effects hold; not counted: 2 trivial (the negative control holds as well), 1 about baselines only, \
                 1 of formulas and vectors";
    assert!(text.contains(tally) && text.contains("holds (trivial)"), "{text}");
}

#[test]
fn controls_are_run_where_items_look_at_the_system() {
    let list =
        read(&with_control().replace("[\"@system\", \"minrtt\"]", "[\"@system\"]"), "test.toml", KNOWN);
    assert!(list.unwrap_err().message.contains("not made with minrtt"), "claims still name their policies");
    let alone = with_control().replace("minrtt.runs.goodput_bps", "runs.goodput_bps");
    let alone = alone.replace("policies = [\"@system\", \"minrtt\"]\nseeds", "seeds");
    let list = Arc::new(read(&alone, "test.toml", KNOWN).unwrap());
    let folder = TempDir::new().unwrap();
    let verification = Arc::new(Verification::new(list, settings(None), registry()).unwrap());
    run_some(&verification, folder.path(), usize::MAX);
    let (verdicts, _) = judge(&verification, folder.path()).unwrap();
    assert_eq!(row(&verdicts, "mean").weight, Weight::Effect, "the control has ten less");
    assert_eq!(row(&verdicts, "mean").control.as_ref().unwrap().value, Some(110.0));
}

/// With the third of four seeds, a run is cut off by the end of its scenario: it has no time.
#[test]
fn medians_count_runs_that_did_not_end_as_the_longest() {
    let median = LIST.replace("smallest(runs.delay_ms) <= 9", "median(runs.delay_ms) <= 9");
    let list = Arc::new(read(&median, "test.toml", KNOWN).unwrap());
    let folder = TempDir::new().unwrap();
    let verification = Arc::new(Verification::new(list, settings(None), registry()).unwrap());
    run_some(&verification, folder.path(), usize::MAX);
    let (verdicts, _) = judge(&verification, folder.path()).unwrap();
    let missing = row(&verdicts, "missing");
    assert_eq!((missing.verdict, missing.value), (Verdict::Holds, Some(5.0)), "{missing:?}");
}

#[test]
fn equivalence_needs_the_whole_interval() {
    let estimate = |low: f64, high: f64| Estimate { value: 1.0, low: Some(low), high: Some(high) };
    let bound = Bound::Inside(0.97, 1.03);
    assert!(bound.admits(&estimate(0.98, 1.02)));
    assert!(!bound.admits(&estimate(0.9, 1.02)) && !bound.admits(&estimate(0.98, 1.1)));
    assert!(!bound.admits(&Estimate::exact(1.0)), "one run shows no equivalence");
}

#[test]
fn a_policy_set_stands_in_for_a_scheduler() {
    let folder = TempDir::new().unwrap();
    verified(settings(Some("together,bytes=7")), folder.path());
    let lines = fs::read_to_string(folder.path().join(RUNS_LINES)).unwrap();
    let chosen = |policy: &str, value: &str| {
        let of_policy = |line: &&str| line.contains(policy) && line.contains("chosen_as_set");
        let lines: Vec<&str> = lines.lines().filter(of_policy).collect();
        assert!(!lines.is_empty() && lines.iter().all(|line| line.contains(value)), "{policy}: {lines:?}");
    };
    chosen("together", "\"value\":1");
    chosen("minrtt", "\"value\":0");
    let wrong = |text: &str| {
        let verification = Verification::new(list(), settings(Some(text)), registry());
        verification.err().unwrap().to_string()
    };
    assert!(wrong("together,bytes=70").contains("expected 1 to 9"));
    assert!(wrong("togeter").contains("did you mean \"together\"?"), "{}", wrong("togeter"));
}

#[test]
fn an_interrupted_verification_goes_on_and_gives_the_same() {
    let (whole, parts) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    verified(settings(None), whole.path());
    run_some(&verification(settings(None)), parts.path(), 3);
    verified(settings(None), parts.path());
    for file in ["merged/runs.parquet", "merged/cells.parquet", RUNS_LINES, VERDICTS] {
        let read = |folder: &TempDir| fs::read(folder.path().join(file)).unwrap();
        assert_eq!(read(&whole), read(&parts), "{file}");
    }
    let more = Settings { seeds: Some(2), ..settings(None) };
    let settings = RunSettings { folder: whole.path().to_owned(), threads: 1, shard: Shard::ALL };
    let other = run_work(&verification(more), &settings, &mut |_| ControlFlow::Continue(()));
    assert!(other.unwrap_err().to_string().contains("another folder"), "other runs are not mixed in");
    discard(whole.path()).unwrap();
    assert_eq!(fs::read_dir(whole.path()).unwrap().count(), 1, "the lock stays");
}

#[test]
fn only_the_runs_of_an_item_are_made() {
    let folder = TempDir::new().unwrap();
    let one = |id: &str| Settings { items: vec![id.to_owned()], ..settings(None) };
    let verdicts = verified(one("broken"), folder.path());
    assert_eq!(verdicts.items.len(), 1);
    let lines = fs::read_to_string(folder.path().join(RUNS_LINES)).unwrap();
    assert_eq!(lines, "", "a run that failed has no metrics");
    assert!(Verification::new(list(), one("none"), registry()).is_err());
}

#[test]
fn anybody_can_recompute_the_verdicts() {
    let folder = TempDir::new().unwrap();
    verified(settings(None), folder.path());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/recompute-verify");
    let recompute = || {
        let output = Command::new("python3").arg(&script).arg(folder.path()).output();
        output.map(|output| (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned()))
    };
    let Ok((good, text)) = recompute() else {
        eprintln!("skipped: there is no python3");
        return;
    };
    assert!(good && text.contains("5 claims recomputed, 0 differ"), "{text}");
    // Another value in one run shows.
    let lines = folder.path().join(RUNS_LINES);
    let text = fs::read_to_string(&lines).unwrap();
    let changed = text.replacen("110.0", "111.0", 1);
    assert_ne!(text, changed, "{text}");
    fs::write(&lines, changed).unwrap();
    let (good, text) = recompute().unwrap();
    assert!(!good && text.contains("mean: recomputed"), "{text}");
}

#[test]
fn tables_fit_the_terminal() {
    let folder = TempDir::new().unwrap();
    let verdicts = verified(settings(None), folder.path());
    for width in [80, 120] {
        let table = table(&verdicts, width);
        let widest = table.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= width && widest > width - 20, "{widest} of {width}:\n{table}");
        assert!(table.contains("two*") && table.contains("~ a cause (docs/reproductions.md)"), "{table}");
    }
}

#[test]
fn pages_and_figures_show_what_was_kept() {
    let folder = TempDir::new().unwrap();
    let verification = verification(settings(None));
    assert!(matches!(draw(&verification, folder.path(), "bars"), Err(ExperimentError::NotRead(_))));
    run_some(&verification, folder.path(), usize::MAX);
    let (verdicts, kept) = judge(&verification, folder.path()).unwrap();
    let page = page(&verdicts, verification.list(), &kept);
    assert!(page.contains("<svg") && page.contains("falls-short") && page.ends_with("</html>\n"));
    let svg = draw(&verification, folder.path(), "bars").unwrap();
    assert_eq!(svg.matches("class=\"bar\"").count(), 2, "{svg}");
    assert_eq!(svg.matches("class=\"interval\"").count(), 2, "{svg}");
    let unknown = draw(&verification, folder.path(), "none").unwrap_err().to_string();
    assert!(unknown.contains("test.bars"), "{unknown}");
}

#[test]
fn a_data_set_has_every_run_and_says_what_it_is() {
    let (folder, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let verification = verification(settings(None));
    let kept = [(&*verification, folder.path())];
    let missing = dataset::write(&kept, out.path()).unwrap_err();
    assert!(missing.to_string().contains("run `hawser lab verify test` first"), "{missing}");
    run_some(&verification, folder.path(), usize::MAX);
    let set = dataset::write(&kept, out.path()).unwrap();
    let list = &set.lists[0];
    assert_eq!((list.runs, list.failed, list.list.as_str()), (7, 1, "test"));
    assert_eq!(set.metrics["goodput_bps"], "bit/s");
    let runs = read_table(&out.path().join("runs/list=test/runs.parquet")).unwrap();
    assert_eq!(runs.rows(), read_table(&merged_file(folder.path(), kept::RUNS)).unwrap().rows());
    let verdicts = read_table(&out.path().join("verdicts/list=test/verdicts.parquet")).unwrap();
    assert_eq!(verdicts.rows(), verification.list().items.len());
    // The digest is what the tools of the system give for these files.
    let shown = Command::new("sh")
        .args([
            "-c",
            "find runs cells verdicts -name '*.parquet' | LC_ALL=C sort | xargs sha256sum | sha256sum",
        ])
        .current_dir(out.path())
        .output()
        .unwrap();
    assert!(String::from_utf8(shown.stdout).unwrap().starts_with(&set.sha256));
    let card = fs::read_to_string(out.path().join(dataset::CARD)).unwrap();
    assert!(card.contains(&set.sha256) && !card.contains("|  |\n| `cell`"), "{card}");
    // Every column is explained, and the same runs give the same bytes.
    assert!(set.columns.values().flatten().all(|column| !column.meaning.is_empty()), "{:?}", set.columns);
    let again = TempDir::new().unwrap();
    assert_eq!(dataset::write(&kept, again.path()).unwrap().sha256, set.sha256);
}

/// What every list has to be, so that its rows mean what docs/reproductions.md says; reading has checked the rest.
#[test]
fn files_and_pages_that_lists_name_are_there() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for list in lists::all() {
        for file in list.runs.iter().flat_map(|runs| &runs.scenarios) {
            assert!(repository.join("scenarios").join(file).is_file(), "{}: {file}", list.name);
        }
        for deviation in list.items.iter().filter_map(|item| item.deviation.as_ref()) {
            assert!(repository.join(&deviation.page).is_file(), "{}: {}", list.name, deviation.page);
        }
    }
}

/// Negative control: no ordering against a policy is met by that policy itself. A ratio is 1 then, and a difference 0.
#[test]
fn orderings_exclude_equality() {
    for list in lists::all() {
        let claims = list.items.iter().flat_map(|item| &item.claims);
        for claim in claims.filter(|claim| claim.value.is_ordering()) {
            if matches!(claim.bound, Bound::Below(_) | Bound::Above(_)) {
                let equal = if matches!(claim.value, Value::Ratio(..)) { 1.0 } else { 0.0 };
                assert!(!claim.bound.admits(&Estimate::exact(equal)), "{}: {claim:?}", list.name);
            }
        }
    }
}
