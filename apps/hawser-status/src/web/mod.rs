//! A page that shows the status in a browser, and metrics, over HTTP/1 on an address of this machine.
//!
//! The page's address has a token, without which nothing but metrics is to be had. The page takes nothing from elsewhere, and shows
//! the text of peers as text. Requests whose `Host` is another name than this machine's are refused: a page of a stranger could
//! have had its name lead here.

mod stream;

use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use subtle::ConstantTimeEq;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::classic;
use crate::hub::Hub;
use crate::local_http::{Request, read_request, respond_under};
use crate::metrics;

/// Requests at the same time, open pages included; further ones wait.
const MAX_REQUESTS: usize = 64;
/// Pages that are told what happens, at the same time: however many are open, requests for metrics find a place.
const MAX_STREAMS: usize = 32;
/// What browsers may do with the page: its own files, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const PAGE: &str = include_str!("page.html");
const SCRIPT: &str = include_str!("page.js");
const CHARTS: &str = include_str!("charts.js");
const STYLE: &str = include_str!("page.css");
/// uPlot, with which the page draws; empty in a build before which it was not fetched.
const PLOT: &str = include_str!(concat!(env!("OUT_DIR"), "/plot.js"));
const PLOT_STYLE: &str = include_str!(concat!(env!("OUT_DIR"), "/plot.css"));

/// Whether the page has charts: whether uPlot was there when this was built.
pub const HAS_CHARTS: bool = !PLOT.is_empty();

/// A server of the page; it ends when this is dropped.
#[derive(Debug)]
pub struct WebServer {
    address: SocketAddr,
    token: String,
    task: JoinHandle<()>,
}

impl WebServer {
    /// Serves the hub's status at this address. An hour of history is kept from now on. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// When nobody can listen there.
    pub async fn open(hub: Hub, address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let token = token();
        hub.keep_history();
        let task = tokio::spawn(accept(hub, listener, token.clone().into()));
        Ok(WebServer { address, token, task })
    }

    /// The address of the page, token included.
    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.address, self.token)
    }

    /// The address of the metrics.
    pub fn metrics_url(&self) -> String {
        format!("http://{}/metrics", self.address)
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// 128 random bits.
fn token() -> String {
    let mut text = String::new();
    for byte in rand::random::<[u8; 16]>() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

async fn accept(hub: Hub, listener: TcpListener, token: Arc<str>) {
    let places = Arc::new(Semaphore::new(MAX_REQUESTS));
    let streams = Arc::new(Semaphore::new(MAX_STREAMS));
    loop {
        let Ok(permit) = places.clone().acquire_owned().await else { return };
        let mut stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::debug!(%error, "a request for the status page was not accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let (hub, token, streams) = (hub.clone(), token.clone(), streams.clone());
        tokio::spawn(async move {
            if let Err(error) = answer(&hub, &mut stream, &token, &streams).await {
                tracing::debug!(%error, "a request for the status page has ended");
            }
            drop(permit);
        });
    }
}

async fn answer(hub: &Hub, stream: &mut TcpStream, token: &str, streams: &Semaphore) -> io::Result<()> {
    const TEXT: &str = "text/plain; charset=utf-8";
    let request = read_request(stream).await?;
    if !request.is_for_this_machine() {
        let body = b"this page is asked for by an address of this machine, or by localhost\n";
        return respond_under(stream, "421 Misdirected Request", TEXT, POLICY, body).await;
    }
    if request.method != "GET" {
        return respond_under(stream, "405 Method Not Allowed", TEXT, POLICY, b"only GET\n").await;
    }
    if request.path == "/metrics" {
        let status = hub.settled().await;
        let (kind, text) = if request.accepts("application/openmetrics-text") {
            (metrics::MEDIA_TYPE, metrics::text(status))
        } else {
            (classic::MEDIA_TYPE, metrics::classic_text(status))
        };
        let text = text.map_err(io::Error::other)?;
        return respond_under(stream, "200 OK", kind, POLICY, text.as_bytes()).await;
    }
    let Some(page) = page_of(&request, token) else {
        let body = b"the address of the page has a token, which the program printed\n";
        return respond_under(stream, "404 Not Found", TEXT, POLICY, body).await;
    };
    let (kind, body) = match page {
        "/" => ("text/html; charset=utf-8", PAGE.to_owned()),
        "/page.js" => ("text/javascript; charset=utf-8", SCRIPT.to_owned()),
        "/charts.js" => ("text/javascript; charset=utf-8", CHARTS.to_owned()),
        "/page.css" => ("text/css; charset=utf-8", STYLE.to_owned()),
        "/plot.js" => ("text/javascript; charset=utf-8", PLOT.to_owned()),
        "/plot.css" => ("text/css; charset=utf-8", PLOT_STYLE.to_owned()),
        "/status" => ("application/json", serde_json::to_string(&*hub.settled().await)?),
        "/history" => ("application/json", serde_json::to_string(&hub.history())?),
        "/stream" => match streams.try_acquire() {
            Ok(_place) => return stream::send(hub, stream, POLICY).await,
            Err(_) => {
                let body = b"too many pages are open\n";
                return respond_under(stream, "503 Service Unavailable", TEXT, POLICY, body).await;
            }
        },
        _ => return respond_under(stream, "404 Not Found", TEXT, POLICY, b"nothing is here\n").await,
    };
    respond_under(stream, "200 OK", kind, POLICY, body.as_bytes()).await
}

/// What is asked for behind the token; `None` without it.
fn page_of<'a>(request: &'a Request, token: &str) -> Option<&'a str> {
    let path = request.path.strip_prefix('/')?;
    let given = path.get(..token.len())?;
    // How long that takes says nothing of the token.
    let is_right: bool = given.as_bytes().ct_eq(token.as_bytes()).into();
    path.get(token.len()..).filter(|rest| is_right && rest.starts_with('/'))
}
