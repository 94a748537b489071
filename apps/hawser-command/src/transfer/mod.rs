//! Parts of a transfer, in either direction.

mod limit;
mod meter;
mod recorder;
mod report;
mod writer;

pub use limit::{RateLimit, SharedLimit};
pub use meter::{Meter, Progress, path_line};
pub use recorder::{Goodput, Recorder};
pub use report::TransferReport;
pub use writer::{Sink, Writer};
