//! Attempts to attach to WiFi: what they amount to, by client, and a page of it.

mod page;
mod report;

pub use report::{ClientReport, PhaseReport, WifiReport};

#[cfg(test)]
mod tests;
