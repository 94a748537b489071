//! Where connections begin.

use std::net::SocketAddr;

use hawser::{ClientConfig, Established, Links, Pin};
use pyo3::prelude::*;
use pyo3_async_runtimes::tokio::{future_into_py, get_runtime};
use tokio::task::AbortHandle;

use super::settings::{self, Client, Common, Server};
use super::{Connection, Held, checked_code, quietly, trouble};
use crate::trouble::{Stop, Trouble};
use crate::wrong;

/// Opens connections, or accepts them.
#[pyclass(module = "hawser._native", frozen, weakref)]
pub(crate) struct Endpoint {
    endpoint: Held<hawser::Endpoint>,
    /// How a client connects.
    config: Option<ClientConfig>,
    /// Connections whose handshake is complete, of a server.
    clients: Option<Established>,
    pin: Option<Pin>,
    /// What a policy in Python raised.
    trouble: Trouble,
    _watching: Watching,
}

/// Ends when its endpoint is dropped.
struct Watching(AbortHandle);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Closes an endpoint when a policy in Python fails, which would otherwise be silence.
fn watch(endpoint: &hawser::Endpoint, policies: Trouble) -> Watching {
    let endpoint = endpoint.downgrade();
    let watching = async move {
        policies.noted().await;
        if let Some(endpoint) = endpoint.upgrade() {
            endpoint.close(0, b"a policy failed");
        }
    };
    Watching(get_runtime().spawn(watching).abort_handle())
}

#[pymethods]
impl Endpoint {
    /// One that connects.
    ///
    /// # Errors
    /// `ValueError` for settings that make no sense; `OSError` for files.
    #[staticmethod]
    fn client(py: Python<'_>, common: Common, client: Client) -> PyResult<Self> {
        let trouble = Trouble::default();
        let (config, links) = settings::client(common, client, &trouble)?;
        if links == Links::Only(Vec::new()) {
            return Err(wrong("links: expected one or more, or None for all links of this machine"));
        }
        let endpoint = py.detach(|| {
            let _inside = get_runtime().enter();
            hawser::Endpoint::client(config.clone(), links).map_err(trouble::endpoint)
        })?;
        let _watching = watch(&endpoint, trouble.clone());
        let endpoint = Held::new(endpoint);
        Ok(Endpoint { endpoint, config: Some(config), clients: None, pin: None, trouble, _watching })
    }

    /// One that accepts at this address.
    ///
    /// # Errors
    /// As [`client`](Endpoint::client); `OSError` if nobody can listen there.
    #[staticmethod]
    fn server(py: Python<'_>, common: Common, server: Server, address: &str) -> PyResult<Self> {
        let address = parse(address)?;
        let trouble = Trouble::default();
        let (config, pin) = settings::server(common, server, &trouble)?;
        let (endpoint, clients) = py.detach(|| {
            let _inside = get_runtime().enter();
            let endpoint = hawser::Endpoint::server(config, address).map_err(trouble::endpoint)?;
            let clients = endpoint.established();
            Ok::<_, PyErr>((endpoint, clients))
        })?;
        let _watching = watch(&endpoint, trouble.clone());
        Ok(Endpoint {
            endpoint: Held::new(endpoint),
            config: None,
            clients: Some(clients),
            pin: Some(pin),
            trouble,
            _watching,
        })
    }

    /// Awaits a connection to whichever of these addresses answers first.
    ///
    /// # Errors
    /// `ConnectionError`, `TimeoutError`, `OSError`, `ValueError` for an invalid name.
    fn connect<'py>(
        &self,
        py: Python<'py>,
        addresses: Vec<String>,
        name: String,
    ) -> PyResult<Bound<'py, PyAny>> {
        let addresses = addresses.iter().map(|text| parse(text)).collect::<PyResult<Vec<SocketAddr>>>()?;
        let config = self.config.clone().ok_or_else(|| wrong("a server's endpoint does not connect"))?;
        let (endpoint, policies) = (self.endpoint.get()?, self.trouble.clone());
        future_into_py(py, async move {
            tokio::select! {
                connected = endpoint.connect_with(&config, &addresses, &name) => {
                    Ok(Connection::new(connected.map_err(trouble::connect)?, policies))
                }
                () = policies.noted() => {
                    Err(policies.take().unwrap_or_else(|| trouble::closed("a policy of this endpoint failed before")))
                }
            }
        })
    }

    /// Awaits the next client whose handshake is complete; `None` once the endpoint is closed.
    fn accept<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let clients = self.clients.as_ref().ok_or_else(|| wrong("a client's endpoint accepts nobody"))?;
        let next = clients.next();
        let trouble = self.trouble.clone();
        future_into_py(
            py,
            async move { Ok(next.await.map(|connection| Connection::new(connection, trouble))) },
        )
    }

    /// Where connections are accepted, with real ports.
    #[getter]
    fn addresses(&self) -> PyResult<Vec<(String, u16)>> {
        let endpoint = self.endpoint.get()?;
        Ok(endpoint.listening().iter().map(|at| (at.ip().to_string(), at.port())).collect())
    }

    /// What clients need to know of a server's key; `None` for clients.
    #[getter]
    fn pin(&self) -> Option<String> {
        self.pin.as_ref().map(ToString::to_string)
    }

    /// Ends what policies in Python do: from now on they only wait.
    #[getter]
    fn stop(&self) -> Stop {
        self.trouble.stop()
    }

    /// Closes all connections.
    ///
    /// # Errors
    /// `ValueError`: no such code.
    fn close(&self, code: u64, reason: &str) -> PyResult<()> {
        let (code, endpoint) = (checked_code(code)?, self.endpoint.get()?);
        quietly(|| endpoint.close(code, reason.as_bytes()));
        Ok(())
    }

    /// Awaits that no connection has anything to say any more.
    fn wait_idle<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let endpoint = self.endpoint.get()?;
        future_into_py(py, async move {
            endpoint.wait_idle().await;
            Ok(())
        })
    }
}

fn parse(address: &str) -> PyResult<SocketAddr> {
    address.parse().map_err(|_| {
        wrong(format!("{address:?} is no address with a port, such as 192.0.2.1:4433 or [::1]:4433"))
    })
}
