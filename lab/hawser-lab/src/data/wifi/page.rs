//! The report as a page: budgets by phase, distributions, tables.

use std::fmt::Write as _;

use hawser_wifi::Phase;

use super::report::{ClientReport, WifiReport};
use crate::data::page::distribution;
use crate::data::page::html::{self, TableCell, colour, figure, legend, marked, plain, table};
use crate::data::page::svg::{Plot, escape};
use crate::data::statistics::Spread;

/// Phases of the budget: scans take place before it begins.
const BUDGET: [Phase; 6] =
    [Phase::Authenticate, Phase::Associate, Phase::Eap, Phase::Handshake, Phase::Dhcp, Phase::Probe];
const WIDTH: f64 = 920.0;
const BAR: f64 = 26.0;
const ROW: f64 = 40.0;
const NAMES: f64 = 170.0;

/// The whole page.
pub(super) fn page(report: &WifiReport) -> String {
    let sections = [heading(report), budgets(report), phases(report), distribution(report), failures(report)];
    html::page("Attachment to WiFi", &sections)
}

fn name(client: &ClientReport) -> TableCell {
    marked(escape(&client.client), "strong")
}

fn heading(report: &WifiReport) -> String {
    let columns = [
        "Client",
        "Attempts",
        "Attached",
        "Known address",
        "Usable, s",
        "To an address, s: mean",
        "Median",
        "90 %",
        "Longest",
        "To keys, s: median",
        "90 %",
    ];
    let row = |client: &ClientReport| {
        let mut row = vec![
            name(client),
            plain(&client.attempts.to_string()),
            plain(&client.attached.to_string()),
            plain(&client.known_addresses.to_string()),
            plain(&figure(client.usable_s)),
        ];
        let times = |times: &Option<Spread>, of: &dyn Fn(&Spread) -> f64| {
            times.as_ref().map_or_else(|| marked("–", "none"), |times| plain(&figure(of(times))))
        };
        row.push(times(&client.to_address_s, &|times| times.mean));
        row.push(times(&client.to_address_s, &|times| times.median));
        row.push(times(&client.to_address_s, &|times| times.p90));
        row.push(times(&client.to_address_s, &|times| times.max));
        row.push(times(&client.association_s, &|times| times.median));
        row.push(times(&client.association_s, &|times| times.p90));
        row
    };
    let rows: Vec<Vec<TableCell>> = report.clients.iter().map(row).collect();
    format!(
        "<h1>Attachment to WiFi</h1>\n<p class=\"soft\">Attempts of each client; times of those that succeeded, from the start of the \
         802.11 authentication.</p>\n{}",
        table(&columns, &rows, 1, "clients")
    )
}

/// A bar per client, made of its phases.
fn budgets(report: &WifiReport) -> String {
    let total = |client: &ClientReport| BUDGET.iter().map(|phase| client.budget_s(*phase)).sum::<f64>();
    let longest = report.clients.iter().map(total).fold(0.0, f64::max);
    if longest <= 0.0 {
        return String::new();
    }
    let height = ROW * report.clients.len() as f64;
    let plot =
        Plot { left: NAMES, top: 0.0, width: WIDTH - NAMES - 70.0, height, right: longest, upper: 1.0 };
    let mut svg = format!(
        r#"<svg viewBox="0 0 {WIDTH:.0} {:.0}" role="img" aria-label="Mean time of each phase" xmlns="http://www.w3.org/2000/svg">"#,
        height + 30.0
    );
    for (row, client) in report.clients.iter().enumerate() {
        let top = ROW * row as f64 + (ROW - BAR) / 2.0;
        let middle = top + BAR / 2.0 + 4.0;
        let before = NAMES - 10.0;
        let _ = write!(
            svg,
            r#"<text x="{before}" y="{middle}" text-anchor="end">{}</text>"#,
            escape(&client.client)
        );
        let mut from = 0.0;
        for (index, phase) in BUDGET.into_iter().enumerate() {
            let seconds = client.budget_s(phase);
            let (left, width) = (plot.x(from), plot.x(from + seconds) - plot.x(from));
            let _ = write!(
                svg,
                r#"<rect x="{left:.2}" y="{top}" width="{width:.2}" height="{BAR}" style="fill:var({})"><title>{}: {} s</title></rect>"#,
                colour(index),
                phase.name(),
                figure(seconds)
            );
            from += seconds;
        }
        let after = plot.x(from) + 8.0;
        let _ = write!(svg, r#"<text x="{after:.1}" y="{middle}">{} s</text>"#, figure(from));
    }
    plot.axis(&mut svg, "s");
    let names = legend(BUDGET.iter().enumerate().map(|(index, phase)| (index, phase.name())));
    format!("<h2>Budget: mean time of each phase until the address is usable</h2>\n{names}{svg}</svg>\n")
}

fn phases(report: &WifiReport) -> String {
    let mut rows = Vec::new();
    for client in &report.clients {
        for known in &client.phases {
            let Some(times) = &known.times else { continue };
            let milliseconds = |seconds: f64| plain(&figure(1e3 * seconds));
            rows.push(vec![
                name(client),
                plain(known.phase.name()),
                plain(&times.count.to_string()),
                milliseconds(times.mean),
                milliseconds(times.median),
                milliseconds(times.p90),
                milliseconds(times.max),
            ]);
        }
    }
    let columns = ["Client", "Phase", "Attempts", "Mean, ms", "Median", "90 %", "Longest"];
    format!(
        "<h2>Phases</h2>\n<p class=\"soft\">Of successful attempts. <code>scan</code> is all the time in scans since the attempt before, \
         also while nothing was in reach.</p>\n{}",
        table(&columns, &rows, 2, "phases")
    )
}

fn distribution(report: &WifiReport) -> String {
    let known: Vec<(usize, &str, &Spread)> = (0..)
        .zip(&report.clients)
        .filter_map(|(index, client)| Some((index, client.client.as_str(), client.to_address_s.as_ref()?)))
        .filter(|(_, _, times)| times.count > 1)
        .collect();
    let chart =
        distribution::distribution("Time to an address", "Time to an address, s", &known, [WIDTH, 320.0]);
    let Some(chart) = chart else { return String::new() };
    let names = legend(known.iter().map(|(index, name, _)| (*index, *name)));
    format!("<h2>Time to an address</h2>\n{names}{chart}")
}

fn failures(report: &WifiReport) -> String {
    let mut rows = Vec::new();
    for client in &report.clients {
        for known in client.phases.iter().filter(|known| known.failed > 0) {
            let share = 100.0 * known.failed as f64 / client.attempts.max(1) as f64;
            rows.push(vec![
                name(client),
                plain(known.phase.name()),
                plain(&known.failed.to_string()),
                plain(&format!("{share:.1} %")),
            ]);
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let columns = ["Client", "Failed in", "Attempts", "Of all"];
    format!("<h2>Attempts that failed</h2>\n{}", table(&columns, &rows, 2, "failures"))
}
