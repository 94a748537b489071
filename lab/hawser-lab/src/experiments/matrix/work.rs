//! The cells of a matrix as work that can be interrupted.

use std::collections::BTreeSet;
use std::sync::Arc;

use hawser_policy::{PolicyKind, PolicySpec, Registry, SpecError};
use hawser_scenario::Scenario;

use super::grid::{self, Cell};
use super::measure::{self, Numbers};
use super::{MatrixError, Settings};
use crate::data::sweep::{CELLS, CellResult, Inputs, MANIFEST_FORMAT, Manifest, TIMING, Work, digest};
use crate::data::table::{Cell as TableCell, Kind, Schema, TableError, TableWriter, column};

/// The numbers of a run, as columns.
const METRICS: [&str; 6] = ["utilisation", "queue_p95_ms", "dropped", "jain", "share", "converged_seconds"];

/// All cells of some settings.
pub struct Matrix {
    settings: Settings,
    registry: Arc<Registry>,
    cells: Vec<Cell>,
    inputs: Inputs,
    program_sha256: String,
}

impl Matrix {
    /// Checks controllers and links, and reads the scenarios, so that all files that any cell depends on are known.
    ///
    /// # Errors
    /// [`MatrixError`].
    pub fn new(settings: Settings, registry: Arc<Registry>) -> Result<Self, MatrixError> {
        let scenarios = settings.scenarios.canonicalize().unwrap_or(settings.scenarios);
        let settings = Settings { scenarios, ..settings };
        let plan = &settings.plan;
        for controller in &settings.controllers {
            let wrong = |reason: String| MatrixError::Controller { reason };
            let spec: PolicySpec = controller.parse().map_err(|error: SpecError| wrong(error.to_string()))?;
            registry.check(PolicyKind::Congestion, &spec).map_err(|error| wrong(error.to_string()))?;
        }
        if let Some(name) =
            settings.links.iter().find(|name| plan.links.iter().all(|link| link.name != **name))
        {
            let known = plan.links.iter().map(|link| link.name.as_str()).collect::<Vec<_>>().join(", ");
            return Err(MatrixError::UnknownLink { name: name.clone(), known });
        }
        let program = std::env::current_exe().and_then(std::fs::read).unwrap_or_default();
        let matrix = Matrix {
            cells: grid::cells(&settings),
            settings,
            inputs: Inputs::of(&registry),
            registry,
            program_sha256: digest(&program),
        };
        // What a cell would meet after hours is found here. Recordings that any seed could choose are read with the first one.
        let mut seen = BTreeSet::new();
        for cell in &matrix.cells {
            if seen.insert(format!("{} {} {} {:?}", cell.link.name, cell.buffer, cell.loss, cell.against)) {
                matrix.scenario(cell).map_err(|reason| MatrixError::Scenario { reason })?;
            }
        }
        Ok(matrix)
    }

    /// What is run.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Every cell.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    fn scenario(&self, cell: &Cell) -> Result<Scenario, String> {
        let buffer = measure::buffer(cell, &self.load(cell, &[])?).ok_or("the bottleneck has no rate")?;
        self.load(cell, &[buffer])
    }

    fn load(&self, cell: &Cell, more: &[String]) -> Result<Scenario, String> {
        let folder = &self.settings.scenarios;
        let mut set = measure::overrides(cell, &self.settings);
        set.extend_from_slice(more);
        let scenario = self.inputs.load(&folder.join("matrix"), &folder.join(&cell.link.file), &set);
        scenario.map_err(|error| error.to_string())
    }
}

impl Work for Matrix {
    type Output = Numbers;

    fn manifest(&self) -> Manifest {
        let identity: Vec<String> =
            self.cells.iter().map(|cell| format!("{cell:?} {} s", cell.seconds(&self.settings))).collect();
        Manifest {
            format: MANIFEST_FORMAT,
            hawser: env!("CARGO_PKG_VERSION").to_owned(),
            plan: "matrix controllers".to_owned(),
            plan_sha256: digest(identity.join("\n").as_bytes()),
            inputs: self.inputs.digests(&self.settings.scenarios.join("matrix")),
            scenarios: self.settings.plan.links.iter().map(|link| link.name.clone()).collect(),
            factors: vec![("controller".to_owned(), self.settings.controllers.clone())],
            cells: self.cells.len(),
            tables: [CELLS, TIMING].map(str::to_owned).into(),
            program_sha256: Some(self.program_sha256.clone()),
        }
    }

    fn run(&self, cell: usize) -> Result<Numbers, String> {
        let cell = self.cells.get(cell).ok_or("there is no such cell")?;
        measure::run(cell, self.scenario(cell)?, &self.settings.plan, &self.registry)
    }

    fn schema(&self, table: &str) -> Result<Schema, TableError> {
        let cell = column("cell", Kind::U64);
        if table == TIMING {
            return Schema::new([cell, column("wall_seconds", Kind::F64)]);
        }
        let texts = ["link", "controller", "against"].map(|name| column(name, Kind::Text));
        let numbers = ["buffer_bdp", "loss"].map(|name| column(name, Kind::F64));
        let outcome = [
            column("seed", Kind::U64),
            column("message", Kind::Text).optional(),
            column("trace_hash", Kind::Text).optional(),
            column("packets", Kind::U64).optional(),
            column("events", Kind::U64).optional(),
        ];
        let metrics = METRICS.map(|name| column(name, Kind::F64).optional());
        Schema::new([cell].into_iter().chain(texts).chain(numbers).chain(outcome).chain(metrics))
    }

    fn write(
        &self,
        table: &str,
        writer: &mut dyn TableWriter,
        result: &CellResult<Numbers>,
    ) -> Result<(), TableError> {
        let number = TableCell::U64(result.cell as u64);
        if table == TIMING {
            return writer.row(&[number, result.wall_seconds.into()]);
        }
        let Some(cell) = self.cells.get(result.cell) else { return Ok(()) };
        let mut row = vec![
            number,
            cell.link.name.as_str().into(),
            cell.controller.as_str().into(),
            cell.against.name().into(),
            cell.buffer.into(),
            cell.loss.into(),
            cell.seed.into(),
        ];
        match &result.outcome {
            Err(message) => {
                row.push(message.as_str().into());
                row.extend([TableCell::Null; 3]);
                row.extend([TableCell::Null; METRICS.len()]);
            }
            Ok(it) => {
                row.extend([TableCell::Null, it.trace_hash.as_str().into()]);
                row.extend([it.packets, it.events].map(TableCell::U64));
                let metrics =
                    [it.utilisation, it.queue_p95_ms, it.dropped, it.jain, it.share, it.converged_seconds];
                row.extend(metrics.map(TableCell::from));
            }
        }
        writer.row(&row)
    }
}
