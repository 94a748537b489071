//! HTTP/3 over Hawser connections.
