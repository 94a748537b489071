//! A gateway and its clients in one process.

#![allow(clippy::unwrap_used)]

mod enemies;
mod ip;
mod keys;
mod limits;
mod remote;
mod support;
mod unread;
