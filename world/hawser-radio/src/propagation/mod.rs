//! From distance to signal to rate and loss: path loss, shadowing, fading, capacity, errors.

mod capacity;
mod errors;
mod fading;
mod path_loss;
mod shadowing;

pub use capacity::{shannon, sinr, snr_for_rate};
pub use errors::{LossModel, bit_error_rate, outage_loss, packet_error_rate};
pub use fading::Fading;
pub use path_loss::{PathLoss, free_space_gain};
pub(crate) use shadowing::ShadowField;
pub use shadowing::Shadowing;

#[cfg(test)]
mod tests;
