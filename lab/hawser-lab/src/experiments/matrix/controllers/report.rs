//! The matrix for people.

use super::grid::Settings;
use super::rows::{Controllers, Row};
use super::{markdown, page};
use crate::experiments::matrix::{Grid, Report, Rows};

/// The columns of the table of cells.
const TEXTS: [&str; 2] = ["controller", "link"];
const NUMBERS: [&str; 11] = [
    "buffer_bdp",
    "loss",
    "utilisation",
    "queue_p95_ms",
    "dropped",
    "jain_itself",
    "converged_seconds",
    "converged",
    "share_cubic",
    "jain_cubic",
    "utilisation_of_neighbours",
];

impl Rows for Controllers {
    fn report(&self) -> Report {
        // The last column is filled where a cell stands out.
        let cell = |row: &Row| {
            let numbers: [Option<f64>; NUMBERS.len()] = [
                Some(row.buffer),
                Some(row.loss),
                row.utilisation,
                row.queue_p95_ms,
                row.dropped,
                row.jain_itself,
                row.converged_seconds,
                row.converged,
                row.share_cubic,
                row.jain_cubic,
                self.outlier(row).map(|outlier| outlier.neighbours),
            ];
            (vec![row.controller.clone(), row.link.clone()], numbers.into())
        };
        let summary = markdown::summary(self);
        Report {
            name: Settings::NAME,
            failed: self.failed.clone(),
            tables: markdown::tables(self, &summary),
            page: page::page(self, &summary),
            columns: (&TEXTS, &NUMBERS),
            cells: self.rows.iter().map(cell).collect(),
            summary,
        }
    }
}
