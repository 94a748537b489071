//! What an application protocol asks of the transport.

use hawser::TransportConfig;

/// An application protocol on top of the transport. Each application hands over its own; the options of commands know none of
/// them.
#[derive(Clone, Copy)]
pub struct Profile<'a> {
    /// Name in the TLS handshake (ALPN).
    pub alpn: &'static [u8],
    /// Congestion controller where neither options nor environment bring one; `None`: the registry's default.
    pub controller: Option<&'static str>,
    /// Changes the defaults of the transport to what the application needs.
    pub tune: &'a (dyn Fn(&mut TransportConfig) + Sync),
}

impl Profile<'static> {
    /// Returns the profile of a protocol that uses streams only: datagrams that nobody reads would fill their buffer, and each
    /// extension that is offered can be attacked.
    pub const fn of_streams(alpn: &'static [u8]) -> Self {
        Profile { alpn, controller: None, tune: &streams_only }
    }
}

/// Offers nothing but streams.
pub fn streams_only(transport: &mut TransportConfig) {
    transport.datagram_receive_buffer = None;
}

/// HTTP/3, by which files are served and fetched.
pub const HTTP: Profile<'static> = Profile::of_streams(hawser::h3::ALPN);
