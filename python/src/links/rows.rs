//! What links did, as rows: the columns of `hawser trace import -o FILE.parquet`.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, StringDictionaryBuilder, UInt64Builder};
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::Field;
use hawser_link::{Direction, Nanos};
use hawser_radio::{Profile, Sample};
use hawser_trace::{EventKind, LinkTrace, Piece, Trace};
use pyo3::prelude::*;

use crate::table::Table;

#[derive(Default)]
pub(super) struct Rows {
    link: StringDictionaryBuilder<Int32Type>,
    direction: StringDictionaryBuilder<Int32Type>,
    time: UInt64Builder,
    rate: UInt64Builder,
    delay: UInt64Builder,
    loss: Float64Builder,
    down: BooleanBuilder,
    event: StringDictionaryBuilder<Int32Type>,
    event_length: UInt64Builder,
}

/// What a direction does from a time on.
struct State {
    time: Nanos,
    rate: Option<u64>,
    delay: Option<u64>,
    loss: Option<f64>,
    is_down: bool,
}

impl Rows {
    /// What was recorded. Delivery chances are counted per 100 ms.
    pub(super) fn of_trace(trace: &Trace) -> Self {
        let mut rows = Rows::default();
        for link in &trace.links {
            Direction::BOTH.into_iter().for_each(|direction| rows.recorded(link, direction, trace.duration));
            for event in &link.events {
                match &event.kind {
                    EventKind::HandOver => {
                        rows.happened(&link.name, event.from, "hand-over", Some(event.to - event.from));
                    }
                    EventKind::Technology(name) => rows.happened(&link.name, event.from, name, None),
                }
            }
        }
        rows
    }

    /// What a model drew.
    pub(super) fn of_profiles(profiles: &[Profile]) -> Self {
        let mut rows = Rows::default();
        for profile in profiles {
            for (direction, samples) in [("up", &profile.up), ("down", &profile.down)] {
                samples.iter().for_each(|sample| rows.state(&profile.name, direction, &drawn(sample)));
            }
            for event in &profile.events {
                rows.happened(&profile.name, event.at, name_of(event.kind), None);
            }
        }
        rows
    }

    fn recorded(&mut self, link: &LinkTrace, direction: Direction, duration: Nanos) {
        let values = link.direction(direction);
        if !values.is_measured() {
            return;
        }
        let columns = [values.service(duration), values.delays(duration), values.losses(duration)];
        let outages = values.outages.iter().flat_map(|&(from, to)| [from, to]);
        let mut changes: BTreeSet<Nanos> = outages.filter(|time| *time < duration).collect();
        changes.extend(columns.iter().flatten().flatten().map(|piece| piece.from));
        let mut positions = [0; 3];
        for time in changes {
            let mut at = |column: usize| value_at(&columns[column], &mut positions[column], time);
            let (rate, delay, loss) = (at(0), at(1), at(2));
            let whole = |value: Option<f64>| value.map(|value| value.round() as u64);
            let is_down = values.outages.iter().any(|outage| (outage.0..outage.1).contains(&time));
            let state = State { time, rate: whole(rate), delay: whole(delay), loss, is_down };
            self.state(&link.name, direction.name(), &state);
        }
    }

    fn state(&mut self, link: &str, direction: &str, state: &State) {
        self.link.append_value(link);
        self.direction.append_value(direction);
        self.time.append_value(state.time);
        self.rate.append_option(state.rate);
        self.delay.append_option(state.delay);
        self.loss.append_option(state.loss);
        self.down.append_value(state.is_down);
        self.event.append_null();
        self.event_length.append_null();
    }

    fn happened(&mut self, link: &str, time: Nanos, what: &str, length: Option<Nanos>) {
        self.link.append_value(link);
        self.direction.append_null();
        self.time.append_value(time);
        self.rate.append_null();
        self.delay.append_null();
        self.loss.append_null();
        self.down.append_null();
        self.event.append_value(what);
        self.event_length.append_option(length);
    }

    pub(super) fn finish(mut self) -> PyResult<Table> {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("link", Arc::new(self.link.finish())),
            ("direction", Arc::new(self.direction.finish())),
            ("time_ns", Arc::new(self.time.finish())),
            ("rate_bps", Arc::new(self.rate.finish())),
            ("delay_ns", Arc::new(self.delay.finish())),
            ("loss", Arc::new(self.loss.finish())),
            ("is_down", Arc::new(self.down.finish())),
            ("event", Arc::new(self.event.finish())),
            ("event_ns", Arc::new(self.event_length.finish())),
        ];
        let named =
            |(name, array): (&str, ArrayRef)| (Field::new(name, array.data_type().clone(), true), array);
        Table::new(columns.into_iter().map(named).collect())
    }
}

fn drawn(sample: &Sample) -> State {
    State {
        time: sample.at,
        // As in recordings: what is down carries nothing.
        rate: Some(if sample.up { sample.rate } else { 0 }),
        delay: Some(sample.delay),
        loss: Some(sample.loss),
        is_down: !sample.up,
    }
}

fn name_of(kind: hawser_radio::EventKind) -> &'static str {
    match kind {
        hawser_radio::EventKind::Attach => "attach",
        hawser_radio::EventKind::Detach => "detach",
        hawser_radio::EventKind::HandOverStart => "hand-over",
        hawser_radio::EventKind::HandOverEnd => "hand-over-end",
        hawser_radio::EventKind::Reconfiguration => "reconfiguration",
        hawser_radio::EventKind::AddressChange => "address-change",
    }
}

/// The value at a time, the times asked for not going back.
fn value_at(pieces: &Option<Vec<Piece>>, position: &mut usize, time: Nanos) -> Option<f64> {
    let pieces = pieces.as_ref()?;
    while pieces.get(*position).is_some_and(|piece| piece.to <= time) {
        *position += 1;
    }
    pieces.get(*position).map(|piece| piece.value)
}
