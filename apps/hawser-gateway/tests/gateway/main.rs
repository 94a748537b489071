//! A gateway and its clients in one process.

#![allow(clippy::unwrap_used)]

mod ip;
mod keys;
mod support;
mod unread;
