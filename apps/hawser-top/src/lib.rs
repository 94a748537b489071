//! `hawser top`: a terminal view of a program that runs.
//!
//! [`View`] is what is known, fed with lines of the control socket; [`keys`] turns keys into orders; [`draw()`] puts it on a screen of
//! any size. None of them reads a clock or a terminal, so that tests see what a person would see. [`run`] connects them to both.

mod draw;
mod keys;
mod terminal;
mod text;
mod view;

pub use draw::{Palette, draw};
pub use keys::{Action, Key, on_key};
pub use terminal::{TopError, run};
pub use view::{Row, Shown, View};
