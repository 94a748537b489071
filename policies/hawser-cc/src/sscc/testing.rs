//! Values for tests.

use std::time::Duration;

use hawser_policy::{GroupId, PathId, Time};

use super::{Candidate, Choice, DataUnit};

/// A unit of an uncoupled path: least delay 40 ms, largest rate 20 Mbit/s.
pub(super) fn unit(tput: f64, loss: f64, delay: f64) -> DataUnit {
    DataUnit {
        path: PathId(0),
        at: Time::ZERO,
        duration: Duration::from_millis(100),
        group: GroupId(0),
        running: Choice::Single(Candidate::Cubic),
        tput,
        loss,
        delay,
        delay_min: 40.0,
        tput_max: 20.0,
    }
}
