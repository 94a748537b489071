//! Records for `hawser measure server`.

use std::time::Duration;

use super::client::Client;
use super::form::{FORM, Form, HANDSHAKES};

const MEASURE: &[u8] = b"hawser-measure";

pub(crate) const RECORDS: &[Form] = &[
    Form {
        name: "lines that are no records",
        arguments: &["measure", "server", "--out", "FOLDER"],
        alpn: MEASURE,
        attack: |siege| {
            Box::pin(async {
                for _ in 0..8 {
                    let client = Client::connect(siege.server, MEASURE).await?;
                    let (mut send, answer) = client.connection.open_bi().await?;
                    let lines = [&b"\"upload\"\n"[..], &b"{}\n".repeat(100_000)].concat();
                    let _ = tokio::time::timeout(Duration::from_secs(1), send.write_all(&lines)).await;
                    siege.clients.push(client);
                    siege.streams.push(send);
                    siege.answers.push(answer);
                }
                Ok(())
            })
        },
        micros: HANDSHAKES,
        ..FORM
    },
    Form {
        name: "records for a full server",
        arguments: &["measure", "server", "--out", "FOLDER", "--max-disk", "1M"],
        alpn: MEASURE,
        attack: |siege| {
            Box::pin(async {
                let track = |n: u32| {
                    format!(
                        "{{\"kind\":\"track\",\"id\":\"{n:010}-0000000000000006\",\"run\":\"0000000000000006\",\"fixes\":[],\
                         \"distance_m\":0.0}}\n"
                    )
                };
                for client in 0..4 {
                    let tracks: String = (0..5_000).map(|n| track(10_000 * client + n)).collect();
                    let client = Client::connect(siege.server, MEASURE).await?;
                    let (mut send, answer) = client.connection.open_bi().await?;
                    let lines = ["\"upload\"\n", &tracks].concat();
                    let _ =
                        tokio::time::timeout(Duration::from_secs(2), send.write_all(lines.as_bytes())).await;
                    siege.clients.push(client);
                    siege.streams.push(send);
                    siege.answers.push(answer);
                }
                Ok(())
            })
        },
        check: |siege| {
            let files = std::fs::read_dir(siege.server.folder()).map_or(0, Iterator::count);
            // 4 KiB each of 1 MiB, its state, its lock, and the small file.
            (files > 260).then(|| format!("{files} files"))
        },
        // Each is looked for on the disk, and those that there is room for are brought to it.
        micros: 2_000.0,
        ..FORM
    },
];
