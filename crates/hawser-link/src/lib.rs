//! Link models without I/O.
//!
//! A [`Link`] is one direction of a network link, as a value that is told what time it is:
//!
//! ```text
//!  enqueue(now) --> [ drop-tail queue, bytes ] --> [ server: rate or trace ] --> loss --> [ delay + jitter ] --> dequeue(now)
//!        |                 |                              |
//!    mtu, outage      queue is full            the link is down: lost or held
//! ```
//!
//! It never reads a clock, sleeps or draws from a global random source. The simulator drives it in virtual
//! time and the emulator in real time, so a scenario means the same in both. All times are nanoseconds since
//! the start of the scenario ([`Nanos`]); all rates are bit/s; all sizes are bytes of the IP packet.
//!
//! A link never reorders: the arrival of a packet is never earlier than that of the packet before it.
//!
//! ```
//! use hawser_link::{DirectionConfig, Link, MILLISECOND, RateModel};
//!
//! // 12 Mbit/s carries one packet of 1500 bytes per millisecond; 5 ms of propagation follow.
//! let config = DirectionConfig { rate: RateModel::constant(12_000_000), ..DirectionConfig::with_delay(5 * MILLISECOND) };
//! let mut link = Link::new(&config, 1);
//! assert!(link.enqueue(0, 1500, "first").is_ok());
//! assert!(link.enqueue(0, 1500, "second").is_ok());
//! assert_eq!(link.next_departure(), Some(6 * MILLISECOND));
//! assert!(link.dequeue(6 * MILLISECOND - 1).is_none());
//! assert_eq!(link.dequeue(6 * MILLISECOND).map(|packet| packet.payload), Some("first"));
//! assert_eq!(link.next_departure(), Some(7 * MILLISECOND));
//! ```
//!
//! [`Scenario`] is the file format that names links and their parameters; see [`scenario`] for its fields.

mod config;
mod delay;
mod link;
mod loss;
mod outage;
mod random;
mod rate;
pub mod scenario;
mod series;
mod stats;
mod time;
mod trace;
mod units;

pub use config::DirectionConfig;
pub use delay::{DelayModel, Jitter};
pub use link::{Departure, DropCause, Link, Rejected};
pub use loss::LossModel;
pub use outage::{OutagePolicy, Outages};
pub use random::derive_seed;
pub use rate::{RateModel, RateServer};
pub use scenario::{Direction, Host, Scenario, ScenarioError, ScenarioLink};
pub use series::{Series, SeriesError};
pub use stats::LinkStats;
pub use time::{MICROSECOND, MILLISECOND, NEVER, Nanos, SECOND, nanos, seconds};
pub use trace::{Trace, TraceError};
pub use units::{parse_duration, parse_probability, parse_rate, parse_size};
