//! Traces of connections over loopback, in files.

use std::path::Path;

use hawser_net::{ClientConfig, Endpoint, Identity, Links, ServerConfig, Trust};

use crate::common::*;

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
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    send.write_all(b"hello").await.unwrap();
    send.finish().unwrap();
    assert_eq!(receive.read_to_end(100).await.unwrap(), b"hello");
    connection.close(3, b"done");

    let is_complete = |path: &Path| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let began = text.starts_with("\x1e{\"file_schema\"");
        began && text.contains("quic:connection_closed") && text.contains("\"reason\":\"done\"")
    };
    eventually("both traces are complete", || {
        let ids = files(&folder, "_server.sqlog");
        ids.iter().any(|id| {
            let file = |end| folder.join(format!("{id}_{end}.sqlog"));
            is_complete(&file("server")) && is_complete(&file("client"))
        })
    })
    .await;
}
