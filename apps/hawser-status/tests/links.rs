//! What links carried, over connections that ended too.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use hawser_net::{ClientConfig, Endpoint, Identity, Links, PathSpec, ServerConfig, Trust};
use hawser_status::Hub;

#[tokio::test(flavor = "multi_thread")]
async fn bytes_of_a_link_include_connections_that_came_and_went_unseen() {
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let pin = identity.pin().unwrap();
    let config = ServerConfig::builder(identity).alpn(["test"]).build().unwrap();
    let server = Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    let accepting = server.clone();
    tokio::spawn(async move {
        while let Some(incoming) = accepting.accept().await {
            let connection = incoming.await.unwrap();
            let mut receive = connection.accept_uni().await.unwrap();
            while let Ok(Some(_)) = receive.read_chunk(1 << 20).await {}
            connection.close(0_u32.into(), b"");
        }
    });
    let config = ClientConfig::builder().trust(Trust::Pins(vec![pin])).alpn(["test"]).build().unwrap();
    let links = Links::Only(vec![PathSpec::available("127.0.0.1".parse().unwrap())]);
    let client = Endpoint::client(config, links).unwrap();
    let hub = Hub::new("test", Box::new(|| {}));
    hub.attach(&client);
    for _ in 0..2 {
        let connection = client.connect(server.listening()[0], "localhost").await.unwrap();
        let mut send = connection.open_uni().await.unwrap();
        send.write_all(&[7; 100_000]).await.unwrap();
        send.finish().unwrap();
        connection.closed().await;
    }
    tokio::time::timeout(Duration::from_secs(20), client.wait_idle()).await.unwrap();
    let status = hub.look(Duration::ZERO);
    let link = status.links.iter().find(|link| link.name == "127.0.0.1").unwrap();
    assert!(link.bytes_sent >= 200_000, "{link:?}");
    assert_eq!(
        (link.bytes_sent, link.bytes_received),
        (status.totals.bytes_sent, status.totals.bytes_received)
    );
}
