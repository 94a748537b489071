//! `hawser ctl`: looks at a program that runs, and steers it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use hawser_status::control::protocol::{Line, Order, Outcome};
use hawser_status::control::{Client, ClientError};
use hawser_status::model::LinkUsage;

use super::pick::{Socket, failure, sockets};
use super::show;
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::options::seconds;
use crate::output::Output;
use crate::report::{Channel, print};
use crate::units::parse_bytes;

const EXAMPLES: &str = "\
A link is named as `hawser ctl status` names it: wlan0, or at a server the address of a peer. What is ordered lasts until the \
program ends. docs/control.md has the protocol, for programs of your own.

Examples:
  hawser ctl                                   what the only program that runs does
  hawser ctl --json status | jq .links         the same for programs
  hawser ctl watch                             what happens, as it happens
  hawser ctl path wwan0 pause                  nothing goes over it until `hawser ctl path wwan0 resume`
  hawser ctl path wwan0 backup                 only when no other link works
  hawser ctl path wlan0 weight 70              70 % of what two links carry together
  hawser ctl mode redundant                    everything over every link
  hawser ctl scheduler ecf,beta=0.5
  hawser ctl drain                             stop as with Ctrl-C";

/// Arguments of `hawser ctl`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Ctl {
    #[command(flatten)]
    socket: Socket,
    #[command(subcommand)]
    command: Option<CtlCommand>,
}

/// What can be asked of a program.
#[derive(Subcommand, Debug)]
enum CtlCommand {
    /// List the programs of this user that run
    List,
    /// Show links, connections and paths now (the default)
    Status,
    /// Print events as they happen; with --json samples of the status as well
    Watch(Watch),
    /// Use a link or path otherwise
    Path(PathOrder),
    /// Exchange the scheduler
    Scheduler(SchedulerOrder),
    /// Exchange the congestion controller
    Controller(ControllerOrder),
    /// Say what connections are for
    Mode(ModeOrder),
    /// Print metrics as text for Prometheus; with --out as a file, for the textfile collector of node_exporter
    Metrics(MetricsOrder),
    /// Write a trace (qlog) of a connection from now on
    ///
    /// Addresses are in it if the program was started with --qlog-addresses
    Qlog(QlogOrder),
    /// Stop the program as with Ctrl-C: what runs may end
    Drain,
}

#[derive(Args, Debug)]
struct Watch {
    /// Seconds between samples
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    interval: Duration,
}

#[derive(Args, Debug)]
struct PathOrder {
    /// Its name: wlan0, or at a server the address of a peer
    name: String,
    /// What for
    #[command(subcommand)]
    action: PathAction,
}

#[derive(Subcommand, Clone, Copy, Debug)]
enum PathAction {
    /// Let nothing go over it; its paths are abandoned
    Pause,
    /// Use it regularly
    #[command(visible_alias = "available")]
    Resume,
    /// Use it only when no other link works
    #[command(visible_alias = "standby")]
    Backup,
    /// Let it carry so many % of what two links carry together
    Weight {
        /// 0 to 100
        #[arg(value_parser = clap::value_parser!(u8).range(0..=100))]
        percent: u8,
    },
}

#[derive(Args, Debug)]
struct SchedulerOrder {
    /// Such as ecf,beta=0.5; `hawser policies` lists them
    spec: String,
    #[command(flatten)]
    of: Of,
}

#[derive(Args, Debug)]
struct ControllerOrder {
    /// Such as cubic; `hawser policies` lists them
    spec: String,
    /// Of paths over this link, or to this peer. Default: of all
    #[arg(long, value_name = "NAME")]
    path: Option<String>,
    #[command(flatten)]
    of: Of,
}

#[derive(Args, Debug)]
struct ModeOrder {
    mode: ModeName,
    /// Of streams and datagrams of this class only
    #[arg(long, value_name = "N")]
    class: Option<u32>,
    #[command(flatten)]
    of: Of,
}

/// What a connection is for.
#[derive(ValueEnum, Clone, Copy, Debug)]
enum ModeName {
    /// All links carry what there is
    Aggregate,
    /// The same, and short messages are copied to a second link
    LowLatency,
    /// Everything over every link
    Redundant,
    /// One link carries everything, the others stand by
    Backup,
}

impl ModeName {
    fn word(self) -> &'static str {
        match self {
            ModeName::Aggregate => "aggregate",
            ModeName::LowLatency => "low-latency",
            ModeName::Redundant => "redundant",
            ModeName::Backup => "backup",
        }
    }
}

#[derive(Args, Debug)]
struct QlogOrder {
    /// Id of the connection, as `hawser ctl status` shows it
    connection: String,
    /// File, which must not exist yet
    file: PathBuf,
    /// Most bytes of it (suffixes k, M, G)
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "256M")]
    limit: u64,
}

#[derive(Args, Debug)]
struct MetricsOrder {
    /// File that is replaced as a whole, such as /var/lib/prometheus/node-exporter/hawser.prom
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Which connections.
#[derive(Args, Debug)]
struct Of {
    /// Of this connection only, as `hawser ctl status` shows it
    #[arg(long, value_name = "ID")]
    connection: Option<String>,
}

/// Asks, and shows the answer.
pub async fn run(arguments: Ctl, output: Output, mut interrupt: Interrupt) -> Result<(), Failure> {
    let order = match arguments.command.unwrap_or(CtlCommand::Status) {
        CtlCommand::List => return list(output).await,
        CtlCommand::Watch(watching) => {
            let client = arguments.socket.connect().await?;
            return watch(client, watching.interval, output, &mut interrupt).await;
        }
        CtlCommand::Metrics(MetricsOrder { out }) => {
            let client = arguments.socket.connect().await?;
            return metrics(client, out.as_deref()).await;
        }
        command => order(command)?,
    };
    let mut client = arguments.socket.connect().await?;
    match client.ask(order).await.map_err(|error| failure(&error))? {
        Outcome::Status(status) if output.json => Channel::Stdout.print(&status),
        Outcome::Status(status) => print(show::status(&status).trim_end()),
        Outcome::Done(done) if output.json => Channel::Stdout.print(&serde_json::json!({ "done": done })),
        Outcome::Done(done) => output.remark(done),
        Outcome::Error(reason) => return Err(failure(&ClientError::Refused(reason))),
    }
    Ok(())
}

fn order(command: CtlCommand) -> Result<Order, Failure> {
    Ok(match command {
        CtlCommand::List | CtlCommand::Metrics(_) | CtlCommand::Watch(_) | CtlCommand::Status => {
            Order::Status
        }
        CtlCommand::Path(PathOrder { name, action }) => match action {
            PathAction::Pause => Order::Link { name, usage: LinkUsage::Paused },
            PathAction::Resume => Order::Link { name, usage: LinkUsage::Available },
            PathAction::Backup => Order::Link { name, usage: LinkUsage::Backup },
            PathAction::Weight { percent } => Order::Share { name, percent, connection: None },
        },
        CtlCommand::Scheduler(SchedulerOrder { spec, of }) => {
            Order::Scheduler { spec, connection: of.connection }
        }
        CtlCommand::Controller(ControllerOrder { spec, path, of }) => {
            Order::Controller { spec, name: path, connection: of.connection }
        }
        CtlCommand::Mode(ModeOrder { mode, class, of }) => {
            Order::Mode { mode: mode.word().to_owned(), class, connection: of.connection }
        }
        CtlCommand::Qlog(QlogOrder { connection, file, limit }) => {
            // The program may run in another folder.
            let absolute = std::path::absolute(&file).map_err(|error| Failure::write(&file, &error))?;
            let text = absolute.to_str().map(str::to_owned);
            let text = text.ok_or_else(|| Failure::usage("the name of the file is not UTF-8"))?;
            Order::Qlog { connection, file: text, max_bytes: limit }
        }
        CtlCommand::Drain => Order::Drain,
    })
}

/// The status as metrics.
async fn metrics(mut client: Client, out: Option<&Path>) -> Result<(), Failure> {
    match client.ask(Order::Status).await.map_err(|error| failure(&error))? {
        Outcome::Status(status) => {
            let text = hawser_status::metrics::classic_text(Arc::new(*status))
                .map_err(|error| Failure::new(Exit::Failure, error.to_string()))?;
            match out {
                Some(file) => hawser_files::write(file, text.as_bytes())
                    .map_err(|error| Failure::write(file, &error))?,
                None => print(text.trim_end()),
            }
            Ok(())
        }
        Outcome::Error(reason) => Err(failure(&ClientError::Refused(reason))),
        Outcome::Done(_) => Ok(()),
    }
}

/// The programs that run.
async fn list(output: Output) -> Result<(), Failure> {
    let mut found = Vec::new();
    for path in sockets()? {
        match Client::connect(&path).await {
            Ok(client) => found.push((client.hello().program.clone(), path)),
            Err(error) => output.remark(format_args!("{}: {error}", path.display())),
        }
    }
    if output.json {
        let programs = found.iter().map(
            |(program, path)| serde_json::json!({ "program": program, "socket": path.to_string_lossy() }),
        );
        Channel::Stdout.print(&programs.collect::<Vec<_>>());
        return Ok(());
    }
    if found.is_empty() {
        output.remark("no Hawser program of this user runs with a control socket");
    }
    for (program, path) in found {
        print(format_args!("{:>8}  {:<14} {}", program.pid, program.command, path.display()));
    }
    Ok(())
}

/// Prints what happens until the program or the user ends it.
async fn watch(
    mut client: Client,
    interval: Duration,
    output: Output,
    interrupt: &mut Interrupt,
) -> Result<(), Failure> {
    let interval_ms = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
    let order = Order::Watch { interval_ms, after_event: None };
    client.ask(order).await.map_err(|error| failure(&error))?;
    loop {
        let line = tokio::select! {
            line = client.next() => line,
            () = interrupt.raised() => return Ok(()),
        };
        match line {
            Ok(line @ (Line::Sample(_) | Line::Event(_))) if output.json => Channel::Stdout.print(&line),
            Ok(Line::Event(event)) => print(show::event(&event)),
            Ok(Line::Hello(_) | Line::Answer(_) | Line::Sample(_)) => {}
            Err(ClientError::Ended) => {
                output.remark("the program has ended");
                return Ok(());
            }
            Err(error) => return Err(failure(&error)),
        }
    }
}
