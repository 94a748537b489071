//! The card of a data set, for people.

use std::fmt::Write as _;

use super::dataset::{CARD, DATASET, Dataset, Source};

/// Seeds that are written one by one.
const MOST_SEEDS: usize = 12;

/// The unit of a metric's values, as the end of its name says; empty: a count, a share or a hash.
pub(super) fn unit(metric: &str) -> &'static str {
    let units = [
        ("_bps", "bit/s"),
        ("_ms", "ms"),
        ("_ns", "ns"),
        ("_seconds", "s"),
        ("_s", "s"),
        ("_bytes", "bytes"),
        ("_kB", "kB"),
    ];
    units.into_iter().find(|(ending, _)| metric.ends_with(ending)).map_or("", |(_, unit)| unit)
}

/// What a column says.
pub(super) fn meaning(table: &str, column: &str) -> &'static str {
    match (table, column) {
        (_, "cell") => "number of the run in its list",
        (_, "scenario") => "what was run: a scenario or a group of runs of the list",
        ("verdicts", "policy") => "the system, or what stood in its place",
        (_, "policy") => "the policy that ran, with its parameters",
        (_, "seed") => "seed of everything random in the run",
        (_, "trace_hash") => "stands for every packet delivered: when, where, how long, and what",
        (_, "metric") => "what was measured; the end of the name is the unit",
        ("runs", "value") => "the value, in that unit",
        (_, "status") => "how the run ended",
        (_, "message") => "why it failed; empty: it did not",
        (_, "packets") => "packets sent in the run",
        (_, "events") => "events of the simulation",
        (_, "item") => "id of the item in the list",
        (_, "statement") => "what is claimed",
        (_, "value") => "of the claim that decides, in the unit of its metric",
        (_, "low") => "lower end of its 95 % interval",
        (_, "high") => "upper end of its 95 % interval",
        (_, "threshold") => "the bound of the specification, verbatim",
        (_, "paper") => "the figure that the paper gives; empty: none",
        (_, "must") => "whether the item may deviate",
        (_, "data") => "what the links are made from: measured, synthetic, none",
        (_, "verdict") => "holds, falls-short, deviates",
        (_, "weight") => "what the row counts for: effect, trivial, baselines, computation",
        _ => "",
    }
}

/// The card as Markdown.
pub(super) fn card(dataset: &Dataset) -> String {
    let mut text = String::from("# Runs behind the verdicts of Hawser\n\n");
    let runs: usize = dataset.lists.iter().map(|list| list.runs).sum();
    let _ = writeln!(
        text,
        "{runs} runs of {} acceptance lists, as Parquet. To cite it, name the version and this digest:\n\n    sha256 {}\n",
        dataset.lists.len(),
        dataset.sha256
    );
    let _ = writeln!(
        text,
        "It is the SHA-256 of the lines `DIGEST  FILE` of the tables, sorted by name; in this folder:\n\n    find runs cells verdicts -name '*.parquet' | LC_ALL=C sort | xargs sha256sum | sha256sum\n\n`{DATASET}` says the same as this `{CARD}` to programs.\n"
    );
    text.push_str(
        "## Lists\n\n| list | policy | runs | failed | seeds | verdicts |\n|---|---|---|---|---|---|\n",
    );
    for list in &dataset.lists {
        let verdicts: Vec<String> =
            list.verdicts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
        let (name, policy, verdicts) = (&list.list, &list.policy, verdicts.join(", "));
        let _ = writeln!(
            text,
            "| `{name}` | `{policy}` | {} | {} | {} | {verdicts} |",
            list.runs,
            list.failed,
            seeds(&list.seeds)
        );
    }
    for list in &dataset.lists {
        about(&mut text, list);
    }
    text.push_str("\n## Tables\n\nA folder `list=NAME` is a column `list`.\n");
    for (name, columns) in &dataset.columns {
        let _ = writeln!(text, "\n### {name}\n\n| column | type | meaning |\n|---|---|---|");
        for column in columns {
            let _ = writeln!(text, "| `{}` | {} | {} |", column.name, column.kind, column.meaning);
        }
    }
    text.push_str("\n## Metrics\n\n| metric | unit |\n|---|---|\n");
    for (metric, unit) in &dataset.metrics {
        let _ = writeln!(text, "| `{metric}` | {unit} |");
    }
    text.push_str("\n## Files\n\n| file | rows | bytes | SHA-256 |\n|---|---|---|---|\n");
    for file in &dataset.files {
        let _ = writeln!(text, "| `{}` | {} | {} | `{}` |", file.file, file.rows, file.bytes, file.sha256);
    }
    text
}

fn about(text: &mut String, list: &Source) {
    let _ = writeln!(text, "\n### {}\n\n{}. Source: {}.\n", list.list, list.title, list.source);
    let program = list.program_sha256.as_deref().unwrap_or("not recorded");
    let _ = writeln!(
        text,
        "Made by hawser {}, program SHA-256 `{program}`; list, scenarios and what they read: `{}`. A run is made again with `hawser sim run`, its scenario, policy and seed, and then has the same trace hash.",
        list.hawser, list.manifest_sha256
    );
}

/// `1 to 20`, or each of them.
fn seeds(seeds: &[u64]) -> String {
    match seeds {
        [] => "none".to_owned(),
        [first, .., last] if (last - first) as usize == seeds.len() - 1 => format!("{first} to {last}"),
        some if some.len() <= MOST_SEEDS => some.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
        [first, .., last] => format!("{} between {first} and {last}", seeds.len()),
        [only] => only.to_string(),
    }
}
