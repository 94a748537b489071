//! No stack at all: GSO batches, GRO batches, one AES-128-GCM operation per datagram and a credit per batch.
//! The reference that tells how fast this machine is today.

mod channel;

use std::process::ExitCode;
use std::time::Instant;

use bench_harness::Error;
use bench_harness::options::{ClientOptions, Options, Role, ServerOptions, Workload};
use bench_harness::process::{CpuTime, max_rss_kib, pin_to_core};
use bench_harness::report::{ClientReport, Ready, ServerReport};
use clap::Parser;

use crate::channel::{BATCH_PAYLOAD, BATCHES_IN_FLIGHT, Channel};

const NAME: &str = "raw";

fn main() -> ExitCode {
    bench_harness::exit("bench-raw", run(Options::parse()))
}

fn run(options: Options) -> Result<(), Error> {
    let core = match &options.role {
        Role::Server(server) => server.core,
        Role::Client(client) => client.core,
    };
    if let Some(core) = core {
        pin_to_core(core)?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match options.role {
        Role::Server(server) => runtime.block_on(serve(&server)),
        Role::Client(client) => runtime.block_on(fetch(&client)),
    }
}

/// Answers one request: whole batches until the wanted length is reached, never more in flight than credited.
async fn serve(options: &ServerOptions) -> Result<(), Error> {
    let mut channel = Channel::bind(options.listen)?;
    println!("{}", serde_json::to_string(&Ready { listening: channel.local_address()? })?);
    let wanted = channel.accept().await?;
    let before = CpuTime::now();
    let batches = wanted.div_ceil(BATCH_PAYLOAD as u64);
    let mut credited = 0;
    for batch in 0..batches {
        while batch >= credited + BATCHES_IN_FLIGHT {
            credited = channel.receive_credit().await?;
        }
        channel.send_batch().await?;
    }
    while credited < batches {
        credited = channel.receive_credit().await?;
    }
    let report = ServerReport {
        stack: NAME.to_owned(),
        bytes: batches * BATCH_PAYLOAD as u64,
        connections: 1,
        abandoned: 0,
        cpu: CpuTime::now() - before,
        max_rss_kib: max_rss_kib(),
        paths: Vec::new(),
    };
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

async fn fetch(options: &ClientOptions) -> Result<(), Error> {
    let Workload::Bulk { bytes: wanted } = options.workload else {
        return Err("raw only knows `bulk`".into());
    };
    let mut channel = Channel::bind(([0; 4], 0).into())?;
    let (began, before) = (Instant::now(), CpuTime::now());
    channel.request(options.server, wanted).await?;
    let (mut bytes, mut credited) = (0, 0);
    while bytes < wanted {
        bytes += channel.receive_batch().await? as u64;
        let complete = bytes / BATCH_PAYLOAD as u64;
        if complete > credited {
            credited = complete;
            channel.send_credit(credited).await?;
        }
    }
    let report = ClientReport {
        stack: NAME.to_owned(),
        workload: "bulk".to_owned(),
        bytes,
        count: 1,
        seconds: began.elapsed().as_secs_f64(),
        cpu: CpuTime::now() - before,
        max_rss_kib: max_rss_kib(),
        arrivals: None,
    };
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}
