//! The loss rate of a path: lost packets of those sent, over a window.

use std::time::Duration;

use hawser_policy::Time;

/// Counts packets of a path, window by window. (The paper's sentence has the ratio the other way round; lost packets of
/// sent ones are meant.)
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossWindow {
    began_at: Option<Time>,
    sent: u64,
    lost: u64,
    rate: f64,
}

impl LossWindow {
    pub(super) fn on_sent(&mut self, now: Time) {
        self.began_at.get_or_insert(now);
        self.sent += 1;
    }

    pub(super) fn on_lost(&mut self) {
        self.lost += 1;
    }

    /// They arrived after all.
    pub(super) fn on_spurious(&mut self, packets: u64) {
        self.lost = self.lost.saturating_sub(packets);
    }

    /// From 0 to 1, of the last window that is over. A window is at least `length` long and holds at least `packets` sent
    /// ones; until it does, the rate before stays.
    pub(super) fn rate(&mut self, now: Time, length: Duration, packets: u64) -> f64 {
        let is_over = self.began_at.is_some_and(|began_at| now >= began_at + length);
        if is_over && self.sent >= packets.max(1) {
            // Packets of the window before may count as lost in this one.
            self.rate = (self.lost as f64 / self.sent as f64).min(1.0);
            *self = LossWindow { began_at: Some(now), rate: self.rate, ..LossWindow::default() };
        }
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_long_enough_and_has_enough_packets() {
        let length = Duration::from_secs(1);
        let mut window = LossWindow::default();
        (0..19).for_each(|_| window.on_sent(Time::ZERO));
        window.on_lost();
        assert_eq!(window.rate(Time::from_millis(900), length, 20), 0.0);
        assert_eq!(window.rate(Time::from_millis(1_100), length, 20), 0.0, "too few");
        window.on_sent(Time::from_millis(1_100));
        assert_eq!(window.rate(Time::from_millis(1_100), length, 20), 0.05);
        window.on_lost();
        assert_eq!(window.rate(Time::from_millis(9_000), length, 20), 0.05, "the rate before stays");
        (0..20).for_each(|_| window.on_sent(Time::from_millis(9_000)));
        window.on_spurious(5);
        assert_eq!(window.rate(Time::from_millis(9_000), length, 20), 0.0);
    }
}
