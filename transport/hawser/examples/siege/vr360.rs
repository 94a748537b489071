//! `hawser vr360`: its server, and the page of its player.

use std::time::Duration;

use super::Error;
use super::client::{Client, windows};
use super::flood::Sources;
use super::form::{FORM, Form, HANDSHAKES, SIGNATURES, Siege};
use super::local::{answer, get};
use super::program::Program;

const VR360: &[u8] = b"hawser-vr360";
const FILM: &[&str] = &["vr360", "serve", "--width", "960", "--tiles", "4x2", "--seconds", "1"];

/// A web page has its own name lead to this machine, and asks for what the player's page shows.
async fn rebind(siege: &mut Siege<'_>) -> Result<(), Error> {
    let mut play = siege.server.client(&["vr360", "play"]);
    let mut player = Program::start(play.args(["--repeat", "--json", "--http", "127.0.0.1:0"]))?;
    let hello = player.line()?;
    siege.programs.push(player);
    let page = hello["http"].as_str().ok_or("the player did not say where its page is")?;
    let port = page.rsplit(':').next().unwrap_or_default();
    // Something is shown.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mut statuses = Vec::new();
    for path in ["/state", "/chunk/0", "/"] {
        for host in [
            "evil.example",
            &format!("attacker.example:{port}"),
            "127.0.0.1.evil.example",
            "localhost.evil.example",
        ] {
            let (status, shown) = answer(get(page, path, host)?)?;
            siege.count(path.len() + host.len() + 25);
            let tells = shown.windows(8).any(|window| window == b"\"chunks\"");
            siege.expect(status.is_some_and(|status| status >= 400) && !tells, || {
                format!("{path} with the Host {host}: {status:?}")
            });
            statuses.extend(status);
        }
        // The owner of the machine.
        let (status, _) = answer(get(page, path, page)?)?;
        let is_there = status == Some(200) || path == "/chunk/0";
        siege.expect(is_there, || format!("{path} with its own Host: {status:?}"));
    }
    statuses.dedup();
    siege.found = Some(format!("other hosts: {statuses:?}"));
    Ok(())
}

pub(crate) const FILMS: &[Form] = &[
    Form {
        name: "half-open connections of vr360",
        attacks: &[5],
        arguments: FILM,
        alpn: VR360,
        attack: |siege| Box::pin(async { siege.half_open(VR360, 300, Sources::ManyAddresses) }),
        micros: SIGNATURES,
        ..FORM
    },
    Form {
        name: "wishes that repeat themselves",
        attacks: &[4],
        arguments: FILM,
        alpn: VR360,
        attack: |siege| {
            Box::pin(async {
                for _ in 0..8 {
                    let client = Client::with(siege.server, VR360, windows(2_000, 64_000)).await?;
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
        micros: HANDSHAKES,
        mebibytes: 64,
        ..FORM
    },
    Form {
        name: "other hosts at the player's page",
        attacks: &[11],
        arguments: FILM,
        alpn: VR360,
        attack: |siege| Box::pin(rebind(siege)),
        // Nobody sends packets: the server plays a film meanwhile.
        micros: f64::INFINITY,
        ..FORM
    },
];
