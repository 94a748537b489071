//! Endpoints: where connections begin.

use std::ffi::c_char;
use std::net::SocketAddr;

use hawser::{Endpoint, Established, Pin};

use crate::config::HawserConfig;
use crate::connection::HawserConnection;
use crate::engine::Engine;
use crate::pointer::{data, free, give, handle, put_text, text};
use crate::result::{Failure, HawserResult, checked, guard};

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
    clients: Established,
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
        let (bound, clients) = {
            let _inside = engine.runtime().enter();
            let bound = Endpoint::server(config, address).map_err(bind_error)?;
            let clients = bound.established();
            (bound, clients)
        };
        let server = Some(Server { pin, clients });
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
        let clients = &server_of(endpoint)?.clients;
        let next = async {
            loop {
                match clients.next().await {
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
