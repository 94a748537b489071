//! Statistics of links, computed alike from generated profiles and from measurements, and tables that compare them.

mod carriers;
mod run;
mod starlink;
mod table;

pub use carriers::CarrierFacts;
pub use run::CarrierRun;
pub use starlink::StarlinkFacts;
pub use table::{Row, Table, table};

#[cfg(test)]
mod tests;
