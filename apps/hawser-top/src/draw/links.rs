//! A line for each link: what it does, and what it did.

use std::collections::VecDeque;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::Palette;
use crate::text::{fit, milliseconds, rate, waits_for};
use crate::view::{Row, View};

/// Columns of what is written; the rest is for the three little pictures.
const WRITTEN: usize = 58;
/// Levels of a little picture.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Columns of the pictures of rate, round-trip time and loss.
fn widths(total: usize) -> [usize; 3] {
    let left = total.saturating_sub(WRITTEN);
    let loss = left / 4;
    let rtt = (left - loss) / 2;
    [left - loss - rtt, rtt, loss]
}

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, view: &View, rows: &[Row], palette: Palette) {
    let width = usize::from(area.width);
    let [for_rate, for_rtt, for_loss] = widths(width);
    let header = format!(
        "  {:<11}{:<8}{:>6} {:>6} {:<for_rate$}{:>6} {:<for_rtt$}{:>5} {:<for_loss$} {}",
        "link", "state", "out", "in", "", "RTT ms", "", "loss%", "", "waits for"
    );
    let bold = Style::default().add_modifier(Modifier::BOLD);
    let mut lines = vec![Line::styled(fit(&header, width), bold)];
    let room = usize::from(area.height).saturating_sub(1);
    let first = (view.selected + 1).saturating_sub(room);
    for (position, row) in rows.iter().enumerate().skip(first).take(room) {
        lines.push(line(view, row, position, [for_rate, for_rtt, for_loss], palette));
    }
    if rows.is_empty() {
        lines.push(Line::styled("  no link and no connection yet", palette.quiet()));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn line(
    view: &View,
    row: &Row,
    position: usize,
    [for_rate, for_rtt, for_loss]: [usize; 3],
    palette: Palette,
) -> Line<'static> {
    let (sign, style) = palette.link(position);
    let chosen = if view.selected == position { '>' } else { ' ' };
    let series = view.series.get(&row.name);
    let highest = view.series.values().flat_map(|series| series.rate.iter().copied()).fold(0.0, f64::max);
    let picture = |values: Option<&VecDeque<f64>>, width, most| sparkline(values, width, most);
    let most_rtt = series.map_or(0.0, |series| series.rtt.iter().copied().fold(0.0, f64::max));
    let state = if row.trouble.is_some() { palette.alarm() } else { Style::default() };
    let loss = if row.has_path { format!("{:.1}", row.loss * 100.0) } else { "-".to_owned() };
    let rtt = if row.has_path { milliseconds(row.rtt_ms) } else { "-".to_owned() };
    let end = row.trouble.unwrap_or_else(|| if row.has_path { waits_for(row.limited_by) } else { "" });
    vec![
        Span::styled(format!("{chosen}{sign}"), style),
        Span::styled(format!("{:<11}", fit(&row.name, 10)), style),
        Span::styled(format!("{:<7}", row.state), state),
        Span::raw(format!(" {:>6} {:>6} ", rate(row.sent_bps), rate(row.received_bps))),
        Span::styled(picture(series.map(|series| &series.rate), for_rate, highest), style),
        Span::raw(format!("{rtt:>6} ")),
        Span::styled(picture(series.map(|series| &series.rtt), for_rtt, most_rtt), style),
        Span::raw(format!("{loss:>5} ")),
        Span::styled(picture(series.map(|series| &series.loss), for_loss, 0.1), style),
        Span::raw(" "),
        Span::styled(end.to_owned(), state),
    ]
    .into()
}

/// The newest values as columns, at the right; 0 is blank.
fn sparkline(values: Option<&VecDeque<f64>>, width: usize, most: f64) -> String {
    let Some(values) = values else { return " ".repeat(width) };
    // The last column is air.
    let columns = width.saturating_sub(1);
    let shown = values.iter().skip(values.len().saturating_sub(columns));
    let level = |value: &f64| match value / most.max(f64::MIN_POSITIVE) {
        part if *value <= 0.0 || part.is_nan() => ' ',
        part => LEVELS[((part.min(1.0) * 8.0).ceil() as usize).clamp(1, 8) - 1],
    };
    let text: String = shown.map(level).collect();
    format!("{text:>columns$} ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_pictures_show_the_newest_at_the_right() {
        let values: VecDeque<f64> = [8.0, 0.0, 1.0, 4.0, 16.0].into();
        assert_eq!(sparkline(Some(&values), 5, 8.0), " ▁▄█ ");
        assert_eq!(sparkline(Some(&values), 8, 8.0), "  █ ▁▄█ ");
        assert_eq!(sparkline(None, 3, 8.0), "   ");
        assert_eq!(sparkline(Some(&values), 0, 0.0), " ");
    }
}
