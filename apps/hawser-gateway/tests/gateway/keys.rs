//! Who shows no key, or none that is known.

use bytes::Bytes;
use hawser_gateway::client::OpenError;
use http::{Request, Response, Uri};

use crate::support::Setup;

/// Requests without a known key that one connection may make.
const PATIENCE: usize = 64;

#[tokio::test]
async fn a_key_has_a_user_or_is_unknown() {
    let setup = Setup::start(hawser_net::default_transport()).await;
    let (_client, hello) = setup.client(setup.key.clone()).await.unwrap();
    assert_eq!((hello.user.as_str(), hello.tunnels), ("alice", 1_000));
    assert!(hello.gateway.starts_with("hawser/"));
    let unknown = setup.client("AAAAAAAAAAAAAAAAAAAAAAAA".parse().unwrap()).await;
    assert_eq!(unknown.map(|_| ()).unwrap_err(), OpenError::UnknownKey);
}

/// Nothing tells a key that was removed from one that never was, nor a tunnel that exists from one that does not; and a client that
/// goes on is closed.
#[tokio::test]
async fn all_without_a_known_key_get_one_answer_and_then_none() {
    let setup = Setup::start(hawser_net::default_transport()).await;
    let (connection, _endpoint) = setup.connect().await;
    let http = hawser_h3::Connection::new(connection.clone());
    let (mut driver, requests) = hawser_h3::tunnel_client_builder().build::<_, _, Bytes>(http).await.unwrap();
    tokio::spawn(async move { driver.wait_idle().await });
    let ask = |request: Request<()>| {
        let mut requests = requests.clone();
        async move {
            let mut stream = requests.send_request(request).await.ok()?;
            let _ = stream.finish().await;
            stream.recv_response().await.ok()
        }
    };
    let connect = |authority: &str, credentials: Option<&str>| {
        let uri = Uri::builder().authority(authority).build().unwrap();
        let request = Request::builder().method("CONNECT").uri(uri);
        let request =
            credentials.iter().fold(request, |request, text| request.header("proxy-authorization", *text));
        request.body(()).unwrap()
    };
    let shown = |response: Response<()>| format!("{} {:?}", response.status(), response.headers());
    let expected = "407 Proxy Authentication Required {\"proxy-authenticate\": \"Bearer\"}";
    for (authority, credentials) in [
        ("127.0.0.1:1", None),
        ("127.0.0.1:1", Some("Bearer AAAAAAAAAAAAAAAAAAAAAAAA")),
        ("no-such-name.invalid:1", Some("Bearer ")),
        ("10.0.0.1:1", Some("Basic YWxpY2U6YQ==")),
    ] {
        assert_eq!(ask(connect(authority, credentials)).await.map(shown).as_deref(), Some(expected));
    }
    let hello = Request::get("https://localhost/.well-known/hawser-gateway").body(()).unwrap();
    assert_eq!(ask(hello).await.map(shown).as_deref(), Some(expected));
    for _ in 0..PATIENCE {
        ask(connect("127.0.0.1:1", None)).await;
    }
    let closed = tokio::time::timeout(std::time::Duration::from_secs(10), connection.closed()).await.unwrap();
    assert!(closed.to_string().contains("too many requests without a key"), "{closed}");
}
