//! The screen: a header, the links with their recent past, who carried what, what happened, the keys.

mod carried;
mod links;
mod pages;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::text::{clock, fit, rate, time_of_day};
use crate::view::{Shown, View};

/// A terminal that is smaller shows one line.
const LEAST: (u16, u16) = (40, 8);
/// Signs of links, for terminals without colours and people who see few.
const SIGNS: [char; 8] = ['#', '=', '+', 'o', 'x', ':', '%', '.'];
/// Colours of links.
const COLOURS: [Color; 6] =
    [Color::Blue, Color::Yellow, Color::Green, Color::Magenta, Color::Cyan, Color::LightRed];

/// How things are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    /// Whether the terminal may show colours.
    pub colours: bool,
}

impl Palette {
    /// The link at this position: its sign and how it looks.
    pub(crate) fn link(self, position: usize) -> (char, Style) {
        let style = Style::default();
        let style = if self.colours { style.fg(COLOURS[position % COLOURS.len()]) } else { style };
        (SIGNS[position % SIGNS.len()], style)
    }

    /// What is wrong.
    pub(crate) fn alarm(self) -> Style {
        let style = Style::default().add_modifier(Modifier::BOLD | Modifier::REVERSED);
        if self.colours { style.fg(Color::Red) } else { style }
    }

    /// What is less important.
    pub(crate) fn quiet(self) -> Style {
        Style::default().add_modifier(Modifier::DIM)
    }
}

/// Draws everything. Any size will do, also none.
pub fn draw(frame: &mut Frame<'_>, view: &View, palette: Palette) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let text = fit(&summary(view), usize::from(area.width));
        frame.render_widget(Paragraph::new(text), area);
        return;
    }
    let rows = view.rows();
    let table = (rows.len() as u16 + 1).clamp(2, (area.height / 2).max(3));
    let media = pages::extra_lines(view);
    let extra = (media.len() as u16).min(area.height / 5);
    let rest = area.height.saturating_sub(3 + table + extra);
    let events = (rest / 3).clamp(1, 12);
    let [header, links, more, picture, happened, footer] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(table),
        Constraint::Length(extra),
        Constraint::Fill(1),
        Constraint::Length(events),
        Constraint::Length(1),
    ])
    .areas(area);
    draw_header(frame, header, view);
    match view.shown {
        Shown::Links => {
            links::draw(frame, links, view, &rows, palette);
            frame.render_widget(Paragraph::new(media), more);
            carried::draw(frame, picture, view, &rows, palette);
            draw_events(frame, happened, view);
        }
        Shown::Help | Shown::Policies => {
            let body = Rect { y: links.y, height: footer.y.saturating_sub(links.y), ..area };
            let lines = if view.shown == Shown::Help { pages::help() } else { pages::policies(view) };
            frame.render_widget(Paragraph::new(lines), body);
        }
    }
    draw_footer(frame, footer, view, palette);
}

/// The most important in a line.
fn summary(view: &View) -> String {
    let Some(status) = &view.status else { return "waiting for the program".to_owned() };
    let trouble: Vec<String> = view
        .rows()
        .iter()
        .filter_map(|row| row.trouble.map(|trouble| format!("{}: {trouble}", row.name)))
        .collect();
    let totals = &status.totals;
    format!(
        "out {} in {} bit/s {}",
        rate(totals.rate_sent_bps),
        rate(totals.rate_received_bps),
        trouble.join(", ")
    )
}

fn draw_header(frame: &mut Frame<'_>, area: Rect, view: &View) {
    let program = &view.program;
    let bold = Style::default().add_modifier(Modifier::BOLD);
    let mut first = vec![Span::styled(format!("hawser {}", program.command), bold)];
    let mut second = Line::from("waiting for the first sample");
    if let Some(status) = &view.status {
        let stopping = if status.draining { ", stopping" } else { "" };
        let frozen = if view.frozen { ", FROZEN (space)" } else { "" };
        let now = time_of_day(status.at_unix_ms);
        let up = clock(status.uptime_ms);
        first.push(Span::raw(format!("  process {}, up {up}, {now} UTC{stopping}{frozen}", program.pid)));
        let totals = &status.totals;
        let (out, r#in) = (rate(totals.rate_sent_bps), rate(totals.rate_received_bps));
        let number = totals.connections;
        let connections = if number == 1 { "connection" } else { "connections" };
        let mut text = format!("out {out}bit/s  in {in}bit/s  {number} {connections}");
        if let Some(busiest) = status.connections.first() {
            text.push_str(&format!("  scheduler {}", busiest.scheduler));
            if let Some(hawser_status::model::Figure::Word(mode)) = busiest.scheduler_figures.get("mode") {
                text.push_str(&format!(" ({mode})"));
            }
        }
        second = Line::from(text);
    }
    frame.render_widget(Paragraph::new(vec![Line::from(first), second]), area);
}

fn draw_events(frame: &mut Frame<'_>, area: Rect, view: &View) {
    let count = usize::from(area.height);
    let newest = view.events.iter().skip(view.events.len().saturating_sub(count));
    let line = |event: &hawser_status::model::Event| {
        let text = format!("{} {}", time_of_day(event.at_unix_ms), event.text);
        Line::from(fit(&text, usize::from(area.width)))
    };
    let mut lines: Vec<Line<'_>> = newest.map(line).collect();
    if lines.is_empty() {
        lines.push(Line::styled("nothing has happened yet", Style::default().add_modifier(Modifier::DIM)));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn draw_footer(frame: &mut Frame<'_>, area: Rect, view: &View, palette: Palette) {
    let line = match &view.message {
        Some(message) if view.ended => Line::styled(format!("{message}; q leaves"), palette.alarm()),
        Some(message) => Line::styled(fit(message, usize::from(area.width)), palette.quiet()),
        None => Line::styled(
            fit(
                "? keys  up/down choose  p pause  r resume  b backup  m mode  +/- share  q quit",
                usize::from(area.width),
            ),
            palette.quiet(),
        ),
    };
    frame.render_widget(Paragraph::new(line), area);
}
