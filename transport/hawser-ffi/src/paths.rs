//! Paths, and what happens to them.

use std::ffi::c_char;

use hawser::policy::LinkInfo;
use hawser::{PathEvent, PathEventError, PathId, PathState, PathStatus};

use crate::connection::HawserConnection;
use crate::pointer::{array, handle, put};
use crate::result::{Failure, HawserResult, guard};

/// What happened.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HawserPathEventKind {
    /// Both ends take further paths now.
    MultipathReady = 0,
    /// A link of this host appeared, or its addresses changed (client).
    LinkUp = 1,
    /// A link of this host went (client).
    LinkDown = 2,
    /// A path is open. Of those that were open before the first call, too.
    Established = 3,
    /// A path fell silent: its data goes over others.
    Suspect = 4,
    /// A path answers again.
    Recovered = 5,
    /// A path was abandoned by either end.
    Closed = 6,
}

/// Something that happened to a path or a link.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HawserPathEvent {
    /// What.
    pub kind: HawserPathEventKind,
    /// The path, of events of paths; else 0.
    pub path: u32,
    /// The link's number at this end, of events of links; else 0.
    pub link: u32,
    /// Name of the link that appeared; else empty.
    pub link_name: [c_char; 48],
    /// Events before this one that were lost, because more than 64 waited.
    pub missed: u64,
}

/// What a path is to be used for.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HawserPathStatus {
    /// Regularly.
    Available = 0,
    /// Only when no other works.
    Backup = 1,
}

/// How a path is.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HawserPathState {
    /// Opened, and not answered yet.
    Validating = 0,
    /// Usable.
    Active = 1,
    /// Silent although something is outstanding.
    Suspect = 2,
}

/// A path at one moment.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HawserPath {
    /// Its id, the same at both ends.
    pub id: u32,
    /// How it is.
    pub state: HawserPathState,
    /// What it is used for: backup if either end wants that.
    pub status: HawserPathStatus,
    /// Address and port of this end.
    pub local: [c_char; 64],
    /// Address and port of the peer.
    pub remote: [c_char; 64],
    /// Bytes of UDP datagrams sent.
    pub bytes_sent: u64,
    /// Bytes of UDP datagrams received.
    pub bytes_received: u64,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets declared lost.
    pub packets_lost: u64,
    /// Smoothed round-trip time in microseconds.
    pub smoothed_rtt_us: u64,
    /// Smallest round-trip time in microseconds.
    pub min_rtt_us: u64,
    /// Congestion window in bytes.
    pub congestion_window: u64,
    /// Bytes in flight.
    pub bytes_in_flight: u64,
    /// Size of UDP payload in use, in bytes.
    pub mtu: u32,
}

/// Waits for the next event of paths and links. `HAWSER_RESULT_END`: the connection is over and all was told.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_connection_next_path_event(
    connection: *const HawserConnection,
    timeout_ms: i64,
    event: *mut HawserPathEvent,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let this = unsafe { handle(connection, "connection")? };
        let next = async {
            let mut missed = 0;
            // Nothing waits between the call that loses count and the one that gives the next event.
            let mut events = this.events.lock().await;
            loop {
                match events.recv().await {
                    Ok(event) => {
                        if let Some(event) = told(&event, missed) {
                            return Some(event);
                        }
                    }
                    Err(PathEventError::Missed(count)) => missed += count,
                    Err(_) => return None,
                }
            }
        };
        match this.engine.wait(timeout_ms, next) {
            None => Ok(HawserResult::Timeout),
            Some(None) => Ok(HawserResult::End),
            // SAFETY: the contract of the crate.
            Some(Some(next)) => unsafe { put(event, next) },
        }
    })
}

/// An event as C sees it, if it does.
fn told(event: &PathEvent, missed: u64) -> Option<HawserPathEvent> {
    use HawserPathEventKind as Kind;
    let none = (0, 0, "");
    let (kind, (path, link, name)) = match event {
        PathEvent::MultipathReady => (Kind::MultipathReady, none),
        PathEvent::LinkUp(LinkInfo { id, name, .. }) => (Kind::LinkUp, (0, id.0, name.as_str())),
        PathEvent::LinkDown(id) => (Kind::LinkDown, (0, id.0, "")),
        PathEvent::Established(id) => (Kind::Established, (id.0, 0, "")),
        PathEvent::Suspect(id) => (Kind::Suspect, (id.0, 0, "")),
        PathEvent::Recovered(id) => (Kind::Recovered, (id.0, 0, "")),
        PathEvent::Closed(id) => (Kind::Closed, (id.0, 0, "")),
        _ => return None,
    };
    Some(HawserPathEvent { kind, path, link, link_name: array(name), missed })
}

/// Writes the paths that exist to `paths`, at most `capacity` of them, and to `count` how many there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_connection_paths(
    connection: *const HawserConnection,
    paths: *mut HawserPath,
    capacity: usize,
    count: *mut usize,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let this = unsafe { handle(connection, "connection")? };
        if paths.is_null() && capacity > 0 {
            return Err(Failure::argument("paths is NULL"));
        }
        let infos = this.connection.paths();
        for (place, info) in infos.iter().take(capacity).enumerate() {
            let Some(path) = look(this, info) else { continue };
            // SAFETY: the contract of the crate, and `place` is less than `capacity`.
            unsafe { put(paths.add(place), path)? };
        }
        // SAFETY: the contract of the crate.
        unsafe { put(count, infos.len()) }
    })
}

fn look(this: &HawserConnection, info: &hawser::PathInfo) -> Option<HawserPath> {
    // Counters of paths that are gone are kept, so that a path which ends between the two looks has some.
    let stats = this.connection.path_stats(info.id)?;
    let micros = |time: std::time::Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let state = match info.state {
        PathState::Validating => HawserPathState::Validating,
        PathState::Active => HawserPathState::Active,
        _ => HawserPathState::Suspect,
    };
    let status = match info.status {
        PathStatus::Available => HawserPathStatus::Available,
        PathStatus::Backup => HawserPathStatus::Backup,
    };
    Some(HawserPath {
        id: info.id.0,
        state,
        status,
        local: array(&info.tuple.local.to_string()),
        remote: array(&info.tuple.remote.to_string()),
        bytes_sent: stats.bytes_sent,
        bytes_received: stats.bytes_received,
        packets_sent: stats.packets_sent,
        packets_lost: stats.packets_lost,
        smoothed_rtt_us: micros(stats.smoothed_rtt),
        min_rtt_us: micros(stats.min_rtt),
        congestion_window: stats.congestion_window,
        bytes_in_flight: stats.bytes_in_flight,
        mtu: stats.mtu.into(),
    })
}

/// Says what a path is to be used for, and tells the peer: `status` is a `HawserPathStatus`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_connection_set_path_status(
    connection: *const HawserConnection,
    path: u32,
    status: i32,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let this = unsafe { handle(connection, "connection")? };
        // Not an enumeration: C may pass any number, and Rust may not even hold it.
        let status = match status {
            0 => PathStatus::Available,
            1 => PathStatus::Backup,
            other => return Err(Failure::argument(format_args!("the status {other} is neither 0 nor 1"))),
        };
        this.connection.set_path_status(PathId(path), status).map_err(Failure::argument)?;
        Ok(HawserResult::Ok)
    })
}
