//! Client and server in one process and in virtual time: numbers that no neighbour can disturb.
//!
//! ```text
//! bench-inprocess memory         bytes of heap per idle connection and per idle extra path
//! bench-inprocess allocations    allocations per packet of a steady transfer
//! bench-inprocess instructions   instructions per packet of a steady transfer (needs valgrind)
//! bench-inprocess status         what looking at a program costs, and a scrape (instructions need valgrind)
//! bench-inprocess acknowledgements  instructions of each congestion controller per acknowledgement (needs valgrind)
//! ```

mod acknowledgements;
mod counted;
mod heap;
mod host;
mod instructions;
mod memory;
mod sessions;
mod status;
mod transfer;
mod watched;
mod world;

use std::process::ExitCode;

use bench_harness::Error;
use clap::{Parser, Subcommand};

use crate::heap::CountingAllocator;
use crate::sessions::SessionKind;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Client and server in one process and in virtual time.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// Bytes of heap per idle connection and per idle extra path.
    Memory {
        /// How many connections.
        #[arg(long, default_value_t = 1000)]
        connections: usize,
    },
    /// Allocations per packet of a steady transfer.
    Allocations,
    /// Instructions per packet of a steady transfer.
    Instructions,
    /// What looking at eight paths costs, and a scrape of a thousand connections.
    Status,
    /// Looks at a connection with so many paths, for a profiler to count.
    Looks {
        /// Paths of the connection.
        #[arg(long, default_value_t = 8)]
        paths: u8,
    },
    /// Instructions of each congestion controller per acknowledgement.
    Acknowledgements {
        /// Controllers, comma separated. Default: all.
        #[arg(long, value_delimiter = ',')]
        controllers: Vec<String>,
    },
    /// A simulated download alone, for a profiler to look at what its controllers take.
    Download(acknowledgements::Download),
    /// The transfer alone, for a profiler to look at.
    Transfer {
        /// Bytes after the warm-up.
        #[arg(long, default_value_t = 100_000_000)]
        bytes: u64,
        /// Cryptography.
        #[arg(long, value_enum, default_value_t = SessionKind::Null)]
        session: SessionKind,
        /// With policies at both ends that ask for every event of every packet.
        #[arg(long)]
        watched: bool,
    },
}

fn main() -> ExitCode {
    bench_harness::exit("bench-inprocess", run(Arguments::parse()))
}

fn run(arguments: Arguments) -> Result<(), Error> {
    let report = match arguments.part {
        Part::Memory { connections } => serde_json::to_value(memory::report(connections)?)?,
        Part::Allocations => serde_json::to_value(transfer::allocations()?)?,
        Part::Instructions => serde_json::to_value(instructions::report()?)?,
        Part::Status => serde_json::to_value(status::report()?)?,
        Part::Looks { paths } => serde_json::to_value(status::looks(paths)?)?,
        Part::Acknowledgements { controllers } => {
            serde_json::to_value(acknowledgements::report(&controllers)?)?
        }
        Part::Download(download) => serde_json::to_value(acknowledgements::run(&download)?)?,
        Part::Transfer { bytes, session, watched } => {
            serde_json::to_value(transfer::run(bytes, session, watched)?)?
        }
    };
    println!("{}", serde_json::to_string_pretty(&report)?);
    Ok(())
}
