//! Video as an application of a transport.
//!
//! An [`Application`] is what one end of a connection does: plain Rust without I/O or clock. It reads and writes through a
//! [`Transport`], which a driver implements, so the same application runs wherever there is a connection. Applications are
//! chosen by a text as policies are: `live,video=sintel`; [`catalogue`] lists them, and a new one is a file with an entry there.
//!
//! * [`video`] makes the frames of a stream from a seed: sizes and kinds, no pictures.
//! * [`live`] sends them as they come, and plays them at the other end.
//! * [`layered`] sends a base and enhancement layers of each frame, each of use until its deadline only.
//! * [`tiles`] sends the tile-frames that a head sees, each of use until its deadline, with I, P and B frames that build on each other.
//! * [`panorama`] cuts 360-degree video into tiles and knows which of them a head sees, for `hawser vr360`.
//! * [`Player`] turns the times of their arrival into re-buffering, start-up and delay.
//! * [`quality`] is a model of what missing bytes do to the picture.
//! * [`flv`], [`rtmp`], [`mp4`] and [`ts`] are what encoders and players speak, [`codec`] what they set decoders up with; [`broadcast`] brings their tags across, for `hawser live`.
//!
//! ```
//! let choice = hawser_media::choose(&"live,video=bbb,fps=30".parse()?)?;
//! assert_eq!((choice.name(), choice.to_string().as_str()), ("live", "live,video=bbb,fps=30"));
//! let wrong = hawser_media::choose(&"live,video=ducks".parse()?).unwrap_err();
//! assert!(wrong.to_string().starts_with("live: expected bbb or sintel or"), "{wrong}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, missing_docs))]

mod application;
mod backlog;
pub mod broadcast;
mod catalogue;
pub mod codec;
pub mod flv;
pub mod framing;
pub mod layered;
pub mod live;
pub mod mp4;
pub mod panorama;
mod player;
pub mod quality;
pub mod rtmp;
mod tail;
pub mod tiles;
pub mod ts;
pub mod video;

pub use application::{Application, Measure, Piece, Transport};
pub use catalogue::{ApplicationInfo, Choice, ChooseError, catalogue, choose};
pub use player::{Playback, Player};
pub use tail::{LeftOut, Tail, Verdict};
