//! What every measured stack shares.
//!
//! A stack is a small binary that implements the traits of [`stack`] and calls [`run`]. Everything that could
//! make one stack look better than another for reasons that are not its own lives here, once: the options, the
//! TLS configuration, the single-threaded runtime pinned to a core, the workloads, the clock readings and the
//! report.
//!
//! ```text
//! bench-quinn server --listen 127.0.0.1:0 --identity DIR --core 0
//! bench-quinn client --server 127.0.0.1:PORT --identity DIR --core 1 bulk --bytes 1073741824
//! ```
//!
//! # Protocol
//! The client opens a bidirectional stream and sends eight bytes, the wanted length (big endian). The server
//! answers with as many bytes. All workloads are made of this exchange, so one server serves them all. The
//! server runs until its standard input is closed and then prints its [`report::ServerReport`].

pub mod arrivals;
pub mod options;
pub mod process;
pub mod report;
mod server;
pub mod stack;
pub mod tls;
mod workload;

use std::process::ExitCode;

use clap::Parser;

use crate::options::{Options, Role};
use crate::stack::Stack;

/// Errors end a measurement; they are only ever printed.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// The `main` of a stack's binary.
pub fn run<S: Stack>() -> ExitCode {
    exit(&format!("bench-{}", S::NAME), run_role::<S>(Options::parse()))
}

/// The end of a `main`: says why it failed, if it did.
pub fn exit(program: &str, result: Result<(), Error>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{program}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run_role<S: Stack>(options: Options) -> Result<(), Error> {
    let core = match &options.role {
        Role::Server(server) => server.core,
        Role::Client(client) => client.core,
    };
    if let Some(core) = core {
        process::pin_to_core(core)?;
    }
    // One thread: a side of the connection may use one core, and work that moves between threads would make
    // CPU seconds depend on the scheduler's mood.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match options.role {
        Role::Server(server) => runtime.block_on(server::serve::<S>(&server)),
        Role::Client(client) => runtime.block_on(workload::run::<S>(&client)),
    }
}
