//! All scenario tests of the simulator as one program: it links once, and its tests share the processors.
//!
//! `cargo test -p hawser-sim --test sim modes::` runs those of one file. The cases of the interop runner are a program of their
//! own (`--test runner`).

#![allow(clippy::unwrap_used)] // Helpers of tests: what is missing fails them.

mod amplification;
mod attacks;
mod balanced;
mod common;
mod controllers;
mod cost_caps;
mod default_scheduler;
mod deliveries;
mod detaching;
mod drive;
mod every_scenario;
mod fat_links;
mod four_d_map;
mod frames;
mod gauntlet;
mod highway;
mod jitter;
mod layered_video;
mod links;
mod live_video;
mod messages;
mod modes;
mod moving;
mod multipath;
mod one_way_delays;
mod oracle;
mod pages;
mod pauses;
mod policy_sets;
mod priorities;
mod qlog;
mod recordings;
mod reordering;
mod returning_links;
mod scenario;
mod schedulers;
mod sedpf;
mod shared_bottleneck;
mod soak;
mod sscc;
mod tiles;
mod transfer;
mod tunnel_mix;
mod uplinks;
mod warnings;
