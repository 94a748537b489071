//! The client's end of a session on real sockets.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hawser_net::{ClientConfig, Connection, Endpoint, LinkSelector, Links, PathSpec, RecvStream, SendStream};
use hawser_scenario::{Direction, Flow, FlowKind, Scenario};
use hawser_sim::run::Request;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::error::CompareError;
use super::meter::Meter;
use super::server::{drain, receive_datagrams, send_datagrams, send_pattern};

/// The name in the server's certificate.
pub(super) const SERVER_NAME: &str = "server.test";

/// What a session is to do.
pub(super) struct Session {
    pub(super) flow: Flow,
    pub(super) config: ClientConfig,
    pub(super) links: Links,
    pub(super) server: SocketAddr,
    pub(super) meter: Arc<Meter>,
}

/// The links of a flow, as an endpoint takes them.
pub(super) fn links_of(scenario: &Scenario, flow: &Flow) -> Links {
    let specs = flow.links.iter().filter_map(|link| scenario.links.get(*link)).map(|link| {
        let selector = LinkSelector::Interface(link.name.clone());
        if link.backup { PathSpec::backup(selector) } else { PathSpec::available(selector) }
    });
    Links::Only(specs.collect())
}

/// Runs a session until it has done its work, its time is over, or `until`. `began`: when the scenario did.
pub(super) async fn run(session: Session, began: Instant, until: Instant) -> Result<(), CompareError> {
    let Session { flow, config, links, server, meter } = session;
    let start = began + Duration::from_nanos(flow.start);
    sleep_until(start.min(until)).await;
    if start >= until {
        return Ok(());
    }
    let stop = flow.stop.map_or(until, |stop| until.min(began + Duration::from_nanos(stop)));
    let endpoint = Endpoint::client(config, links)?;
    let connection = match timeout_at(stop, endpoint.connect(server, SERVER_NAME)).await {
        Err(_) => return Ok(()),
        Ok(connected) => {
            connected.map_err(|source| CompareError::Connect { flow: flow.name.clone(), source })?
        }
    };
    // Beyond its time, and when the connection breaks, what has arrived has arrived.
    if timeout_at(stop, act(&flow, &connection, &meter)).await.is_ok() {
        meter.finish();
    }
    Ok(())
}

/// Does what the flow is to do. `None`: the connection broke.
async fn act(flow: &Flow, connection: &Connection, meter: &Arc<Meter>) -> Option<()> {
    match flow.kind {
        FlowKind::Bulk { direction: Direction::Down, size } => {
            let (mut send, mut receive) =
                ask(connection, Request::Serve { length: size.unwrap_or(u64::MAX) }).await?;
            send.finish().ok()?;
            drain(&mut receive, Some(meter)).await;
        }
        FlowKind::Bulk { direction: Direction::Up, size } => {
            let (mut send, _receive) = ask(connection, Request::Receive).await?;
            send_pattern(&mut send, size.unwrap_or(u64::MAX)).await.ok()?;
        }
        FlowKind::Requests { request, response, think, number, .. } => {
            for _ in 0..number.unwrap_or(u64::MAX) {
                let (mut send, mut receive) = ask(connection, Request::Serve { length: response }).await?;
                let sending = send_pattern(&mut send, request);
                let (sent, ()) = tokio::join!(sending, drain(&mut receive, Some(meter)));
                sent.ok()?;
                sleep(think).await;
            }
        }
        FlowKind::Datagrams { direction: Direction::Down, size, rate } => {
            let _streams = ask(connection, Request::Datagrams { size, rate }).await?;
            receive_datagrams(connection.clone(), meter.clone()).await;
        }
        FlowKind::Datagrams { direction: Direction::Up, size, rate } => {
            send_datagrams(connection, size, rate).await;
        }
        // Refused before anything runs, see `CompareError`.
        FlowKind::Application { .. } | FlowKind::TunnelMix(_) | FlowKind::Udp { .. } => {}
    }
    Some(())
}

/// Opens a stream and puts a request on it.
async fn ask(connection: &Connection, request: Request) -> Option<(SendStream, RecvStream)> {
    let (mut send, receive) = connection.open_bi().await.ok()?;
    send.write_all(&request.encode()).await.ok()?;
    Some((send, receive))
}
