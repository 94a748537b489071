//! The client's end of a tunnel that carries a mix.

use std::time::Duration;

use hawser_core::{Connection, StreamEvent};
use hawser_media::Measure;
use hawser_policy::{Earliest, Time};
use hawser_scenario::{Direction, FlowKind, MixWeb, TunnelMix};

use super::role::Role;
use crate::run::lane::PacketLane;
use crate::run::meter::Meter;
use crate::run::request::{Request, ask};

/// Bytes of a request for an object.
const REQUEST_BYTES: u64 = 400;

/// Everything at once over one connection: TCP as streams, UDP as datagrams.
pub(crate) struct Mix {
    /// What the session's meter counts.
    bulk: Option<Role>,
    web: Option<Web>,
    pub(crate) lane: PacketLane,
}

/// Pages, one after the other.
struct Web {
    what: MixWeb,
    /// The page that is not complete, and since when.
    page: Option<(Role, Time)>,
    next_at: Option<Time>,
    /// What the complete ones took.
    times: Vec<Duration>,
    meter: Meter,
}

impl Mix {
    pub(crate) fn new(mix: &TunnelMix) -> Self {
        let bulk = mix.bulk.map(|direction| Role::new(&FlowKind::Bulk { direction, size: None }, 0, None));
        let web = mix.web.map(|what| Web {
            what,
            page: None,
            next_at: None,
            times: Vec::new(),
            meter: Meter::default(),
        });
        Mix { bulk, web, lane: PacketLane::new(mix, Direction::Up) }
    }

    pub(crate) fn start(&mut self, now: Time, connection: &mut Connection, meter: &mut Meter) {
        // The tunnel of packets.
        ask(connection, Request::Application);
        self.lane.start(now, connection);
        if let Some(bulk) = &mut self.bulk {
            bulk.start(now, now, connection, meter);
        }
        if let Some(web) = &mut self.web {
            web.meter = meter.of_others();
            web.begin(now, connection);
        }
    }

    pub(crate) fn next_timeout(&self) -> Option<Time> {
        let web = self.web.as_ref().and_then(|web| web.next_at);
        Earliest::NONE.or(web).or(self.lane.next_timeout()).time()
    }

    pub(crate) fn on_timeout(&mut self, now: Time, connection: &mut Connection, meter: &mut Meter) {
        if let Some(web) = self.web.as_mut().filter(|web| web.next_at.is_some_and(|at| at <= now)) {
            web.begin(now, connection);
        }
        if self.lane.next_timeout().is_some_and(|at| at <= now) {
            self.lane.on_timeout(now, connection, meter);
        }
    }

    pub(crate) fn on_stream(
        &mut self,
        now: Time,
        event: &StreamEvent,
        connection: &mut Connection,
        meter: &mut Meter,
    ) {
        if let Some(bulk) = &mut self.bulk {
            bulk.on_stream(now, event, connection, meter);
        }
        if let Some(web) = &mut self.web {
            web.on_stream(now, event, connection, meter);
        }
    }

    /// What users see of pages.
    pub(crate) fn measures(&self, now: Time) -> Vec<Measure> {
        self.web.as_ref().map_or_else(Vec::new, |web| web.measures(now))
    }
}

impl Web {
    fn begin(&mut self, now: Time, connection: &mut Connection) {
        let MixWeb { objects, size, .. } = self.what;
        let kind = FlowKind::Requests {
            request: REQUEST_BYTES,
            response: size,
            think: Duration::ZERO,
            number: Some(objects.into()),
            parallel: objects,
            every: None,
        };
        let mut page = Role::new(&kind, 0, None);
        page.start(now, now, connection, &mut self.meter);
        (self.page, self.next_at) = (Some((page, now)), None);
    }

    fn on_stream(&mut self, now: Time, event: &StreamEvent, connection: &mut Connection, meter: &mut Meter) {
        let Some((page, began)) = &mut self.page else { return };
        page.on_stream(now, event, connection, &mut self.meter);
        if page.is_done() {
            self.times.push(now.since(*began));
            meter.completed += 1;
            meter.corrupt_at = meter.corrupt_at.or(self.meter.corrupt_at);
            (self.page, self.next_at) = (None, Some(now + self.what.think));
        }
    }

    /// A page that is not complete counts with what it took until now, if that is more than the others.
    fn measures(&self, now: Time) -> Vec<Measure> {
        let open = self.page.as_ref().map(|(_, began)| now.since(*began));
        let worst = self.times.iter().max().copied().unwrap_or_default();
        let mut times: Vec<f64> = self
            .times
            .iter()
            .copied()
            .chain(open.filter(|open| *open > worst))
            .map(|time| time.as_secs_f64() * 1e3)
            .collect();
        times.sort_unstable_by(f64::total_cmp);
        let Some(worst) = times.last() else { return Vec::new() };
        vec![
            Measure::new("pages", self.times.len() as f64, ""),
            Measure::new("page_mean", times.iter().sum::<f64>() / times.len() as f64, "ms"),
            Measure::new("page_worst", *worst, "ms"),
        ]
    }
}
