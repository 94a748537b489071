//! The multipath cases of docs/multipath-cases.md, each with Hawser at both ends, with noq as the server and with noq as the
//! client: how long it may take, and how much may wait in the fullest queue.
//!
//! `cargo test --release --test multipath -- --nocapture` prints both figures of each.

mod bed;
mod leaving;
mod losing;
mod opening;

use bed::{Bounds, MB, Setup, judge};

/// Declares a case: its script, its links and what each end sends, and the bounds of its three pairs.
macro_rules! case {
    ($name:ident, $script:path, $setup:expr, $own:expr, $to_noq:expr, $from_noq:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn hawser_hawser() {
                judge(&mut $setup.hawser(), $script, $own);
            }

            #[test]
            fn hawser_client_noq_server() {
                judge(&mut $setup.to_noq(), $script, $to_noq);
            }

            #[test]
            fn noq_client_hawser_server() {
                judge(&mut $setup.from_noq(), $script, $from_noq);
            }
        }
    };
}

/// Seconds and kilobytes.
const fn within(seconds: f64, kilobytes: u64) -> Bounds {
    Bounds { seconds, queue: kilobytes * 1_000 }
}

case!(
    mp_handshake,
    opening::handshake,
    Setup::new(2 * MB, &[(20, 15), (20, 15)]),
    within(0.9, 251),
    within(0.9, 251),
    within(1.1, 251)
);
case!(
    mp_aggregate,
    opening::aggregate,
    Setup::new(8 * MB, &[(40, 10), (20, 30)]),
    within(1.6, 501),
    within(1.8, 501),
    within(2.05, 501)
);
case!(
    mp_16_paths,
    opening::sixteen_paths,
    Setup::new(8 * MB, &[(4, 15); 16]).paths(16),
    within(2.0, 51),
    within(2.0, 51),
    within(1.9, 51)
);
case!(
    mp_ipv4_ipv6,
    opening::ipv4_ipv6,
    Setup::new(4 * MB, &[(20, 15)]).with_ipv6(20, 15),
    within(1.27, 251),
    within(1.5, 251),
    within(1.35, 251)
);
case!(
    mp_amplification,
    opening::amplification,
    Setup::new(4 * MB, &[(20, 15), (20, 15)]),
    within(2.25, 251),
    within(2.1, 251),
    within(2.2, 251)
);
case!(
    mp_cid_exhaust,
    opening::cid_exhaust,
    Setup::new(20 * MB, &[(20, 15), (20, 15)]),
    within(8.8, 251),
    within(11.7, 251),
    within(9.5, 251)
);
case!(
    mp_failover,
    losing::failover,
    Setup::new(6 * MB, &[(20, 15), (20, 20)]),
    within(2.65, 251),
    within(37.0, 251),
    within(36.0, 251)
);
case!(
    mp_backup,
    losing::backup,
    Setup::new(8 * MB, &[(20, 15), (20, 20)]),
    within(5.0, 251),
    within(5.0, 251),
    within(5.0, 251)
);
case!(
    mp_blackhole,
    losing::blackhole,
    Setup::new(16 * MB, &[(20, 15), (20, 20)]),
    within(5.8, 251),
    within(8.0, 251),
    within(6.6, 251)
);
case!(
    mp_rebind,
    losing::rebind,
    Setup::new(8 * MB, &[(20, 15), (20, 20)]),
    within(2.25, 251),
    within(2.6, 251),
    within(2.5, 251)
);
case!(
    mp_nat,
    losing::nat,
    Setup::new(8 * MB, &[(20, 15), (20, 20)]),
    within(2.7, 251),
    within(2.65, 251),
    within(2.95, 251)
);
case!(
    mp_abandon,
    leaving::abandon,
    Setup::new(8 * MB, &[(20, 15), (20, 20)]),
    within(3.9, 251),
    within(3.9, 251),
    within(3.9, 251)
);
case!(
    mp_crossing_abandon,
    leaving::crossing_abandon,
    Setup::new(8 * MB, &[(20, 15); 4]),
    within(2.7, 251),
    within(3.9, 251),
    within(3.6, 251)
);
case!(
    mp_late_packets,
    leaving::late_packets,
    Setup::new(8 * MB, &[(20, 15), (20, 20)]),
    within(3.7, 251),
    within(4.8, 251),
    within(3.8, 251)
);
case!(
    mp_keyupdate,
    leaving::keyupdate,
    Setup::new(16 * MB, &[(20, 15), (20, 40)]),
    within(4.6, 251),
    within(4.6, 251),
    within(4.6, 251)
);
