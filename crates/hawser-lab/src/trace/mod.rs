//! Recorded links: traces in the formats that people have, told apart, measured, drawn, and turned into
//! scenarios.
//!
//! A [`Trace`] says for each link and direction what it did over time: its rate, its one-way delay, its loss,
//! when it was gone; and what happened to it (hand-overs, changes of the radio technology). Every format is
//! read into this one form ([`read`]), whatever part of it the format knows: a mahimahi file has a rate and
//! nothing else, a ping log has delay and loss. Several files complete each other: those about the same link
//! are laid over each other, those about different links stand side by side.
//!
//! * [`Format`] lists the formats; [`Format::recognise`] tells them apart by their content.
//! * [`Info`] is what a trace amounts to: means, quantiles, outages, how often two links are poor together.
//! * [`export`] writes a scenario with its series files, mahimahi files, or a table.
//! * [`plot`] draws.
//!
//! # What a value means between two lines
//!
//! Traces are step functions here: a value holds from its time until the next one. Formats in which a line
//! describes the time *before* it (Pensieve) are shifted accordingly.

mod combine;
mod error;
pub mod export;
mod format;
mod info;
mod lines;
mod model;
pub mod plot;
mod statistics;

pub use combine::{Input, ReadOptions, parse, read};
pub use error::TraceError;
pub use format::{Format, chances_of};
pub use info::{DirectionInfo, HandOverInfo, Info, LinkInfo, OutageInfo, PairInfo};
pub use model::{DirectionTrace, Event, EventKind, LinkTrace, PACKET_BYTES, Piece, RateTrace, Trace};
pub use statistics::Distribution;

#[cfg(test)]
mod tests;
