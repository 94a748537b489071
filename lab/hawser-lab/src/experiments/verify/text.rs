//! The table for people.

use std::fmt::Write as _;

use super::judge::{ClaimRow, Row, Verdict, Verdicts, Weight};
use super::units::{Unit, figure, interval, number, unit_of};

/// From here on the interval and the threshold have columns of their own.
const WIDE: usize = 100;
/// Ids that are numbers, such as `R12`, are not longer.
const LONGEST_ID: usize = 8;
/// Least width of the column of statements; narrower terminals break the lines themselves.
const LEAST: usize = 20;

/// A table of this width: a line per item, statements wrapped, and what decides under those that do not hold.
pub(super) fn table(verdicts: &Verdicts, width: usize) -> String {
    let is_wide = width >= WIDE;
    let titles = if is_wide { &WIDE_TITLES[..] } else { &NARROW_TITLES[..] };
    let has_names = verdicts.items.iter().any(|row| row.id.len() > LONGEST_ID);
    let rows: Vec<Vec<String>> = verdicts.items.iter().map(|row| cells(row, is_wide, has_names)).collect();
    let columns = Columns::fit(titles, &rows, width);
    let mut text = String::new();
    columns.line(&mut text, &titles.iter().map(|(title, _)| (*title).to_owned()).collect::<Vec<_>>());
    for (row, cells) in verdicts.items.iter().zip(&rows) {
        columns.line(&mut text, cells);
        if row.verdict != Verdict::Holds {
            remarks(&mut text, row, columns.widths[0] + 2, width);
        }
    }
    let counts = [Verdict::Holds, Verdict::FallsShort, Verdict::Deviates]
        .map(|verdict| format!("{} {}", verdicts.count(verdict), verdict.name()));
    let _ = writeln!(text, "{} ({}): {}; * must hold", verdicts.name, verdicts.policy, counts.join(", "));
    let _ = writeln!(text, "{}", tally(verdicts));
    text
}

/// `4 of 9 effects hold; not counted: 2 trivial (the negative control holds as well), 7 of formulas and vectors`.
pub(super) fn tally(verdicts: &Verdicts) -> String {
    let (effects, hold) = verdicts.effects();
    let others = [
        (Weight::Trivial, "trivial (the negative control holds as well)"),
        (Weight::Baselines, "about baselines only"),
        (Weight::Computation, "of formulas and vectors"),
    ];
    let others = others.map(|(weight, words)| (verdicts.weighing(weight).count(), words));
    let others: Vec<String> = others
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
    let not_counted =
        if others.is_empty() { String::new() } else { format!("; not counted: {}", others.join(", ")) };
    format!("{hold} of {effects} effects hold{not_counted}")
}

/// One line for each list.
pub(super) fn overview(all: &[Verdicts]) -> String {
    let width = all.iter().map(|verdicts| verdicts.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for verdicts in all {
        let must = verdicts.items.iter().filter(|row| row.must && row.verdict != Verdict::Holds).count();
        let must = if must == 0 { String::new() } else { format!("; {must} that must hold do not") };
        let _ = writeln!(text, "{:width$}  {}{must}", verdicts.name, tally(verdicts));
    }
    let (effects, hold) =
        all.iter().map(Verdicts::effects).fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    let _ = writeln!(text, "{:width$}  {hold} of {effects} effects hold", "all");
    text
}

/// How a column is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Set {
    /// To the left, as wide as it needs.
    Left,
    /// To the right, as wide as it needs.
    Right,
    /// To the left, in lines of what the others leave.
    Wrapped,
}

const WIDE_TITLES: [(&str, Set); 6] = [
    ("", Set::Left),
    ("item", Set::Wrapped),
    ("value", Set::Right),
    ("95 %", Set::Right),
    ("threshold", Set::Wrapped),
    ("verdict", Set::Left),
];
const NARROW_TITLES: [(&str, Set); 4] =
    [("", Set::Left), ("item [threshold]", Set::Wrapped), ("value", Set::Right), ("verdict", Set::Left)];

/// Ids that are names stand before the statement: a column of their own would leave it no room.
fn cells(row: &Row, is_wide: bool, has_names: bool) -> Vec<String> {
    let unit = deciding(row).map(unit).unwrap_or_default();
    let id = format!("{}{}", row.id, if row.must { "*" } else { "" });
    let (id, statement) = match has_names {
        true => (String::new(), format!("{id}: {}", row.statement)),
        false => (id, row.statement.clone()),
    };
    let value = row.value.map_or_else(|| "-".to_owned(), |value| figure(value, unit));
    let verdict = match row.weight {
        Weight::Effect | Weight::Computation => row.verdict.name().to_owned(),
        Weight::Trivial | Weight::Baselines => format!("{} ({})", row.verdict.name(), row.weight.name()),
    };
    match is_wide {
        true => {
            let interval = interval(row.low, row.high, unit);
            vec![id, statement, value, interval, row.threshold.clone(), verdict]
        }
        false => vec![id, format!("{statement} [{}]", row.threshold), value, verdict],
    }
}

/// The claim whose value a row shows.
pub(super) fn deciding(row: &Row) -> Option<&ClaimRow> {
    row.claims.iter().find(|claim| !claim.met).or(row.claims.first())
}

/// The unit of a claim, from the end of its metric's name; ratios and counts have none.
pub(super) fn unit(claim: &ClaimRow) -> Unit {
    match (&claim.of, claim.estimator.as_str()) {
        (_, "ratio") | (None, _) => Unit::default(),
        (Some(metric), _) => unit_of(&metric.metric),
    }
}

/// Columns and how wide they are.
struct Columns {
    sets: Vec<Set>,
    widths: Vec<usize>,
}

impl Columns {
    fn fit(titles: &[(&str, Set)], rows: &[Vec<String>], width: usize) -> Self {
        let longest = |index: usize| {
            let cells = rows.iter().map(|row| row[index].chars().count());
            cells.max().unwrap_or(0).max(titles[index].0.len())
        };
        let sets: Vec<Set> = titles.iter().map(|(_, set)| *set).collect();
        let mut widths: Vec<usize> = (0..sets.len())
            .map(|index| if sets[index] == Set::Wrapped { 0 } else { longest(index) })
            .collect();
        let left = width.saturating_sub(widths.iter().sum::<usize>() + 2 * (sets.len() - 1));
        let wrapped: Vec<usize> = (0..sets.len()).filter(|index| sets[*index] == Set::Wrapped).collect();
        // What follows the statement takes at most two fifths of the room.
        let mut room = left;
        for index in wrapped.iter().skip(1) {
            widths[*index] = longest(*index).min(left * 2 / 5);
            room -= widths[*index];
        }
        widths[wrapped[0]] = longest(wrapped[0]).min(room.max(LEAST));
        Columns { sets, widths }
    }

    /// A line; texts that are too long go on below.
    fn line(&self, text: &mut String, cells: &[String]) {
        let columns: Vec<Vec<String>> = (cells.iter().zip(&self.sets).zip(&self.widths))
            .map(|((cell, set), width)| match set {
                Set::Wrapped => wrapped(cell, *width),
                _ => vec![cell.clone()],
            })
            .collect();
        for line in 0..columns.iter().map(Vec::len).max().unwrap_or(0) {
            let mut whole = String::new();
            for ((column, set), width) in columns.iter().zip(&self.sets).zip(&self.widths) {
                let cell = column.get(line).map_or("", String::as_str);
                let _ = match set {
                    Set::Right => write!(whole, "{cell:>width$}  "),
                    _ => write!(whole, "{cell:<width$}  "),
                };
            }
            let _ = writeln!(text, "{}", whole.trim_end());
        }
    }
}

/// Why an item does not hold.
fn remarks(text: &mut String, row: &Row, indent: usize, width: usize) {
    let unmet = row.claims.iter().filter(|claim| !claim.met).map(|claim| format!("! {}", words(claim)));
    let deviation = row.deviation.iter().map(|it| format!("~ {} ({})", it.cause, it.page));
    for line in unmet.chain(deviation).flat_map(|it| wrapped(&it, width.saturating_sub(indent).max(LEAST))) {
        let _ = writeln!(text, "{:indent$}{line}", "");
    }
}

/// A claim in words: `ratio of goodput_bps (wifi-lte, default) to (wifi-lte, minrtt) is 0.98, not > 1`.
pub(super) fn words(claim: &ClaimRow) -> String {
    let metric = |it: &super::judge::MetricRow| format!("{} ({}, {})", it.metric, it.scenario, it.policy);
    let of = claim.of.as_ref().map(|of| format!(" of {}", metric(of))).unwrap_or_default();
    let to = claim.to.as_ref().map(|to| format!(" to {}", metric(to))).unwrap_or_default();
    let is = match (&claim.reason, claim.value) {
        (Some(reason), _) => format!("unknown: {reason}"),
        (None, Some(value)) => {
            let ends = interval(claim.low, claim.high, Unit::default());
            let ends = if ends.is_empty() { ends } else { format!(" [{ends}]") };
            let not = if claim.met { "" } else { "not " };
            format!("{}{ends}, {not}{}", number(value), claim.bound)
        }
        (None, None) => "unknown".to_owned(),
    };
    format!("{}{of}{to}: {is}", claim.estimator)
}

/// Words on as many lines as they need.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is one");
        if last.is_empty() {
            last.push_str(word);
        } else if last.chars().count() + 1 + word.chars().count() <= width {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}
