//! What the programs are told. Names are those of the programs for the other stacks.

use std::net::{AddrParseError, IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::Error;

/// Files over HTTP/0.9 with a QUIC stack that is not Hawser.
#[derive(Parser)]
pub(crate) struct Options {
    /// Which stack
    pub(crate) stack: StackName,
    #[command(subcommand)]
    pub(crate) role: Role,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum StackName {
    Quinn,
    Noq,
    S2nQuic,
}

#[derive(Subcommand)]
pub(crate) enum Role {
    /// Serve the files of a folder
    Serve(Serve),
    /// Fetch files, all at once
    Get(Get),
}

#[derive(Args)]
pub(crate) struct Serve {
    /// Certificate chain (PEM)
    #[arg(long)]
    pub(crate) cert: PathBuf,
    /// Private key (PEM)
    #[arg(long)]
    pub(crate) key: PathBuf,
    /// ADDRESS:PORT to listen on
    #[arg(long, default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Validate every address with Retry
    #[arg(long)]
    pub(crate) retry: bool,
    /// Take 0-RTT
    #[arg(long)]
    pub(crate) early: bool,
    /// Ask clients to go on at this address, at which the socket hears them, too
    #[arg(long)]
    pub(crate) preferred_address: Option<SocketAddr>,
    /// Let clients have more than one path
    #[arg(long)]
    pub(crate) multipath: bool,
    /// The folder
    pub(crate) folder: PathBuf,
}

#[derive(Args)]
pub(crate) struct Get {
    /// Certificate authority (PEM)
    #[arg(long)]
    pub(crate) ca: PathBuf,
    /// Address to send from
    #[arg(long, default_value = "127.0.0.1")]
    pub(crate) local: IpAddr,
    /// Open another path from this address, to the same server or to another address of it; repeat it for more
    #[arg(long, value_name = "LOCAL[@ADDRESS:PORT]")]
    pub(crate) path: Vec<OtherPath>,
    /// Offer only ChaCha20-Poly1305
    #[arg(long)]
    pub(crate) chacha20: bool,
    /// Come twice, the second time with 0-RTT if the ticket allows it
    #[arg(long)]
    pub(crate) early: bool,
    /// Update the keys with every MiB received
    #[arg(long)]
    pub(crate) update_keys: bool,
    /// Change to another UDP socket after the first MiB
    #[arg(long)]
    pub(crate) migrate: bool,
    /// https://ADDRESS:PORT/NAME, all of one server
    #[arg(required = true)]
    pub(crate) urls: Vec<Url>,
}

/// A path besides the one of the handshake.
#[derive(Clone, Copy)]
pub(crate) struct OtherPath {
    pub(crate) local: IpAddr,
    pub(crate) server: Option<SocketAddr>,
}

impl std::str::FromStr for OtherPath {
    type Err = AddrParseError;

    fn from_str(text: &str) -> Result<Self, AddrParseError> {
        let (local, server) = match text.split_once('@') {
            Some((local, server)) => (local, Some(server.parse()?)),
            None => (text, None),
        };
        Ok(OtherPath { local: local.parse()?, server })
    }
}

/// Where a file is. Hosts are addresses: there is nobody who resolves names.
#[derive(Clone)]
pub(crate) struct Url {
    pub(crate) text: String,
    pub(crate) server: SocketAddr,
    pub(crate) path: String,
}

impl std::str::FromStr for Url {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parts = text.strip_prefix("https://").and_then(|rest| rest.split_once('/'));
        let (authority, path) = parts.ok_or("expected https://ADDRESS:PORT/NAME")?;
        let server = authority.parse().map_err(|_| format!("{authority}: expected ADDRESS:PORT"))?;
        Ok(Url { text: text.to_owned(), server, path: format!("/{path}") })
    }
}

impl Serve {
    /// Refuses what a stack cannot do.
    pub(crate) fn lacks(&self, stack: &str, what: &[(&str, bool)]) -> Result<(), Error> {
        refuse(stack, what)
    }
}

impl Get {
    /// Refuses what a stack cannot do.
    pub(crate) fn lacks(&self, stack: &str, what: &[(&str, bool)]) -> Result<(), Error> {
        refuse(stack, what)
    }

    /// The server of all URLs, and its name in the certificate.
    pub(crate) fn server(&self) -> Result<(SocketAddr, String), Error> {
        let mut servers = self.urls.iter().map(|url| url.server);
        let first = servers.next().ok_or("no URL")?;
        match servers.all(|server| server == first) {
            true => Ok((first, first.ip().to_string())),
            false => Err("the URLs are of more than one server".into()),
        }
    }
}

fn refuse(stack: &str, what: &[(&str, bool)]) -> Result<(), Error> {
    match what.iter().find(|(_, is_wanted)| *is_wanted) {
        Some((option, _)) => Err(format!("{stack} cannot do {option}").into()),
        None => Ok(()),
    }
}
