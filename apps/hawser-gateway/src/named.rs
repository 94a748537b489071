//! Names that both ends of a request know.

/// Who answers, in `Proxy-Status`.
pub(crate) const PROXY_NAME: &str = "hawser";
/// What a client asks first: whether its key is known, and what the gateway can do.
pub(crate) const HELLO_PATH: &str = "/.well-known/hawser-gateway";
/// The scheme of keys (RFC 6750).
pub(crate) const BEARER: &str = "Bearer";
