//! Heap of idle connections: what is freed when they are dropped.

use std::time::Duration;

use bench_harness::Error;
use hawser_core::{Connection, Event, StreamEvent};
use hawser_policy::{PathId, PathState, PathStatus, StreamId, Time};
use serde::Serialize;

use crate::heap::live_bytes;
use crate::host::User;
use crate::sessions::{SessionKind, Sessions};
use crate::world::{World, client_tuple};

/// Per idle connection.
const CONNECTION_LIMIT: f64 = 32.0 * 1024.0;
/// Per idle extra path.
const PATH_LIMIT: f64 = 8.0 * 1024.0;
/// Between two connections.
const ARRIVAL_INTERVAL: Duration = Duration::from_millis(2);
/// Until the last acknowledgement, MTU probe and connection id has found its place.
const SETTLING: Duration = Duration::from_secs(8);
/// What each connection has transferred before it became idle.
const ANSWER: usize = 16 * 1024;

/// Bytes of heap.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Memory {
    session: SessionKind,
    connections: usize,
    /// `size_of::<Connection>()`, which is part of the numbers below.
    connection_struct: usize,
    client_per_connection: f64,
    server_per_connection: f64,
    client_per_extra_path: f64,
    server_per_extra_path: f64,
}

/// Measures with and without cryptography.
pub(crate) fn report(connections: usize) -> Result<Vec<Memory>, Error> {
    [SessionKind::Null, SessionKind::Tls].into_iter().map(|session| measure(session, connections)).collect()
}

fn measure(session: SessionKind, connections: usize) -> Result<Memory, Error> {
    let (client_one, server_one) = per_connection(session, connections, 1)?;
    let (client_two, server_two) = per_connection(session, connections, 2)?;
    let memory = Memory {
        session,
        connections,
        connection_struct: size_of::<Connection>(),
        client_per_connection: client_one,
        server_per_connection: server_one,
        client_per_extra_path: client_two - client_one,
        server_per_extra_path: server_two - server_one,
    };
    for (what, bytes, limit) in [
        ("connection, client", memory.client_per_connection, CONNECTION_LIMIT),
        ("connection, server", memory.server_per_connection, CONNECTION_LIMIT),
        ("extra path, client", memory.client_per_extra_path, PATH_LIMIT),
        ("extra path, server", memory.server_per_extra_path, PATH_LIMIT),
    ] {
        let verdict = if bytes <= limit { "holds" } else { "MISSED" };
        eprintln!("{verdict:<6}  idle {what}, {session:?} session: {bytes:.0} bytes (at most {limit:.0})");
    }
    Ok(memory)
}

/// Bytes per connection with so many paths, of client and server. What the endpoints keep for it is counted too.
fn per_connection(session: SessionKind, connections: usize, paths: u8) -> Result<(f64, f64), Error> {
    let mut transport = hawser_net::default_transport();
    transport.max_idle_timeout = None;
    let mut world = World::new(&Sessions::new(session)?, transport, Asker::default(), Answerer);
    for _ in 0..connections {
        world.connect()?;
        let next = world.now + ARRIVAL_INTERVAL;
        world.run_until(next, |_| false);
    }
    let settled = world.now + SETTLING;
    world.run_until(settled, |_| false);
    for link in 1..paths {
        for index in 0..connections {
            let now = world.now;
            let connection = world.client.connection(index).ok_or("a connection is gone")?;
            connection.open_path(now, client_tuple(link), PathStatus::Available, None)?;
        }
        let settled = world.now + SETTLING;
        world.run_until(settled, |_| false);
    }
    check(&mut world, connections, paths)?;

    let World { client, server, .. } = world;
    let before = live_bytes();
    drop(server);
    let between = live_bytes();
    drop(client);
    let after = live_bytes();
    let each = |bytes: i64| bytes as f64 / connections as f64;
    Ok((each(between - after), each(before - between)))
}

/// Numbers of connections that failed would look very good.
fn check(world: &mut World<Asker, Answerer>, connections: usize, paths: u8) -> Result<(), Error> {
    let complete = |connection: &mut Connection| {
        let ready =
            |path: &hawser_core::PathInfo| path.state == PathState::Active && path.id <= PathId(paths.into());
        !connection.is_closed()
            && connection.paths().iter().filter(|path| ready(path)).count() == usize::from(paths)
    };
    let ready = (
        world.client.connections().filter_map(|connection| complete(connection).then_some(())).count(),
        world.server.connections().filter_map(|connection| complete(connection).then_some(())).count(),
    );
    if ready != (connections, connections) || world.client.user.received != connections * ANSWER {
        let received = world.client.user.received;
        return Err(format!(
            "{ready:?} of {connections} connections have {paths} paths; {received} bytes came"
        )
        .into());
    }
    Ok(())
}

/// Asks once, when connected.
#[derive(Debug, Default)]
struct Asker {
    received: usize,
}

impl User for Asker {
    fn on_event(&mut self, _: Time, connection: &mut Connection, event: &Event) {
        match event {
            Event::Connected => {
                if let Some(stream) = connection.open_stream(true) {
                    let _ = connection.write(stream, b"request");
                    let _ = connection.finish(stream);
                }
            }
            Event::Stream(StreamEvent::Readable(stream)) => {
                while let Ok(Some(chunk)) = connection.read_chunk(*stream, usize::MAX) {
                    self.received += chunk.len();
                }
            }
            _ => {}
        }
    }
}

/// Answers every stream.
struct Answerer;

impl Answerer {
    fn answer(connection: &mut Connection, stream: StreamId) {
        let _ = connection.write(stream, &[0x5a; ANSWER]);
        let _ = connection.finish(stream);
    }
}

impl User for Answerer {
    fn on_event(&mut self, _: Time, connection: &mut Connection, event: &Event) {
        match event {
            Event::Stream(StreamEvent::Opened { bidirectional: true }) => {
                while let Some(stream) = connection.accept_stream(true) {
                    Self::answer(connection, stream);
                }
            }
            Event::Stream(StreamEvent::Readable(stream)) => {
                while let Ok(Some(_)) = connection.read_chunk(*stream, usize::MAX) {}
            }
            _ => {}
        }
    }
}
