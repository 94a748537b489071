//! Who carried what: a column for each sample, the links on top of each other.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::Palette;
use crate::text::{bytes, rate};
use crate::view::{Row, View};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, view: &View, rows: &[Row], palette: Palette) {
    if area.height < 2 {
        return;
    }
    let [title, picture] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    let columns = usize::from(picture.width);
    let all = columns_of(view, rows, columns);
    let most = all.iter().map(|column| column.iter().sum::<f64>()).fold(0.0, f64::max);
    frame.render_widget(Paragraph::new(legend(rows, most, palette)), title);
    let height = usize::from(picture.height);
    let heights: Vec<Vec<usize>> = all.iter().map(|column| stack(column, most, height)).collect();
    let lines: Vec<Line<'_>> =
        (0..height).rev().map(|level| level_line(&heights, level, columns, palette)).collect();
    frame.render_widget(Paragraph::new(lines), picture);
}

fn legend(rows: &[Row], most: f64, palette: Palette) -> Line<'static> {
    let bold = Style::default().add_modifier(Modifier::BOLD);
    let total: u64 = rows.iter().map(|row| row.carried).sum();
    let title = format!("carried {}B, top {}bit/s", bytes(total), rate(most));
    let mut spans = vec![Span::styled(title, bold)];
    for (position, row) in rows.iter().enumerate().filter(|(_, row)| row.carried > 0) {
        let (sign, style) = palette.link(position);
        let share = 100.0 * row.carried as f64 / total.max(1) as f64;
        spans.push(Span::styled(format!("  {sign} {} {share:.0}%", row.name), style));
    }
    Line::from(spans)
}

/// What each link carried in each of the newest samples, the oldest first.
fn columns_of(view: &View, rows: &[Row], columns: usize) -> Vec<Vec<f64>> {
    let length = view.series.values().map(|series| series.rate.len()).max().unwrap_or(0);
    let first = length.saturating_sub(columns);
    let at = |row: &Row, sample: usize| {
        let series = view.series.get(&row.name);
        series.and_then(|series| series.rate.get(sample)).copied().unwrap_or(0.0)
    };
    (first..length).map(|sample| rows.iter().map(|row| at(row, sample)).collect()).collect()
}

/// How high the top of each link is in a column, from below. What carried anything has a cell if there is room.
fn stack(column: &[f64], most: f64, height: usize) -> Vec<usize> {
    let mut sum = 0.0;
    let top = |sum: f64| (sum / most.max(1.0) * height as f64).round() as usize;
    column
        .iter()
        .map(|value| {
            sum += value;
            top(sum).min(height)
        })
        .collect()
}

fn level_line(heights: &[Vec<usize>], level: usize, columns: usize, palette: Palette) -> Line<'static> {
    let mut spans = vec![Span::raw(" ".repeat(columns.saturating_sub(heights.len())))];
    for column in heights {
        let link = column.iter().position(|top| level < *top);
        spans.push(match link {
            Some(position) => {
                let (sign, style) = palette.link(position);
                Span::styled(sign.to_string(), style)
            }
            None => Span::raw(" "),
        });
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_stacked_to_the_height_of_their_sum() {
        assert_eq!(stack(&[5.0, 5.0], 10.0, 8), [4, 8]);
        assert_eq!(stack(&[0.0, 2.5], 10.0, 8), [0, 2]);
        assert_eq!(stack(&[0.0, 0.0], 0.0, 8), [0, 0]);
    }
}
