use std::time::Duration;

use crate::{ClientConfig, ConnectError, Endpoint, Identity, Links, ServerConfig, Trust};

const ALPN: &[u8] = b"test";

fn server() -> Endpoint {
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let config = ServerConfig::builder(identity).alpn([ALPN]).build().unwrap();
    Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap()
}

/// A client that gives a server this long to prove an ICMP error wrong.
fn client(patience: Duration) -> Endpoint {
    let mut config = ClientConfig::builder().trust(Trust::Insecure).alpn([ALPN]).build().unwrap();
    config.refusal_patience = patience;
    Endpoint::client(config, Links::All).unwrap()
}

#[tokio::test]
async fn a_forged_refusal_does_not_end_a_handshake() {
    let (server, client) = (server(), client(Duration::from_secs(60)));
    let address = server.listening()[0];
    let connecting = tokio::spawn({
        let client = client.clone();
        async move { client.connect(address, "localhost").await }
    });
    // The server has heard of the client and has not answered: somebody else does.
    let incoming = server.accept().await.unwrap();
    client.forge_refusal(incoming.remote_address(), address.ip());
    let accepting = tokio::spawn(async move { incoming.await });
    connecting.await.unwrap().unwrap();
    accepting.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_refusal_that_nobody_contradicts_is_believed() {
    let client = client(Duration::from_millis(1));
    let unused = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = client.connect(unused, "localhost").await.unwrap_err();
    assert!(matches!(error, ConnectError::Refused { remote } if remote == unused), "{error}");
}
