//! The bit rate that the links carry, for the encoder: how much of what was sent has arrived, and how much waits.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

use serde::Serialize;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::sync::watch;

use hawser_command::report::to_json;
use hawser_command::sources::Pool;

/// How often the links are looked at.
pub(super) const LOOK: Duration = Duration::from_millis(100);
/// Over which what has arrived is counted.
const WINDOW: Duration = Duration::from_millis(400);
/// With so much lag beyond a round trip in all of the last looks, so that it is no key frame that leaves, the encoder sends more
/// than fits,
const CONGESTED: f64 = 0.15;
const STANDING: usize = 3;
/// and with so much of it at once.
const CLOGGED: f64 = 0.4;
/// The longer the lag, the less it is to send, down to this part of what arrives, until that is gone.
const DRAINED_IN: f64 = 0.8;
const LEAST_SHARE: f64 = 0.3;
/// Part of the capacity that is left free.
const RESERVE: f64 = 0.1;
/// After a reduction nothing is raised for so long.
const HOLD: Duration = Duration::from_millis(300);
/// Per look: back to what is known to fit, and beyond it.
const RETURN: f64 = 1.15;
const PROBE: f64 = 1.02;
/// A rate that is never gone below in divisions, bit/s.
const FLOOR: f64 = 50e3;
/// Listeners at the same time.
const MAX_LISTENERS: usize = 16;

/// The least and the most that an encoder may send, bit/s, sound included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounds {
    least: f64,
    most: f64,
}

impl FromStr for Bounds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}`: expected the least and the most bit rate, for example 500k-6M");
        let (least, most) = text.split_once('-').ok_or_else(wrong)?;
        let rate = |text: &str| {
            let (number, unit) = match text.strip_suffix(['k', 'K']) {
                Some(number) => (number, 1e3),
                None => text.strip_suffix('M').map_or((text, 1.0), |number| (number, 1e6)),
            };
            let rate = number.trim().parse::<f64>().ok()? * unit;
            (rate.is_finite() && (1e3..=1e10).contains(&rate)).then_some(rate)
        };
        let bounds = Bounds { least: rate(least).ok_or_else(wrong)?, most: rate(most).ok_or_else(wrong)? };
        if bounds.least <= bounds.most { Ok(bounds) } else { Err(wrong()) }
    }
}

/// What is seen of the way to the relay.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    /// Since any moment.
    pub(super) at: Duration,
    /// Bytes of the stream that have arrived, from the beginning of the connection on.
    pub(super) arrived: u64,
    /// Bytes that the encoder sent and that have not.
    pub(super) backlog: u64,
    /// The round trip that takes least.
    pub(super) round_trip: Duration,
}

/// What the encoder is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Told {
    /// What it is to send, sound included.
    pub(super) bit_rate: u64,
    /// What arrives of it now.
    pub(super) arrives: u64,
    /// What was last seen to fit over all paths together; 0 before that is known.
    pub(super) capacity: u64,
    /// How long what it sends now will wait.
    pub(super) lag_ms: u64,
}

/// Finds the bit rate.
#[derive(Debug)]
pub(super) struct Guide {
    bounds: Bounds,
    target: f64,
    capacity: Option<f64>,
    history: VecDeque<(Duration, u64)>,
    /// The lags of the last looks, in seconds.
    lags: VecDeque<f64>,
    held_until: Duration,
}

impl Guide {
    /// Begins with the most that the encoder may send.
    pub(super) fn new(bounds: Bounds) -> Self {
        let target = bounds.most;
        let (history, lags) = (VecDeque::new(), VecDeque::new());
        Guide { bounds, target, capacity: None, history, lags, held_until: Duration::ZERO }
    }

    /// Another connection: what arrived over the last one says nothing.
    pub(super) fn restart(&mut self) {
        self.history.clear();
        self.lags.clear();
    }

    /// Looks at the way, and says what the encoder is to send.
    pub(super) fn look(&mut self, look: Look) -> Told {
        self.history.push_back((look.at, look.arrived));
        while self.history.len() > 2
            && self.history.get(1).is_some_and(|(at, _)| look.at.saturating_sub(*at) >= WINDOW)
        {
            self.history.pop_front();
        }
        let rate = self.rate();
        let lag = (look.backlog as f64 * 8.0 / rate.max(FLOOR) - look.round_trip.as_secs_f64()).max(0.0);
        self.lags.push_back(lag);
        if self.lags.len() > STANDING {
            self.lags.pop_front();
        }
        let is_known = self.lags.len() == STANDING;
        let standing = self.lags.iter().copied().fold(f64::INFINITY, f64::min);
        if is_known && (standing > CONGESTED || lag > CLOGGED) {
            self.capacity = Some(rate);
            // The longer the queue, the more of the capacity is to drain it.
            let share = (1.0 - RESERVE) * (1.0 - lag / DRAINED_IN).clamp(LEAST_SHARE, 1.0);
            self.target = self.target.min(rate * share);
            self.held_until = look.at + HOLD;
        } else if is_known && look.at >= self.held_until {
            let fits = self.capacity.map_or(0.0, |capacity| capacity * (1.0 - RESERVE));
            self.target =
                if self.target < fits { fits.min(self.target * RETURN) } else { self.target * PROBE };
            self.capacity = self.capacity.map(|capacity| capacity.max(rate));
        }
        self.target = self.target.clamp(self.bounds.least, self.bounds.most);
        Told {
            bit_rate: self.target as u64,
            arrives: rate as u64,
            capacity: self.capacity.unwrap_or(0.0) as u64,
            lag_ms: (lag * 1e3) as u64,
        }
    }

    /// Bits per second that arrived within the window.
    fn rate(&self) -> f64 {
        let (Some((from, before)), Some((to, now))) = (self.history.front(), self.history.back()) else {
            return 0.0;
        };
        let seconds = to.saturating_sub(*from).as_secs_f64();
        if seconds > 0.0 { now.saturating_sub(*before) as f64 * 8.0 / seconds } else { 0.0 }
    }
}

/// Tells everyone who connects what the encoder is to send: a line of JSON at once, and one after each look.
pub(super) async fn serve(listener: TcpListener, told: watch::Receiver<Told>) {
    let places = Pool::with_share(MAX_LISTENERS, MAX_LISTENERS);
    loop {
        let (mut stream, remote): (_, SocketAddr) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a listener of the bit rate");
                tokio::time::sleep(LOOK).await;
                continue;
            }
        };
        let Some(place) = places.try_take(remote.ip(), 1) else { continue };
        let mut told = told.clone();
        tokio::spawn(async move {
            let _place = place;
            told.mark_changed();
            while told.changed().await.is_ok() {
                let line = to_json(&*told.borrow_and_update()) + "\n";
                let written =
                    tokio::time::timeout(super::sink::STALL, stream.write_all(line.as_bytes())).await;
                if !matches!(written, Ok(Ok(()))) {
                    return;
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_read_with_units() {
        assert_eq!("500k-6M".parse(), Ok(Bounds { least: 5e5, most: 6e6 }));
        assert_eq!("1000-2.5M".parse(), Ok(Bounds { least: 1e3, most: 2.5e6 }));
        for text in ["6M", "6M-1M", "a-b", "-1-2", "0-6M", "1M-NaN"] {
            assert!(text.parse::<Bounds>().is_err(), "{text}");
        }
    }

    /// An encoder that does what it is told 200 ms later, with a key frame every two seconds that is three times as large as
    /// others, over a way whose capacity changes, 40 ms long: bit rate and lag in seconds of each 10 ms.
    fn course(capacity: impl Fn(f64) -> f64, seconds: usize) -> Vec<(f64, f64)> {
        let mut guide = Guide::new("500k-10M".parse().unwrap());
        let (mut waits, mut arrived, mut seen) = (0.0_f64, 0.0_f64, Vec::new());
        let mut orders = VecDeque::from(vec![5e6; 20]);
        for step in 0..seconds * 100 {
            let at = step as f64 / 100.0;
            let rate = orders.pop_front().unwrap();
            let share = if step % 200 == 0 { 3.0 } else { 1.0 } * 50.0 / 52.0;
            waits += if step % 4 == 0 { rate / 25.0 * share } else { 0.0 };
            let leaves = waits.min(capacity(at) / 100.0);
            waits -= leaves;
            arrived += leaves;
            if step % 10 == 0 {
                let look = Look {
                    at: Duration::from_millis(step as u64 * 10),
                    arrived: (arrived / 8.0) as u64,
                    backlog: ((waits + rate * 0.04) / 8.0) as u64,
                    round_trip: Duration::from_millis(40),
                };
                guide.look(look);
            }
            orders.push_back(guide.target);
            seen.push((rate, waits / capacity(at)));
        }
        seen
    }

    #[test]
    fn the_rate_follows_the_capacity_down_and_up() {
        let steps = |at: f64| {
            if at < 10.0 {
                8e6
            } else if at < 20.0 {
                2e6
            } else {
                6e6
            }
        };
        let seen = course(steps, 40);
        let most_lag = |from: usize, to: usize| {
            seen[from * 100..to * 100].iter().map(|(_, lag)| *lag).fold(0.0, f64::max)
        };
        let mean = |from: usize, to: usize| {
            seen[from * 100..to * 100].iter().map(|(rate, _)| rate).sum::<f64>() / (to - from) as f64 / 100.0
        };
        assert!(most_lag(5, 10) < 0.4, "{}", most_lag(5, 10));
        assert!(most_lag(12, 20) < 0.5, "back in two seconds: {}", most_lag(12, 20));
        assert!(most_lag(22, 40) < 0.5, "{}", most_lag(22, 40));
        assert!(mean(5, 10) > 6e6 && mean(13, 20) > 1.4e6 && mean(30, 40) > 4.5e6);
    }

    #[test]
    fn a_rate_that_fits_is_the_most_that_is_allowed() {
        let seen = course(|_| 50e6, 10);
        assert!(seen[500..].iter().all(|(rate, lag)| *rate == 10e6 && *lag < 0.03));
    }
}
