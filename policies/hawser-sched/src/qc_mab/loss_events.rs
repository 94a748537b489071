//! Loss event rate of TFRC.

use std::time::Duration;

use hawser_policy::Time;

/// Weights of the last eight intervals, the newest first (RFC 5348 section 5.4).
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// The inverse of the weighted mean of the last eight loss intervals, as far as there are so many (RFC 5348 section 5).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossEvents {
    /// Packets from one loss event to the next, the newest first.
    closed: [f64; WEIGHTS.len()],
    known: usize,
    /// Packets since the last loss event; without one there is no rate.
    open: f64,
    began: Option<Time>,
}

impl LossEvents {
    /// The fate of a packet is known; losses of packets that were sent within a round trip are one event.
    pub(super) fn on_packet(&mut self, sent_at: Time, is_lost: bool, round_trip: Duration) {
        self.open += 1.0;
        if !is_lost || self.began.is_some_and(|began| sent_at < began + round_trip) {
            return;
        }
        if self.began.is_some() {
            self.closed.rotate_right(1);
            self.closed[0] = self.open;
            self.known = (self.known + 1).min(WEIGHTS.len());
        }
        (self.began, self.open) = (Some(sent_at), 0.0);
    }

    /// 0 before two losses.
    pub(super) fn rate(&self) -> f64 {
        if self.known == 0 {
            return 0.0;
        }
        let mean = |intervals: &mut dyn Iterator<Item = f64>| {
            let (sum, weights) = intervals
                .zip(WEIGHTS)
                .fold((0.0, 0.0), |(sum, all), (interval, weight)| (sum + weight * interval, all + weight));
            sum / weights
        };
        let closed = self.closed[..self.known].iter().copied();
        let without_open = mean(&mut closed.clone());
        let with_open = mean(&mut std::iter::once(self.open).chain(closed).take(WEIGHTS.len()));
        1.0 / without_open.max(with_open).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_the_inverse_of_the_mean_interval_and_falls_while_nothing_is_lost() {
        let mut losses = LossEvents::default();
        for number in 0..2_000u64 {
            losses.on_packet(Time::from_millis(number), number % 100 == 99, Duration::from_millis(20));
        }
        assert!((losses.rate() - 0.01).abs() < 1e-9, "{}", losses.rate());
        for number in 2_000..3_000 {
            losses.on_packet(Time::from_millis(number), false, Duration::from_millis(20));
        }
        assert!(losses.rate() < 0.005, "{}", losses.rate());
    }

    #[test]
    fn losses_of_one_round_trip_are_one_event() {
        let mut losses = LossEvents::default();
        for number in 0..1_000u64 {
            let is_lost = number % 100 < 10;
            losses.on_packet(Time::from_millis(number), is_lost, Duration::from_millis(50));
        }
        assert!((losses.rate() - 0.01).abs() < 1e-9, "{}", losses.rate());
    }
}
