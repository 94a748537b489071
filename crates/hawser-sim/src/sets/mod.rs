//! Policy sets as somebody outside of the project would write them, each in one file.

pub(crate) mod advised;
pub(crate) mod budget;
pub(crate) mod punctual;
