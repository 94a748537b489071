//! The forms of attack on servers besides `hawser serve`, and those with connections that do nothing.

use std::time::Duration;

use super::client::{Client, GET, address, request, windows};
use super::forms::{Form, H3, HANDSHAKES, SERVE, content, garbage, half_open, nothing};

const LIVE: &[u8] = b"hawser-live";
const RELAY: &[&str] = &["live", "relay", "--key", "secret"];

pub(crate) const OTHERS: &[Form] = &[
    Form {
        name: "half-open connections",
        arguments: SERVE,
        alpn: H3,
        prepare: nothing,
        attack: |siege| Box::pin(half_open(siege, H3, 300)),
        check: content,
        // The server's flight is signed.
        micros: 1_500.0,
        mebibytes: 32,
    },
    Form {
        name: "idle connections",
        arguments: SERVE,
        alpn: H3,
        prepare: nothing,
        attack: |siege| {
            Box::pin(async {
                for _ in 0..200 {
                    siege.connect(1 << 16, 1 << 20).await?;
                }
                Ok(())
            })
        },
        check: content,
        micros: HANDSHAKES,
        mebibytes: 32,
    },
    Form {
        name: "garbage",
        arguments: SERVE,
        alpn: H3,
        prepare: nothing,
        attack: |siege| {
            Box::pin(async {
                let bytes = garbage(address(siege.server), 20_000)?;
                siege.raw = (20_000, bytes);
                Ok(())
            })
        },
        check: content,
        micros: 100.0,
        mebibytes: 16,
    },
    Form {
        name: "idle connections on all places",
        arguments: &["serve", "FOLDER", "--connections-per-source", "40"],
        alpn: H3,
        prepare: nothing,
        attack: |siege| {
            Box::pin(async {
                // Those that come when there is no place left take that of an idle one.
                for _ in 0..120 {
                    siege.connect(1 << 16, 1 << 20).await?;
                }
                Ok(())
            })
        },
        check: content,
        micros: HANDSHAKES,
        mebibytes: 32,
    },
    Form {
        name: "half-open connections of vr360",
        arguments: &["vr360", "serve", "--width", "960", "--tiles", "4x2", "--seconds", "1"],
        alpn: b"hawser-vr360",
        prepare: nothing,
        attack: |siege| Box::pin(half_open(siege, b"hawser-vr360", 300)),
        check: content,
        micros: 1_500.0,
        mebibytes: 32,
    },
    Form {
        name: "wishes that repeat themselves",
        arguments: &["vr360", "serve", "--width", "960", "--tiles", "4x2", "--seconds", "1"],
        alpn: b"hawser-vr360",
        prepare: nothing,
        attack: |siege| {
            Box::pin(async {
                for _ in 0..8 {
                    let client = Client::with(siege.server, b"hawser-vr360", windows(2_000, 64_000)).await?;
                    let (mut send, answer) = client.connection.open_bi().await?;
                    let view = vec!["3"; 4_096].join(",");
                    let wish = format!("{{\"chunk\":0,\"left_ms\":60000,\"view\":[{view}],\"margin\":[]}}\n");
                    for _ in 0..8 {
                        let _ = tokio::time::timeout(Duration::from_secs(2), send.write_all(wish.as_bytes()))
                            .await;
                    }
                    siege.clients.push(client);
                    siege.streams.push(send);
                    siege.answers.push(answer);
                }
                tokio::time::sleep(Duration::from_secs(1)).await;
                Ok(())
            })
        },
        check: content,
        micros: HANDSHAKES,
        mebibytes: 64,
    },
    Form {
        name: "lines that are no records",
        arguments: &["measure", "server", "--out", "FOLDER"],
        alpn: b"hawser-measure",
        prepare: nothing,
        attack: |siege| {
            Box::pin(async {
                for _ in 0..8 {
                    let client = Client::connect(siege.server, b"hawser-measure").await?;
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
        check: content,
        micros: HANDSHAKES,
        mebibytes: 32,
    },
    Form {
        name: "records for a full server",
        arguments: &["measure", "server", "--out", "FOLDER", "--max-disk", "1M"],
        alpn: b"hawser-measure",
        prepare: nothing,
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
                    let client = Client::connect(siege.server, b"hawser-measure").await?;
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
        mebibytes: 32,
    },
    Form {
        name: "half-open connections of the relay",
        arguments: RELAY,
        alpn: LIVE,
        prepare: nothing,
        attack: |siege| {
            Box::pin(async {
                half_open(siege, LIVE, 600).await?;
                Ok(())
            })
        },
        check: content,
        micros: 1_500.0,
        mebibytes: 32,
    },
    Form {
        name: "idle connections of the relay",
        arguments: RELAY,
        alpn: LIVE,
        prepare: nothing,
        attack: |siege| {
            Box::pin(async {
                // A source has 128 of the 1,024 places.
                for _ in 0..200 {
                    siege.clients.push(Client::connect(siege.server, LIVE).await?);
                }
                Ok(())
            })
        },
        check: content,
        micros: HANDSHAKES,
        mebibytes: 32,
    },
    Form {
        name: "half-open connections of the gateway",
        arguments: &["gateway"],
        alpn: H3,
        prepare: nothing,
        attack: |siege| {
            Box::pin(async {
                half_open(siege, H3, 600).await?;
                Ok(())
            })
        },
        check: content,
        micros: 1_500.0,
        mebibytes: 32,
    },
    Form {
        name: "requests without a key",
        arguments: &["gateway"],
        alpn: H3,
        prepare: nothing,
        attack: |siege| {
            Box::pin(async {
                for _ in 0..20 {
                    siege.connect(1 << 16, 1 << 20).await?;
                    let client = siege.clients.last().expect("connected");
                    // The gateway closes a connection that asks too often.
                    for _ in 0..200 {
                        let Ok((mut send, _answer)) = client.connection.open_bi().await else { break };
                        if send.write_all(&request(GET, "/none", &[])).await.is_err()
                            || send.finish().is_err()
                        {
                            break;
                        }
                    }
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
                Ok(())
            })
        },
        check: content,
        micros: HANDSHAKES,
        mebibytes: 32,
    },
];
