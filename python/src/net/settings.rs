//! What Python says of an endpoint, as the transport takes it.

use std::path::PathBuf;
use std::time::Duration;

use hawser::policy::PathStatus;
use hawser::{
    ClientConfig, Composition, Identity, Links, PathSpec, Pin, PolicySpec, ServerConfig, TransportConfig,
    Trust, default_transport,
};
use pyo3::prelude::*;

use super::trouble;
use crate::own::Own;
use crate::trouble::Trouble;
use crate::{policies, wrong};

/// Settings of both kinds of endpoints.
#[derive(FromPyObject)]
pub(super) struct Common {
    alpn: Vec<String>,
    /// Policies by kind.
    chosen: Vec<(String, String)>,
    own: Own,
    /// Seconds.
    idle_timeout: f64,
    /// Seconds.
    keep_alive: Option<f64>,
    /// A folder.
    qlog: Option<PathBuf>,
}

/// Whom a client believes, and over which links it connects.
#[derive(FromPyObject)]
pub(super) struct Client {
    pins: Vec<String>,
    /// A file in PEM form.
    authorities: Option<PathBuf>,
    /// Each with whether it is for when no other works. `None`: all links.
    links: Option<Vec<(String, bool)>>,
    /// Seconds.
    handshake_timeout: f64,
}

/// Where a server's identity comes from: files, a folder, or a fresh one for these names.
#[derive(FromPyObject)]
pub(super) struct Server {
    files: Option<(PathBuf, PathBuf)>,
    folder: Option<PathBuf>,
    names: Vec<String>,
}

impl Common {
    /// How the transport behaves.
    fn transport(self, trouble: &Trouble) -> PyResult<TransportConfig> {
        let mut transport = default_transport();
        let registry = self.own.registry(policies::registry(), trouble)?;
        let mut composition = Composition::default();
        for (kind, text) in &self.chosen {
            let spec: PolicySpec = text.parse().map_err(wrong)?;
            let known = policies::kind(kind)?;
            registry.check(known, &spec).map_err(|error| wrong(format!("{kind}: {error}")))?;
            composition.set(known, spec);
        }
        if composition != Composition::default() {
            transport.policies = registry.set(&composition).map_err(wrong)?;
        }
        transport.max_idle_timeout = Some(seconds("idle_timeout", self.idle_timeout)?);
        if let Some(interval) = self.keep_alive {
            transport.keep_alive_interval = Some(seconds("keep_alive", interval)?);
        }
        Ok(transport)
    }
}

/// A time that a person would wait for.
fn seconds(name: &str, value: f64) -> PyResult<Duration> {
    if (0.001..=86_400.0).contains(&value) {
        return Ok(Duration::from_secs_f64(value));
    }
    Err(wrong(format!("{name}: expected 0.001 to 86400 seconds, found {value}")))
}

fn check_protocols(protocols: &[String]) -> PyResult<()> {
    if protocols.is_empty() || protocols.len() > 64 {
        return Err(wrong(format!("alpn: expected 1 to 64 protocols, found {}", protocols.len())));
    }
    match protocols.iter().find(|name| !(1..=255).contains(&name.len())) {
        Some(name) => Err(wrong(format!("alpn: expected names of 1 to 255 bytes, found {name:?}"))),
        None => Ok(()),
    }
}

/// A client's configuration and links.
pub(super) fn client(common: Common, client: Client, trouble: &Trouble) -> PyResult<(ClientConfig, Links)> {
    check_protocols(&common.alpn)?;
    let pins =
        client.pins.iter().map(|pin| pin.parse::<Pin>().map_err(|error| wrong(format!("pin: {error}"))));
    let pins = pins.collect::<PyResult<Vec<Pin>>>()?;
    let trust = match client.authorities {
        Some(file) => Trust::authorities_from_file(&file).map_err(trouble::identity)?,
        None if pins.is_empty() => Trust::default(),
        None => Trust::Pins(pins),
    };
    let links = match client.links {
        None => Links::All,
        Some(wanted) => Links::Only(wanted.iter().map(link).collect::<PyResult<Vec<PathSpec>>>()?),
    };
    let mut builder = ClientConfig::builder().trust(trust).alpn(&common.alpn);
    builder = builder.handshake_timeout(seconds("handshake_timeout", client.handshake_timeout)?);
    if let Some(folder) = &common.qlog {
        builder = builder.qlog_directory(folder);
    }
    let config = builder.transport(common.transport(trouble)?).build().map_err(trouble::config)?;
    Ok((config, links))
}

fn link((name, backup): &(String, bool)) -> PyResult<PathSpec> {
    let selector = name.parse().map_err(|error| wrong(format!("links: {error}")))?;
    let status = if *backup { PathStatus::Backup } else { PathStatus::Available };
    Ok(PathSpec::new(selector, status))
}

/// A server's configuration, and the pin of its key.
pub(super) fn server(common: Common, server: Server, trouble: &Trouble) -> PyResult<(ServerConfig, Pin)> {
    check_protocols(&common.alpn)?;
    let names: Vec<&str> = server.names.iter().map(String::as_str).collect();
    let identity = match (&server.files, &server.folder) {
        (Some((certificates, key)), _) => Identity::from_pem_files(certificates, key),
        (None, Some(folder)) => Identity::load_or_create(folder, &names),
        (None, None) => Identity::self_signed(&names),
    };
    let identity = identity.map_err(trouble::identity)?;
    let pin = identity.pin().map_err(trouble::identity)?;
    let mut builder = ServerConfig::builder(identity).alpn(&common.alpn);
    if let Some(folder) = &common.qlog {
        builder = builder.qlog_directory(folder);
    }
    let config = builder.transport(common.transport(trouble)?).build().map_err(trouble::config)?;
    Ok((config, pin))
}
