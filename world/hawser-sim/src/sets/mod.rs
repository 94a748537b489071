//! Policy sets as somebody outside of the project would write them, each in one file, and what each is for, measured.
//!
//! * [`budget`] shares state: the controllers of all paths have one budget, and the scheduler knows which was cut last.
//! * [`advised`] has a receiver that steers the sender by messages.
//! * [`punctual`] sends frames in time or not at all; the reader sees gaps in their place.
//!
//! They are examples: none of them is registered unless somebody does so.

pub mod advised;
pub mod budget;
mod cases;
pub mod punctual;

use hawser_policy::Registry;

pub use cases::CASES;

/// Adds all three.
///
/// # Panics
/// Without the controller `cubic` and a default for acknowledgements, which the sets take from the registry.
pub fn register(registry: &mut Registry) {
    budget::register(registry);
    advised::register(registry);
    punctual::register(registry);
}
