//! What the page draws.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::study::{Study, Summary};
use crate::thin::{Keeper, extremes};
use crate::trace::{Change, Packet, Series, Trace};

/// Points of the picture of sequence against time, of each direction.
const MAX_POINTS: usize = 40_000;
/// Losses that are drawn.
const MAX_LOSSES: usize = 20_000;
/// Intervals of series.
const INTERVALS: usize = 2_000;
/// Intervals of rates, and their least length in microseconds.
const RATE_INTERVALS: u64 = 800;
const LEAST_INTERVAL: u64 = 20_000;

#[derive(Serialize)]
pub(super) struct Picture {
    summary: Summary,
    end_us: u64,
    /// Bits per second of data in order, by interval.
    interval_us: u64,
    goodput: Vec<u64>,
    paths: Vec<Lane>,
    delivery: Points,
    /// Whether `sent` is there, or arrivals only.
    has_sender: bool,
    has_receiver: bool,
}

/// What is drawn of a path.
#[derive(Serialize)]
struct Lane {
    id: u64,
    name: String,
    /// Bits per second of stream data by interval: as sent, or as arrived.
    carried: Vec<u64>,
    sent: Points,
    arrived: Points,
    lost: Points,
    spurious: Points,
    rtt_us: Points,
    window: Points,
    in_flight: Points,
    states: Vec<(i64, String, String)>,
    congestion: Vec<(i64, String, String)>,
}

/// Pairs of time in microseconds and value, each as the difference from the one before.
#[derive(Default, Serialize)]
struct Points {
    t: Vec<i64>,
    y: Vec<i64>,
    #[serde(skip)]
    last: (i64, i64),
}

impl Points {
    fn push(&mut self, at: i64, value: i64) {
        self.t.push(at - self.last.0);
        self.y.push(value - self.last.1);
        self.last = (at, value);
    }

    fn of(series: &Series, time: impl Fn(u64) -> i64) -> Self {
        let mut points = Points::default();
        extremes(series, INTERVALS).iter().for_each(|(at, value)| points.push(time(*at), *value as i64));
        points
    }
}

pub(super) fn of(study: &Study) -> Picture {
    let end_us = study.end_us();
    let interval_us = (end_us / RATE_INTERVALS).max(LEAST_INTERVAL);
    let mut lanes: BTreeMap<u64, Lane> =
        study.path_ids().into_iter().map(|id| (id, lane(study, id, end_us, interval_us))).collect();
    let places = places(study);
    if let Some(sender) = study.sender() {
        let mut keeper = Keeper::new(sender.sent.len(), MAX_POINTS, study.gaps());
        let mut losses = 0;
        for packet in &sender.sent {
            let at = study.sender_time(packet.at_us);
            let Some(lane) = lanes.get_mut(&packet.path) else { continue };
            count(&mut lane.carried, sender, packet, at, interval_us);
            let Some(place) = place(&places, sender, packet) else { continue };
            if packet.is_lost() && losses < MAX_LOSSES {
                losses += 1;
                let kind = if packet.is_spuriously_lost() { &mut lane.spurious } else { &mut lane.lost };
                kind.push(at, place);
            } else if keeper.keeps(at as f64 / 1e6) {
                lane.sent.push(at, place);
            }
        }
    }
    if let Some(receiver) = study.receiver() {
        let mut keeper = Keeper::new(receiver.received.len(), MAX_POINTS, study.gaps());
        for packet in &receiver.received {
            let at = packet.at_us as i64;
            let Some(lane) = lanes.get_mut(&packet.path) else { continue };
            if study.sender().is_none() {
                count(&mut lane.carried, receiver, packet, at, interval_us);
            }
            if keeper.keeps(at as f64 / 1e6)
                && let Some(place) = place(&places, receiver, packet)
            {
                lane.arrived.push(at, place);
            }
        }
    }
    let steps: Series = study.delivery.steps.iter().map(|(at, bytes)| (*at, *bytes as f64)).collect();
    Picture {
        summary: study.summary(),
        end_us,
        interval_us,
        goodput: goodput(&study.delivery.steps, end_us, interval_us),
        paths: lanes.into_values().collect(),
        delivery: Points::of(&steps, |at| at as i64),
        has_sender: study.sender().is_some(),
        has_receiver: study.receiver().is_some(),
    }
}

fn lane(study: &Study, id: u64, end_us: u64, interval_us: u64) -> Lane {
    let mut lane = Lane {
        id,
        name: study.path_name(id),
        carried: vec![0; (end_us / interval_us) as usize + 1],
        sent: Points::default(),
        arrived: Points::default(),
        lost: Points::default(),
        spurious: Points::default(),
        rtt_us: Points::default(),
        window: Points::default(),
        in_flight: Points::default(),
        states: Vec::new(),
        congestion: Vec::new(),
    };
    // What the sender knows of a path tells more: it has packets in flight.
    let (trace, is_sender) = match (study.sender(), study.receiver()) {
        (Some(sender), _) => (sender, true),
        (None, Some(receiver)) => (receiver, false),
        (None, None) => return lane,
    };
    let time = |at: u64| if is_sender { study.sender_time(at) } else { at as i64 };
    if let Some(path) = trace.paths.get(&id) {
        lane.rtt_us = Points::of(&path.rtt, time);
        lane.window = Points::of(&path.window, time);
        lane.in_flight = Points::of(&path.in_flight, time);
        let change = |change: &Change| (time(change.at_us), change.to.clone(), change.cause.clone());
        lane.states = path.states.iter().map(change).collect();
        lane.congestion = path.congestion.iter().map(change).collect();
    }
    lane
}

/// Adds the stream data of a packet to the rate of its interval.
fn count(carried: &mut [u64], trace: &Trace, packet: &Packet, at: i64, interval_us: u64) {
    let bytes: u64 = trace.data_of(packet).iter().map(|chunk| u64::from(chunk.length)).sum();
    if let Some(sum) = usize::try_from(at / interval_us as i64).ok().and_then(|index| carried.get_mut(index))
    {
        *sum += bytes.saturating_mul(8_000_000) / interval_us;
    }
}

fn goodput(steps: &[(u64, u64)], end_us: u64, interval_us: u64) -> Vec<u64> {
    let mut rates = vec![0; (end_us / interval_us) as usize + 1];
    let mut before = 0;
    for (at, total) in steps {
        if let Some(rate) = rates.get_mut((at / interval_us) as usize) {
            *rate += (total - before).saturating_mul(8_000_000) / interval_us;
        }
        before = *total;
    }
    rates
}

/// Where each stream begins in the picture: one behind the other, in the order of their begin.
fn places(study: &Study) -> HashMap<u64, u64> {
    let trace = study.sender().map(|sender| (sender, &sender.sent));
    let trace = trace.or_else(|| study.receiver().map(|receiver| (receiver, &receiver.received)));
    let Some((trace, packets)) = trace else { return HashMap::new() };
    let mut ends: HashMap<u64, u64> = HashMap::new();
    let mut order = Vec::new();
    for chunk in packets.iter().flat_map(|packet| trace.data_of(packet)) {
        let end = ends.entry(chunk.stream).or_insert_with(|| {
            order.push(chunk.stream);
            0
        });
        *end = (*end).max(chunk.end());
    }
    let mut next = 0_u64;
    let begins = order.into_iter().map(|stream| {
        let begin = next;
        next = next.saturating_add(ends.get(&stream).copied().unwrap_or(0));
        (stream, begin)
    });
    begins.collect()
}

fn place(places: &HashMap<u64, u64>, trace: &Trace, packet: &Packet) -> Option<i64> {
    let chunk = trace.data_of(packet).first()?;
    i64::try_from(places.get(&chunk.stream)?.saturating_add(chunk.offset)).ok()
}
