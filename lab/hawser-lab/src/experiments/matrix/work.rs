//! The cells of a matrix as work that can be interrupted.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hawser_policy::{PolicyKind, PolicySpec, Registry, SpecError};
use hawser_scenario::Scenario;
use hawser_sim::run::{Options, Simulation};

use super::Grid;
use crate::data::sweep::{
    CELLS, CellResult, Inputs, MANIFEST_FORMAT, Manifest, Measured, TIMING, Work, digest,
};
use crate::data::table::{Cell as TableCell, Kind, Schema, TableError, TableWriter, column};
use crate::experiments::ExperimentError;

/// What tells a simulation from the others.
pub struct Key<'a> {
    /// In the columns with text.
    pub texts: Vec<&'a str>,
    /// In the columns with numbers.
    pub numbers: Vec<f64>,
    /// Of everything random.
    pub seed: u64,
}

/// What a matrix is made of.
pub(super) struct Parts<'a, G: Grid> {
    pub(super) grid: G,
    /// Every simulation; what is compared stands side by side, so that it is there early.
    pub(super) cells: Vec<G::Cell>,
    /// The folder of scenarios.
    pub(super) scenarios: &'a Path,
    /// The names of the links of its plan.
    pub(super) links: Vec<String>,
    /// Policies by kind, and the column in which they stand; those that the matrix is about first.
    pub(super) policies: Vec<(PolicyKind, &'static str, Vec<String>)>,
}

/// All cells of a grid.
pub struct Matrix<G: Grid> {
    grid: G,
    /// Files are named as seen from the folder of this one.
    base: PathBuf,
    registry: Arc<Registry>,
    cells: Vec<G::Cell>,
    inputs: Inputs,
    links: Vec<String>,
    factors: Vec<(String, Vec<String>)>,
    program_sha256: String,
}

impl<G: Grid> Matrix<G> {
    /// Checks the policies, and puts every kind of run together, so that all files that any cell depends on are known.
    pub(super) fn of(parts: Parts<'_, G>, registry: Arc<Registry>) -> Result<Self, ExperimentError> {
        let Parts { grid, cells, scenarios, links, policies } = parts;
        for (kind, _, names) in &policies {
            names.iter().try_for_each(|name| check(&registry, *kind, name))?;
        }
        let scenarios = scenarios.canonicalize().unwrap_or_else(|_| scenarios.to_owned());
        let program = std::env::current_exe().and_then(std::fs::read).unwrap_or_default();
        let matrix = Matrix {
            grid,
            base: scenarios.join("matrix"),
            cells,
            inputs: Inputs::of(&registry),
            registry,
            links,
            factors: policies.into_iter().map(|(_, column, names)| (column.to_owned(), names)).collect(),
            program_sha256: digest(&program),
        };
        // What a cell would meet after hours is found here. Recordings that any seed could choose are read with the first one.
        let mut seen = BTreeSet::new();
        for cell in &matrix.cells {
            if seen.insert(matrix.kind(cell)) {
                matrix.simulation(cell).map_err(ExperimentError::Scenario)?;
            }
        }
        Ok(matrix)
    }

    /// What is run.
    pub fn grid(&self) -> &G {
        &self.grid
    }

    /// Every cell.
    pub fn cells(&self) -> &[G::Cell] {
        &self.cells
    }

    /// The column of the policies that it is about.
    pub(super) fn policy(&self) -> &str {
        self.factors.first().map_or("", |(column, _)| column)
    }

    /// What a cell has in common with those that differ in their policies and seeds alone.
    fn kind(&self, cell: &G::Cell) -> String {
        let key = G::key(cell);
        let is_policy = |column: &str| self.factors.iter().any(|(name, _)| name == column);
        let texts = G::TEXTS.iter().zip(&key.texts).filter(|(column, _)| !is_policy(column));
        format!("{:?} {:?}", texts.collect::<Vec<_>>(), key.numbers)
    }

    /// A run before its first packet.
    fn simulation(&self, cell: &G::Cell) -> Result<(Scenario, Simulation), String> {
        let load = |file: &str, set: &[String]| {
            let scenario = self.inputs.load(&self.base, &self.base.with_file_name(file), set);
            scenario.map_err(|error| error.to_string())
        };
        let scenario = self.grid.scenario(cell, &load)?;
        let simulation = Simulation::new(&scenario, &self.registry, Options::default());
        Ok((scenario, simulation.map_err(|error| error.to_string())?))
    }
}

/// Whether a policy is known, and its parameters right.
fn check(registry: &Registry, kind: PolicyKind, policy: &str) -> Result<(), ExperimentError> {
    let wrong = ExperimentError::Usage;
    let spec: PolicySpec = policy.parse().map_err(|error: SpecError| wrong(error.to_string()))?;
    registry.check(kind, &spec).map_err(|error| wrong(error.to_string()))
}

impl<G: Grid> Work for Matrix<G> {
    type Output = Measured;

    fn manifest(&self) -> Manifest {
        let identity: Vec<String> = self.cells.iter().map(|cell| format!("{cell:?}")).collect();
        Manifest {
            format: MANIFEST_FORMAT,
            hawser: env!("CARGO_PKG_VERSION").to_owned(),
            plan: format!("matrix {}", G::NAME),
            plan_sha256: digest(identity.join("\n").as_bytes()),
            inputs: self.inputs.digests(&self.base),
            scenarios: self.links.clone(),
            factors: self.factors.clone(),
            cells: self.cells.len(),
            tables: [CELLS, TIMING].map(str::to_owned).into(),
            program_sha256: Some(self.program_sha256.clone()),
        }
    }

    fn run(&self, cell: usize) -> Result<Measured, String> {
        let cell = self.cells.get(cell).ok_or("there is no such cell")?;
        let (scenario, simulation) = self.simulation(cell)?;
        self.grid.measure(cell, &scenario, simulation)
    }

    fn schema(&self, _: &str) -> Result<Schema, TableError> {
        let cell = column("cell", Kind::U64);
        let texts = G::TEXTS.iter().map(|name| column(*name, Kind::Text));
        let numbers = G::NUMBERS.iter().map(|name| column(*name, Kind::F64));
        let outcome = [
            column("seed", Kind::U64),
            column("message", Kind::Text).optional(),
            column("trace_hash", Kind::Text).optional(),
            column("packets", Kind::U64).optional(),
            column("events", Kind::U64).optional(),
        ];
        let metrics = G::METRICS.iter().map(|name| column(*name, Kind::F64).optional());
        Schema::new([cell].into_iter().chain(texts).chain(numbers).chain(outcome).chain(metrics))
    }

    fn write(
        &self,
        _: &str,
        writer: &mut dyn TableWriter,
        result: &CellResult<Measured>,
    ) -> Result<(), TableError> {
        let Some(cell) = self.cells.get(result.cell) else { return Ok(()) };
        let mut row = vec![TableCell::U64(result.cell as u64)];
        let key = G::key(cell);
        row.extend(key.texts.into_iter().map(TableCell::Text));
        row.extend(key.numbers.into_iter().map(TableCell::F64));
        row.push(key.seed.into());
        match &result.outcome {
            Err(message) => {
                row.push(message.as_str().into());
                row.resize(row.len() + 3 + G::METRICS.len(), TableCell::Null);
            }
            Ok(it) => {
                row.extend([TableCell::Null, it.trace_hash.as_str().into()]);
                row.extend([it.packets, it.events].map(TableCell::U64));
                row.extend(G::METRICS.iter().map(|metric| TableCell::from(it.value(metric))));
            }
        }
        writer.row(&row)
    }
}
