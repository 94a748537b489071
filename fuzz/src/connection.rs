//! Two connections in virtual time, with an adversarial network between them and a peer that may be anybody.
//!
//! The input is a script. It says how the ends are configured, and then, step by step, what their applications do, what
//! the links between them do, how much time passes, and what an attacker does who has the keys of both: frames of his
//! own in packets under way, packets of his own in the place of one end, datagrams sent again or from elsewhere.
//!
//! What must hold whatever happens: no panic; at one instant both ends come to rest; memory stays bounded; addresses that
//! prove nothing are sent no more than three times what came from them, over this connection and those that strangers begin; and when all is quiet connections are, and end.
//! As long as nobody forges packets: what is read is what was written; nobody finds fault with the other; and once the
//! network is well again all data arrives.

mod application;
mod grammar;
mod network;
mod script;
mod setup;
mod strangers;
mod tokens;
mod world;

use std::time::Duration;

use bytes::Bytes;
use hawser_core::Code;
use hawser_policy::{PathId, PathStatus, PolicyKind, Side};
use hawser_sim::adversary::{Space, honest_acks};

use self::application::Delivery;
use self::network::{LINKS, Mangling, UnderWay, from, victim};
use self::script::Script;
use self::world::{Rewrite, World};

/// Steps of a script; what is beyond is not read.
const MAX_STEPS: usize = 256;
/// Packets of one step.
const MAX_BURST: usize = 32;
/// Frames of the attacker that wait for a packet to go with.
const MAX_REWRITES: usize = 64;
/// Milliseconds that may pass between steps.
const PAUSES: [u64; 12] = [0, 1, 5, 10, 20, 30, 50, 100, 250, 1_000, 4_000, 20_000];
/// Time in which, with a network that works, all that was written arrives whatever happened before.
const RECOVERY: Duration = Duration::from_secs(120);
/// Datagrams of both ends in ten seconds in which nobody wants anything.
const MAX_QUIET_DATAGRAMS: usize = 200;

/// The script in `data`, and then peace until both ends must be done.
pub fn connection(data: &[u8]) {
    let mut script = Script::new(data);
    let Some(setup) = setup::read(&mut script) else { return };
    let mut world = World::new(setup);
    // Most scripts are about what comes after the handshake.
    if script.byte().is_some_and(|byte| byte % 4 != 3) {
        world.run(Duration::from_millis(200));
    }
    for _ in 0..MAX_STEPS {
        if step(&mut script, &mut world).is_none() {
            break;
        }
    }
    finish(&mut world);
}

/// The network works again and the applications read: data arrives, and then all is quiet, and comes to an end.
fn finish(world: &mut World) {
    world.network.heal();
    for side in [Side::Client, Side::Server] {
        world.end(side).rewrites.clear();
        world.end(side).application.resume();
    }
    world.run(RECOVERY);
    world.check_reasons();
    world.check_delivered();
    let before = world.datagrams;
    world.run(Duration::from_secs(10));
    let count = world.datagrams - before;
    assert!(count <= MAX_QUIET_DATAGRAMS, "{count} datagrams, and nobody wanted anything");
    for side in [Side::Client, Side::Server] {
        world.act(side, |_, connection, now| connection.close(now, 0, Bytes::new()));
        world.run(Duration::from_secs(1));
    }
    // Three probe timeouts of a path whose peer answered as late as the script allows.
    for _ in 0..100 {
        world.run(Duration::from_secs(60));
    }
    for side in [Side::Client, Side::Server] {
        let end = world.end(side);
        assert!(end.replaced || end.connection.is_none(), "a connection does not end");
    }
}

/// One step of the script; `None` at its end.
fn step(script: &mut Script<'_>, world: &mut World) -> Option<()> {
    let operation = script.byte()?;
    match operation % 32 {
        0..=4 => world.run(Duration::from_millis(script.choose(&PAUSES)?)),
        5..=13 => use_streams(operation % 32, script, world)?,
        14..=18 => use_paths(operation % 32, script, world)?,
        19..=22 => change_network(operation % 32, script, world)?,
        23 => {
            let side = script.side()?;
            world.act(side, |_, connection, now| {
                connection.initiate_key_update(now);
            });
        }
        24 => {
            let (side, kind, n) = (script.side()?, script.flag()?, script.below(16)?);
            change_policy(world, side, kind, n);
        }
        25 => {
            // Closing is the end of most that is of interest, so it takes two bytes to agree.
            match script.byte()? {
                0xff => {
                    let side = script.side()?;
                    let reason = Bytes::from_static(b"enough");
                    world.act(side, |_, connection, now| connection.close(now, 5, reason));
                }
                byte @ 0x40..=0x7f => world.forge_connection(victim(usize::from(byte))),
                _ => {}
            }
        }
        26..=28 => rewrite(script, world)?,
        29..=30 => inject(script, world)?,
        _ => replay(script, world)?,
    }
    Some(())
}

fn use_streams(operation: u8, script: &mut Script<'_>, world: &mut World) -> Option<()> {
    let side = script.side()?;
    match operation {
        5 | 6 => {
            let (bidirectional, length) = (script.flag()?, script.number()?);
            world.act(side, |app, connection, _| app.open(connection, bidirectional, length));
        }
        7 | 8 => {
            let (n, length, finish) = (script.below(16)?, script.number()?, operation == 8);
            world.act(side, |app, _, _| app.write_more(n, length, finish));
        }
        9 => {
            let (n, reliable) = (script.below(16)?, script.number()?);
            let reliable = (reliable % 2 == 1).then_some(reliable);
            world.act(side, |app, connection, _| app.reset(connection, n, reliable));
        }
        10 => {
            let n = script.below(16)?;
            world.act(side, |app, connection, _| app.stop(connection, n));
        }
        11 => {
            let (n, priority) = (script.below(16)?, script.byte()?);
            world.act(side, |app, connection, _| app.prioritise(connection, n, i32::from(priority) - 128));
        }
        12 => {
            let pause = script.flag()?;
            let application = &mut world.end(side).application;
            if pause { application.paused = true } else { application.resume() }
        }
        _ => {
            let (length, path, count) = (script.number()?, script.byte()?, script.below(MAX_BURST)?);
            let path_id = (path & 8 != 0).then_some(PathId(u32::from(path & 7)));
            let length = usize::try_from(length).unwrap_or(usize::MAX).min(1_500);
            if path & 0x20 != 0 {
                let delivery = Delivery::ALL[usize::from(path >> 6)];
                world.act(side, |app, connection, _| {
                    (0..count).for_each(|_| app.tell_policies(connection, length, path_id, delivery));
                });
                return Some(());
            }
            world.act(side, |app, connection, _| {
                (0..count).for_each(|_| app.send_message(connection, length, path_id, path & 16 != 0));
            });
        }
    }
    Some(())
}

fn use_paths(operation: u8, script: &mut Script<'_>, world: &mut World) -> Option<()> {
    let (n, argument) = (script.below(LINKS)?, script.byte()?);
    let id = PathId(u32::from(argument & 7));
    let status = if argument & 8 == 0 { PathStatus::Available } else { PathStatus::Backup };
    let side = if argument & 16 == 0 { Side::Client } else { Side::Server };
    match operation {
        14 | 15 => world.act(Side::Client, |_, connection, now| {
            let _ = connection.open_path(now, from(n), status, None);
        }),
        16 => world.act(side, |_, connection, now| {
            let _ = connection.abandon_path(now, id, Code::APPLICATION_ABANDON_PATH);
        }),
        17 => world.act(side, |_, connection, now| {
            let _ = connection.set_path_status(now, id, status);
        }),
        _ => world.act(Side::Client, |_, connection, now| {
            let _ = connection.migrate_path(now, id, from(n));
        }),
    }
    Some(())
}

fn change_network(operation: u8, script: &mut Script<'_>, world: &mut World) -> Option<()> {
    let (n, argument) = (script.below(LINKS)?, script.byte()?);
    if operation == 22 {
        world.network.rebind(n);
        return Some(());
    }
    let link = &mut world.network.links[n];
    match operation {
        19 => link.up = argument & 1 == 1,
        20 => link.lose = argument,
        _ => match argument & 7 {
            0 => link.hold = script.byte()?,
            1 => link.duplicate = script.byte()?,
            2 => link.mark = script.byte()?,
            4 => link.ecn = Mangling::ALL[script.below(Mangling::ALL.len())?],
            3 => link.mtu = script.choose(&[1200, 1252, 1300, 1400, 1500])?,
            _ => link.delay = Duration::from_millis(script.choose(&[1, 5, 10, 30, 100, 400])?),
        },
    }
    Some(())
}

fn change_policy(world: &mut World, side: Side, scheduler: bool, n: usize) {
    let registry = setup::registry();
    world.act(side, |_, connection, now| {
        if scheduler {
            let names: Vec<_> = registry.names(PolicyKind::Scheduler).collect();
            let _ = connection.set_scheduler(registry, setup::nth_name(names.into_iter(), n));
        } else {
            let names: Vec<_> = registry.names(PolicyKind::Congestion).collect();
            let name = setup::nth_name(names.into_iter(), n / 4);
            let _ = connection.set_controller(now, PathId((n % 4) as u32), registry, name);
        }
    });
}

/// Puts frames into packets that are about to leave.
fn rewrite(script: &mut Script<'_>, world: &mut World) -> Option<()> {
    let (side, how, count) = (script.side()?, script.byte()?, script.below(MAX_BURST)?);
    let space = match how & 7 {
        0 => Some(Space::Initial),
        1 => Some(Space::Handshake),
        number @ 2..=5 => Some(Space::Path(u32::from(number - 2))),
        _ => None,
    };
    let frames = grammar::payload(script, side, &world.observer)?;
    let rewrites = &mut world.end(side).rewrites;
    for _ in 0..=count.saturating_sub(MAX_BURST / 2) {
        if rewrites.len() < MAX_REWRITES {
            rewrites.push_back(Rewrite { space, replace: how & 8 != 0, frames: frames.clone() });
        }
    }
    Some(())
}

/// Takes the place of one end, and sends packets as if from it.
fn inject(script: &mut Script<'_>, world: &mut World) -> Option<()> {
    let (side, how, cid, ahead) = (script.side()?, script.byte()?, script.below(64)?, script.number()?);
    let link = script.below(2 * LINKS)?;
    let level = usize::from(how & 7);
    let count = if how & 8 == 0 { 1 } else { script.below(MAX_BURST)? };
    world.end(side).replaced = true;
    for _ in 0..count {
        let Some(mut header) = world.observer.next_header(side, level, cid, ahead % 1_024) else { break };
        header.phase ^= how & 16 != 0;
        let mut frames = grammar::payload(script, side, &world.observer)?;
        if how & 32 != 0 && matches!(header.space, Space::Path(_)) {
            frames.splice(0..0, honest_acks(side, &world.observer, grammar::MAX_PAYLOAD));
        }
        if how & 64 != 0 {
            frames.resize(frames.len().max(1_200), 0);
        }
        let Some(packet) = world.observer.write(side, &header, &frames) else { break };
        world.observer.note_forged(side, &header);
        match side {
            Side::Client if link >= LINKS => world.network.spoof(world.now, victim(link), packet),
            _ => {
                let tuple =
                    if side.is_client() { from(link % LINKS) } else { world.network.to(link % LINKS) };
                world.network.send(world.now, side, tuple, None, packet);
            }
        }
    }
    Some(())
}

/// Sends a datagram again, perhaps changed, perhaps from elsewhere; or any bytes; either as a stateless reset.
fn replay(script: &mut Script<'_>, world: &mut World) -> Option<()> {
    let (n, how) = (script.below(16)?, script.byte()?);
    let recent = &world.network.recent;
    let Some(mut datagram) = recent.get(n % recent.len().max(1)).cloned() else { return Some(()) };
    if how & 1 == 1 {
        let (at, mask) = (script.number()?, script.byte()?);
        let at = usize::try_from(at).unwrap_or(usize::MAX) % datagram.payload.len();
        datagram.payload[at] ^= mask;
    }
    if how & 2 == 2 {
        let length = script.byte()?;
        datagram.payload = script.bytes(usize::from(length))?.to_vec();
    }
    if how & 8 == 8 {
        // RFC 9000 section 10.3: anyone who sends its token ends the connection.
        let tokens = &world.observer.sent(datagram.by).tokens;
        if let Some(token) = tokens.get(n % tokens.len().max(1)) {
            datagram.payload.extend_from_slice(&token.0);
        }
    }
    if how & 4 == 4 && datagram.by.is_client() {
        world.network.spoof(world.now, victim(usize::from(how >> 4)), datagram.payload);
    } else {
        world.network.put(world.now, UnderWay { ecn: None, ..datagram });
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Strangers are answered, or the limit would not be put to the test.
    #[test]
    fn many_connections_share_the_limit_of_an_address() {
        let setup = setup::read(&mut Script::new(&[0; 16])).expect("long enough");
        let mut world = World::new(setup);
        world.run(Duration::from_millis(200));
        for _ in 0..5 {
            (0..2).for_each(|_| world.forge_connection(victim(3)));
            world.run(Duration::from_secs(2));
        }
        let (received, sent) = world.network.exchanged(victim(3));
        assert!(received >= 10 * 1_200 && sent > received, "{sent} bytes for {received}");
        finish(&mut world);
    }
}
