//! Reads what callgrind writes: instructions by function and source file, and who called whom.
//!
//! Code that the compiler has moved into another function keeps the file it came from, so that inlining hides nothing.

use std::collections::BTreeMap;

use bench_harness::Error;

/// Who spent what.
#[derive(Debug, Default)]
pub(crate) struct CallGraph {
    /// By number.
    pub(crate) functions: Vec<Function>,
    /// Names of source files by number.
    pub(crate) files: Vec<String>,
}

/// A function.
#[derive(Debug, Default)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// Where it is defined.
    pub(crate) file: usize,
    /// Instructions of its own by source file.
    pub(crate) costs: BTreeMap<usize, u64>,
    /// Instructions of callees and theirs, by source file of the call and callee.
    pub(crate) calls: BTreeMap<(usize, usize), u64>,
}

impl CallGraph {
    /// Instructions of all functions.
    pub(crate) fn total(&self) -> u64 {
        self.functions.iter().flat_map(|function| function.costs.values()).sum()
    }
}

/// Names that are written once and then referred to by number: `(12) name`, later `(12)`.
#[derive(Default)]
struct Names {
    numbers: BTreeMap<String, usize>,
    names: Vec<String>,
}

impl Names {
    fn number(&mut self, text: &str) -> usize {
        let (key, name) = match text.split_once(')') {
            Some((key, name)) if key.starts_with('(') => (key, name.trim()),
            _ => (text, text),
        };
        let number = *self.numbers.entry(key.to_owned()).or_insert(self.names.len());
        if number == self.names.len() {
            self.names.push(name.to_owned());
        } else if !name.is_empty() {
            name.clone_into(&mut self.names[number]);
        }
        number
    }
}

/// Reads a profile with one kind of event and positions by line.
pub(crate) fn parse(text: &str) -> Result<CallGraph, Error> {
    let (mut files, mut functions) = (Names::default(), Names::default());
    let mut graph = CallGraph::default();
    let (mut file, mut function, mut callee) = (0, 0, 0);
    let mut is_call = false;
    let mut announced = None;
    for line in text.lines() {
        match line.split_once('=') {
            Some(("fl" | "fi" | "fe", name)) => file = files.number(name),
            Some(("fn", name)) => {
                function = functions.number(name);
                grow(&mut graph, function).file = file;
            }
            Some(("cfi" | "cfl", name)) => _ = files.number(name),
            Some(("cfn", name)) => {
                callee = functions.number(name);
                grow(&mut graph, callee);
            }
            Some(("calls", _)) => is_call = true,
            Some(_) => {}
            None if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) => {
                let cost = line.split_whitespace().nth(1).map_or(Ok(0), str::parse::<u64>)?;
                let function = grow(&mut graph, function);
                let sum = match std::mem::take(&mut is_call) {
                    true => function.calls.entry((file, callee)).or_default(),
                    false => function.costs.entry(file).or_default(),
                };
                *sum += cost;
            }
            None => {
                if let Some(sum) = line.strip_prefix("summary:") {
                    announced = Some(sum.trim().parse::<u64>()?);
                }
            }
        }
    }
    for (function, name) in graph.functions.iter_mut().zip(functions.names) {
        function.name = name;
    }
    graph.files = files.names;
    match announced {
        Some(sum) if sum == graph.total() => Ok(graph),
        sum => Err(format!("the profile has {} instructions and announces {sum:?}", graph.total()).into()),
    }
}

fn grow(graph: &mut CallGraph, function: usize) -> &mut Function {
    if graph.functions.len() <= function {
        graph.functions.resize_with(function + 1, Function::default);
    }
    &mut graph.functions[function]
}
