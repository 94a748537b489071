//! The two charts of the demonstration.

use std::fmt::Write as _;

use hawser_scenario::{Direction, Scenario};

use crate::data::page::svg::{Plot, escape, nice_step};
use crate::experiments::demo::arrivals::BIN;
use crate::experiments::demo::link_quality::{Trouble, capacity, troubles};
use crate::experiments::demo::links_of;
use crate::experiments::demo::run_result::{Carrier, Run};
use crate::experiments::demo::text::megabits;

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = 14.0;
/// Of the panel of one run, and the room for its label above.
const PANEL: f64 = 84.0;
const LABEL: f64 = 26.0;
const AXIS: f64 = 28.0;
/// Samples that follow each other more closely are taken together.
const SHORTEST_SAMPLE: f64 = 0.05;

/// The CSS variable with a run's colour.
pub(crate) fn colour(carrier: &Carrier) -> String {
    match carrier {
        Carrier::Single { link } => link_colour(*link),
        Carrier::Mptcp => "--mptcp".to_owned(),
        Carrier::Hawser => "--hawser".to_owned(),
    }
}

/// The CSS variable with a link's colour.
pub(crate) fn link_colour(link: usize) -> String {
    format!("--link{}", link % 4)
}

/// Goodput over time, one panel per run, all on the same scales.
pub(crate) fn rates(runs: &[Run], scenario: &Scenario) -> String {
    let shown: Vec<&Run> = runs.iter().filter(|run| run.transfer().is_some()).collect();
    let longest = shown.iter().map(|run| run.seconds()).fold(1.0, f64::max);
    let top = highest_rate(scenario, longest);
    let height = shown.len() as f64 * (PANEL + LABEL) + AXIS;
    let mut svg = open(height, "Goodput over time of each run");
    for (index, run) in shown.iter().enumerate() {
        let plot = Plot {
            left: LEFT,
            top: index as f64 * (PANEL + LABEL) + LABEL,
            width: WIDTH - LEFT - RIGHT,
            height: PANEL,
            right: longest * 1.06,
            upper: top,
        };
        panel(&mut svg, &plot, run, scenario);
        if index + 1 == shown.len() {
            plot.axis(&mut svg, "s");
        }
    }
    svg + "</svg>"
}

fn panel(svg: &mut String, plot: &Plot, run: &Run, scenario: &Scenario) {
    let Some(transfer) = run.transfer() else { return };
    let (end, colour) = (run.seconds(), colour(&run.carrier));
    plot.grid(svg, nice_step(plot.upper / 4.0));
    bands(svg, plot, &links_of(&run.carrier, scenario), scenario, end);
    let bin = BIN.as_secs_f64();
    let rate = |(index, bytes): (usize, &u64)| (index as f64 * bin, *bytes as f64 * 8.0 / bin / 1e6);
    let points: Vec<(f64, f64)> = transfer.bins.iter().enumerate().map(rate).collect();
    let (area, line) = (plot.area(&points, end), plot.steps(&points, end));
    let _ = write!(svg, r#"<path d="{area}" style="fill:var({colour})" opacity=".28"/>"#);
    let _ = write!(svg, r#"<path d="{line}" style="stroke:var({colour})" stroke-width="1.5" fill="none"/>"#);
    let (x, bottom) = (plot.x(end), plot.top + plot.height);
    let _ =
        write!(svg, r#"<line class="end" x1="{x:.1}" x2="{x:.1}" y1="{:.1}" y2="{bottom:.1}"/>"#, plot.top);
    let _ = write!(
        svg,
        r#"<text class="label" x="{:.1}" y="{:.1}">{}</text><text x="{:.1}" y="{:.1}" text-anchor="end">{:.1} s, {}, longest stall {:.0} ms</text>"#,
        plot.left,
        plot.top - 9.0,
        escape(&run.label),
        plot.left + plot.width,
        plot.top - 9.0,
        end,
        megabits(transfer.goodput_bps),
        transfer.longest_stall_ms,
    );
}

/// Times of trouble of these links, in their colours.
fn bands(svg: &mut String, plot: &Plot, links: &[usize], scenario: &Scenario, end: f64) {
    for &index in links {
        let link = &scenario.links[index];
        for band in troubles(link.direction(Direction::Down), end) {
            let (opacity, what) = match band.trouble {
                Trouble::Out => (0.34, "gone"),
                Trouble::Faded => (0.14, "faded below half of its rate"),
            };
            let title = format!("{} {what} from {:.1} to {:.1} s", link.name, band.from, band.to);
            plot.band(svg, band.from, band.to, &link_colour(index), opacity, &title);
        }
    }
}

/// What each link carried, one on top of the other, and what all could have carried.
pub(crate) fn shares(run: &Run, scenario: &Scenario, longest: f64) -> String {
    let height = LABEL + 190.0 + AXIS;
    let plot = Plot {
        left: LEFT,
        top: LABEL,
        width: WIDTH - LEFT - RIGHT,
        height: 190.0,
        right: longest * 1.03,
        upper: highest_rate(scenario, longest),
    };
    let mut svg = open(height, &format!("What each link carried: {}", run.label));
    plot.grid(&mut svg, nice_step(plot.upper / 6.0));
    let end = run.seconds();
    let all: Vec<usize> = (0..scenario.links.len()).collect();
    let stacked = stack(run);
    // The uppermost layer first: each one covers the lower part of the one before.
    for (index, points) in stacked.iter().enumerate().rev() {
        let (area, colour) = (plot.area(points, end), link_colour(index));
        let name = escape(&scenario.links.get(index).map_or(String::new(), |link| link.name.clone()));
        let _ = write!(svg, r#"<path d="{area}" style="fill:var(--card)"/>"#);
        let _ = write!(
            svg,
            r#"<path d="{area}" style="fill:var({colour})" opacity=".75"><title>{name}</title></path>"#
        );
    }
    bands(&mut svg, &plot, &all, scenario, end);
    if let Some(rates) = capacity(scenario, &all, end) {
        let point = |(index, rate): (usize, &f64)| (index as f64 * BIN.as_secs_f64(), rate / 1e6);
        let points: Vec<(f64, f64)> = rates.iter().enumerate().map(point).collect();
        let _ = write!(svg, r#"<path class="capacity" d="{}"/>"#, plot.steps(&points, end));
    }
    let (x, bottom) = (plot.x(end), plot.top + plot.height);
    let _ =
        write!(svg, r#"<line class="end" x1="{x:.1}" x2="{x:.1}" y1="{:.1}" y2="{bottom:.1}"/>"#, plot.top);
    let _ =
        write!(svg, r#"<text class="label" x="{LEFT}" y="{:.1}">{}</text>"#, LABEL - 9.0, escape(&run.label));
    plot.axis(&mut svg, "s");
    svg + "</svg>"
}

/// Per link, the upper edge of its layer: seconds and Mbit/s.
fn stack(run: &Run) -> Vec<Vec<(f64, f64)>> {
    let links = run.samples.first().map_or(0, |sample| sample.delivered.len());
    let mut layers = vec![Vec::new(); links];
    let Some(mut before) = run.samples.first() else { return layers };
    let end = run.seconds();
    for sample in &run.samples[1..] {
        let elapsed = sample.seconds - before.seconds;
        if elapsed < SHORTEST_SAMPLE || before.seconds > end {
            continue;
        }
        let mut sum = 0.0;
        for (layer, (now, then)) in layers.iter_mut().zip(sample.delivered.iter().zip(&before.delivered)) {
            sum += now.saturating_sub(*then) as f64 * 8.0 / elapsed / 1e6;
            layer.push((before.seconds, sum));
        }
        before = sample;
    }
    layers
}

/// Mbit/s for the upper edge: above what all links carry at their best.
fn highest_rate(scenario: &Scenario, end: f64) -> f64 {
    let all: Vec<usize> = (0..scenario.links.len()).collect();
    let peak = capacity(scenario, &all, end).unwrap_or_default().into_iter().fold(0.0, f64::max);
    if peak > 0.0 { peak / 1e6 * 1.2 } else { 1000.0 }
}

fn open(height: f64, title: &str) -> String {
    format!(
        r#"<svg viewBox="0 0 {WIDTH} {height:.0}" role="img" aria-label="{0}" xmlns="http://www.w3.org/2000/svg"><title>{0}</title>"#,
        escape(title)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::demo::run_result::{LinkSample, Outcome};

    #[test]
    fn layers_add_up() {
        let sample = |seconds, delivered: [u64; 2]| LinkSample { seconds, delivered: delivered.to_vec() };
        let run = Run {
            label: String::new(),
            carrier: Carrier::Hawser,
            outcome: Outcome::Stopped { after_seconds: 5.0, bytes: 0 },
            samples: vec![
                sample(0.0, [0, 0]),
                sample(1.0, [125_000, 250_000]),
                sample(1.01, [125_000, 260_000]),
                sample(2.0, [125_000, 500_000]),
            ],
            emulator_late_ms: 0.0,
        };
        // The sample 10 ms after the one before is taken together with the next.
        assert_eq!(stack(&run), [vec![(0.0, 1.0), (1.0, 0.0)], vec![(0.0, 3.0), (1.0, 2.0)]]);
    }
}
