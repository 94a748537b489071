//! The `hawser` command, end to end, on loopback.

#![allow(clippy::unwrap_used)]

mod activation;
mod control;
mod cost_caps;
mod documented;
mod failures;
mod gateway;
mod gateway_links;
mod generate;
mod get;
mod gpsd;
mod hostile;
mod hostile_server;
mod http;
mod interop;
mod kept_files;
mod live;
mod live_keys;
mod live_tls;
mod many_files;
mod matrix;
mod measure;
mod measure_links;
mod memory;
mod new_policy;
mod own_policies;
mod own_sets;
mod perf;
mod policies;
mod put;
mod qlog;
mod raw;
mod scheduler_requests;
mod sessions;
mod simulate;
mod sscc;
mod stalls;
mod support;
mod sweep;
mod trace;
mod tunnel;
mod verify;
mod vr360;
mod wifi;
mod wifi_relay;
