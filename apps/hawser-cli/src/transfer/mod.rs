//! Parts of a transfer, in either direction.

mod limit;
mod meter;
mod recorder;
mod report;
mod writer;

pub(crate) use limit::{RateLimit, SharedLimit};
pub(crate) use meter::{Meter, Progress, path_line};
pub(crate) use recorder::{Goodput, Recorder};
pub(crate) use report::TransferReport;
pub(crate) use writer::{Sink, Writer};
