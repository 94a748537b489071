//! Recorded links: traces in the formats that people have, told apart and read into one form.
//!
//! A [`Trace`] says for each link and direction what it did over time: its rate, its one-way delay, its loss,
//! when it was gone; and what happened to it (handovers, changes of the radio technology). Every format is
//! read into this one form ([`read`], [`parse`]), whatever part of it the format knows: a mahimahi file has a
//! rate and nothing else, a ping log has delay and loss. Several files complete each other: those about the
//! same link are laid over each other, those about different links stand side by side.
//!
//! [`chances`] and [`points`] read the two formats that are also parts of scenarios, without the form around them.
//!
//! [`Format`] lists the formats; [`Format::recognise`] tells them apart by their content.
//!
//! ```
//! use hawser_trace::{RateTrace, ReadOptions, parse};
//!
//! // Chances to send 1500 bytes, in ms, after which they start again: 3 packets in 10 ms.
//! let trace = parse("lte.down", "0\n5\n10\n", &ReadOptions::default())?;
//! assert_eq!((trace.links[0].name.as_str(), trace.duration), ("lte", 10_000_000));
//! assert_eq!(trace.links[0].down.rate, Some(RateTrace::Chances(vec![0, 5, 10])));
//! assert_eq!(trace.links[0].up.rate, None);
//! let error = parse("lte.down", "0\n5\n4\n", &ReadOptions::default()).unwrap_err();
//! assert!(error.to_string().starts_with("lte.down:3: 4 ms comes after 5 ms"));
//! # Ok::<(), hawser_trace::TraceError>(())
//! ```
//!
//! # What a value means between two lines
//!
//! Traces are step functions here: a value holds from its time until the next one. Formats in which a line
//! describes the time *before* it (Pensieve) are shifted accordingly.
//!
//! Figures, drawings and exports of traces are in `hawser-lab`, scenes that play them in `hawser-scenario`.

mod combine;
mod error;
mod format;
mod lines;
mod model;
mod window;

pub use combine::{Input, ReadOptions, parse, read};
pub use error::TraceError;
pub use format::{Format, chances, chances_of, points};
pub use hawser_link::Direction;
pub use model::{DirectionTrace, Event, EventKind, LinkTrace, PACKET_BYTES, Piece, RateTrace, Trace};

#[cfg(test)]
mod tests;
