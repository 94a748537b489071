//! quinn, noq or s2n-quic as a client or a server of files over HTTP/0.9 (ALPN `hq-interop`), with sockets of its own.
//!
//! A client fetches all files at once on one connection and prints one JSON object: what came for every URL. A server
//! prints `{"port": N}` when it listens, and runs until it is killed. The other programs in `interop/udp` do the same.

mod fetch;
mod options;
mod serve;
mod stacks;
mod tls;

use std::process::ExitCode;

use clap::Parser;

use options::{Options, Role, StackName};
use stacks::{noq, quinn, s2n_quic};

/// Whatever goes wrong ends the program, in words.
type Error = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("udp-peer: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> Result<(), Error> {
    match (options.stack, options.role) {
        (StackName::Quinn, Role::Serve(role)) => serve::run(quinn::Server::new(&role)?, &role).await,
        (StackName::Quinn, Role::Get(role)) => fetch::run(&quinn::Client::new(&role)?, &role).await,
        (StackName::Noq, Role::Serve(role)) => serve::run(noq::Server::new(&role)?, &role).await,
        (StackName::Noq, Role::Get(role)) => fetch::run(&noq::Client::new(&role)?, &role).await,
        (StackName::S2nQuic, Role::Serve(role)) => serve::run(s2n_quic::Server::new(&role)?, &role).await,
        (StackName::S2nQuic, Role::Get(role)) => fetch::run(&s2n_quic::Client::new(&role)?, &role).await,
    }
}
