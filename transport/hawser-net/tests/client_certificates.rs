//! Servers that ask clients for a certificate and serve those without one as well.

use std::sync::Arc;

use hawser_net::rustls::pki_types::pem::PemObject;
use hawser_net::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use hawser_net::{
    AcceptError, ClientAuthorities, ClientConfig, ConfigError, Connection, ConnectionError, Endpoint,
    Identity, Links, MemorySessions, ServerConfig, Trust,
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use crate::common::ALPN;

/// TLS alerts (RFC 8446 section 6.2) in codes of QUIC.
const CERTIFICATE_EXPIRED: u64 = 0x100 + 45;
const UNKNOWN_CA: u64 = 0x100 + 48;

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut parameters = CertificateParams::new(Vec::<String>::new()).unwrap();
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate for a client, which ends with that year, and its key; in files, as programs read them.
fn issue(issuer: &CertifiedIssuer<'static, KeyPair>, last_year: i32) -> Identity {
    let mut parameters = CertificateParams::new(vec!["client".to_owned()]).unwrap();
    parameters.not_after = rcgen::date_time_ymd(last_year, 12, 31);
    let key = KeyPair::generate().unwrap();
    let certificate = parameters.signed_by(&key, issuer).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (chain, secret) = (folder.path().join("client.pem"), folder.path().join("client.key"));
    std::fs::write(&chain, certificate.pem()).unwrap();
    std::fs::write(&secret, key.serialize_pem()).unwrap();
    Identity::from_pem_files(&chain, &secret).unwrap()
}

/// A server that knows the clients of an authority, if there is one, and what its clients trust.
fn server(authority: Option<&CertifiedIssuer<'static, KeyPair>>) -> (Endpoint, Trust) {
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let trust = Trust::Pins(vec![identity.pin().unwrap()]);
    let mut config = ServerConfig::builder(identity).alpn([ALPN]);
    if let Some(authority) = authority {
        config = config.client_authorities(ClientAuthorities::new(vec![authority.der().clone()]));
    }
    (Endpoint::server(config.build().unwrap(), "127.0.0.1:0".parse().unwrap()).unwrap(), trust)
}

/// Both ends of an attempt to connect, the client's once it knows what the server thinks.
struct Attempt {
    _client: Endpoint,
    ours: Result<Connection, ConnectionError>,
    theirs: Result<Connection, AcceptError>,
}

async fn connect(server: &Endpoint, config: ClientConfig) -> Attempt {
    let client = Endpoint::client(config, Links::Routed).unwrap();
    let ours = async {
        let connection = client.connect(server.listening()[0], "localhost").await.unwrap();
        connection.confirmed().await.map(|()| connection)
    };
    let (ours, theirs) = tokio::join!(ours, async { server.accept().await.unwrap().await });
    Attempt { _client: client, ours, theirs }
}

fn shown(connection: &Connection) -> Option<usize> {
    let chain = connection.peer_identity()?;
    Some(chain.downcast::<Vec<CertificateDer<'static>>>().unwrap().len())
}

#[tokio::test]
async fn clients_with_and_without_a_certificate_are_told_apart() {
    let own = authority("own");
    let (server, trust) = server(Some(&own));
    let builder = || ClientConfig::builder().trust(trust.clone()).alpn([ALPN]);
    for (builder, expected) in [(builder().identity(issue(&own, 2090)), Some(1)), (builder(), None)] {
        let attempt = connect(&server, builder.build().unwrap()).await;
        assert!(attempt.ours.is_ok(), "{:?}", attempt.ours);
        assert_eq!(shown(&attempt.theirs.unwrap()), expected);
    }
}

#[tokio::test]
async fn expired_and_foreign_certificates_are_refused_and_both_ends_hear_why() {
    let own = authority("own");
    let (server, trust) = server(Some(&own));
    for (identity, alert) in [
        (issue(&own, 2020), CERTIFICATE_EXPIRED),
        (issue(&authority("own"), 2090), UNKNOWN_CA),
        (issue(&authority("elsewhere"), 2090), UNKNOWN_CA),
    ] {
        let config = ClientConfig::builder().trust(trust.clone()).alpn([ALPN]).identity(identity).build();
        let Attempt { ours, theirs, .. } = connect(&server, config.unwrap()).await;
        let Err(ConnectionError::PeerTransport(heard)) = ours else { panic!("accepted: {ours:?}") };
        let Err(AcceptError::Handshake(ConnectionError::Transport(said))) = theirs else {
            panic!("accepted: {theirs:?}")
        };
        assert_eq!((heard.code.0, said.code.0), (alert, alert));
        assert!(said.reason.contains("invalid peer certificate"), "{said}");
    }
}

/// A ticket would stand for a certificate that has expired meanwhile.
#[tokio::test]
async fn no_session_is_resumed_where_certificates_are_asked_for_or_shown() {
    let own = authority("own");
    for (asks, shows, resumes) in [(false, false, true), (true, false, false), (false, true, false)] {
        let (server, trust) = server(asks.then_some(&own));
        let sessions = Arc::new(MemorySessions::new());
        let mut builder = ClientConfig::builder().trust(trust).alpn([ALPN]).sessions(sessions);
        if shows {
            builder = builder.identity(issue(&own, 2090));
        }
        let config = builder.build().unwrap();
        let mut resumed = false;
        for _ in 0..2 {
            let attempt = connect(&server, config.clone()).await;
            let (ours, theirs) = (attempt.ours.unwrap(), attempt.theirs.unwrap());
            resumed = ours.is_resumed();
            assert_eq!(theirs.is_resumed(), resumed);
            // What is sent behind the tickets has arrived: so have they.
            let mut stream = theirs.open_uni().await.unwrap();
            stream.write_all(b"x").await.unwrap();
            stream.finish().unwrap();
            ours.accept_uni().await.unwrap().read_to_end(1).await.unwrap();
        }
        assert_eq!(resumed, resumes, "asks {asks}, shows {shows}");
    }
}

#[tokio::test]
async fn what_a_rustls_configuration_says_already_is_refused() {
    let own = authority("own");
    let identity = issue(&own, 2090);
    let tls = Trust::Insecure.tls_config().unwrap();
    let refused = ClientConfig::from_rustls(tls).identity(identity).build().unwrap_err();
    assert!(matches!(refused, ConfigError::SaidByRustls { setting: "identity" }), "{refused}");
    let tls = Identity::self_signed(&["localhost"]).unwrap().tls_config().unwrap();
    let authorities = ClientAuthorities::new(vec![own.der().clone()]);
    let refused = ServerConfig::from_rustls(tls).client_authorities(authorities).build().unwrap_err();
    assert!(matches!(refused, ConfigError::SaidByRustls { setting: "client_authorities" }), "{refused}");
}

#[test]
fn an_authority_that_is_none_is_an_error() {
    let garbage = CertificateDer::from(vec![1, 2, 3]);
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let refused = ServerConfig::builder(identity).client_authorities(ClientAuthorities::new(vec![garbage]));
    assert!(matches!(refused.build().unwrap_err(), ConfigError::Authority(_)));
    let key = KeyPair::generate().unwrap().serialize_pem();
    assert!(PrivateKeyDer::from_pem_slice(key.as_bytes()).is_ok());
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), key).unwrap();
    let refused = ClientAuthorities::from_file(file.path()).unwrap_err().to_string();
    assert!(refused.contains("holds no certificate"), "{refused}");
}
