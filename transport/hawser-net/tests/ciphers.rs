//! Cipher suites by choice.

use std::time::Duration;

use hawser_net::{Cipher, ClientConfig, Endpoint, Links, Trust};

use crate::common::*;

#[tokio::test]
async fn each_suite_works_alone() {
    let (server, pin) = server();
    serve(&server, echo);
    for cipher in Cipher::ALL {
        let config =
            ClientConfig::builder().trust(Trust::Pins(vec![pin])).alpn([ALPN]).cipher_suites([cipher]);
        let client = Endpoint::client(config.build().unwrap(), Links::All).unwrap();
        let connection = client.connect(address_of(&server), "localhost").await.unwrap();
        let (mut send, mut receive) = connection.open_bi().await.unwrap();
        send.write_all(cipher.name().as_bytes()).await.unwrap();
        send.finish().unwrap();
        assert_eq!(receive.read_to_end(100).await.unwrap(), cipher.name().as_bytes());
    }
}

#[tokio::test]
async fn ends_without_a_common_suite_say_so() {
    let identity = hawser_net::Identity::self_signed(&["localhost"]).unwrap();
    let config = hawser_net::ServerConfig::builder(identity).alpn([ALPN]).cipher_suites([Cipher::Aes256]);
    let server = Endpoint::server(config.build().unwrap(), "127.0.0.1:0".parse().unwrap()).unwrap();
    serve(&server, echo);
    let config = ClientConfig::builder()
        .trust(Trust::Insecure)
        .alpn([ALPN])
        .cipher_suites([Cipher::ChaCha20])
        .handshake_timeout(Duration::from_secs(5));
    let client = Endpoint::client(config.build().unwrap(), Links::All).unwrap();
    let error = client.connect(address_of(&server), "localhost").await.unwrap_err();
    assert!(matches!(error, hawser_net::ConnectError::Handshake(_)), "{error}");
}
