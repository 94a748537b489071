//! 360-degree video: a sphere as one picture, cut into tiles, and a head that looks at a part of it.
//!
//! The picture is equirectangular: its columns are the yaw from 0 to 360 degrees, its rows the pitch from 90 at the top to -90
//! at the bottom.
//!
//! ```
//! use hawser_media::panorama::{Field, Grid, Motion};
//!
//! let motion = Motion::read("time,yaw,pitch\n0,170,0\n1,190,10\n")?;
//! let view = motion.at(0.5);
//! assert_eq!((view.yaw, view.pitch), (180.0, 5.0));
//! let seen = Grid::new(12, 6)?.in_view(view, Field::default());
//! assert!((12..30).contains(&seen.len()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod grid;
mod motion;

pub use grid::{Field, Grid, GridError};
pub use motion::{Motion, MotionError};

/// Where a head looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// Degrees to the right, from 0 to 360, 360 left out.
    pub yaw: f64,
    /// Degrees up, from -90 to 90.
    pub pitch: f64,
}
