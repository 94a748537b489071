//! One connection: its parts and who talks to whom.

pub(crate) mod datagrams;
pub(crate) mod frames;
pub(crate) mod paths;
pub(crate) mod recovery;
pub(crate) mod streams;
