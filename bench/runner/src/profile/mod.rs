//! Where the instructions of a simulation go, by component.
//!
//! ```text
//!   an instruction belongs to the component of its source file;
//!   one of the core, to sending or receiving, whichever called for it;
//!   one of a library (copying, allocation, collections), to what called for it.
//! ```
//!
//! "Called for" is known for calls, not for chains of them: a function that several components call is divided among
//! them by what they spent in it.

mod callgrind;

use bench_harness::Error;
use serde::Serialize;

use callgrind::{CallGraph, Function};

/// A part of a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Component {
    /// The core makes a packet.
    Send,
    /// The core takes a packet apart.
    Receive,
    /// The rest of the core: timers, streams as applications see them, events.
    Core,
    /// Checksum of the null session.
    Checksum,
    /// Links and routes.
    Links,
    /// Hosts, time, packets from host to link and back.
    Engine,
    /// Applications, and what they measure.
    Applications,
}

use Component::{Applications, Checksum, Core, Engine, Links, Receive, Send};

/// In the order in which they are told.
pub(crate) const COMPONENTS: [Component; 7] = [Send, Receive, Core, Checksum, Links, Engine, Applications];

impl Component {
    /// What is said of it in a table.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Send => "core, sending",
            Receive => "core, receiving",
            Core => "core, timers and streams",
            Checksum => "checksum of the null session",
            Links => "links",
            Engine => "engine and hosts",
            Applications => "applications and meters",
        }
    }
}

/// Instructions by component, in the order of [`COMPONENTS`].
pub(crate) type Shares = [f64; COMPONENTS.len()];

/// How often who called whom is followed: longer than any chain of calls that matters.
const ROUNDS: usize = 100;

/// Source files, by the beginning of their path in the repository; the first that fits.
const FILES: [(&str, Component); 14] = [
    ("transport/hawser-core/src/crypto/null/", Checksum),
    ("transport/hawser-core/", Core),
    ("transport/hawser-wire/", Core),
    ("policies/hawser-cc/", Core),
    ("transport/hawser-paths/", Core),
    ("policies/hawser-sched/", Core),
    ("transport/hawser-policy/", Core),
    ("world/hawser-link/", Links),
    ("world/hawser-scenario/", Links),
    ("world/hawser-sim/src/run/simulation.rs", Engine),
    ("world/hawser-sim/src/run/participant.rs", Engine),
    ("world/hawser-sim/src/run/", Applications),
    ("world/hawser-sim/", Engine),
    ("bench/", Engine),
];

/// Functions of the core that the engine calls, and what for.
const ENTRIES: [(&str, Component); 3] = [
    ("hawser_core::connection::Connection>::poll_transmit", Send),
    ("hawser_core::connection::Connection>::handle_datagram", Receive),
    ("hawser_core::endpoint::Endpoint>::handle_datagram", Receive),
];

/// Divides a profile written by callgrind among the components.
pub(crate) fn of(text: &str) -> Result<Shares, Error> {
    let graph = callgrind::parse(text)?;
    let contexts = contexts(&graph);
    let mut shares = Shares::default();
    for (function, context) in graph.functions.iter().zip(&contexts) {
        for (&file, &cost) in &function.costs {
            spread(&graph, function, file, context, cost as f64, &mut shares);
        }
    }
    for (component, share) in COMPONENTS.iter().zip(shares).take(2) {
        if share == 0.0 {
            return Err(format!("{}: not found in the profile", component.title()).into());
        }
    }
    Ok(shares)
}

/// On behalf of whom each function runs, as shares of one.
fn contexts(graph: &CallGraph) -> Vec<Shares> {
    let own: Vec<Option<Component>> = graph.functions.iter().map(|function| entry(&function.name)).collect();
    let mut contexts = vec![only(Engine); graph.functions.len()];
    for _ in 0..ROUNDS {
        let mut sums = vec![Shares::default(); graph.functions.len()];
        for (function, context) in graph.functions.iter().zip(&contexts) {
            for (&(file, callee), &cost) in &function.calls {
                spread(graph, function, file, context, cost as f64, &mut sums[callee]);
            }
        }
        for ((context, sum), own) in contexts.iter_mut().zip(sums).zip(&own) {
            let total: f64 = sum.iter().sum();
            *context = match own {
                Some(component) => only(*component),
                None if total > 0.0 => sum.map(|share| share / total),
                None => only(Engine),
            };
        }
    }
    contexts
}

/// Adds the cost of code from `file` within `function` to the components that it belongs to.
fn spread(
    graph: &CallGraph,
    function: &Function,
    file: usize,
    context: &Shares,
    cost: f64,
    shares: &mut Shares,
) {
    // A library's code inside a function of Hawser is that function's.
    let owner = |file: usize| graph.files.get(file).and_then(|path| of_file(path));
    let owner = owner(file).or_else(|| owner(function.file));
    for (component, share) in COMPONENTS.into_iter().zip(context) {
        let component = match owner {
            Some(Core) if matches!(component, Send | Receive) => component,
            Some(owner) => owner,
            None => component,
        };
        shares[component as usize] += cost * share;
    }
}

fn of_file(path: &str) -> Option<Component> {
    FILES.iter().find(|(part, _)| path.contains(part)).map(|(_, component)| *component)
}

fn entry(name: &str) -> Option<Component> {
    // A recursion is `name'2`.
    let name = name.split('\'').next().unwrap_or(name);
    ENTRIES.iter().find(|(end, _)| name.ends_with(end)).map(|(_, component)| *component)
}

fn only(component: Component) -> Shares {
    let mut shares = Shares::default();
    shares[component as usize] = 1.0;
    shares
}

#[cfg(test)]
mod tests;
