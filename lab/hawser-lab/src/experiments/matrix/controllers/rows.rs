//! Means over the seeds, cell by cell.

use serde::Serialize;

use super::grid::{Against, Settings};
use super::plan::places;
use crate::data::statistics::mean_of;
use crate::experiments::matrix::Runs;

/// A cell whose utilisation is off by more than this from the mean of its neighbours stands out.
const STANDS_OUT: f64 = 0.25;

/// A controller on a link with a buffer and a rate of random loss.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The controller.
    pub controller: String,
    /// The bottleneck.
    pub link: String,
    /// Its buffer, in bandwidth-delay products.
    pub buffer: f64,
    /// Random loss.
    pub loss: f64,
    /// Alone: share of the capacity.
    pub utilisation: Option<f64>,
    /// Alone: 95th percentile of the queueing delay, milliseconds.
    pub queue_p95_ms: Option<f64>,
    /// Alone: share of the packets that found the queue full.
    pub dropped: Option<f64>,
    /// Beside a second flow of its own: Jain's index.
    pub jain_itself: Option<f64>,
    /// The same: seconds until they shared; the mean of the seeds in which they did.
    pub converged_seconds: Option<f64>,
    /// Share of the seeds in which they did.
    pub converged: Option<f64>,
    /// Beside CUBIC: Jain's index.
    pub jain_cubic: Option<f64>,
    /// Beside CUBIC: its own share.
    pub share_cubic: Option<f64>,
}

/// A coupled controller with two paths through one bottleneck.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shared {
    /// The controller.
    pub controller: String,
    /// The buffer, in bandwidth-delay products.
    pub buffer: f64,
    /// Random loss.
    pub loss: f64,
    /// Share of both paths together beside one flow of NewReno; half is fair.
    pub beside_newreno: Option<f64>,
    /// The same beside CUBIC.
    pub beside_cubic: Option<f64>,
}

/// A cell that stands out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outlier {
    /// The controller.
    pub controller: String,
    /// The bottleneck.
    pub link: String,
    /// Its buffer, in bandwidth-delay products.
    pub buffer: f64,
    /// Random loss.
    pub loss: f64,
    /// Its utilisation.
    pub value: f64,
    /// Mean of the cells with the next buffers and the next losses.
    pub neighbours: f64,
}

/// The whole matrix.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Controllers {
    /// The controllers, in order.
    pub controllers: Vec<String>,
    /// The links, in order.
    pub links: Vec<String>,
    /// Buffers, in bandwidth-delay products.
    pub buffers: Vec<f64>,
    /// Rates of random loss.
    pub losses: Vec<f64>,
    /// Seeds.
    pub seeds: u64,
    /// Every cell.
    pub rows: Vec<Row>,
    /// Two paths through one bottleneck.
    pub shared: Vec<Shared>,
    /// Runs that failed, with the reason.
    pub failed: Vec<String>,
}

/// One combination, over all seeds.
struct Key<'a> {
    link: &'a str,
    controller: &'a str,
    buffer: f64,
    loss: f64,
}

impl Controllers {
    pub(super) fn of(runs: &Runs<'_>, settings: &Settings) -> Controllers {
        let mut rows = Controllers {
            controllers: settings.controllers.clone(),
            links: settings.chosen_links().map(|link| link.name.clone()).collect(),
            buffers: settings.plan.buffers.clone(),
            losses: settings.plan.losses.clone(),
            seeds: settings.seeds,
            rows: Vec::new(),
            shared: Vec::new(),
            failed: runs.failed.clone(),
        };
        for link in settings.chosen_links().map(|link| link.name.as_str()) {
            for (buffer, loss) in settings.plan.places() {
                for controller in &settings.controllers {
                    let key = Key { link, controller, buffer, loss };
                    rows.rows.push(key.row(runs));
                    if settings.plan.is_coupled(controller, link) {
                        rows.shared.push(key.shared(runs));
                    }
                }
            }
        }
        rows
    }

    /// Every buffer with every loss.
    pub(super) fn places(&self) -> Vec<(f64, f64)> {
        places(&self.buffers, &self.losses)
    }

    /// The cell of a controller.
    pub fn cell(&self, controller: &str, link: &str, buffer: f64, loss: f64) -> Option<&Row> {
        self.rows.iter().find(|row| {
            row.controller == controller && row.link == link && row.buffer == buffer && row.loss == loss
        })
    }

    /// Mean of a number over all cells of a controller that fit.
    pub fn mean(
        &self,
        controller: &str,
        fits: impl Fn(&Row) -> bool,
        number: impl Fn(&Row) -> Option<f64>,
    ) -> Option<f64> {
        let own = self.rows.iter().filter(|row| row.controller == controller && fits(row));
        mean_of(own.filter_map(number))
    }

    /// Cells whose utilisation differs by more than a quarter from the mean of their neighbours: the same controller on the same
    /// link with the next buffers and the next losses.
    pub fn outliers(&self) -> Vec<Outlier> {
        self.rows.iter().filter_map(|row| self.outlier(row)).collect()
    }

    pub(super) fn outlier(&self, row: &Row) -> Option<Outlier> {
        let (buffer, loss) = (position(&self.buffers, row.buffer)?, position(&self.losses, row.loss)?);
        let is_next = |other: &&Row| {
            let apart = |list: &[f64], of: f64, own: usize| position(list, of).map(|at| at.abs_diff(own));
            let apart = apart(&self.buffers, other.buffer, buffer).zip(apart(&self.losses, other.loss, loss));
            apart.is_some_and(|(buffers, losses)| buffers + losses == 1)
        };
        let of_link = self.rows.iter().filter(|it| it.controller == row.controller && it.link == row.link);
        let neighbours = mean_of(of_link.filter(is_next).filter_map(|row| row.utilisation))?;
        let value = row.utilisation?;
        let stands_out = (value - neighbours).abs() > STANDS_OUT * neighbours;
        stands_out.then(|| Outlier {
            controller: row.controller.clone(),
            link: row.link.clone(),
            buffer: row.buffer,
            loss: row.loss,
            value,
            neighbours,
        })
    }
}

fn position(list: &[f64], value: f64) -> Option<usize> {
    list.iter().position(|it| *it == value)
}

impl Key<'_> {
    fn mean(&self, runs: &Runs<'_>, metric: &str, against: Against) -> Option<f64> {
        runs.mean(&[self.link, self.controller, against.name()], &[self.buffer, self.loss], metric)
    }

    fn row(&self, runs: &Runs<'_>) -> Row {
        let texts = [self.link, self.controller, Against::Itself.name()];
        let of_pairs = |metric| runs.values(&texts, &[self.buffer, self.loss], metric);
        let pairs = of_pairs("jain").zip(of_pairs("converged_seconds")).filter(|(jain, _)| jain.is_some());
        let converged = mean_of(pairs.map(|(_, time)| f64::from(u8::from(time.is_some()))));
        Row {
            controller: self.controller.to_owned(),
            link: self.link.to_owned(),
            buffer: self.buffer,
            loss: self.loss,
            utilisation: self.mean(runs, "utilisation", Against::Nothing),
            queue_p95_ms: self.mean(runs, "queue_p95_ms", Against::Nothing),
            dropped: self.mean(runs, "dropped", Against::Nothing),
            jain_itself: self.mean(runs, "jain", Against::Itself),
            converged_seconds: self.mean(runs, "converged_seconds", Against::Itself),
            converged,
            jain_cubic: self.mean(runs, "jain", Against::Cubic),
            share_cubic: self.mean(runs, "share", Against::Cubic),
        }
    }

    fn shared(&self, runs: &Runs<'_>) -> Shared {
        Shared {
            controller: self.controller.to_owned(),
            buffer: self.buffer,
            loss: self.loss,
            beside_newreno: self.mean(runs, "share", Against::PathsNewReno),
            beside_cubic: self.mean(runs, "share", Against::PathsCubic),
        }
    }
}
