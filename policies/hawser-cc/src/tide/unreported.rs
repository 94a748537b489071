//! Peers that do not report when packets arrive: CUBIC.
//!
//! Without the forward delay a queue of acknowledgements looks like one of data, and the window of [`Tide`] stays behind what the path
//! carries: 2 MB to another implementation took a fifth to a half longer than with CUBIC. So CUBIC, which has seen all of it, takes the
//! path over when the first acknowledgements come without arrival times.

use hawser_policy::{
    Ack, CongestionController, ControllerInit, Figures, LinkUpdate, Loss, Outage, Rate, Sent, Siblings,
    Snapshot, SpuriousLoss, Time,
};

use super::Tide;
use crate::cubic::Cubic;

/// Acknowledgements without arrival times that say that none will have them.
const UNREPORTED: u32 = 4;

/// Tide, and CUBIC where nothing is reported.
#[derive(Debug)]
pub(super) struct Unreported {
    /// None once it is clear that nothing is reported.
    tide: Option<Box<Tide>>,
    /// None from the first report on.
    cubic: Option<Box<Cubic>>,
    unreported: u32,
}

impl Unreported {
    pub(super) fn new(init: &ControllerInit, tide: Tide) -> Self {
        Unreported { tide: Some(Box::new(tide)), cubic: Some(Box::new(Cubic::new(init))), unreported: 0 }
    }

    /// The one that has the path.
    fn active(&self) -> &dyn CongestionController {
        match (&self.tide, &self.cubic) {
            (Some(tide), _) => &**tide,
            (None, Some(cubic)) => &**cubic,
            (None, None) => unreachable!("one of them is always there"),
        }
    }

    fn each(&mut self, mut tell: impl FnMut(&mut dyn CongestionController)) {
        if let Some(cubic) = &mut self.cubic {
            tell(&mut **cubic);
        }
        if let Some(tide) = &mut self.tide {
            tell(&mut **tide);
        }
    }

    /// Who goes on after this acknowledgement.
    fn choose(&mut self, ack: &Ack) {
        if self.cubic.is_none() || self.tide.is_none() {
            return;
        }
        if ack.one_way_delay.is_some() {
            self.cubic = None;
            return;
        }
        self.unreported += 1;
        if self.unreported >= UNREPORTED {
            self.tide = None;
        }
    }
}

impl CongestionController for Unreported {
    fn name(&self) -> &'static str {
        self.active().name()
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.each(|it| it.on_sent(sent));
    }

    fn on_ack(&mut self, ack: &Ack, siblings: &Siblings<'_>) {
        self.choose(ack);
        self.each(|it| it.on_ack(ack, siblings));
    }

    fn on_loss(&mut self, loss: &Loss, siblings: &Siblings<'_>) {
        self.each(|it| it.on_loss(loss, siblings));
    }

    fn on_outage(&mut self, outage: &Outage) {
        self.each(|it| it.on_outage(outage));
    }

    fn on_spurious_loss(&mut self, spurious: &SpuriousLoss) {
        self.each(|it| it.on_spurious_loss(spurious));
    }

    fn on_path_reset(&mut self, now: Time) {
        self.each(|it| it.on_path_reset(now));
    }

    fn on_path_return(&mut self, before: &Snapshot) {
        self.each(|it| it.on_path_return(before));
    }

    fn on_max_datagram_size(&mut self, bytes: u16) {
        self.each(|it| it.on_max_datagram_size(bytes));
    }

    fn window(&self) -> u64 {
        self.active().window()
    }

    fn slow_start_threshold(&self) -> u64 {
        self.active().slow_start_threshold()
    }

    fn in_slow_start(&self) -> bool {
        self.active().in_slow_start()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.active().pacing_rate()
    }

    fn on_link_update(&mut self, update: &LinkUpdate<'_>) {
        self.each(|it| it.on_link_update(update));
    }

    fn fill_snapshot(&self, snapshot: &mut Snapshot) {
        self.active().fill_snapshot(snapshot);
    }

    fn fill_figures(&self, figures: &mut Figures) {
        self.active().fill_figures(figures);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hawser_policy::PathId;

    use super::*;
    use crate::testing::{ack, build_with, init};

    /// Who has the path after ten acknowledgements, the one with this number first to say when packets arrived; and its window next
    /// to that of CUBIC, which saw the same.
    fn after_ten(first_reported: u32) -> (&'static str, u64, u64) {
        let (mut tide, mut cubic) = (build_with("tide", &init(12_000)), build_with("cubic", &init(12_000)));
        let rtt = Duration::from_millis(40);
        for number in 1..=10 {
            let delay = (number >= first_reported).then_some(rtt / 2);
            let now = Time::from_millis(40 * u64::from(number));
            let ack = ack(now, 2_400, rtt).with(|ack| ack.one_way_delay = delay);
            for controller in [&mut tide, &mut cubic] {
                controller.on_ack(&ack, &Siblings { own: PathId(0), paths: &[] });
            }
        }
        (tide.name(), tide.window(), cubic.window())
    }

    #[test]
    fn cubic_has_the_path_of_a_peer_that_reports_no_arrivals() {
        let (name, window, cubic) = after_ten(u32::MAX);
        assert_eq!((name, window), ("cubic", cubic), "it has seen everything from the beginning");
    }

    #[test]
    fn tide_keeps_the_path_of_a_peer_whose_first_reports_come_in_time() {
        assert_eq!(after_ten(1).0, "tide");
        assert_eq!(after_ten(UNREPORTED).0, "tide");
        assert_eq!(after_ten(UNREPORTED + 1).0, "cubic");
    }
}
