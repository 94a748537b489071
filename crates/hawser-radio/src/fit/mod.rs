//! Statistics of links, computed alike from generated profiles and from measurements, and tables that compare them.

mod carriers;
mod pam;
mod starlink;
mod table;

pub use carriers::CarrierFacts;
pub use starlink::StarlinkFacts;
pub use table::{Row, Table, table};

#[cfg(test)]
mod tests;
