//! Traces of connections over loopback, in files.

use std::path::Path;

use hawser_core::QlogAddresses;
use hawser_net::{ClientConfig, Connection, Endpoint, Identity, Links, ServerConfig, Trust};

use crate::common::*;
use crate::interfaces::{enter_namespace, ip};

/// Names in a folder that end like this, without it.
fn files(folder: &Path, ending: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter_map(|name| name.strip_suffix(ending).map(str::to_owned)).collect()
}

#[tokio::test]
async fn each_end_leaves_a_trace_of_each_connection() {
    init_tracing();
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("not/yet/there");
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let pin = identity.pin().unwrap();
    let config = ServerConfig::builder(identity).alpn([ALPN]).qlog_directory(&folder).build().unwrap();
    let server = Endpoint::server(config, "[::]:0".parse().unwrap()).unwrap();
    serve(&server, echo);
    let config = ClientConfig::builder()
        .trust(Trust::Pins(vec![pin]))
        .alpn([ALPN])
        .qlog_directory(&folder)
        .build()
        .unwrap();
    let client = Endpoint::client(config, Links::All).unwrap();
    let connection = client.connect(address_of(&server), "localhost").await.unwrap();
    say_hello(&connection).await;
    complete(&folder).await;
}

async fn say_hello(connection: &Connection) {
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    send.write_all(b"hello").await.unwrap();
    send.finish().unwrap();
    assert_eq!(receive.read_to_end(100).await.unwrap(), b"hello");
    connection.close(3, b"done");
}

/// Waits until both traces of a connection are complete.
async fn complete(folder: &Path) {
    let is_complete = |path: &Path| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let began = text.starts_with("\x1e{\"file_schema\"");
        began && text.contains("quic:connection_closed") && text.contains("\"reason\":\"done\"")
    };
    eventually("both traces are complete", || {
        let ids = files(folder, "_server.sqlog");
        ids.iter().any(|id| {
            let file = |end| folder.join(format!("{id}_{end}.sqlog"));
            is_complete(&file("server")) && is_complete(&file("client"))
        })
    })
    .await;
}

/// Of one connection between addresses that are not those of loopback.
#[test]
fn addresses_are_in_traces_only_where_they_are_asked_for() {
    if !enter_namespace() {
        return;
    }
    ip("addr add 10.9.0.1/32 dev lo");
    ip("addr add 10.9.0.2/32 dev lo");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for shown in [None, Some(QlogAddresses::Full)] {
            let folder = tempfile::tempdir().unwrap();
            let identity = Identity::self_signed(&["localhost"]).unwrap();
            let trust = Trust::Pins(vec![identity.pin().unwrap()]);
            let mut ours = ServerConfig::builder(identity).alpn([ALPN]).qlog_directory(folder.path());
            let mut theirs = ClientConfig::builder().trust(trust).alpn([ALPN]).qlog_directory(folder.path());
            if let Some(shown) = shown {
                (ours, theirs) = (ours.qlog_addresses(shown), theirs.qlog_addresses(shown));
            }
            let server = Endpoint::server(ours.build().unwrap(), "10.9.0.1:0".parse().unwrap()).unwrap();
            serve(&server, echo);
            let client = Endpoint::client(theirs.build().unwrap(), links(&["10.9.0.2"])).unwrap();
            let connection = client.connect(server.listening()[0], "localhost").await.unwrap();
            say_hello(&connection).await;
            complete(folder.path()).await;
            for entry in std::fs::read_dir(folder.path()).unwrap() {
                let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
                assert_eq!(text.contains("10.9.0."), shown.is_some(), "{text}");
                let name = r#""ip_v4":"192.0.2.1""#;
                assert_eq!(text.contains(name), shown.is_none(), "{text}");
            }
        }
    });
}
