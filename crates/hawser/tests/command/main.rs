//! The `hawser` command, end to end, on loopback.

#![allow(clippy::unwrap_used)]

mod failures;
mod get;
mod http;
mod perf;
mod put;
mod simulate;
mod support;
mod sweep;
mod trace;
mod verify;
