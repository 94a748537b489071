//! What the servers among the commands have in common: identity, addresses, open files.

mod descriptors;
mod listen;
mod reset_key;

pub use descriptors::raise_descriptor_limit;
pub use listen::{identity, listen, state_folder, suggested_host};
