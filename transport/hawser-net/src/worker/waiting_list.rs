use std::collections::VecDeque;

use hawser_core::{Endpoint, Incoming};

/// Clients that the application has not asked for yet, the first to come first.
///
/// The core bounds how many wait and for how long. Those whose time is over leave the list, too, so that it is bounded
/// even if the application never asks.
#[derive(Debug, Default)]
pub(super) struct WaitingList(VecDeque<Incoming>);

impl WaitingList {
    /// Adds one that `core` has just reported.
    pub(super) fn push(&mut self, core: &Endpoint, incoming: Incoming) {
        while self.0.front().is_some_and(|first| !core.is_pending(first)) {
            self.0.pop_front();
        }
        self.0.push_back(incoming);
    }

    pub(super) fn pop(&mut self) -> Option<Incoming> {
        self.0.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hawser_core::{Datagram, EndpointConfig, FourTuple, Routed};
    use hawser_policy::Time;

    use super::*;
    use crate::{ClientConfig, Identity, ServerConfig, Trust};

    fn endpoint(server: Option<Arc<hawser_core::ServerConfig>>) -> Endpoint {
        Endpoint::new(Arc::new(EndpointConfig::new([1; 32])), server, [2; 32])
    }

    #[test]
    fn who_waits_for_too_long_leaves_the_list() {
        let identity = Identity::self_signed(&["localhost"]).unwrap();
        let server = ServerConfig::builder(identity).build().unwrap();
        let config = ClientConfig::builder().trust(Trust::Insecure).build().unwrap();
        let (mut core, mut clients) = (endpoint(Some(server.core.clone())), endpoint(None));
        let here: std::net::SocketAddr = "192.0.2.1:443".parse().unwrap();
        let mut list = WaitingList::default();
        for second in 0..60 {
            let now = Time::from_secs(second);
            let tuple = FourTuple { local: "192.0.2.2:1000".parse().unwrap(), remote: here };
            let (_, mut client) = clients.connect(now, config.core.clone(), tuple, "localhost").unwrap();
            let mut buffer = Vec::new();
            let sent = client.poll_transmit(now, &mut buffer).unwrap();
            let payload = buffer[..sent.segment_size.unwrap_or(sent.size)].into();
            let tuple = FourTuple { local: here, remote: tuple.local };
            let datagram = Datagram { tuple, ecn: None, received_at: now, payload };
            match core.handle_datagram(now, datagram, &mut Vec::new()) {
                Some(Routed::Incoming(incoming)) => list.push(&core, incoming),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(list.0.len() as u64, Incoming::LIFETIME.as_secs());
    }
}
