//! Hawser against foreign stacks, as client and as server, in virtual time.

mod noq;
mod quinn;
mod resumption;
mod scenarios;
mod seeds;

use std::time::Instant;

/// The instant that foreign stacks see at time zero: any will do, only differences matter to them.
#[expect(clippy::disallowed_methods, reason = "there is no other way to make an `Instant`")]
fn origin() -> Instant {
    Instant::now()
}
