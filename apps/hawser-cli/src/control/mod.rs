//! The control socket of long-running commands, and `hawser ctl`, which speaks to it.

mod ctl;
mod options;
mod pick;
mod show;

pub(crate) use self::ctl::{Ctl, run};
pub(crate) use self::options::{ControlOptions, LiveControlOptions};
pub(crate) use self::pick::{Socket, failure};
