//! The runs behind a list, as cells.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hawser_policy::{PolicyKind, PolicySpec, Registry, SpecError};
use hawser_scenario::Scenario;
use hawser_sim::run::{NoRecorder, Options, Simulation};

use super::error::ListError;
use super::kept::RUNS;
use super::list::{Item, List, Request, Runs};
use super::metrics;
use crate::data::sweep::{
    CELLS, CellResult, Inputs, MANIFEST_FORMAT, Manifest, Measured, TIMING, Work, digest,
};
use crate::data::table::{Cell as TableCell, Kind, Schema, TableError, TableWriter, column};
use crate::experiments::ExperimentError;

/// How a list is verified.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The folder of scenarios.
    pub scenarios: PathBuf,
    /// Seeds of everything random; none: what the list says.
    pub seeds: Option<u64>,
    /// The repetitions of the sheet.
    pub full: bool,
    /// What stands in for the system.
    pub substitute: Option<String>,
    /// Ids of the items to verify; none: all.
    pub items: Vec<String>,
}

impl Settings {
    /// The items to verify.
    pub fn items<'a>(&'a self, list: &'a List) -> impl Iterator<Item = &'a Item> {
        list.items.iter().filter(|item| self.items.is_empty() || self.items.contains(&item.id))
    }
}

/// One run.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cell {
    /// Position of its runs in the list.
    runs: usize,
    policy: String,
    seed: u64,
}

/// The runs behind a list.
pub struct Verification {
    list: Arc<List>,
    settings: Settings,
    registry: Arc<Registry>,
    cells: Vec<Cell>,
    inputs: Inputs,
    program_sha256: String,
}

impl Verification {
    /// All runs of a list. Scenarios are read, so that all files that any run depends on are known.
    ///
    /// # Errors
    /// [`ExperimentError`]: a policy is not known, or a scenario cannot be read.
    pub fn new(
        list: Arc<List>,
        settings: Settings,
        registry: Arc<Registry>,
    ) -> Result<Self, ExperimentError> {
        let scenarios = settings.scenarios.clone();
        let settings = Settings {
            // Programs alone need no scenarios.
            scenarios: scenarios.canonicalize().unwrap_or(scenarios),
            ..settings
        };
        let mut registry = registry;
        for (kind, name) in &list.defaults {
            let chosen = Arc::make_mut(&mut registry).choose_default(*kind, name);
            chosen.map_err(|error| ExperimentError::Usage(error.to_string()))?;
        }
        let program = std::env::current_exe().and_then(std::fs::read).unwrap_or_default();
        let mut verification = Verification {
            cells: cells(&list, &settings),
            list,
            settings,
            inputs: Inputs::of(&registry),
            registry,
            program_sha256: digest(&program),
        };
        verification.check()?;
        Ok(verification)
    }

    /// The list.
    pub fn list(&self) -> &Arc<List> {
        &self.list
    }

    /// How it is verified.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What is verified: the system, or its substitute.
    pub fn policy(&self) -> &str {
        self.settings.substitute.as_deref().unwrap_or(&self.list.system.policy)
    }

    /// Reads every scenario once, which finds mistakes before anything has run.
    fn check(&mut self) -> Result<(), ExperimentError> {
        let items = &self.list.items;
        if let Some(id) = self.settings.items.iter().find(|id| items.iter().all(|item| item.id != **id)) {
            return Err(ExperimentError::unknown("item", id, items.iter().map(|item| item.id.as_str())));
        }
        for policy in &self.list.policies {
            // A program may run it as what it is: a controller under the set that is verified, say.
            if !self.is_of_any_kind(&policy.text) {
                let known = self.known(&policy.text);
                known.map_err(|error| self.wrong(policy.line, error.to_string()))?;
            }
        }
        if let Some(policy) = &self.settings.substitute {
            self.known(policy)?;
        }
        for runs in &self.list.runs {
            for file in &runs.scenarios {
                let scenario = self.load(file, &[]).map_err(ExperimentError::Scenario)?;
                self.check_claims(runs, &scenario)?;
            }
        }
        // A program chooses its scenarios itself.
        for cell in self.cells.iter().filter(|cell| cell.seed == 1 && self.runs_of(cell).program.is_none()) {
            let put_together = |request: &Request<'_>| self.simulation(request).map(drop);
            self.with_request(cell, put_together).map_err(|reason| {
                let (runs, policy) = (self.name(cell), &cell.policy);
                ExperimentError::Scenario(format!("the runs {runs} of {policy}: {reason}"))
            })?;
        }
        Ok(())
    }

    /// Whether claims name flows, links and segments that the scenario of their runs has.
    fn check_claims(&self, runs: &Runs, scenario: &Scenario) -> Result<(), ExperimentError> {
        for claim in self.list.items.iter().flat_map(|item| &item.claims) {
            for metric in claim.value.metrics().into_iter().filter(|metric| metric.runs == runs.name) {
                metrics::check_in(scenario, runs, &metric.name).map_err(|it| self.wrong(claim.line, it))?;
            }
        }
        Ok(())
    }

    fn wrong(&self, line: usize, message: String) -> ExperimentError {
        ListError { file: self.list.file.clone(), line, message }.into()
    }

    fn is_of_any_kind(&self, policy: &str) -> bool {
        let Ok(spec) = policy.parse::<PolicySpec>() else { return false };
        PolicyKind::ALL.into_iter().any(|kind| self.registry.check(kind, &spec).is_ok())
    }

    /// Whether a policy can stand in for the system.
    fn known(&self, policy: &str) -> Result<(), ExperimentError> {
        let wrong = ExperimentError::Usage;
        let spec: PolicySpec = policy.parse().map_err(|error: SpecError| wrong(error.to_string()))?;
        let checked = match kind_of(&self.list.system.key) {
            // A set may be a scheduler that stands for itself.
            Some(PolicyKind::Scheduler) => self.registry.check(PolicyKind::Set, &spec),
            Some(kind) => self.registry.check(kind, &spec),
            None => Ok(()),
        };
        checked.map_err(|error| wrong(error.to_string()))
    }

    /// The field of a scenario that chooses this policy: that of the system, but a set in the place of a scheduler is chosen
    /// as such.
    fn field(&self, policy: &str) -> &str {
        let key = self.list.system.key.as_str();
        let name = policy.split(',').next().unwrap_or_default().trim();
        let is_set = || self.registry.policy(PolicyKind::Set, name).is_some();
        let is_scheduler = || self.registry.policy(PolicyKind::Scheduler, name).is_some();
        match kind_of(key) {
            Some(PolicyKind::Scheduler) if !is_scheduler() && is_set() => "transport.policy",
            _ => key,
        }
    }

    fn load(&self, file: &str, set: &[String]) -> Result<Scenario, String> {
        let folder = &self.settings.scenarios;
        let base = folder.join("list");
        self.inputs.load(&base, &folder.join(file), set).map_err(|error| error.to_string())
    }

    /// The outcome of a run in the simulator.
    fn simulate(&self, request: &Request<'_>) -> Result<Measured, String> {
        Ok(Measured::of(&self.simulation(request)?.run(&mut NoRecorder)))
    }

    /// A run in the simulator, before its first packet.
    fn simulation(&self, request: &Request<'_>) -> Result<Simulation, String> {
        let scenario = request.scenario(&[request.chosen()])?;
        Simulation::new(&scenario, &self.registry, Options::default()).map_err(|error| error.to_string())
    }

    fn runs_of(&self, cell: &Cell) -> &Runs {
        &self.list.runs[cell.runs]
    }

    /// Calls `work` with what a cell asks for.
    fn with_request<T>(&self, cell: &Cell, work: impl FnOnce(&Request<'_>) -> T) -> T {
        let runs = self.runs_of(cell);
        // What the runs say counts more than what the policy brings.
        let set: Vec<String> = self.list.set_for(&cell.policy).iter().chain(&runs.set).cloned().collect();
        work(&Request {
            runs: &runs.name,
            scenarios: &runs.scenarios,
            set: &set,
            key: self.field(&cell.policy),
            policy: &cell.policy,
            seed: cell.seed,
            registry: &self.registry,
            load: &|file, set| self.load(file, set),
        })
    }

    fn name(&self, cell: &Cell) -> &str {
        &self.list.runs[cell.runs].name
    }
}

/// The kind of policy that a field of a scenario chooses; none for other fields.
fn kind_of(key: &str) -> Option<PolicyKind> {
    PolicyKind::named(key.strip_prefix("transport.")?)
}

/// All runs, those of one seed side by side: what is compared is there early.
fn cells(list: &List, settings: &Settings) -> Vec<Cell> {
    let mut cells = Vec::new();
    let wanted = |runs: &Runs| {
        let mut claims = settings.items(list).flat_map(|item| &item.claims);
        settings.items.is_empty() || claims.any(|claim| claim.value.runs().contains(&runs.name.as_str()))
    };
    for (index, runs) in list.runs.iter().enumerate().filter(|(_, runs)| wanted(runs)) {
        let own = runs.policies.iter();
        let own = own.map(|it| it.resolved(&list.system.policy, settings.substitute.as_deref()));
        // What stands in for the system is a control already.
        let controls = match settings.substitute {
            Some(_) => Vec::new(),
            None => list.controls(&runs.name, settings.items(list)),
        };
        let policies: Vec<&str> = own.chain(controls).collect();
        for seed in 1..=seeds(runs, settings) {
            for policy in &policies {
                let cell = Cell { runs: index, policy: (*policy).to_owned(), seed };
                // A substitute may be one of those that the system is compared with.
                if !cells.contains(&cell) {
                    cells.push(cell);
                }
            }
        }
    }
    cells
}

fn seeds(runs: &Runs, settings: &Settings) -> u64 {
    match settings.seeds {
        _ if runs.seeds.full == 1 => 1,
        Some(seeds) => seeds,
        None if settings.full => runs.seeds.full,
        None => runs.seeds.default,
    }
}

impl Work for Verification {
    type Output = Measured;

    fn manifest(&self) -> Manifest {
        let mut identity = format!("{:?} {:?}", self.list.system, self.policy());
        for runs in &self.list.runs {
            let program = runs.program.map(|program| program.name);
            identity.push_str(&format!("\n{} {:?} {:?} {program:?}", runs.name, runs.scenarios, runs.set));
        }
        for cell in &self.cells {
            identity.push_str(&format!("\n{} {} {}", self.name(cell), cell.policy, cell.seed));
        }
        Manifest {
            format: MANIFEST_FORMAT,
            hawser: env!("CARGO_PKG_VERSION").to_owned(),
            plan: format!("verify {}", self.list.name),
            plan_sha256: digest(identity.as_bytes()),
            inputs: self.inputs.digests(&self.settings.scenarios.join("list")),
            scenarios: self.list.runs.iter().map(|runs| runs.name.clone()).collect(),
            factors: vec![(self.list.system.key.clone(), vec![self.policy().to_owned()])],
            cells: self.cells.len(),
            tables: [CELLS, RUNS, TIMING].map(str::to_owned).into(),
            program_sha256: Some(self.program_sha256.clone()),
        }
    }

    fn run(&self, cell: usize) -> Result<Measured, String> {
        let cell = &self.cells[cell];
        let runs = self.runs_of(cell);
        let Some(program) = runs.program else {
            return self.with_request(cell, |request| self.simulate(request));
        };
        let measured = self.with_request(cell, program.run)?;
        for (name, _) in &measured.metrics {
            metrics::check(runs, name)?;
        }
        Ok(measured)
    }

    fn schema(&self, table: &str) -> Result<Schema, TableError> {
        let identity = [
            column("cell", Kind::U64),
            column("scenario", Kind::Text),
            column("policy", Kind::Text),
            column("seed", Kind::U64),
        ];
        match table {
            RUNS => Schema::new(identity.into_iter().chain([
                column("trace_hash", Kind::Text),
                column("metric", Kind::Text),
                column("value", Kind::F64),
            ])),
            _ => Schema::new(identity.into_iter().chain([
                column("status", Kind::Text),
                column("message", Kind::Text).optional(),
                column("trace_hash", Kind::Text).optional(),
                column("packets", Kind::U64).optional(),
                column("events", Kind::U64).optional(),
            ])),
        }
    }

    fn write(
        &self,
        table: &str,
        writer: &mut dyn TableWriter,
        result: &CellResult<Measured>,
    ) -> Result<(), TableError> {
        let number = TableCell::U64(result.cell as u64);
        let cell = &self.cells[result.cell];
        let identity = [number, self.name(cell).into(), cell.policy.as_str().into(), cell.seed.into()];
        match (&result.outcome, table) {
            (Ok(measured), RUNS) => measured.metrics.iter().try_for_each(|(name, value)| {
                let own = [measured.trace_hash.as_str().into(), name.as_str().into(), (*value).into()];
                writer.row(&[identity.as_slice(), &own].concat())
            }),
            (Err(_), RUNS) => Ok(()),
            (Ok(measured), _) => {
                let hash = measured.trace_hash.as_str().into();
                let own =
                    ["done".into(), TableCell::Null, hash, measured.packets.into(), measured.events.into()];
                writer.row(&[identity.as_slice(), &own].concat())
            }
            (Err(message), _) => {
                let none = TableCell::Null;
                let own = ["failed".into(), message.as_str().into(), none, none, none];
                writer.row(&[identity.as_slice(), &own].concat())
            }
        }
    }
}

/// Where the results of a list go unless told otherwise: what gives other runs goes elsewhere.
pub fn default_folder(list: &List, settings: &Settings) -> PathBuf {
    let mut name = list.name.clone();
    match (settings.seeds, settings.full) {
        (Some(seeds), _) => name.push_str(&format!("-{seeds}-seeds")),
        (None, true) => name.push_str("-full"),
        (None, false) => {}
    }
    if !settings.items.is_empty() {
        name.push_str(&format!("-items-{}", settings.items.join("-")));
    }
    if let Some(policy) = &settings.substitute {
        let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        name.push_str("-as-");
        name.extend(policy.chars().map(plain));
    }
    Path::new("lab-results").join(name)
}
