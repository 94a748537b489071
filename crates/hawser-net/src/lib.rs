//! Tokio driver: sockets, interfaces and the asynchronous API.
