//! How far cells have come.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use hawser_lab::data::sweep::{Progress, RunSummary};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use hawser_command::exit::{Exit, Failure};
use hawser_command::interrupt::Interrupt;
use hawser_command::output::Output;
use hawser_command::report::remark;
use hawser_command::units;
use hawser_command::units::count;

/// How often progress is told without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Progress: a bar on a terminal, now and then a line elsewhere if asked for.
pub(crate) struct CellProgress {
    bar: Option<ProgressBar>,
    lines: bool,
    told_at: Instant,
}

impl CellProgress {
    pub(crate) fn new(output: Output) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let bar = (is_terminal && !output.quiet && output.verbose == 0).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5));
            let template = "{bar:32} {pos}/{len} cells, {elapsed} so far, {msg}";
            // A template that is not understood leaves the default one.
            bar.set_style(
                ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
            );
            bar
        });
        CellProgress { bar, lines: output.verbose > 0 && !output.quiet, told_at: Instant::now() }
    }

    pub(crate) fn show(&mut self, progress: &Progress) {
        let done = progress.found + progress.ran;
        if let Some(bar) = &self.bar {
            bar.set_length(progress.cells as u64);
            bar.set_position(done as u64);
            bar.set_message(remaining(progress));
        }
        if self.lines && self.told_at.elapsed() >= LINE_EVERY {
            self.told_at = Instant::now();
            let cells = count(progress.cells, "cell");
            remark(format_args!("hawser: {done} of {cells}, {}", remaining(progress)));
        }
    }

    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Runs cells with a view of how far they are, until Ctrl-C.
pub(crate) fn watched<E>(
    output: Output,
    run: impl FnOnce(&mut dyn FnMut(&Progress) -> ControlFlow<()>) -> Result<RunSummary, E>,
    failure: impl FnOnce(E) -> Failure,
) -> Result<RunSummary, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let failed = |error: std::io::Error| Failure::new(Exit::Failure, format!("cannot start: {error}"));
    let runtime = runtime.map_err(failed)?;
    let interrupt = runtime.block_on(async { Interrupt::listen() }).map_err(failed)?;
    let mut view = CellProgress::new(output);
    let mut watch = |progress: &Progress| {
        view.show(progress);
        if interrupt.is_raised() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let summary = run(&mut watch);
    view.finish();
    let summary = summary.map_err(failure)?;
    for (part, reason) in &summary.damaged {
        output.remark(format_args!(
            "hawser: {} is ignored: {reason}; its runs were made again",
            part.display()
        ));
    }
    Ok(summary)
}

/// Pace and time left, as far as cells of this run tell.
fn remaining(progress: &Progress) -> String {
    if progress.ran == 0 {
        return "just begun".to_owned();
    }
    let pace = progress.ran as f64 / progress.elapsed.as_secs_f64().max(1e-9);
    let left = (progress.cells - progress.found - progress.ran) as f64 / pace;
    let failed = if progress.failed > 0 { format!(", {} failed", progress.failed) } else { String::new() };
    format!("{pace:.1} cells/s, {} left{failed}", units::clock(Duration::from_secs_f64(left.min(1e9))))
}
