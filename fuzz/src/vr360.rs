//! What players and servers of `hawser vr360` say to each other: wishes, films, tiles.
//!
//! The first byte chooses the end. What must hold: no panic, an end; how a stream is cut changes nothing; what a server holds for a player
//! stays within its caps, and is what it counts; a wish has no more pictures looked up than it names; a player keeps chunks of his own number
//! and few paths; messages mean the same when they are written and read again.

use std::time::Duration;

use hawser_command::lines::Cutter;
use hawser_policy::Time;
use hawser_vr360::fuzzing::{self, Account, HEAD, MAX_BYTES, MAX_CHUNKS, MAX_TILES, Player, Server};
use hawser_wire::Reader;

use crate::json;
use crate::memory::{Bounds, Meter};

/// Steps of a script: of wishes, and of a player, whose looks at a large grid take milliseconds.
const MOST_STEPS: usize = 128;
const MOST_LOOKS: usize = 48;
/// Tiles that wait and are under way, with what is remembered of them, and a line; for each byte a tile may be named.
const BOUNDS: Bounds = Bounds { held: 256 << 10, held_per_byte: 256, work: 1 << 20, work_per_byte: 2_048 };

/// One of the ends.
pub fn vr360(data: &[u8]) {
    let Some((&which, rest)) = data.split_first() else { return };
    match which % 6 {
        0 => lines(rest),
        1 => script(rest),
        2 => json::means_the_same(rest, fuzzing::said),
        3 => player(rest),
        4 => {
            if let Some(head) = rest.first_chunk::<HEAD>() {
                assert!(fuzzing::head(*head).is_none_or(|again| again == *head));
            }
        }
        _ => pictures(rest),
    }
}

/// What a player writes, as it comes.
fn lines(bytes: &[u8]) {
    let hear = |cut: usize| {
        let mut server = Server::new(1_000);
        let error = bytes.chunks(cut).find_map(|piece| server.hear(Time::from_secs(1), piece).err());
        (error, server.account())
    };
    let (error, account) = hear(usize::MAX);
    for cut in [1, 7, 100] {
        assert_eq!(hear(cut), (error.clone(), account), "cut into pieces of {cut}");
    }
    assert!(error.is_none_or(|error| !error.is_empty()));
    check(&account, bytes.len());
    let meter = Meter::start();
    let mut server = Server::new(1_000);
    for (at, piece) in bytes.chunks(64).enumerate() {
        let is_over = server.hear(Time::from_secs(1), piece).is_err();
        meter.check(&BOUNDS, 64 * (at + 1));
        if is_over {
            break;
        }
    }
}

/// What a server holds has caps and is counted right, and work is bounded by what was named.
fn check(account: &Account, received: usize) {
    let Account { wishes, named, looked_up, waiting, begun, held: (tiles, bytes), chunks } = *account;
    assert!(wishes <= Cutter::most_lines(received), "{wishes} wishes in {received} bytes");
    assert!(named <= received && looked_up <= named, "{looked_up} pictures for {named} of {received} bytes");
    assert_eq!(tiles, waiting + begun);
    assert!(tiles <= MAX_TILES && bytes <= MAX_BYTES && chunks <= MAX_CHUNKS);
}

/// Wishes and time: a wish is a chunk, how long it is of use, and runs of tiles in view and around it.
fn script(data: &[u8]) {
    let mut script = Reader::new(data);
    let Ok(size) = script.read_u16() else { return };
    // Up to pictures of which few fit.
    let mut server = Server::new(usize::from(size) << (size % 8));
    let (mut now, mut received) = (Time::from_secs(1), 0);
    for _ in 0..MOST_STEPS {
        let Ok(operation) = script.read_u8() else { break };
        match operation % 4 {
            0 | 1 => {
                let (Ok(chunk), Ok(left)) = (script.read_u8(), script.read_u16()) else { break };
                let (Some(view), Some(margin)) = (tiles(&mut script), tiles(&mut script)) else { break };
                let line = fuzzing::wish(chunk.into(), left.into(), view, margin) + "\n";
                received += line.len();
                if server.hear(now, line.as_bytes()).is_err() {
                    break;
                }
            }
            2 => {
                let Ok(rate) = script.read_u8() else { break };
                let mut last = None;
                while let Some(tile) = server.send(now, f64::from(rate) * 1e4) {
                    assert_ne!(last, Some(tile), "no tile twice");
                    last = Some(tile);
                    if server.account().begun > 64 {
                        break;
                    }
                }
            }
            _ => {
                let (Ok(count), Ok(wait)) = (script.read_u8(), script.read_u8()) else { break };
                server.arrive(count.into());
                now += Duration::from_millis(8 * u64::from(wait));
            }
        }
        check(&server.account(), received);
    }
}

/// Tiles of two runs.
fn tiles(script: &mut Reader<'_>) -> Option<Vec<u16>> {
    let [first, count, other] = script.read_array().ok()?;
    let run = |first: u8, count: u8| (u16::from(first)..).take(usize::from(count % 64));
    Some(run(first, count).chain(run(other, count >> 4)).collect())
}

/// What a server says and sends to a player: lines behind their length, and tiles.
fn player(data: &[u8]) {
    let mut script = Reader::new(data);
    let meter = Meter::start();
    let (mut player, mut now) = (Player::default(), Duration::ZERO);
    // A film, unless the script says something else at first.
    if script.read_u8().is_ok_and(|byte| byte & 1 == 0) {
        let film = br#"{"film":{"columns":4,"rows":2,"width":64,"height":32,"rate":4.0,"chunks":3}}"#;
        assert_eq!(player.hear(&[&film[..], b"\n"].concat()), Ok(()));
    }
    for _ in 0..MOST_LOOKS {
        let Ok(operation) = script.read_u8() else { break };
        let Ok(length) = script.read_u8() else { break };
        match operation % 4 {
            0 | 1 => {
                let Ok(bytes) = script.read_bytes(usize::from(length).min(script.remaining())) else { break };
                if let Err(error) = player.hear(bytes) {
                    assert!(!error.is_empty());
                    break;
                }
            }
            2 => {
                let Ok(bytes) = script.read_bytes(usize::from(length).min(script.remaining())) else { break };
                player.arrived(bytes, now);
            }
            _ => {
                now += Duration::from_millis(4 * u64::from(length));
                player.wish(now);
                if operation & 4 != 0 {
                    player.end(now);
                }
            }
        }
        let (chunks, paths) = player.kept();
        assert!(chunks <= MOST_LOOKS && paths <= 64);
    }
    // The made head, and what a grid of 64 by 64 tiles has for each chunk.
    let bounds = Bounds { held: 32 << 20, work: 256 << 20, ..BOUNDS };
    meter.check(&bounds, data.len());
}

/// What ffmpeg writes, in pieces.
fn pictures(bytes: &[u8]) {
    let whole = fuzzing::pictures([bytes]);
    for cut in [1, 7, 100] {
        assert_eq!(fuzzing::pictures(bytes.chunks(cut)), whole, "cut into pieces of {cut}");
    }
    if let Ok((pictures, is_all)) = whole {
        let length: usize = pictures.iter().map(|picture| picture.len()).sum();
        assert!(length <= bytes.len() && is_all == (length == bytes.len()));
    }
}
