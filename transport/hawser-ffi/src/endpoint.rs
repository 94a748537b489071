//! Endpoints: where connections begin.

use std::ffi::c_char;
use std::net::SocketAddr;
use std::sync::Arc;

use hawser::{Connection, Endpoint, Pin};
use tokio::sync::{Mutex, mpsc};
use tokio::task::{AbortHandle, JoinSet};

use crate::config::HawserConfig;
use crate::connection::HawserConnection;
use crate::engine::Engine;
use crate::pointer::{data, free, give, handle, put_text, text};
use crate::result::{Failure, HawserResult, checked, guard};

/// Handshakes with clients that go on at the same time; more wait in the endpoint.
const MAX_HANDSHAKES: usize = 256;
/// Connections that wait for `hawser_endpoint_accept`.
const MAX_WAITING: usize = 64;

/// Opens connections over the links of this host, or accepts them. It has one thread.
#[derive(Debug)]
pub struct HawserEndpoint {
    endpoint: Endpoint,
    server: Option<Server>,
    // The last: the others are dropped while there is a thread.
    engine: Engine,
}

#[derive(Debug)]
struct Server {
    pin: Pin,
    ready: Arc<Mutex<mpsc::Receiver<Connection>>>,
    taker: AbortHandle,
}

impl Drop for HawserEndpoint {
    fn drop(&mut self) {
        if let Some(server) = &self.server {
            server.taker.abort();
        }
    }
}

/// Shakes hands with clients, several at a time, until the endpoint is closed.
async fn take(endpoint: Endpoint, ready: mpsc::Sender<Connection>) {
    let mut handshakes = JoinSet::new();
    loop {
        tokio::select! {
            incoming = endpoint.accept(), if handshakes.len() < MAX_HANDSHAKES => {
                let Some(incoming) = incoming else { return };
                let ready = ready.clone();
                handshakes.spawn(async move {
                    // A client that races its links gives up all attempts but one.
                    if let Ok(connection) = incoming.await {
                        let _ = ready.send(connection).await;
                    }
                });
            }
            Some(_) = handshakes.join_next() => {}
        }
    }
}

fn bind_error(error: impl std::fmt::Display) -> Failure {
    Failure::new(HawserResult::Bind, error)
}

/// Makes an endpoint that connects, over the links of the settings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_endpoint_client(
    config: *const HawserConfig,
    endpoint: *mut *mut HawserEndpoint,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let (client, links) = unsafe { handle(config, "config")? }.client()?;
        let engine = Engine::start()?;
        let bound = {
            let _inside = engine.runtime().enter();
            Endpoint::client(client, links).map_err(bind_error)?
        };
        // SAFETY: the contract of the crate.
        unsafe { give(endpoint, HawserEndpoint { endpoint: bound, server: None, engine }) }
    })
}

/// Makes an endpoint that accepts connections at `address`: `[::]:4433` is every address of both families, port 0 a free one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_endpoint_server(
    config: *const HawserConfig,
    address: *const c_char,
    endpoint: *mut *mut HawserEndpoint,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let address = parse(unsafe { text(address, "address")? })?;
        // SAFETY: the contract of the crate.
        let (config, pin) = unsafe { handle(config, "config")? }.server()?;
        let engine = Engine::start()?;
        let bound = {
            let _inside = engine.runtime().enter();
            Endpoint::server(config, address).map_err(bind_error)?
        };
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        let taker = engine.runtime().spawn(take(bound.clone(), sender)).abort_handle();
        let server = Some(Server { pin, ready: Arc::new(Mutex::new(receiver)), taker });
        // SAFETY: the contract of the crate.
        unsafe { give(endpoint, HawserEndpoint { endpoint: bound, server, engine }) }
    })
}

fn parse(address: &str) -> Result<SocketAddr, Failure> {
    let wrong = |_| {
        Failure::argument(format_args!(
            "`{address}` is no address with a port, such as 192.0.2.1:4433 or [::1]:4433"
        ))
    };
    address.parse().map_err(wrong)
}

fn server_of(endpoint: &HawserEndpoint) -> Result<&Server, Failure> {
    endpoint.server.as_ref().ok_or_else(|| Failure::argument("the endpoint is not one of a server"))
}

/// Writes the address at which a server accepts connections, with its real port: at most 64 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_endpoint_address(
    endpoint: *const HawserEndpoint,
    buffer: *mut c_char,
    capacity: usize,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let endpoint = unsafe { handle(endpoint, "endpoint")? };
        server_of(endpoint)?;
        let address = endpoint.endpoint.listening().first().map(ToString::to_string).unwrap_or_default();
        // SAFETY: the contract of the crate.
        unsafe { put_text(&address, buffer, capacity) }
    })
}

/// Writes the pin of a server's key, which clients need to believe it: 45 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_endpoint_pin(
    endpoint: *const HawserEndpoint,
    buffer: *mut c_char,
    capacity: usize,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let server = server_of(unsafe { handle(endpoint, "endpoint")? })?;
        // SAFETY: the contract of the crate.
        unsafe { put_text(&server.pin.to_string(), buffer, capacity) }
    })
}

/// Connects to the server at `address` (`192.0.2.1:4433`), which must prove to be `name`, over all links of the endpoint.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_endpoint_connect(
    endpoint: *const HawserEndpoint,
    address: *const c_char,
    name: *const c_char,
    timeout_ms: i64,
    connection: *mut *mut HawserConnection,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let (endpoint, address) =
            unsafe { (handle(endpoint, "endpoint")?, parse(text(address, "address")?)?) };
        // SAFETY: the contract of the crate.
        let name = unsafe { text(name, "name")? };
        let Some(connected) = endpoint.engine.wait(timeout_ms, endpoint.endpoint.connect(address, name))
        else {
            return Ok(HawserResult::Timeout);
        };
        let connected = connected.map_err(|error| Failure::new(HawserResult::Connect, error))?;
        // SAFETY: the contract of the crate.
        unsafe { give(connection, HawserConnection::new(connected, endpoint.engine.clone())) }
    })
}

/// Waits for the next client whose handshake is complete. `HAWSER_RESULT_END`: the endpoint was closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_endpoint_accept(
    endpoint: *const HawserEndpoint,
    timeout_ms: i64,
    connection: *mut *mut HawserConnection,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let endpoint = unsafe { handle(endpoint, "endpoint")? };
        let ready = server_of(endpoint)?.ready.clone();
        let next = async {
            let mut ready = ready.lock().await;
            loop {
                match ready.recv().await {
                    Some(lost) if lost.close_reason().is_some() => {}
                    next => return next,
                }
            }
        };
        match endpoint.engine.wait(timeout_ms, next) {
            None => Ok(HawserResult::Timeout),
            Some(None) => Ok(HawserResult::End),
            // SAFETY: the contract of the crate.
            Some(Some(next)) => unsafe {
                give(connection, HawserConnection::new(next, endpoint.engine.clone()))
            },
        }
    })
}

/// Closes all connections with a code below 2^62 and a reason of `length` bytes, and takes no new ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_endpoint_close(
    endpoint: *const HawserEndpoint,
    code: u64,
    reason: *const u8,
    length: usize,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let (endpoint, reason) = unsafe { (handle(endpoint, "endpoint")?, data(reason, length)?) };
        endpoint.endpoint.close(checked(code)?, reason);
        Ok(HawserResult::Ok)
    })
}

/// Waits until the peers of connections that were closed know of it. Without that, a program that ends leaves them to their idle timeout.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_endpoint_wait_idle(
    endpoint: *const HawserEndpoint,
    timeout_ms: i64,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let endpoint = unsafe { handle(endpoint, "endpoint")? };
        let idle = endpoint.engine.wait(timeout_ms, endpoint.endpoint.wait_idle());
        Ok(if idle.is_some() { HawserResult::Ok } else { HawserResult::Timeout })
    })
}

/// Frees an endpoint. Its connections live on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_endpoint_free(endpoint: *mut HawserEndpoint) {
    // SAFETY: the contract of the crate.
    unsafe { free(endpoint) }
}
