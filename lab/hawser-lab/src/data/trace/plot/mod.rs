//! Drawings of a trace: an SVG that needs nothing else, alone or in a page.

mod curves;

use std::fmt::Write as _;

use hawser_link::{MILLISECOND, SECOND};

use super::{DirectionTrace, EventKind, Info, LinkTrace, Piece, Trace};
use crate::data::page::html;
use crate::data::page::svg::{Plot, escape, nice_step};
use curves::{cumulative, spread, thinned};

const STYLE: &str = include_str!("plot.css");
const WIDTH: f64 = 1000.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 14.0;
const HEADER: f64 = 46.0;
/// Of a panel, and the room for its label above.
const PANEL: f64 = 120.0;
const LABEL: f64 = 30.0;
const AXIS: f64 = 32.0;
const CDF: f64 = 200.0;
/// The strip with the radio technology.
const STRIP: f64 = 7.0;
const TECHNOLOGY_COLOURS: usize = 5;

/// The drawing as a file of its own.
pub fn svg(trace: &Trace) -> String {
    let mut drawing = Drawing { trace, body: String::new(), y: HEADER };
    drawing.header();
    for (index, link) in trace.links.iter().enumerate() {
        drawing.rates(index, link);
    }
    drawing.overlaid("one-way delay, ms", 1.0 / MILLISECOND as f64, |it, trace| it.delays(trace.duration));
    drawing.overlaid("loss, %", 100.0, |it, trace| it.losses(trace.duration));
    drawing.distributions();
    let height = drawing.y + 8.0;
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0}" width="{WIDTH}" height="{height:.0}" role="img" aria-label="{name}"><title>{name}</title><style>{STYLE}</style><rect class="paper" width="{WIDTH}" height="{height:.0}"/>{body}</svg>
"#,
        name = escape(&trace.name),
        body = drawing.body,
    )
}

/// The drawing in a page, with the figures under it.
pub fn page(trace: &Trace) -> String {
    let figures = escape(&Info::of(trace).to_string());
    html::frame(&trace.name, PAGE_STYLE, &format!("{}<pre>{figures}</pre>\n", svg(trace)))
}

const PAGE_STYLE: &str = "\
:root { color-scheme: light dark; }
body { margin: 0 auto; max-width: 66rem; padding: 1.5rem 1rem 3rem; font: 15px/1.45 system-ui, sans-serif; }
svg { width: 100%; height: auto; }
pre { overflow-x: auto; font: 13px/1.5 ui-monospace, Menlo, Consolas, monospace; margin: 1.5rem 0 0; }
";

/// The colour of a link.
fn colour(index: usize) -> String {
    format!("--link{}", index % 4)
}

/// The cumulative distribution of a link's direction.
struct Distributed {
    /// Position of the link.
    link: usize,
    name: String,
    points: Vec<(f64, f64)>,
}

/// Grows downwards.
struct Drawing<'a> {
    trace: &'a Trace,
    body: String,
    /// Where the next part begins.
    y: f64,
}

impl Drawing<'_> {
    fn seconds(&self) -> f64 {
        self.trace.duration as f64 / SECOND as f64
    }

    fn header(&mut self) {
        let name = escape(&self.trace.name);
        let _ = write!(self.body, r#"<text class="title" x="{LEFT}" y="24">{name}</text>"#);
        let mut remark = format!("{:.1} s", self.seconds());
        if self.trace.links.iter().any(|link| link.hand_overs().next().is_some()) {
            remark.push_str("; red: handovers");
        }
        if self
            .trace
            .links
            .iter()
            .any(|link| link.up != link.down && link.up.rate.is_some() && link.down.rate.is_some())
        {
            remark.push_str("; of two lines the filled one is down");
        }
        let _ = write!(self.body, r#"<text x="{LEFT}" y="42">{remark}</text>"#);
    }

    /// A plot area over the whole width whose upper edge fits `highest`.
    fn panel(&mut self, label: &str, highest: f64) -> Plot {
        let upper = if highest > 0.0 { highest * 1.05 } else { 1.0 };
        let plot = Plot {
            left: LEFT,
            top: self.y + LABEL,
            width: WIDTH - LEFT - RIGHT,
            height: PANEL,
            right: self.seconds().max(1e-9),
            upper,
        };
        let (x, y) = (plot.left, plot.top - 10.0);
        let _ = write!(self.body, r#"<text class="label" x="{x:.1}" y="{y:.1}">{}</text>"#, escape(label));
        plot.grid(&mut self.body, nice_step(upper / 5.0));
        self.y = plot.top + plot.height;
        plot
    }

    /// The rate of a link, with everything that happened to it.
    fn rates(&mut self, index: usize, link: &LinkTrace) {
        let duration = self.trace.duration;
        let series: Vec<(&str, Vec<Piece>)> = link
            .directions()
            .into_iter()
            .filter_map(|(name, direction)| Some((name, direction.service(duration)?)))
            .collect();
        if series.is_empty() {
            return;
        }
        let highest = series.iter().map(|(_, pieces)| curves::highest(pieces)).fold(0.0, f64::max) / 1e6;
        let names: Vec<&str> = series.iter().map(|(name, _)| *name).collect();
        let names = names.join(" and ").replace("both", "both directions");
        let plot = self.panel(&format!("{}: rate, Mbit/s ({names})", link.name), highest);
        let colour = colour(index);
        for (position, (_, pieces)) in series.iter().enumerate() {
            self.curve(&plot, pieces, 1e-6, &colour, position == 0);
        }
        self.marks(&plot, link);
        self.technologies(&plot, link);
        plot.axis(&mut self.body, "s");
        self.y += AXIS;
    }

    /// One panel with a line per link and direction.
    fn overlaid(
        &mut self,
        label: &str,
        scale: f64,
        pieces: fn(&DirectionTrace, &Trace) -> Option<Vec<Piece>>,
    ) {
        let mut series = Vec::new();
        for (index, link) in self.trace.links.iter().enumerate() {
            for (name, direction) in link.directions() {
                // The uplink steps back, so that both can be told apart.
                let opacity = if name == "up" { 0.5 } else { 1.0 };
                series.extend(pieces(direction, self.trace).map(|pieces| (index, pieces, opacity)));
            }
        }
        let highest = series.iter().map(|it| curves::highest(&it.1)).fold(0.0, f64::max) * scale;
        if highest <= 0.0 {
            return;
        }
        let plot = self.panel(label, highest);
        for (index, pieces, opacity) in &series {
            let _ = write!(self.body, r#"<g opacity="{opacity}">"#);
            self.curve(&plot, pieces, scale, &colour(*index), false);
            self.body.push_str("</g>");
        }
        plot.axis(&mut self.body, "s");
        self.y += AXIS;
    }

    /// A step function; where there are more steps than can be seen, its mean in the range that it passes.
    fn curve(&mut self, plot: &Plot, pieces: &[Piece], scale: f64, colour: &str, filled: bool) {
        let end = self.seconds();
        let steps = thinned(pieces, self.trace.duration);
        let points = |value: fn(&curves::Step) -> f64| -> Vec<(f64, f64)> {
            steps.iter().map(|step| (step.from as f64 / SECOND as f64, value(step) * scale)).collect()
        };
        if steps.len() < pieces.len() {
            let range = curves::range(plot, &points(|step| step.least), &points(|step| step.most), end);
            let _ = write!(self.body, r#"<path d="{range}" style="fill:var({colour})" opacity=".3"/>"#);
        }
        let mean = points(|step| step.mean);
        if filled {
            let area = plot.area(&mean, end);
            let _ = write!(self.body, r#"<path d="{area}" style="fill:var({colour})" opacity=".22"/>"#);
        }
        let line = plot.steps(&mean, end);
        let _ = write!(self.body, r#"<path class="curve" d="{line}" style="stroke:var({colour})"/>"#);
    }

    fn marks(&mut self, plot: &Plot, link: &LinkTrace) {
        let seconds = |time: u64| time as f64 / SECOND as f64;
        let hand_overs: Vec<(u64, u64)> = link.hand_overs().map(|event| (event.from, event.to)).collect();
        for &(from, to) in &hand_overs {
            let length = (to - from) / MILLISECOND;
            let title = format!("handover at {:.2} s, {length} ms", seconds(from));
            plot.band(&mut self.body, seconds(from), seconds(to), "--mark", 0.75, &title);
        }
        let outages = link.down.outages.iter().chain(&link.up.outages);
        for &(from, to) in outages.filter(|outage| !hand_overs.contains(outage)) {
            let title = format!("without service from {:.2} to {:.2} s", seconds(from), seconds(to));
            plot.band(&mut self.body, seconds(from), seconds(to), "--soft", 0.3, &title);
        }
    }

    /// A strip at the upper edge, with the names where there is room.
    fn technologies(&mut self, plot: &Plot, link: &LinkTrace) {
        let changes: Vec<(f64, &str)> = link
            .events
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::Technology(name) => Some((event.from as f64 / SECOND as f64, name.as_str())),
                EventKind::HandOver => None,
            })
            .collect();
        let names = technology_names(self.trace);
        for (index, &(from, name)) in changes.iter().enumerate() {
            let to = changes.get(index + 1).map_or(self.seconds(), |next| next.0);
            let (left, right) = (plot.x(from), plot.x(to));
            let number = names.iter().position(|known| *known == name).unwrap_or(0) % TECHNOLOGY_COLOURS;
            let _ = write!(
                self.body,
                r#"<rect class="tech{number}" x="{left:.1}" y="{:.1}" width="{:.1}" height="{STRIP}"><title>{}</title></rect>"#,
                plot.top - STRIP,
                (right - left).max(0.5),
                escape(name)
            );
            if right - left > 8.0 * name.len() as f64 {
                let (x, y) = (left + 2.0, plot.top + 10.0);
                let _ =
                    write!(self.body, r#"<text class="small" x="{x:.1}" y="{y:.1}">{}</text>"#, escape(name));
            }
        }
    }

    /// Cumulative distributions of rates and delays, side by side.
    fn distributions(&mut self) {
        let gap = 46.0;
        let width = (WIDTH - LEFT - RIGHT - gap) / 2.0;
        let rates = self.charted(1e-6, |it, trace| it.service(trace.duration));
        let delays = self.charted(1.0 / MILLISECOND as f64, |it, trace| it.delays(trace.duration));
        let charts = [("rate", "Mbit/s", rates), ("one-way delay", "ms", delays)];
        let mut left = LEFT;
        for (label, unit, series) in charts {
            if series.is_empty() {
                continue;
            }
            let highest =
                series.iter().filter_map(|it| it.points.last()).map(|last| last.0).fold(0.0, f64::max);
            let plot = Plot {
                left,
                top: self.y + LABEL,
                width,
                height: CDF - LABEL - AXIS,
                right: if highest > 0.0 { highest } else { 1.0 },
                upper: 1.0,
            };
            self.distribution(&plot, label, unit, &series);
            left += width + gap;
        }
        if left > LEFT {
            self.y += CDF;
        }
    }

    fn charted(
        &self,
        scale: f64,
        pieces: fn(&DirectionTrace, &Trace) -> Option<Vec<Piece>>,
    ) -> Vec<Distributed> {
        let mut series = Vec::new();
        for (index, link) in self.trace.links.iter().enumerate() {
            for (name, direction) in link.directions() {
                if let Some(pieces) = pieces(direction, self.trace) {
                    let name =
                        if name == "both" { link.name.clone() } else { format!("{} {name}", link.name) };
                    let points = cumulative(&spread(&pieces), scale);
                    series.push(Distributed { link: index, name, points });
                }
            }
        }
        series
    }

    fn distribution(&mut self, plot: &Plot, label: &str, unit: &str, series: &[Distributed]) {
        let (x, y) = (plot.left, plot.top - 10.0);
        let _ = write!(
            self.body,
            r#"<text class="label" x="{x:.1}" y="{y:.1}">{label}: share of the time at most</text>"#
        );
        plot.grid(&mut self.body, 0.25);
        for (number, Distributed { link, name, points }) in series.iter().enumerate() {
            let colour = colour(*link);
            let is_second = number > 0 && series[number - 1].link == *link;
            let (second, remark) = if is_second { (" second", ", dashed") } else { ("", "") };
            let line = plot.steps(points, plot.right);
            let _ = write!(
                self.body,
                r#"<path class="curve cdf{second}" d="{line}" style="stroke:var({colour})"/>"#
            );
            let (x, y) = (plot.left + plot.width - 6.0, plot.top + plot.height - 10.0 - 15.0 * number as f64);
            let _ = write!(
                self.body,
                r#"<text class="key" x="{x:.1}" y="{y:.1}" text-anchor="end" style="fill:var({colour})">{}{remark}</text>"#,
                escape(name)
            );
        }
        plot.axis(&mut self.body, unit);
    }
}

/// Of all links, so that a technology has the same colour everywhere.
fn technology_names(trace: &Trace) -> Vec<&str> {
    let events = trace.links.iter().flat_map(|link| &link.events);
    let named = events.filter_map(|event| match &event.kind {
        EventKind::Technology(name) => Some(name.as_str()),
        EventKind::HandOver => None,
    });
    let mut names: Vec<&str> = named.collect();
    names.sort_unstable();
    names.dedup();
    names
}
