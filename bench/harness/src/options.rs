//! Command line of every stack's binary.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// One side of a measurement.
#[derive(Debug, Parser)]
pub struct Options {
    /// Which side.
    #[command(subcommand)]
    pub role: Role,
}

/// Which side to be.
#[derive(Debug, Subcommand)]
pub enum Role {
    /// Answer requests until standard input is closed.
    Server(ServerOptions),
    /// Run one workload.
    Client(ClientOptions),
}

/// What both sides agree on.
#[derive(Debug, Clone, Args)]
pub struct CommonOptions {
    /// Directory with `certificate.pem` and `key.pem`.
    #[arg(long)]
    pub identity: PathBuf,
    /// Library under TLS, where the stack gives the choice.
    #[arg(long, value_enum, default_value_t = Provider::AwsLcRs)]
    pub provider: Provider,
    /// Use several paths.
    #[arg(long)]
    pub multipath: bool,
}

/// Options of the server.
#[derive(Debug, Args)]
pub struct ServerOptions {
    /// Address to listen on; port 0 takes any. The first line printed tells which.
    #[arg(long)]
    pub listen: SocketAddr,
    /// CPU to stay on.
    #[arg(long)]
    pub core: Option<usize>,
    /// See [`CommonOptions`].
    #[command(flatten)]
    pub common: CommonOptions,
}

/// Options of the client.
#[derive(Debug, Args)]
pub struct ClientOptions {
    /// Where the server listens.
    #[arg(long)]
    pub server: SocketAddr,
    /// CPU to stay on.
    #[arg(long)]
    pub core: Option<usize>,
    /// A local link, `INTERFACE=ADDRESS`; the first carries the handshake. Repeat for several.
    #[arg(long = "link")]
    pub links: Vec<LocalLink>,
    /// See [`CommonOptions`].
    #[command(flatten)]
    pub common: CommonOptions,
    /// What to do.
    #[command(subcommand)]
    pub workload: Workload,
}

/// A local interface and its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalLink {
    /// Name of the interface.
    pub interface: String,
    /// Its address.
    pub address: IpAddr,
}

impl FromStr for LocalLink {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (interface, address) = text.split_once('=').ok_or("expected INTERFACE=ADDRESS")?;
        let address = address.parse().map_err(|_| format!("`{address}` is not an IP address"))?;
        Ok(LocalLink { interface: interface.to_owned(), address })
    }
}

/// What the client does.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum Workload {
    /// One stream of so many bytes from the server.
    Bulk {
        /// Length of the stream.
        #[arg(long, default_value_t = 1 << 30)]
        bytes: u64,
    },
    /// Small requests on one connection, one after the other, a stream each.
    Requests {
        /// How many.
        #[arg(long, default_value_t = 1000)]
        count: u64,
        /// Bytes of each answer.
        #[arg(long, default_value_t = 1024)]
        bytes: u64,
    },
    /// Full handshakes, each followed by one request of one byte, so that both ends are known to have finished.
    Handshakes {
        /// For how long.
        #[arg(long, default_value_t = 3.0)]
        seconds: f64,
        /// How many at a time.
        #[arg(long, default_value_t = 8)]
        concurrency: usize,
    },
}

/// Cryptography under TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Provider {
    /// AWS-LC.
    AwsLcRs,
    /// *ring*.
    Ring,
}
