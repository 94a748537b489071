//! The end that shows.

use std::collections::BTreeMap;

use bytes::Bytes;
use hawser_policy::{StreamId, Time};
use hawser_ride::{
    FrameKind, FrameSet, Gop, Metrics, Outcome, Playback, RewardRule, SKIP, TILES, decode_time, in_order,
    release,
};

use super::sender::key;
use super::wire::{Index, UnitEntry};
use super::{Format, GOP};
use crate::live::mismatches;
use crate::{Application, Measure, Piece, Transport};

/// Streams that are read at a time; further ones wait for the transport's own limit.
const MAX_READING: usize = 8_192;
/// Tiles that are viewed of a frame, where no frame is known.
const USUAL_UNITS: f64 = 40.0;
/// Bytes of an index that may wait for the rest of it: a whole one has less.
const MAX_INDEX: usize = 1 << 16;

/// Keeps when each tile-frame came, and says at the end what could be shown of the film.
#[derive(Debug)]
pub struct Receiver {
    format: Format,
    gop: Gop,
    /// Release of frame 0 by the sender's clock, once an index came.
    epoch: Option<Time>,
    /// When the connection was there, by our clock.
    started_at: Option<Time>,
    /// What of the index is not whole yet.
    said: Vec<u8>,
    /// Streams that are not at their end.
    reading: BTreeMap<StreamId, Reading>,
    /// Streams whose index came first.
    announced: BTreeMap<StreamId, Announced>,
    gops: BTreeMap<u32, GopState>,
    corrupt: u64,
    is_over: bool,
}

/// How far a stream has been read.
#[derive(Clone, Debug, Default)]
struct Reading {
    offset: u64,
    /// What was read before it was known what it is: up to where, when, and whether it was there.
    before: Vec<(u64, Time, bool)>,
    /// Of the member that comes next, some bytes will not come.
    is_damaged: bool,
    has_ended: bool,
}

#[derive(Clone, Copy, Debug)]
struct Announced {
    gop: u32,
    unit: usize,
}

/// A group of pictures.
#[derive(Clone, Debug)]
struct GopState {
    /// Frames of which the index came.
    known: FrameSet,
    units: Vec<Unit>,
    /// When each tile-frame was whole, seconds since the start of the film; infinity: not yet, or never.
    arrivals: Vec<f64>,
}

#[derive(Clone, Debug)]
struct Unit {
    frame: u32,
    entry: UnitEntry,
    /// Where each member ends in the stream.
    ends: Vec<u64>,
}

impl Receiver {
    /// Shows a film of this format.
    pub fn new(format: Format) -> Self {
        Receiver {
            format,
            gop: Gop::of_fifty(),
            epoch: None,
            started_at: None,
            said: Vec::new(),
            reading: BTreeMap::new(),
            announced: BTreeMap::new(),
            gops: BTreeMap::new(),
            corrupt: 0,
            is_over: false,
        }
    }

    /// When nothing of the film is of use any more.
    fn ends_at(&self) -> Option<Time> {
        let last = self.format.frames.saturating_sub(1);
        self.epoch.map(|epoch| self.format.display_ends(epoch, last))
    }

    fn read_index(&mut self, data: &[u8]) {
        self.said.extend(data);
        loop {
            match Index::decode(&self.said, &self.gop) {
                Ok(Some((index, used))) => {
                    self.said.drain(..used);
                    self.on_index(index);
                }
                Ok(None) if self.said.len() <= MAX_INDEX => return,
                Ok(None) | Err(_) => {
                    self.corrupt += 1;
                    self.said.clear();
                    return;
                }
            }
        }
    }

    fn on_index(&mut self, index: Index) {
        if index.frame >= self.format.frames {
            self.corrupt += 1;
            return;
        }
        let since_start = super::release(index.frame).as_nanos() as u64;
        let start = Time::from_nanos(index.released_at.as_nanos().saturating_sub(since_start));
        self.epoch.get_or_insert(start);
        let number = index.frame / GOP;
        let length = self.gop.len();
        let state = self.gops.entry(number).or_insert_with(|| GopState {
            known: 0,
            units: Vec::new(),
            arrivals: vec![f64::INFINITY; TILES * length],
        });
        let frame = 1 << (index.frame % GOP);
        if state.known & frame != 0 {
            self.corrupt += 1;
            return;
        }
        state.known |= frame;
        let mut known = Vec::new();
        for entry in index.units {
            let ends = entry.sizes.iter().scan(0, |end, size| {
                *end += u64::from(*size);
                Some(*end)
            });
            let unit = Unit { frame: index.frame, ends: ends.collect(), entry };
            if let Some(stream) = unit.entry.stream {
                let announced = Announced { gop: number, unit: state.units.len() };
                self.announced.insert(stream, announced);
                known.push((stream, announced));
            }
            state.units.push(unit);
        }
        for (stream, announced) in known {
            // What was read of it already is told now.
            let Some(mut reading) = self.reading.remove(&stream) else { continue };
            for (until, at, is_there) in std::mem::take(&mut reading.before) {
                self.advance(announced, &mut reading, until, at, is_there);
            }
            if !reading.has_ended {
                self.reading.insert(stream, reading);
            }
        }
    }

    /// A stream was read until `until`, at a time: the members that end there are whole, unless something of them is missing.
    fn advance(&mut self, announced: Announced, reading: &mut Reading, until: u64, at: Time, is_there: bool) {
        let from = std::mem::replace(&mut reading.offset, until);
        let Some(epoch) = self.epoch else { return };
        let Some(state) = self.gops.get_mut(&announced.gop) else { return };
        let GopState { units, arrivals, .. } = state;
        let Some(unit) = units.get(announced.unit) else { return };
        if unit.ends.last().is_none_or(|end| until > *end) {
            self.corrupt += 1;
            return;
        }
        let seconds = at.since(epoch).as_secs_f64();
        let mut start = 0;
        for (member, end) in in_order(&self.gop, unit.entry.members).zip(&unit.ends) {
            // Those that were read before, and those that are not reached.
            if *end > from && start < until {
                reading.is_damaged |= !is_there;
                if until >= *end {
                    if !reading.is_damaged {
                        arrivals[usize::from(unit.entry.tile) * self.gop.len() + member] = seconds;
                    }
                    reading.is_damaged = false;
                }
            }
            start = *end;
        }
    }

    fn take(&mut self, now: Time, stream: StreamId, length: u64, data: Option<&Bytes>) {
        let mut reading = self.reading.remove(&stream).unwrap_or_default();
        match self.announced.get(&stream).copied() {
            Some(announced) => {
                let unit = self.gops.get(&announced.gop).and_then(|state| state.units.get(announced.unit));
                if let (Some(unit), Some(data)) = (unit, data) {
                    let key = key(unit.frame, unit.entry.tile.into());
                    self.corrupt += mismatches(key, reading.offset, data);
                }
                let until = reading.offset.saturating_add(length);
                self.advance(announced, &mut reading, until, now, data.is_some());
            }
            None => {
                let from = reading.before.last().map_or(0, |before| before.0);
                reading.before.push((from.saturating_add(length), now, data.is_some()));
            }
        }
        self.reading.insert(stream, reading);
    }

    /// Nothing more comes of a stream. What is known of one that is not announced yet is kept until it is.
    fn finish(&mut self, stream: StreamId) {
        if self.announced.contains_key(&stream) {
            self.reading.remove(&stream);
        } else if let Some(reading) = self.reading.get_mut(&stream) {
            reading.has_ended = true;
        }
    }

    /// Frames that were to be shown by now and of which nothing was heard, not even what they consist of.
    fn unheard(&self, now: Time) -> impl Iterator<Item = u32> + '_ {
        let start = self.epoch.or(self.started_at);
        let is_due =
            move |frame: &u32| start.is_some_and(|start| self.format.display_ends(start, *frame) <= now);
        let is_known = |frame: &u32| {
            self.gops.get(&(frame / GOP)).is_some_and(|state| state.known >> (frame % GOP) & 1 == 1)
        };
        (0..self.format.frames).take_while(is_due).filter(move |frame| !is_known(frame))
    }

    /// What became of each unit, by the frame, and of those that nothing is known of: as many as other frames have, none of
    /// which came.
    fn outcomes_until(&self, now: Time) -> Vec<Outcome> {
        let mut outcomes = self.outcomes();
        let known: u32 = self.gops.values().map(|state| state.known.count_ones()).sum();
        let usual = if known > 0 { (outcomes.len() as f64 / f64::from(known)).round() } else { USUAL_UNITS };
        for frame in self.unheard(now) {
            let first = frame - frame % GOP;
            let entry = |tile| UnitEntry {
                stream: None,
                tile,
                until: (frame - first) as u8,
                members: 1 << (frame - first),
                sizes: Vec::new(),
            };
            for tile in 0..usual as u16 {
                let unit = Unit { frame, entry: entry(tile % TILES as u16), ends: Vec::new() };
                outcomes.push(self.outcome(outcomes.len(), &unit, first, f64::INFINITY, f64::INFINITY));
            }
        }
        outcomes
    }

    fn outcomes(&self) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        for (number, state) in &self.gops {
            let first = number * GOP;
            let decoded = self.decoded(state);
            for unit in &state.units {
                let member = (unit.frame - first) as usize;
                let at = usize::from(unit.entry.tile) * self.gop.len() + member;
                outcomes.push(self.outcome(outcomes.len(), unit, first, state.arrivals[at], decoded[at]));
            }
        }
        outcomes
    }

    fn outcome(&self, number: usize, unit: &Unit, first: u32, arrival: f64, decode: f64) -> Outcome {
        let playout = self.format.playout.as_secs_f64();
        let display = |frame: u32| release(frame as usize) + playout;
        let playback = Playback {
            start: display(unit.frame),
            end: display(unit.frame + 1),
            deadline: display(first + u32::from(unit.entry.until) + 1),
        };
        let rule = RewardRule::default();
        let arrived = arrival.is_finite();
        Outcome {
            decision: number as u64,
            frame: unit.frame as usize,
            tile: unit.entry.tile.into(),
            kind: self.gop.kind(unit.frame as usize % self.gop.len()),
            // What never came counts as not sent: the receiver cannot tell.
            action: if arrived { 1 } else { SKIP },
            bytes: unit.entry.sizes.iter().map(|size| f64::from(*size)).sum(),
            release: release(unit.frame as usize),
            playback,
            arrival,
            decode,
            reward: if arrived { rule.sent(&playback, decode, 0.0) } else { rule.skipped(&playback) },
        }
    }

    /// When each tile-frame can be decoded: it and all that it needs are there.
    fn decoded(&self, state: &GopState) -> Vec<f64> {
        let length = self.gop.len();
        let mut decoded = vec![f64::INFINITY; state.arrivals.len()];
        let kinds = |wanted: bool| move |at: &usize| (self.gop.kind(*at) == FrameKind::B) == wanted;
        let order: Vec<usize> =
            (0..length).filter(kinds(false)).chain((0..length).filter(kinds(true))).collect();
        for tile in 0..TILES {
            for member in &order {
                let arrival = state.arrivals[tile * length + member];
                let known = |reference: usize| decoded[tile * length + reference];
                decoded[tile * length + member] = decode_time(&self.gop, *member, arrival, known);
            }
        }
        decoded
    }
}

impl Application for Receiver {
    fn on_start(&mut self, now: Time, _: Time, _: &mut dyn Transport) {
        self.started_at = Some(now);
    }

    fn on_readable(&mut self, now: Time, stream: StreamId, transport: &mut dyn Transport) {
        let is_known = self.reading.contains_key(&stream);
        if !is_known && self.reading.len() >= MAX_READING {
            return;
        }
        loop {
            match transport.read(stream) {
                // A stream that has ended may be said to be readable once more: it does not begin a second time.
                Piece::Nothing => return,
                Piece::End => return self.finish(stream),
                Piece::Data(data) if is_index(stream) => self.read_index(&data),
                Piece::Data(data) => self.take(now, stream, data.len() as u64, Some(&data)),
                Piece::Gap(length) => self.take(now, stream, length, None),
            }
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.ends_at().filter(|_| !self.is_over)
    }

    fn on_timeout(&mut self, now: Time, _: &mut dyn Transport) {
        self.is_over |= self.ends_at().is_some_and(|at| at <= now);
    }

    fn is_done(&self) -> bool {
        self.is_over
    }

    fn measures(&self, now: Time) -> Vec<Measure> {
        let outcomes = self.outcomes_until(now);
        let metrics = Metrics::of(&outcomes);
        let share = |name, value| Measure::new(name, value, "");
        let in_time = outcomes.iter().filter(|outcome| outcome.is_useful()).count();
        vec![
            Measure::new("reward_frames", metrics.reward, ""),
            share("i_zero_share", metrics.i.zero_share),
            share("p_zero_share", metrics.p.zero_share),
            share("b_zero_share", metrics.b.zero_share),
            share("useful_share", in_time as f64 / outcomes.len().max(1) as f64),
            share("arrived_share", 1.0 - skipped(&outcomes)),
            Measure::new("viewing_bps", metrics.viewing_rate, "bit/s"),
            Measure::new("delay_p95", 1e3 * metrics.delay_p95, "ms"),
            Measure::new("units", outcomes.len() as f64, "units"),
            Measure::new("frames_unheard", self.unheard(now).count() as f64, "frames"),
            Measure::new("corrupt", self.corrupt as f64, ""),
        ]
    }
}

/// The index is on the first stream that the sender opens: of the stream number, two bits say who opened it and how.
fn is_index(stream: StreamId) -> bool {
    stream.0 >> 2 == 0
}

fn skipped(outcomes: &[Outcome]) -> f64 {
    outcomes.iter().filter(|outcome| !outcome.was_sent()).count() as f64 / outcomes.len().max(1) as f64
}
