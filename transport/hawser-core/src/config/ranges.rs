//! Which values of a [`TransportConfig`] make sense.

use std::fmt;
use std::time::Duration;

use super::TransportConfig;
use crate::connection::paths::MIN_DATAGRAM_SIZE;

/// A value of a [`TransportConfig`] with which a connection would not work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{setting}` is {value}: expected {expected}")]
#[non_exhaustive]
pub struct OutOfRange {
    /// The field.
    pub setting: &'static str,
    /// What it is.
    pub value: String,
    /// What it may be.
    pub expected: String,
}

/// Largest delay of acknowledgements that a transport parameter can say (RFC 9000 section 18.2).
const LONGEST_ACK_DELAY: Duration = Duration::from_millis((1 << 14) - 1);
/// Longer than any round trip on or near the earth. What is assumed of a path is multiplied.
const LONGEST_ASSUMED: Duration = Duration::from_secs(60);
/// What one GSO call takes (Linux: UDP_MAX_SEGMENTS).
const MOST_SEGMENTS: usize = 64;

impl TransportConfig {
    /// Fails for a value with which a connection would not work, or would keep its worker busy without moving data. What is only too
    /// large counts as the largest possible: windows, buffers, numbers of streams and of paths, timeouts.
    ///
    /// # Errors
    /// The first field that is out of its range.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let micros = Duration::from_micros;
        let count = |bytes: usize| u64::try_from(bytes).unwrap_or(u64::MAX);
        let segments = Some(count(self.max_batch_segments));
        check(&[
            ("initial_stream_window", Some(self.initial_stream_window), 1, u64::MAX),
            ("initial_connection_window", Some(self.initial_connection_window), 1, u64::MAX),
            ("initial_mtu", Some(self.initial_mtu.into()), MIN_DATAGRAM_SIZE.into(), u64::MAX),
            ("max_batch_segments", segments, 1, count(MOST_SEGMENTS)),
            ("max_concurrent_paths", Some(self.max_concurrent_paths.into()), 1, u64::MAX),
        ])?;
        check(&[
            ("keep_alive_interval", self.keep_alive_interval.map(Shown), micros(1_000).into(), Shown::MAX),
            ("initial_rtt", Some(Shown(self.initial_rtt)), micros(1).into(), LONGEST_ASSUMED.into()),
            (
                "least_probe_timeout",
                Some(Shown(self.least_probe_timeout)),
                micros(0).into(),
                LONGEST_ASSUMED.into(),
            ),
            ("max_ack_delay", Some(Shown(self.max_ack_delay)), micros(0).into(), LONGEST_ACK_DELAY.into()),
        ])
    }
}

/// A field, its value if it has one, and the least and the greatest that makes sense.
type Row<T> = (&'static str, Option<T>, T, T);

/// A type whose greatest value is no bound.
trait Unbounded {
    const MAX: Self;
}

impl Unbounded for u64 {
    const MAX: u64 = u64::MAX;
}

fn check<T: Copy + Ord + fmt::Display + Unbounded>(rows: &[Row<T>]) -> Result<(), OutOfRange> {
    for &(setting, value, least, most) in rows {
        let Some(value) = value.filter(|value| !(least..=most).contains(value)) else { continue };
        let expected = if most == T::MAX { format!("{least} or more") } else { format!("{least} to {most}") };
        return Err(OutOfRange { setting, value: value.to_string(), expected });
    }
    Ok(())
}

/// A duration in words.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Shown(Duration);

impl Unbounded for Shown {
    const MAX: Shown = Shown(Duration::MAX);
}

impl From<Duration> for Shown {
    fn from(duration: Duration) -> Self {
        Shown(duration)
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            long if long >= Duration::from_secs(1) => write!(f, "{} s", long.as_secs_f64()),
            Duration::ZERO => f.write_str("0 s"),
            short => write!(f, "{} ms", short.as_secs_f64() * 1e3),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use hawser_cc::NewReno;
    use hawser_policy::{ControllerInit, SchedulerInit};
    use hawser_sched::MinRtt;

    fn transport() -> TransportConfig {
        TransportConfig::new(
            Arc::new(|_: &SchedulerInit| Box::new(MinRtt) as Box<_>),
            Arc::new(|init: &ControllerInit| Box::new(NewReno::new(init)) as Box<_>),
        )
    }

    #[test]
    fn defaults_are_in_their_ranges() {
        assert_eq!(transport().check(), Ok(()));
    }

    #[test]
    fn values_without_which_nothing_moves_are_named_with_their_ranges() {
        type Change = fn(&mut TransportConfig);
        let cases: [(Change, &str); 10] = [
            (|t| t.initial_stream_window = 0, "`initial_stream_window` is 0: expected 1 or more"),
            (|t| t.initial_connection_window = 0, "`initial_connection_window` is 0: expected 1 or more"),
            (|t| t.initial_mtu = 1199, "`initial_mtu` is 1199: expected 1200 or more"),
            (|t| t.max_batch_segments = 0, "`max_batch_segments` is 0: expected 1 to 64"),
            (|t| t.max_batch_segments = 65, "`max_batch_segments` is 65: expected 1 to 64"),
            (|t| t.max_concurrent_paths = 0, "`max_concurrent_paths` is 0: expected 1 or more"),
            (
                |t| t.keep_alive_interval = Some(Duration::ZERO),
                "`keep_alive_interval` is 0 s: expected 1 ms or more",
            ),
            (|t| t.initial_rtt = Duration::ZERO, "`initial_rtt` is 0 s: expected 0.001 ms to 60 s"),
            (|t| t.initial_rtt = Duration::from_secs(61), "`initial_rtt` is 61 s: expected 0.001 ms to 60 s"),
            (
                |t| t.max_ack_delay = Duration::from_secs(17),
                "`max_ack_delay` is 17 s: expected 0 s to 16.383 s",
            ),
        ];
        for (change, words) in cases {
            let error = transport().with(change).check().unwrap_err();
            assert_eq!(error.to_string(), words);
        }
    }

    #[test]
    fn as_much_as_possible_is_in_range() {
        let most = transport().with(|t| {
            (t.initial_stream_window, t.max_stream_window) = (u64::MAX, u64::MAX);
            (t.initial_connection_window, t.max_connection_window) = (u64::MAX, u64::MAX);
            (t.max_bidirectional_streams, t.max_unidirectional_streams) = (u64::MAX, u64::MAX);
            (t.max_send_buffer, t.datagram_send_buffer) = (u64::MAX, usize::MAX);
            (t.max_idle_timeout, t.keep_alive_interval) = (Some(Duration::MAX), Some(Duration::MAX));
            (t.max_mtu, t.max_path_id, t.max_concurrent_paths) = (u16::MAX, Some(u32::MAX), u32::MAX);
            t.suspect_path_timeout = Duration::MAX;
        });
        assert_eq!(most.check(), Ok(()));
    }
}
