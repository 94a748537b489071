//! `hawser live relay`: its connections, and its players over HTTP.

use std::fs;
use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::Error;
use super::client::Client;
use super::flood::Sources;
use super::form::{FORM, Form, HANDSHAKES, SIGNATURES, Siege};
use super::local::{get, leave, status};
use super::program::Program;

const LIVE: &[u8] = b"hawser-live";
const RELAY: &[&str] = &["live", "relay", "--key", "secret"];
const OVER_HTTP: &[&str] = &["live", "relay", "--key", "pub=view", "--http", "127.0.0.1:0"];

/// Places for players over HTTP.
const PLACES: usize = 256;
/// How long players are kept whose stream has ended, and some time.
const AFTER_END: Duration = Duration::from_secs(15);

/// More players than there are places come and go while nobody publishes, then one comes to stay; and players of a stream that
/// ends are closed.
async fn players(siege: &mut Siege<'_>) -> Result<(), Error> {
    let page = siege.server.http.clone().ok_or("the relay did not say where it serves players")?;
    let path = "/view.flv";
    let before = siege.server.descriptors()?;
    for _ in 0..PLACES + 44 {
        let mut player = get(&page, path, "localhost")?;
        let status = status(&mut player);
        siege.expect(status == Some(200), || format!("a player was answered {status:?}"));
        leave(&player);
        siege.count(60);
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let left = siege.server.descriptors()?.saturating_sub(before);
    siege.expect(left <= 16, || format!("{left} descriptors are still held"));
    let mut stays = Vec::new();
    for _ in 0..8 {
        let mut player = get(&page, path, "localhost")?;
        let status = status(&mut player);
        siege.expect(status == Some(200), || format!("one who came later was answered {status:?}"));
        stays.push(player);
    }
    let clip = siege.server.folder().join("clip.flv");
    fs::write(&clip, film())?;
    let mut publish = siege.server.client(&["live", "publish"]);
    publish.args(["--key", "pub", "--once", "--input"]).arg(&clip);
    siege.programs.push(Program::start(&mut publish)?);
    let closed =
        tokio::task::spawn_blocking(move || stays.into_iter().map(plays).collect::<Vec<_>>()).await?;
    let longest = closed.iter().flatten().max();
    siege.expect(longest.is_some() && closed.iter().all(Option::is_some), || {
        format!(
            "{} of 8 players are not closed after the stream",
            closed.iter().filter(|one| one.is_none()).count()
        )
    });
    siege.found = longest.map(|longest| {
        format!(
            "{left} descriptors left of {} players; closed {:.0} s after they began",
            PLACES + 44,
            longest.as_secs_f64()
        )
    });
    Ok(())
}

/// How long a player plays; `None` if the stream does not end, or never began.
fn plays(mut player: TcpStream) -> Option<Duration> {
    let began = Instant::now();
    player.set_read_timeout(Some(AFTER_END)).ok()?;
    let (mut block, mut bytes) = (vec![0; 1 << 16], 0);
    loop {
        match player.read(&mut block) {
            Ok(0) => return Some(began.elapsed()).filter(|_| bytes > 10_000),
            Ok(count) => bytes += count,
            Err(_) => return None,
        }
    }
}

/// Two seconds of video that nobody decodes, as FLV.
fn film() -> Vec<u8> {
    let mut bytes = b"FLV\x01\x01\0\0\0\x09\0\0\0\0".to_vec();
    let mut tag = |milliseconds: u32, data: &[u8]| {
        let start = bytes.len();
        bytes.push(9);
        bytes.extend_from_slice(&(data.len() as u32).to_be_bytes()[1..]);
        bytes.extend_from_slice(&milliseconds.to_be_bytes()[1..]);
        bytes.extend_from_slice(&[milliseconds.to_be_bytes()[0], 0, 0, 0]);
        bytes.extend_from_slice(data);
        bytes.extend_from_slice(&((bytes.len() - start) as u32).to_be_bytes());
    };
    // A decoder's configuration, then a key frame each second.
    tag(0, &[&[0x17, 0, 0, 0, 0][..], &[1; 40]].concat());
    for frame in 0..50_u32 {
        let (first, length) = if frame % 25 == 0 { (0x17, 8_000) } else { (0x27, 1_500) };
        tag(40 * frame, &[&[first, 1, 0, 0, 0][..], &vec![frame as u8; length]].concat());
    }
    bytes
}

pub(crate) const RELAYED: &[Form] = &[
    Form {
        name: "half-open and idle connections of the relay",
        attacks: &[6],
        arguments: RELAY,
        alpn: LIVE,
        attack: |siege| {
            Box::pin(async {
                siege.half_open(LIVE, 995, Sources::ManyAddresses)?;
                for _ in 0..40 {
                    siege.clients.push(Client::connect(siege.server, LIVE).await?);
                }
                Ok(())
            })
        },
        micros: SIGNATURES,
        mebibytes: 64,
        ..FORM
    },
    Form {
        name: "idle connections of the relay",
        attacks: &[6],
        arguments: RELAY,
        alpn: LIVE,
        attack: |siege| {
            Box::pin(async {
                // A source has 128 of the 1,024 places.
                for _ in 0..200 {
                    siege.clients.push(Client::connect(siege.server, LIVE).await?);
                }
                Ok(())
            })
        },
        micros: HANDSHAKES,
        ..FORM
    },
    Form {
        name: "players over HTTP that leave",
        attacks: &[10],
        arguments: OVER_HTTP,
        alpn: LIVE,
        attack: |siege| Box::pin(players(siege)),
        // A connection of TCP each, and then a stream for eight of them.
        micros: 2_000.0,
        ..FORM
    },
];
