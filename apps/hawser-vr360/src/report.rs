//! What a viewer has seen: a line every second, JSON at the end.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::screen::{Carried, Counts};
use super::viewer::Viewer;
use hawser_command::output::Output;
use hawser_command::paths::{Flow, PathReport};
use hawser_command::report::Channel;
use hawser_command::transfer::path_line;
use hawser_command::units;

/// The result with `--json`.
#[derive(Debug, Serialize)]
struct Report {
    seconds: f64,
    #[serde(flatten)]
    counts: Counts,
    paths: Vec<PathOfTiles>,
}

#[derive(Debug, Serialize)]
struct PathOfTiles {
    #[serde(flatten)]
    path: PathReport,
    /// Tiles of which it carried most.
    tiles: u64,
    /// Bytes of tiles that arrived over it, by the account of the server.
    tile_bytes: u64,
}

fn paths(viewer: &Viewer) -> Vec<PathOfTiles> {
    let carried: BTreeMap<u32, Carried> = viewer.screen().carried.clone();
    let mut table = viewer.paths();
    table.sample();
    let described = table.report(Flow::Received).into_iter().map(|path| {
        let Carried { tiles, bytes } = carried.get(&path.id).copied().unwrap_or_default();
        PathOfTiles { path, tiles, tile_bytes: bytes }
    });
    described.collect()
}

/// Lines about what happened since the last one.
#[derive(Debug, Default)]
pub(super) struct Ticker {
    told: Counts,
    told_tiles: BTreeMap<u32, u64>,
}

impl Ticker {
    pub(super) fn line(&mut self, viewer: &Viewer) -> String {
        let counts = viewer.screen().counts;
        let before = std::mem::replace(&mut self.told, counts);
        let mut text = format!("{:>7}  {}", units::clock(viewer.now()), amounts(&counts, &before));
        for path in paths(viewer).iter().filter(|path| path.path.state != "closed") {
            let before = self.told_tiles.insert(path.path.id, path.tiles).unwrap_or_default();
            let line = path_line(&path.path, Flow::Received);
            let _ = write!(text, "\n         {}  {} tiles", line.trim_start(), path.tiles - before);
        }
        text
    }
}

/// What was seen between two moments, in words.
fn amounts(now: &Counts, before: &Counts) -> String {
    let seen = now.seen - before.seen;
    let mut text = format!("{seen} tiles seen, {} in time", now.in_time - before.in_time);
    let troubles = [
        (now.late - before.late, "late"),
        (now.missing - before.missing, "missing"),
        (now.unasked - before.unasked, "not asked for"),
    ];
    for (count, name) in troubles.into_iter().filter(|(count, _)| *count > 0) {
        let _ = write!(text, ", {count} {name}");
    }
    text
}

/// The result.
pub(super) fn print(viewer: &Viewer, output: Output) {
    let counts = viewer.screen().counts;
    let report = Report { seconds: viewer.now().as_secs_f64(), counts, paths: paths(viewer) };
    if output.json {
        return Channel::Stdout.print(&report);
    }
    let share = |part: u64| 100.0 * part as f64 / counts.seen.max(1) as f64;
    output.remark(format_args!(
        "hawser: {} chunks in {:.1} s, {}; {}: {:.1} % in time",
        counts.chunks,
        report.seconds,
        units::bytes(counts.bytes),
        amounts(&counts, &Counts::default()),
        share(counts.in_time)
    ));
    for PathOfTiles { path, tiles, tile_bytes } in &report.paths {
        output.remark(format_args!(
            "        {:<12} {tiles} tiles, {}",
            path.interface,
            units::bytes(*tile_bytes)
        ));
    }
}
