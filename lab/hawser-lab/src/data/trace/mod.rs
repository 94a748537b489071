//! Recorded links: measured, drawn, and turned into scenarios.
//!
//! `hawser-trace` reads them ([`read`], [`parse`]); its names are also here.
//!
//! * [`Info`] is what a trace amounts to: means, quantiles, outages, how often two links are poor together.
//! * [`export`] writes a scenario with its series files, mahimahi files, or a table.
//! * [`plot`] draws.

pub mod export;
mod info;
pub mod plot;
mod statistics;

pub use hawser_trace::{
    DirectionTrace, Event, EventKind, Format, Input, LinkTrace, PACKET_BYTES, Piece, RateTrace, ReadOptions,
    Trace, TraceError, chances_of, parse, read,
};
pub use info::{DirectionInfo, HandOverInfo, Info, LinkInfo, OutageInfo, PairInfo};
pub use statistics::Distribution;

#[cfg(test)]
mod tests;
