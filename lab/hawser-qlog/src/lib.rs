//! Reads qlog traces of QUIC connections, explains gaps in their delivery, and makes a page of them.
//!
//! [`read`] takes `.sqlog` files (JSON text sequences, lines of JSON) and `.qlog` files (one JSON document), of Hawser and of other
//! implementations, as far as they go. [`Study`] puts the traces of one or both ends on one time axis, follows stream data
//! from packet to packet, and lists the [gaps](gaps::Gap) in its delivery with what held up the head of the line.
//! [`page`](page::page) makes one HTML file of that, which needs nothing else.
//!
//! | module | subject |
//! |---|---|
//! | `read` | files, records, events of several dialects |
//! | `trace` | what one end saw: packets, paths, series |
//! | `build` | events to traces: acknowledgements, losses, spurious losses |
//! | `clocks` | how the clocks of both ends differ |
//! | `delivery` | when stream data was there in order |
//! | `gaps` | gaps in delivery and their causes |
//! | `study` | all of that for one connection |
//! | `thin`, `page` | the page |

mod build;
mod clocks;
mod delivery;
pub mod gaps;
pub mod page;
pub mod read;
pub mod study;
mod thin;
pub mod trace;

pub use read::{ReadError, read, read_file};
pub use study::{Options, Study, Summary, are_ends};
