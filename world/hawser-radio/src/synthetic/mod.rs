//! Generators fitted to measurements, and substitutes for traces that cannot be shipped.

mod carriers;
mod interruptions;
mod quantiles;
mod starlink;
mod substitute;

pub use carriers::{Carrier, TwoCarriers};
pub use quantiles::Quantiles;
pub use starlink::StarlinkSlots;
pub use substitute::{Redraw, Substitute};

#[cfg(test)]
mod tests;
