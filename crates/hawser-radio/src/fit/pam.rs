use std::collections::BTreeMap;

use crate::RadioError;

/// Which file of the data set.
#[derive(Clone, Copy)]
pub(super) enum Direction {
    Down,
    Up,
}

/// One run of the two carriers: rates in bit/s and marks of hand-overs, by Unix seconds.
pub(super) struct PamRun {
    rates: [Vec<(f64, f64)>; 2],
    marks: [Vec<(f64, bool)>; 2],
    ends: [Option<(f64, f64)>; 2],
}

impl PamRun {
    /// Reads the columns `TIME_STAMP_x, DLtput_x, .., handover_status_x` and the same with `_y`. A row that belongs to
    /// the other carrier has empty cells; one that marks a hand-over repeats a rate, which is not counted again.
    pub(super) fn parse(text: &str, direction: Direction) -> Result<Self, RadioError> {
        let rate_column = match direction {
            Direction::Down => "DLtput",
            Direction::Up => "ULtput",
        };
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().unwrap_or_default().split(',').map(str::trim).collect();
        let column = |name: String| {
            names.iter().position(|known| *known == name).ok_or_else(|| RadioError::Text {
                what: "PAM 2025 run",
                line: 1,
                reason: format!("no column {name}"),
            })
        };
        let mut run =
            PamRun { rates: [Vec::new(), Vec::new()], marks: [Vec::new(), Vec::new()], ends: [None, None] };
        let mut columns = [[0; 3]; 2];
        for (index, side) in ["x", "y"].into_iter().enumerate() {
            columns[index] = [
                column(format!("TIME_STAMP_{side}"))?,
                column(format!("{rate_column}_{side}"))?,
                column(format!("handover_status_{side}"))?,
            ];
        }
        for line in lines {
            let cells: Vec<&str> = line.split(',').map(str::trim).collect();
            let cell = |index: usize| cells.get(index).copied().unwrap_or_default();
            for (index, [time, rate, status]) in columns.into_iter().enumerate() {
                let Ok(time) = cell(time).parse::<f64>() else { continue };
                let (first, _) = *run.ends[index].get_or_insert((time, time));
                run.ends[index] = Some((first.min(time), time));
                match cell(status) {
                    "Start" => run.marks[index].push((time, true)),
                    "End" => run.marks[index].push((time, false)),
                    "" => {
                        if let Ok(rate) = cell(rate).parse::<f64>() {
                            run.rates[index].push((time, rate * 1e6));
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(run)
    }

    pub(super) fn rates(&self, carrier: usize) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.rates[carrier].iter().copied()
    }

    /// Rates of both carriers in the same half second.
    pub(super) fn pairs(&self) -> Vec<(f64, f64)> {
        let key = |time: f64| libm::round(2.0 * time) as i64;
        let second: BTreeMap<i64, f64> = self.rates[1].iter().map(|rate| (key(rate.0), rate.1)).collect();
        let first: BTreeMap<i64, f64> = self.rates[0].iter().map(|rate| (key(rate.0), rate.1)).collect();
        first.into_iter().filter_map(|(time, rate)| Some((rate, *second.get(&time)?))).collect()
    }

    /// Durations of hand-overs of both carriers, seconds.
    pub(super) fn handovers(&self) -> Vec<f64> {
        let mut list = Vec::new();
        for marks in &self.marks {
            let mut start = None;
            for &(time, starts) in marks {
                if starts {
                    start = Some(time);
                } else {
                    list.extend(start.take().map(|from| time - from));
                }
            }
        }
        list
    }

    /// Seconds measured, of both carriers together.
    pub(super) fn time(&self) -> f64 {
        self.ends.iter().flatten().map(|(first, last)| last - first).sum()
    }
}

/// Round-trip times of a ping log, seconds.
pub(super) fn parse_pings(text: &str) -> Vec<f64> {
    text.lines()
        .filter_map(|line| {
            let (_, rest) = line.split_once("time=")?;
            let (number, unit) = rest.split_once(' ')?;
            let value: f64 = number.parse().ok()?;
            Some(if unit.starts_with("ms") { value / 1e3 } else { value })
        })
        .collect()
}
