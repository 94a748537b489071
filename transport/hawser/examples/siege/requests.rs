//! Requests to `hawser serve` that cost it much, or whose answers nobody takes.

use std::fs;
use std::time::Duration;

use super::Error;
use super::client::{GET, HEAD, request};
use super::form::{FORM, Form, HANDSHAKES, Siege};

/// An eighth of 1 GiB for what is read of files, another for what is not acknowledged.
const REPLIES: u64 = 288;

fn large(siege: &mut Siege<'_>) -> Result<(), Error> {
    Ok(fs::File::create(siege.server.folder().join("large"))?.set_len(1 << 30)?)
}

pub(crate) const REQUESTS: &[Form] = &[
    Form {
        name: "unread replies",
        attacks: &[2],
        prepare: large,
        attack: |siege| {
            Box::pin(async { siege.ask_unread(64, 16, 1 << 20, &request(GET, "/large", &[])).await })
        },
        // A packet asks for a megabyte, of which a quarter of a gigabyte is sent.
        micros: 2_000.0,
        mebibytes: REPLIES,
        ..FORM
    },
    Form {
        name: "unread replies of 520 connections",
        attacks: &[2],
        prepare: large,
        attack: |siege| {
            Box::pin(async {
                siege.crowd(520, 100, 2_000).await?;
                let asked = request(GET, "/large", &[]);
                for client in &siege.clients {
                    for _ in 0..16 {
                        siege.answers.push(client.ask(&asked).await?);
                    }
                }
                tokio::time::sleep(Duration::from_secs(1)).await;
                Ok(())
            })
        },
        micros: HANDSHAKES,
        mebibytes: REPLIES,
        ..FORM
    },
    Form {
        name: "unread replies, 1024 descriptors",
        attacks: &[2],
        descriptors: Some(1024),
        prepare: large,
        attack: |siege| Box::pin(async { siege.ask_unread(17, 90, 100, &request(GET, "/large", &[])).await }),
        // A packet holds ten requests, and for each the file is opened and its beginning read.
        micros: 2_000.0,
        mebibytes: REPLIES,
        ..FORM
    },
    Form {
        name: "unread listings",
        attacks: &[3],
        prepare: |siege| {
            for n in 0..4_000 {
                fs::write(siege.server.folder().join(format!("{n:04}{}", "x".repeat(150))), b"")?;
            }
            Ok(())
        },
        attack: |siege| Box::pin(async { siege.ask_unread(20, 16, 2_000, &request(GET, "/", &[])).await }),
        micros: HANDSHAKES,
        mebibytes: REPLIES,
        ..FORM
    },
    Form {
        name: "digests nobody waits for",
        attacks: &[12],
        prepare: |siege| Ok(fs::File::create(siege.server.folder().join("large"))?.set_len(40 << 30)?),
        attack: |siege| {
            Box::pin(async {
                let asked = request(HEAD, "/large", &[("te", "trailers")]);
                siege.ask_unread(4, 40, 1 << 16, &asked).await?;
                siege.clients.iter().for_each(|client| client.connection.close(0, b""));
                siege.answers.clear();
                tokio::time::sleep(Duration::from_secs(1)).await;
                Ok(())
            })
        },
        // Two threads hash as long as somebody waits.
        micros: 10_000.0,
        ..FORM
    },
    Form {
        name: "headers that do not end",
        attack: |siege| Box::pin(async { siege.leave_open(10, 90, |_| vec![1, 0x50, 0, 0]).await }),
        micros: HANDSHAKES,
        ..FORM
    },
    Form {
        name: "headers of a gigabyte",
        attack: |siege| {
            Box::pin(async {
                let announced =
                    [&[1][..], &((1_u64 << 30) | (3 << 62)).to_be_bytes(), &[0; 1 << 16]].concat();
                siege.leave_open(20, 1, |_| announced.clone()).await
            })
        },
        micros: HANDSHAKES,
        mebibytes: 16,
        ..FORM
    },
    Form {
        name: "unknown frames without content",
        attack: |siege| Box::pin(async { siege.leave_open(4, 1, |_| [0x21, 0].repeat(500_000)).await }),
        ..FORM
    },
    Form {
        name: "requests for nothing",
        attack: |siege| {
            Box::pin(async {
                siege.connect(1 << 20, 16 << 20).await?;
                for _ in 0..100 {
                    let mut asked = Vec::new();
                    for _ in 0..80 {
                        asked.push(siege.clients[0].ask(&request(GET, "/none", &[])).await?);
                    }
                    for mut answer in asked {
                        let _ = answer.read_to_end(1 << 16).await;
                    }
                }
                Ok(())
            })
        },
        // A packet holds a dozen requests, and each is looked up and answered.
        micros: 2_000.0,
        ..FORM
    },
    Form {
        name: "requests that wait",
        prepare: large,
        attack: |siege| {
            Box::pin(async {
                let long = "x".repeat(120);
                let lines: Vec<(&str, &str)> = (0..40).map(|_| ("x-a", &long[..])).collect();
                siege.ask_unread(64, 90, 2_000, &request(GET, "/large", &lines)).await?;
                Ok(())
            })
        },
        micros: HANDSHAKES,
        mebibytes: REPLIES,
        ..FORM
    },
    Form {
        name: "fields of a byte each",
        attack: |siege| {
            Box::pin(async {
                // `age: 0` of the static table, two thousand times.
                let section = [&b"\x00\x00\xd1\xd7\x50\x01l\xc1"[..], &[0xc2; 2_000]].concat();
                let asked =
                    [&[1], ((section.len() as u16) | 0x4000).to_be_bytes().as_slice(), &section].concat();
                siege.ask_unread(8, 90, 1 << 16, &asked).await?;
                Ok(())
            })
        },
        micros: HANDSHAKES,
        ..FORM
    },
    Form {
        name: "requests that are reset at once",
        prepare: large,
        attack: |siege| {
            Box::pin(async {
                siege.connect(1 << 16, 1 << 20).await?;
                // The server closes a connection that resets a thousand before they say what they want.
                for _ in 0..5_000 {
                    let opened = siege.clients[0].connection.open_bi().await;
                    let Ok((mut send, _answer)) = opened else { break };
                    if send.write_all(&request(GET, "/large", &[])).await.is_err() {
                        break;
                    }
                    let _ = send.reset(0x10c);
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
                Ok(())
            })
        },
        // A packet holds a dozen requests, and each is looked up.
        micros: 2_000.0,
        ..FORM
    },
];
