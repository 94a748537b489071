//! What a client remembers of a server's settings, and what it makes of a server that takes 0-RTT and says less (RFC 9114
//! section 7.2.4.2).

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h3::error::Code;
use hawser_net::{
    ClientConfig, Connection, ConnectionError, EarlyData, Endpoint, Identity, Links, MemorySessions,
    SendStream, ServerConfig, SessionStore, Trust,
};

/// A server that says of its settings what it is told to, and a client that comes back.
struct World {
    server: Endpoint,
    config: ClientConfig,
    store: Arc<dyn SessionStore>,
}

/// Both ends of a connection, and what they stand on.
struct Visit {
    client: Connection,
    server: Connection,
    // Lives as long as its connection.
    _control: SendStream,
    _endpoint: Endpoint,
}

/// MAX_FIELD_SECTION_SIZE of 200, and H3_DATAGRAM.
const SETTINGS: &[u8] = b"\x06\x40\xc8\x33\x01";

impl World {
    fn new() -> Self {
        World::of(&Identity::self_signed(&["localhost"]).unwrap(), true)
    }

    /// `early`: whether the server takes 0-RTT.
    fn of(identity: &Identity, early: bool) -> Self {
        let trust = Trust::Pins(vec![identity.pin().unwrap()]);
        let config = ServerConfig::builder(identity.clone()).alpn([hawser_h3::ALPN]).early_data(early);
        let server = Endpoint::server(config.build().unwrap(), "127.0.0.1:0".parse().unwrap()).unwrap();
        let store = Arc::new(MemorySessions::new()) as Arc<dyn SessionStore>;
        let config = ClientConfig::builder().trust(trust).alpn([hawser_h3::ALPN]);
        let config = config.early_data(true).sessions(store.clone()).build().unwrap();
        World { server, config, store }
    }

    fn key(&self) -> String {
        format!("localhost:{} v1 h3", self.server.listening()[0].port())
    }

    /// A connection on which the server says this.
    async fn visit(&self, settings: &[u8]) -> Visit {
        let endpoint = Endpoint::client(self.config.clone(), Links::All).unwrap();
        let addresses = [self.server.listening()[0]];
        let (client, server) =
            tokio::join!(endpoint.connect_early(&self.config, &addresses, "localhost"), async {
                self.server.accept().await.unwrap().accept().unwrap().into_early()
            });
        let client = client.unwrap();
        let http = hawser_h3::Connection::new(client.clone());
        let http = hawser_h3::client_builder().build::<_, _, Bytes>(http).await;
        let (mut driver, requests) = http.unwrap();
        tokio::spawn(async move {
            let _requests = requests;
            driver.wait_idle().await
        });
        let mut control = server.open_uni().await.unwrap();
        let frame = [&[0, 4, u8::try_from(settings.len()).unwrap()], settings].concat();
        control.write_all(&frame).await.unwrap();
        Visit { client, server, _control: control, _endpoint: endpoint }
    }

    /// What the client remembers.
    fn state(&self) -> Option<Vec<u8>> {
        self.store.application_state(&self.key())
    }

    /// The first visit: tickets, and these settings with them.
    async fn get_tickets(&self, settings: &[u8]) {
        let visit = self.visit(settings).await;
        assert_eq!(visit.client.early_data(), EarlyData::None);
        visit.client.confirmed().await.unwrap();
        eventually(|| self.state().is_some()).await;
        visit.client.close(Code::H3_NO_ERROR.value(), b"");
    }
}

/// Waits, but not indefinitely.
async fn eventually(mut is_so: impl FnMut() -> bool) {
    for _ in 0..4_000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("waited in vain");
}

//= rfc9114-7.2.4.2-5, rfc9114-7.2.4.2-11, rfc9114-7.2.4.2-12
#[tokio::test]
async fn a_server_that_takes_0_rtt_may_not_fall_behind_its_settings() {
    let more = b"\x06\x41\x00\x33\x01".as_slice();
    let cases: [(&[u8], Option<Code>); 4] = [
        (SETTINGS, None),
        (more, None),
        // Lower, and left out.
        (b"\x06\x40\xc7\x33\x01", Some(Code::H3_SETTINGS_ERROR)),
        (b"\x06\x40\xc8", Some(Code::H3_SETTINGS_ERROR)),
    ];
    for (settings, expected) in cases {
        let world = World::new();
        world.get_tickets(SETTINGS).await;
        let before = world.state();
        let Visit { client, server, .. } = &world.visit(settings).await;
        assert_eq!(hawser_h3::early_field_section_limit(client), Some(200));
        assert!(client.early_data_accepted().await.unwrap());
        match expected {
            Some(expected) => match server.closed().await {
                ConnectionError::PeerApplication { code, .. } => assert_eq!(code, expected.value()),
                other => panic!("{other:?}"),
            },
            None => {
                client.confirmed().await.unwrap();
                // What is remembered now is what was said last.
                eventually(|| settings == SETTINGS || world.state() != before).await;
                assert_eq!(client.close_reason(), None);
            }
        }
    }
}

/// A server that does not take it owes nothing.
#[tokio::test]
async fn settings_may_change_where_0_rtt_was_not_taken() {
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let [world, other] = [true, false].map(|early| World::of(&identity, early));
    world.get_tickets(SETTINGS).await;
    // As if the server had been restarted, without 0-RTT.
    other.store.put_application_state(&other.key(), world.state().unwrap());
    other.store.put_ticket(&other.key(), world.store.take_ticket(&world.key()).unwrap());
    let visit = other.visit(b"\x06\x10").await;
    assert_eq!(hawser_h3::early_field_section_limit(&visit.client), Some(200));
    assert!(!visit.client.early_data_accepted().await.unwrap());
    eventually(|| other.state() != world.state()).await;
    assert_eq!(visit.client.close_reason(), None);
}
