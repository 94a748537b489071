//! RIDE: interactive 360-degree video over several paths (W. Yang, dissertation, University of Victoria 2024, chapter 5).
//!
//! A video frame is cut into tiles. A *tile-frame* inside the field of view is worth having only if it is decoded by an
//! instant that depends on how it is coded: a late B frame is worth nothing, a late I or P frame still helps others. For each
//! such [`Unit`] an agent at the sender chooses a path or skips it.
//!
//! ```text
//!   Video (sizes) + Views (who looks where) + Network (rates, delays, losses)      all from seeds
//!          | gop, bundle, deadline                          |
//!        Unit --observation (f32)--> policy or agent --action (0 skip, k path k)--> Environment
//!                                                                                       | decode, reward
//!                                               reward of the decision, corrections, Outcome
//! ```
//!
//! The [`Environment`] is a fluid model: a path is a queue that drains at its rate. Time and randomness come from seeds: the
//! same seed and actions give the same observations, rewards and [`Environment::trace_hash`] on every machine. Times are
//! seconds of the session, rates bit/s, sizes bytes; rewards are in frame durations.
//!
//! | file | what |
//! |---|---|
//! | `gop`, `deadline`, `bundle`, `decode`, `reward` | the rules of the video, with vectors computed by hand as tests |
//! | `rounds`, `qoe` | the dissertation's arrival model and its quality of a chunk |
//! | `video`, `views`, `network` | synthetic inputs |
//! | `decision`, `observation` | what is decided about, and what an agent sees of it |
//! | `environment`, `batch` | the environment, alone and many at once |
//! | `policy`, `peekaboo`, `packets` | what RIDE is compared with |
//! | `session`, `metrics` | whole videos, and what is measured of them |
//! | `agent` | the trained actor |

mod agent;
mod batch;
mod bundle;
mod config;
mod deadline;
mod decision;
mod decode;
mod environment;
mod gop;
mod metrics;
mod network;
mod observation;
mod outcome;
mod packets;
mod paths;
mod peekaboo;
mod policy;
mod qoe;
mod reward;
mod rounds;
mod seeds;
mod session;
mod video;
mod views;

pub use agent::{Agent, AgentError, Manifest};
pub use batch::Batch;
pub use bundle::{bundle, in_order};
pub use config::{Arrival, Config, ConfigError, Kind, Order, Sizes, Viewing};
pub use deadline::{DeadlineRule, deadline_frame, static_deadline_frame};
pub use decision::{PathView, Unit};
pub use decode::decode_time;
pub use environment::{Correction, Environment, Step};
pub use gop::{FrameKind, FrameSet, Gop, GopError};
pub use metrics::{KindMetrics, Metrics};
pub use network::{Network, PathTrace};
pub use observation::{Hidden, MAX_OBSERVATION, PLAIN as PLAIN_OBSERVATION, observe};
pub use outcome::Outcome;
pub use paths::OVERHEAD;
pub use peekaboo::Peekaboo;
pub use policy::{Policy, PolicyError, UnitPolicy};
pub use qoe::{ChunkQuality, TileQuality, printed_play_time, remaining_play_time};
pub use reward::{Playback, RewardRule, rebuffering};
pub use rounds::{expected_deliveries, extra_rounds, last_round, transition_probabilities};
pub use seeds::Purpose;
pub use session::play;
pub use video::Video;
pub use views::Views;

/// Duration of a frame, seconds.
pub const FRAME_SECONDS: f64 = 1.0 / FRAMES_PER_SECOND;
/// Frames per second.
pub const FRAMES_PER_SECOND: f64 = 30.0;
/// Rows of tiles.
pub const ROWS: usize = 10;
/// Columns of tiles.
pub const COLUMNS: usize = 20;
/// Tiles of a frame.
pub const TILES: usize = ROWS * COLUMNS;
/// Paths: WiFi and LTE.
pub const PATHS: usize = 2;
/// The action that skips a unit; `k` sends it on path `k` of 1 to [`PATHS`].
pub const SKIP: usize = 0;

/// When a frame is released, seconds: computed from its number, since a sum of rounded durations drifts.
pub fn release(frame: usize) -> f64 {
    frame as f64 / FRAMES_PER_SECOND
}
