//! Random courses: links, what happens to them and what the ends do, all from a number.
//!
//! Each course is a download over one to four links that lose, delay, damage, go down and change addresses, with any scheduler,
//! controller and protection, while paths are opened, abandoned and moved and keys are updated. In some, links take turns or packets
//! overtake each other all the time. While a link that has a path is up, something arrives. Then the links work again for
//! good, and all must be in order: every byte arrives once and right, nothing is left in buffers or in flight, an end that wants
//! nothing says little, what the ends and the links counted agrees, and both ends forget the connection.
//!
//! ```text
//! cargo run --release -p hawser-sim --example soak -- --first 1 --count 1000
//! ```

mod course;
mod coverage;
mod run;

pub use course::{Course, Happening};
pub use run::{Account, Failure};
