//! What a running Hawser program does, for people and programs that look at it.
//!
//! A program makes a [`Hub`] and attaches its endpoints. The hub answers with a [`Status`](model::Status): connections, paths,
//! links, users, with rates, and with what the policies say of themselves. Everything that shows something reads this and
//! nothing else: the control socket ([`control`]), the views that attach to it, metrics and the web page ([`web`]).
//!
//! Looking takes the lock of one connection after the other for some microseconds. Nothing is counted for it per packet, and while
//! nobody looks it happens every two seconds, or with many connections not at all.

mod classic;
pub mod control;
mod convert;
mod events;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod history;
mod hub;
pub mod local_http;
pub mod metrics;
pub mod model;
mod sampler;
mod silence;
mod steer;
mod text;
pub mod web;
mod wireless;

pub use history::{Moment, Point, series};
pub use hub::{Addition, Drain, Hub};
pub use sampler::connections;
pub use steer::{Done, SteerError};
