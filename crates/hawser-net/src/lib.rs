//! Tokio driver: sockets, interfaces and the asynchronous API.

mod clock;
mod config;
mod error;
mod identity;
mod interfaces;
mod links;
mod path_manager;
mod pin;
mod receive_buffers;
mod socket;
mod trust;

pub use config::{
    ClientConfig, ClientConfigBuilder, ServerConfig, ServerConfigBuilder, default_transport, policies,
};
pub use error::{ConfigError, ConnectError, EndpointError};
pub use identity::{Identity, IdentityError};
pub use interfaces::{Interface, Interfaces, watch_interfaces};
pub use links::{InvalidSelector, LinkSelector, Links, PathSpec};
pub use path_manager::{FullMesh, PathManagerFactory, PathManagerInit};
pub use pin::{InvalidPin, Pin};
pub use trust::{CertificateProblem, Trust};
