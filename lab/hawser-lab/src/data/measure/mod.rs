//! Measurements on links that come and go, after X-Perf (F. Yang, thesis, chapter 3): what is recorded, and what is made
//! of it. `hawser measure` does the measuring.
//!
//! ```text
//!   Pool --draw--> Configuration --(a session over the network)--> Record
//!                                                                    |
//!                    Store of the client --upload, acknowledged--> Store of the server
//!                                   \                                /
//!                                    Records (of any folders) --> Report: tables, figures, a page
//!                                                             `-> a table of sessions (Parquet, CSV)
//! ```
//!
//! * [`Record`] has an id of its own, so that it can be stored twice and still be there once.
//! * [`Store`] keeps each in a file; what was put is there after a crash at any point.
//! * [`Records`] reads what folders hold, [`Report`] says what it amounts to, [`sessions_table`] flattens it.

mod compute;
mod page;
mod pool;
mod record;
mod records;
mod report;
mod samples;
mod store;
mod table;

pub(crate) use compute::variation;
pub use pool::{Configuration, Pool};
pub use record::{
    Ending, Flow, MAX_RECORD, Measured, Position, Radio, Record, RecordId, Run, RunId, ServerFlow, Session,
    Track, UnknownId,
};
pub use records::{Records, RecordsError};
pub use report::{Figures, Fractions, Group, Report};
pub use samples::{Samples, Totals};
pub use store::{Disk, Folder, Opened, Put, Store};
pub use table::sessions_table;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod work;
