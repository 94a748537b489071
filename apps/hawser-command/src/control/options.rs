//! `--control`: where a command that runs for long can be looked at and steered.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use clap::Args;
use hawser_status::Hub;
use hawser_status::control::ControlSocket;
use hawser_status::web::WebServer;

use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::options::listen_address;
use crate::output::Output;

/// Where the control socket is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// Nowhere.
    None,
    /// Here.
    Path(PathBuf),
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" => Err("expected a path, or none".to_owned()),
            "none" => Ok(Place::None),
            path => Ok(Place::Path(PathBuf::from(path))),
        }
    }
}

/// How a command can be looked at while it runs.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Status")]
pub struct ControlOptions {
    /// Unix socket at which `hawser ctl` and `hawser top` find this command; for its owner only. Default: one in hawser in
    /// $XDG_RUNTIME_DIR, or in /run/hawser
    #[arg(long, value_name = "PATH|none", env = "HAWSER_CONTROL")]
    control: Option<Place>,
    /// Show links, connections and events on a web page at this TCP address, and metrics (OpenMetrics) at
    /// /metrics. Default: no page
    ///
    /// The address of the page has a token and is printed
    #[arg(long = "status-http", visible_alias = "http", value_name = "ADDR:PORT", value_parser = listen_address)]
    http: Option<SocketAddr>,
}

/// The same for commands that have other HTTP addresses as well.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Status")]
pub struct LiveControlOptions {
    /// Unix socket at which `hawser ctl` and `hawser top` find this command; for its owner only. Default: one in hawser in
    /// $XDG_RUNTIME_DIR, or in /run/hawser
    #[arg(long, value_name = "PATH|none", env = "HAWSER_CONTROL")]
    control: Option<Place>,
    /// Show links, connections and events on a web page at this TCP address, and metrics (OpenMetrics) at
    /// /metrics. Default: no page
    ///
    /// The address of the page has a token and is printed
    #[arg(long, value_name = "ADDR:PORT", value_parser = listen_address)]
    status_http: Option<SocketAddr>,
}

impl From<LiveControlOptions> for ControlOptions {
    fn from(options: LiveControlOptions) -> Self {
        ControlOptions { control: options.control, http: options.status_http }
    }
}

/// What shows a command while it runs; that ends when this is dropped.
pub struct Control {
    hub: Hub,
    _socket: Option<ControlSocket>,
    _web: Option<WebServer>,
}

impl Control {
    /// The same for those who keep it.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }
}

impl std::ops::Deref for Control {
    type Target = Hub;

    fn deref(&self) -> &Hub {
        &self.hub
    }
}

impl ControlOptions {
    /// Opens what they say. Endpoints of the command are then to be [attached](Hub::attach). The interrupt that comes back is raised
    /// with this one, and when somebody orders the command to stop. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// When a socket that was named cannot be opened.
    pub async fn start(
        &self,
        command: &str,
        interrupt: &Interrupt,
        output: Output,
    ) -> Result<(Control, Interrupt), Failure> {
        let (drain, interrupt) = interrupt.child();
        let hub = Hub::new(command, Box::new(drain));
        let socket = match &self.control {
            Some(Place::None) => None,
            Some(Place::Path(path)) => Some(
                ControlSocket::open(hub.clone(), path)
                    .map_err(|error| Failure::new(Exit::CannotListen, error.to_string()))?,
            ),
            // What nobody asked for by name is no reason to end.
            None => match ControlSocket::open_default(hub.clone()) {
                Ok(socket) => Some(socket),
                Err(error) => {
                    output.remark(format_args!("hawser ctl cannot reach this command: {error}"));
                    None
                }
            },
        };
        if let Some(socket) = &socket {
            tracing::info!("control socket: {}", socket.path().display());
        }
        let web = match self.http {
            Some(address) => Some(open_page(&hub, address, output).await?),
            None => None,
        };
        Ok((Control { hub, _socket: socket, _web: web }, interrupt))
    }
}

async fn open_page(hub: &Hub, address: SocketAddr, output: Output) -> Result<WebServer, Failure> {
    let opened = WebServer::open(hub.clone(), address).await;
    let page = opened.map_err(|error| {
        Failure::new(Exit::CannotListen, format!("cannot listen on TCP {address}: {error}"))
    })?;
    let url = page.url();
    output.remark(format_args!("status page: {url}  metrics: {}", page.metrics_url()));
    hub.add(Arc::new(move |status| status.page = Some(url.clone())));
    if !address.ip().is_loopback() {
        output.remark("warning: the page is not encrypted, and others than this machine reach that address");
    }
    Ok(page)
}
