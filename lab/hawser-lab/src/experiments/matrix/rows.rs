//! Means over the seeds, cell by cell.

use serde::Serialize;

use super::Settings;
use super::grid::{Against, chosen_links};
use super::plan::places;
use crate::data::statistics::mean_of;
use crate::data::table::{Table, TableError};

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
pub struct Rows {
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

/// The runs, column by column.
struct Runs<'a> {
    links: Vec<Option<&'a str>>,
    controllers: Vec<Option<&'a str>>,
    against: Vec<Option<Against>>,
    buffers: Vec<Option<f64>>,
    losses: Vec<Option<f64>>,
}

/// One combination, over all seeds.
struct Key<'a> {
    link: &'a str,
    controller: &'a str,
    buffer: f64,
    loss: f64,
}

impl Rows {
    pub(super) fn read(table: &Table, settings: &Settings) -> Result<Rows, TableError> {
        let against = table.texts("against")?.into_iter();
        let runs = Runs {
            links: table.texts("link")?,
            controllers: table.texts("controller")?,
            against: against.map(|name| Against::named(name.unwrap_or_default())).collect(),
            buffers: table.numbers("buffer_bdp")?,
            losses: table.numbers("loss")?,
        };
        let mut rows = Rows {
            controllers: settings.controllers.clone(),
            links: chosen_links(settings).map(|link| link.name.clone()).collect(),
            buffers: settings.plan.buffers.clone(),
            losses: settings.plan.losses.clone(),
            seeds: settings.seeds,
            rows: Vec::new(),
            shared: Vec::new(),
            failed: failed(table, &runs)?,
        };
        for link in chosen_links(settings).map(|link| link.name.as_str()) {
            for (buffer, loss) in settings.plan.places() {
                for controller in &settings.controllers {
                    let key = Key { link, controller, buffer, loss };
                    rows.rows.push(row(table, &runs, &key)?);
                    if settings.plan.is_coupled(controller, link) {
                        rows.shared.push(shared(table, &runs, &key)?);
                    }
                }
            }
        }
        Ok(rows)
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

    fn outlier(&self, row: &Row) -> Option<Outlier> {
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

fn failed(table: &Table, runs: &Runs<'_>) -> Result<Vec<String>, TableError> {
    let messages = table.texts("message")?;
    let of = |(row, message): (usize, &Option<&str>)| {
        let (link, controller) = (runs.links[row]?, runs.controllers[row]?);
        message.map(|message| format!("{controller} over {link}: {message}"))
    };
    Ok(messages.iter().enumerate().filter_map(of).collect())
}

impl Runs<'_> {
    /// The rows of a combination.
    fn of<'a>(&'a self, key: &'a Key<'_>, against: Against) -> impl Iterator<Item = usize> + 'a {
        (0..self.links.len()).filter(move |row| {
            self.links[*row] == Some(key.link)
                && self.controllers[*row] == Some(key.controller)
                && self.against[*row] == Some(against)
                && self.buffers[*row] == Some(key.buffer)
                && self.losses[*row] == Some(key.loss)
        })
    }
}

fn row(table: &Table, runs: &Runs<'_>, key: &Key<'_>) -> Result<Row, TableError> {
    let column = |name: &str, against: Against| -> Result<Option<f64>, TableError> {
        let values = table.numbers(name)?;
        Ok(mean_of(runs.of(key, against).filter_map(|row| values[row])))
    };
    let (pairs, times) = (table.numbers("jain")?, table.numbers("converged_seconds")?);
    let together = runs.of(key, Against::Itself).filter(|row| pairs[*row].is_some());
    let converged = mean_of(together.map(|row| f64::from(u8::from(times[row].is_some()))));
    Ok(Row {
        controller: key.controller.to_owned(),
        link: key.link.to_owned(),
        buffer: key.buffer,
        loss: key.loss,
        utilisation: column("utilisation", Against::Nothing)?,
        queue_p95_ms: column("queue_p95_ms", Against::Nothing)?,
        dropped: column("dropped", Against::Nothing)?,
        jain_itself: column("jain", Against::Itself)?,
        converged_seconds: column("converged_seconds", Against::Itself)?,
        converged,
        jain_cubic: column("jain", Against::Cubic)?,
        share_cubic: column("share", Against::Cubic)?,
    })
}

fn shared(table: &Table, runs: &Runs<'_>, key: &Key<'_>) -> Result<Shared, TableError> {
    let shares = table.numbers("share")?;
    let share = |against| mean_of(runs.of(key, against).filter_map(|row| shares[row]));
    Ok(Shared {
        controller: key.controller.to_owned(),
        buffer: key.buffer,
        loss: key.loss,
        beside_newreno: share(Against::PathsNewReno),
        beside_cubic: share(Against::PathsCubic),
    })
}
