//! The control socket of long-running commands, and `hawser ctl`, which speaks to it.

mod ctl;
mod options;
mod pick;
mod show;

pub use self::ctl::{Ctl, run};
pub use self::options::{ControlOptions, LiveControlOptions};
pub use self::pick::{Socket, failure};
