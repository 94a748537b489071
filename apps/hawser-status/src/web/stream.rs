//! Server-sent events: four samples a second, events as they happen.

use std::io;
use std::time::Duration;

use serde::Serialize;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::MissedTickBehavior;

use crate::history::{Point, series};
use crate::hub::Hub;
use crate::local_http::head;
use crate::model::{Event, Status};

/// How often the page is told.
const INTERVAL: Duration = Duration::from_millis(250);
/// How long a page may take nothing of it.
const STALL: Duration = Duration::from_secs(10);
/// Connections that the page is told of; of more, the busiest.
const MAX_CONNECTIONS: usize = 32;
/// Events that a page sees first.
const RECENT_EVENTS: u64 = 50;

/// What the page is told at once.
#[derive(Serialize)]
struct Sample<'a> {
    status: &'a Status,
    series: std::collections::BTreeMap<String, Point>,
    events: Vec<Event>,
}

/// Tells until the page is closed.
pub(super) async fn send(hub: &Hub, stream: &mut TcpStream, policy: &str) -> io::Result<()> {
    let head = head("200 OK", "text/event-stream", policy, None);
    stream.write_all(head.as_bytes()).await?;
    let mut known = hub.last_event().saturating_sub(RECENT_EVENTS);
    let mut ticks = tokio::time::interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        let mut status = (*hub.look(INTERVAL / 2)).clone();
        let series = series(&status);
        let hidden = status.connections.len().saturating_sub(MAX_CONNECTIONS) as u64;
        status.connections_left_out += hidden;
        status.connections.truncate(MAX_CONNECTIONS);
        status.page = None;
        let events = hub.events_after(known);
        known = events.last().map_or(known, |event| event.seq);
        let sample = serde_json::to_string(&Sample { status: &status, series, events })?;
        let text = format!("data: {sample}\n\n");
        tokio::time::timeout(STALL, stream.write_all(text.as_bytes())).await??;
    }
}
