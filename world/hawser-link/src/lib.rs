//! Link models without I/O.
//!
//! A [`Link`] is one direction of a network link, as a value that is told what time it is:
//!
//! ```text
//!  enqueue(now) --> [ queue discipline ] --> [ server: rate, trace, bucket ] --> loss, damage --> [ delay + jitter ] --> dequeue(now)
//!        |             |                        |
//!   mtu, outage   full, AQM drops or marks   the link is down: lost or held
//! ```
//!
//! It never reads a clock, sleeps or draws from a global random source. The simulator drives it in virtual
//! time and the emulator in real time, so a scenario means the same in both. All times are nanoseconds since
//! the start of the scenario ([`Nanos`]); all rates are bit/s; all sizes are bytes of the IP packet.
//!
//! Packets stay in order (of each flow, where the queue is fair to flows), unless [`DelayModel::reordering`] or
//! [`Impairments::reordering`] asks for the opposite. What a packet is to the link says the trait [`Frame`].
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
//! The file format that names links and their parameters is in `hawser-scenario`.

mod config;
mod delay;
mod direction;
mod fabric;
mod flight;
mod foresight;
mod frame;
mod impairments;
mod link;
mod link_log;
mod loss;
mod outage;
mod queue;
mod random;
mod rate;
mod series;
mod stats;
mod steps;
mod time;
mod timer_queue;
mod trace;
mod waiting;

pub use config::DirectionConfig;
pub use delay::{DelayModel, Jitter};
pub use direction::Direction;
pub use fabric::{Arrival, Fabric, Failure, LinkIndex, RouteIndex};
pub use flight::Departure;
pub use foresight::RouteForesight;
pub use frame::{Frame, flip_bit, mix, prefetch_bytes};
pub use impairments::Impairments;
pub use link::{Link, Rejected};
pub use link_log::Dropped;
pub use loss::LossModel;
pub use outage::{OutagePolicy, Outages};
pub use queue::{CoDel, Discipline, FqCoDel, QueueConfig, QueueLimit, Red, StepMarking, StepThreshold};
pub use random::derive_seed;
pub use rate::{RateModel, RateServer, TokenBucket};
pub use series::{Series, SeriesCursor, SeriesError, Span};
pub use stats::{DropCause, LinkStats};
pub use steps::{Level, MarkovError, MarkovLevels, RandomSteps};
pub use time::{MICROSECOND, MILLISECOND, NEVER, Nanos, SECOND, nanos, seconds};
pub use timer_queue::TimerQueue;
pub use trace::{Trace, TraceError};
