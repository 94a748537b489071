//! The cells of a matrix as work that can be interrupted.

use std::collections::BTreeSet;
use std::sync::Arc;

use hawser_policy::{PolicyKind, PolicySpec, Registry, SpecError};
use hawser_scenario::Scenario;
use hawser_sim::oracle::with_oracle;

use super::grid::{self, Cell};
use super::measure::{self, Numbers};
use super::{MatrixError, Settings};
use crate::data::sweep::{CELLS, CellResult, Inputs, MANIFEST_FORMAT, Manifest, TIMING, Work, digest};
use crate::data::table::{Cell as TableCell, Kind, Schema, TableError, TableWriter, column};

/// The numbers of a run, as columns.
const METRICS: [&str; 6] =
    ["goodput_bps", "completion_seconds", "p50_ms", "p99_ms", "reordered_bytes", "redundancy"];

/// All cells of some settings.
pub struct Matrix {
    settings: Settings,
    registry: Arc<Registry>,
    cells: Vec<Cell>,
    inputs: Inputs,
    program_sha256: String,
}

impl Matrix {
    /// Checks the names, and reads the scenarios, so that all files that any cell depends on are known.
    ///
    /// # Errors
    /// [`MatrixError`].
    pub fn new(settings: Settings, registry: &Registry) -> Result<Self, MatrixError> {
        let registry = with_oracle(registry);
        let scenarios = settings.scenarios.canonicalize().unwrap_or(settings.scenarios);
        let settings = Settings { scenarios, ..settings };
        check(&settings, &registry)?;
        let wrong = |reason| MatrixError::Scenario { reason };
        let program = std::env::current_exe().and_then(std::fs::read).unwrap_or_default();
        let matrix = Matrix {
            cells: grid::cells(&settings),
            settings,
            inputs: Inputs::of(&registry),
            registry: Arc::new(registry),
            program_sha256: digest(&program),
        };
        // What a cell would meet after hours is found here. Recordings that any seed could choose are read with the first one.
        let mut seen = BTreeSet::new();
        for cell in &matrix.cells {
            if seen.insert((&cell.links.name, &cell.workload.name)) {
                let simulation =
                    measure::simulation(cell, matrix.load(cell).map_err(wrong)?, &matrix.registry);
                simulation.map_err(wrong)?;
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

    fn load(&self, cell: &Cell) -> Result<Scenario, String> {
        let folder = &self.settings.scenarios;
        let mut set = cell.links.set.clone();
        set.push(format!("seed={}", cell.seed));
        let scenario = self.inputs.load(&folder.join("matrix"), &folder.join(&cell.links.file), &set);
        scenario.map_err(|error| error.to_string())
    }
}

fn check(settings: &Settings, registry: &Registry) -> Result<(), MatrixError> {
    let plan = &settings.plan;
    let policies = settings.schedulers.iter().map(|name| (PolicyKind::Scheduler, name));
    for (kind, name) in policies.chain(settings.controllers.iter().map(|name| (PolicyKind::Congestion, name)))
    {
        let wrong = |reason: String| MatrixError::Controller { reason };
        let spec: PolicySpec = name.parse().map_err(|error: SpecError| wrong(error.to_string()))?;
        registry.check(kind, &spec).map_err(|error| wrong(error.to_string()))?;
    }
    if let Some(name) = settings.links.iter().find(|name| plan.links.iter().all(|it| it.name != **name)) {
        let known = plan.links.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(MatrixError::UnknownLink { name: name.clone(), known });
    }
    if let Some(name) =
        settings.workloads.iter().find(|name| plan.workloads.iter().all(|it| it.name != **name))
    {
        let known = plan.workloads.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(MatrixError::UnknownWorkload { name: name.clone(), known });
    }
    Ok(())
}

impl Work for Matrix {
    type Output = Numbers;

    fn manifest(&self) -> Manifest {
        let identity: Vec<String> = self.cells.iter().map(|cell| format!("{cell:?}")).collect();
        Manifest {
            format: MANIFEST_FORMAT,
            hawser: env!("CARGO_PKG_VERSION").to_owned(),
            plan: "matrix schedulers".to_owned(),
            plan_sha256: digest(identity.join("\n").as_bytes()),
            inputs: self.inputs.digests(&self.settings.scenarios.join("matrix")),
            scenarios: self.settings.plan.links.iter().map(|links| links.name.clone()).collect(),
            factors: vec![
                ("scheduler".to_owned(), self.settings.schedulers.clone()),
                ("controller".to_owned(), self.settings.controllers.clone()),
            ],
            cells: self.cells.len(),
            tables: [CELLS, TIMING].map(str::to_owned).into(),
            program_sha256: Some(self.program_sha256.clone()),
        }
    }

    fn run(&self, cell: usize) -> Result<Numbers, String> {
        let cell = self.cells.get(cell).ok_or("there is no such cell")?;
        measure::run(cell, self.load(cell)?, &self.registry)
    }

    fn schema(&self, table: &str) -> Result<Schema, TableError> {
        let cell = column("cell", Kind::U64);
        if table == TIMING {
            return Schema::new([cell, column("wall_seconds", Kind::F64)]);
        }
        let texts = ["links", "workload", "controller", "scheduler"].map(|name| column(name, Kind::Text));
        let outcome = [
            column("seed", Kind::U64),
            column("message", Kind::Text).optional(),
            column("trace_hash", Kind::Text).optional(),
            column("packets", Kind::U64).optional(),
            column("events", Kind::U64).optional(),
        ];
        let metrics = METRICS.map(|name| column(name, Kind::F64).optional());
        Schema::new([cell].into_iter().chain(texts).chain(outcome).chain(metrics))
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
            cell.links.name.as_str().into(),
            cell.workload.name.as_str().into(),
            cell.controller.as_str().into(),
            cell.scheduler.as_str().into(),
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
                let metrics = [
                    Some(it.goodput_bps),
                    it.completion_seconds,
                    it.p50_ms,
                    it.p99_ms,
                    Some(it.reordered_bytes as f64),
                    Some(it.redundancy),
                ];
                row.extend(metrics.map(TableCell::from));
            }
        }
        writer.row(&row)
    }
}
