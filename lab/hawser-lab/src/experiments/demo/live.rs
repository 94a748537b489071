//! Live lines, one per link, for programs that show none themselves.

use std::fmt::Write as _;
use std::io::Write as _;

use super::run_result::LinkSample;
use super::stage::Stage;
use super::text::megabits;

/// Rates are means over this many samples.
const WINDOW: usize = 5;
/// Width of the bar in characters.
const BAR: usize = 24;

/// Lines on a terminal; they vanish when dropped.
#[derive(Debug)]
pub(crate) struct Live {
    names: Vec<String>,
    bytes: u64,
    lines: usize,
}

impl Live {
    /// `bytes` is the size of the file.
    pub(crate) fn new(stage: &Stage, bytes: u64) -> Self {
        let stats = stage.stats();
        let names = stats.links.iter().step_by(2).map(|link| link.link.clone()).collect();
        Self { names, bytes, lines: 0 }
    }

    /// Draws the latest rates.
    pub(crate) fn draw(&mut self, samples: &[LinkSample]) {
        let Some(now) = samples.last() else { return };
        let before = &samples[samples.len().saturating_sub(WINDOW + 1)];
        let elapsed = (now.seconds - before.seconds).max(0.001);
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 * 8.0 / elapsed;
        let mut text = self.erase();
        for (name, (now, before)) in self.names.iter().zip(now.delivered.iter().zip(&before.delivered)) {
            let _ = writeln!(text, "  {name:<12} {:>13}", megabits(rate(*now, *before)));
        }
        let total = |sample: &LinkSample| sample.delivered.iter().sum::<u64>();
        let part = (total(now) as f64 / self.bytes.max(1) as f64).clamp(0.0, 1.0);
        let filled = (part * BAR as f64) as usize;
        let _ = writeln!(
            text,
            "  {:<12} {:>13}  [{}{}] {:>3.0} %",
            "total",
            megabits(rate(total(now), total(before))),
            "#".repeat(filled),
            "-".repeat(BAR - filled),
            part * 100.0
        );
        self.lines = self.names.len() + 1;
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }

    fn erase(&self) -> String {
        if self.lines == 0 { String::new() } else { format!("\x1b[{}A\x1b[J", self.lines) }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = std::io::stderr().lock().write_all(self.erase().as_bytes());
    }
}
