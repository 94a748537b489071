//! A congestion controller around another one.

use std::fmt;

use crate::{
    Ack, Commands, CongestionController, Figures, GroupId, LinkUpdate, Loss, Outage, Rate, Sent, Siblings,
    Snapshot, SpuriousLoss, Time,
};

/// A [`CongestionController`] around another one, which it watches, bounds, or exchanges. Every method passes on what it is
/// told or asked, so that a wrapper writes down only what it does otherwise, and none can be forgotten: one that did not pass on
/// [`in_slow_start`](CongestionController::in_slow_start), say, would be paced as in slow start indefinitely.
///
/// ```
/// use hawser_policy::{CongestionController, WrappedController};
///
/// /// At most so many bytes in flight.
/// #[derive(Debug)]
/// struct Bounded(Box<dyn CongestionController>, u64);
///
/// impl WrappedController for Bounded {
///     fn inner(&self) -> &dyn CongestionController {
///         &*self.0
///     }
///     fn inner_mut(&mut self) -> &mut dyn CongestionController {
///         &mut *self.0
///     }
///     fn window(&self) -> u64 {
///         self.inner().window().min(self.1)
///     }
/// }
/// ```
pub trait WrappedController: Send + fmt::Debug {
    /// The one inside.
    fn inner(&self) -> &dyn CongestionController;

    /// The same, to be told something.
    fn inner_mut(&mut self) -> &mut dyn CongestionController;

    /// As [`CongestionController::name`].
    fn name(&self) -> &'static str {
        self.inner().name()
    }

    /// As [`CongestionController::on_sent`].
    fn on_sent(&mut self, sent: &Sent) {
        self.inner_mut().on_sent(sent);
    }

    /// As [`CongestionController::on_ack`].
    fn on_ack(&mut self, ack: &Ack, siblings: &Siblings<'_>) {
        self.inner_mut().on_ack(ack, siblings);
    }

    /// As [`CongestionController::on_loss`].
    fn on_loss(&mut self, loss: &Loss, siblings: &Siblings<'_>) {
        self.inner_mut().on_loss(loss, siblings);
    }

    /// As [`CongestionController::on_outage`].
    fn on_outage(&mut self, outage: &Outage) {
        self.inner_mut().on_outage(outage);
    }

    /// As [`CongestionController::on_spurious_loss`].
    fn on_spurious_loss(&mut self, spurious: &SpuriousLoss) {
        self.inner_mut().on_spurious_loss(spurious);
    }

    /// As [`CongestionController::on_path_reset`].
    fn on_path_reset(&mut self, now: Time) {
        self.inner_mut().on_path_reset(now);
    }

    /// As [`CongestionController::on_path_return`].
    fn on_path_return(&mut self, before: &Snapshot) {
        self.inner_mut().on_path_return(before);
    }

    /// As [`CongestionController::on_max_datagram_size`].
    fn on_max_datagram_size(&mut self, bytes: u16) {
        self.inner_mut().on_max_datagram_size(bytes);
    }

    /// As [`CongestionController::window`].
    fn window(&self) -> u64 {
        self.inner().window()
    }

    /// As [`CongestionController::slow_start_threshold`].
    fn slow_start_threshold(&self) -> u64 {
        self.inner().slow_start_threshold()
    }

    /// As [`CongestionController::in_slow_start`].
    fn in_slow_start(&self) -> bool {
        self.inner().in_slow_start()
    }

    /// As [`CongestionController::pacing_rate`].
    fn pacing_rate(&self) -> Option<Rate> {
        self.inner().pacing_rate()
    }

    /// As [`CongestionController::on_probe_timeout`].
    fn on_probe_timeout(&mut self, now: Time, count: u32) {
        self.inner_mut().on_probe_timeout(now, count);
    }

    /// As [`CongestionController::next_timeout`].
    fn next_timeout(&self) -> Option<Time> {
        self.inner().next_timeout()
    }

    /// As [`CongestionController::on_timeout`].
    fn on_timeout(&mut self, now: Time) {
        self.inner_mut().on_timeout(now);
    }

    /// As [`CongestionController::on_link_update`].
    fn on_link_update(&mut self, update: &LinkUpdate<'_>) {
        self.inner_mut().on_link_update(update);
    }

    /// As [`CongestionController::bottleneck_group`].
    fn bottleneck_group(&self) -> GroupId {
        self.inner().bottleneck_group()
    }

    /// As [`CongestionController::wants_siblings`].
    fn wants_siblings(&self) -> bool {
        self.inner().wants_siblings()
    }

    /// As [`CongestionController::gives_commands`].
    fn gives_commands(&self) -> bool {
        self.inner().gives_commands()
    }

    /// As [`CongestionController::commands`].
    fn commands(&mut self, commands: &mut Commands) {
        self.inner_mut().commands(commands);
    }

    /// As [`CongestionController::fill_snapshot`].
    fn fill_snapshot(&self, snapshot: &mut Snapshot) {
        self.inner().fill_snapshot(snapshot);
    }

    /// As [`CongestionController::fill_figures`].
    fn fill_figures(&self, figures: &mut Figures) {
        self.inner().fill_figures(figures);
    }
}

impl<T: WrappedController> CongestionController for T {
    fn name(&self) -> &'static str {
        WrappedController::name(self)
    }

    fn on_sent(&mut self, sent: &Sent) {
        WrappedController::on_sent(self, sent);
    }

    fn on_ack(&mut self, ack: &Ack, siblings: &Siblings<'_>) {
        WrappedController::on_ack(self, ack, siblings);
    }

    fn on_loss(&mut self, loss: &Loss, siblings: &Siblings<'_>) {
        WrappedController::on_loss(self, loss, siblings);
    }

    fn on_outage(&mut self, outage: &Outage) {
        WrappedController::on_outage(self, outage);
    }

    fn on_spurious_loss(&mut self, spurious: &SpuriousLoss) {
        WrappedController::on_spurious_loss(self, spurious);
    }

    fn on_path_reset(&mut self, now: Time) {
        WrappedController::on_path_reset(self, now);
    }

    fn on_path_return(&mut self, before: &Snapshot) {
        WrappedController::on_path_return(self, before);
    }

    fn on_max_datagram_size(&mut self, bytes: u16) {
        WrappedController::on_max_datagram_size(self, bytes);
    }

    fn window(&self) -> u64 {
        WrappedController::window(self)
    }

    fn slow_start_threshold(&self) -> u64 {
        WrappedController::slow_start_threshold(self)
    }

    fn in_slow_start(&self) -> bool {
        WrappedController::in_slow_start(self)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        WrappedController::pacing_rate(self)
    }

    fn on_probe_timeout(&mut self, now: Time, count: u32) {
        WrappedController::on_probe_timeout(self, now, count);
    }

    fn next_timeout(&self) -> Option<Time> {
        WrappedController::next_timeout(self)
    }

    fn on_timeout(&mut self, now: Time) {
        WrappedController::on_timeout(self, now);
    }

    fn on_link_update(&mut self, update: &LinkUpdate<'_>) {
        WrappedController::on_link_update(self, update);
    }

    fn bottleneck_group(&self) -> GroupId {
        WrappedController::bottleneck_group(self)
    }

    fn wants_siblings(&self) -> bool {
        WrappedController::wants_siblings(self)
    }

    fn gives_commands(&self) -> bool {
        WrappedController::gives_commands(self)
    }

    fn commands(&mut self, commands: &mut Commands) {
        WrappedController::commands(self, commands);
    }

    fn fill_snapshot(&self, snapshot: &mut Snapshot) {
        WrappedController::fill_snapshot(self, snapshot);
    }

    fn fill_figures(&self, figures: &mut Figures) {
        WrappedController::fill_figures(self, figures);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers nothing as the defaults do.
    #[derive(Debug, Default)]
    struct Inner {
        told: Vec<&'static str>,
    }

    impl CongestionController for Inner {
        fn name(&self) -> &'static str {
            "inner"
        }

        fn on_ack(&mut self, _: &Ack, _: &Siblings<'_>) {}

        fn on_loss(&mut self, _: &Loss, _: &Siblings<'_>) {}

        fn on_max_datagram_size(&mut self, _: u16) {
            self.told.push("size");
        }

        fn on_outage(&mut self, _: &Outage) {
            self.told.push("outage");
        }

        fn on_spurious_loss(&mut self, _: &SpuriousLoss) {
            self.told.push("spurious");
        }

        fn on_path_reset(&mut self, _: Time) {
            self.told.push("reset");
        }

        fn on_probe_timeout(&mut self, _: Time, _: u32) {
            self.told.push("probe");
        }

        fn on_timeout(&mut self, _: Time) {
            self.told.push("timer");
        }

        fn window(&self) -> u64 {
            50_000
        }

        fn slow_start_threshold(&self) -> u64 {
            40_000
        }

        fn in_slow_start(&self) -> bool {
            false
        }

        fn pacing_rate(&self) -> Option<Rate> {
            Some(Rate::from_megabits_per_second(7))
        }

        fn next_timeout(&self) -> Option<Time> {
            Some(Time::from_secs(1))
        }

        fn bottleneck_group(&self) -> GroupId {
            GroupId(3)
        }

        fn wants_siblings(&self) -> bool {
            true
        }

        fn gives_commands(&self) -> bool {
            true
        }

        fn fill_snapshot(&self, snapshot: &mut Snapshot) {
            snapshot.pipe_full = true;
        }

        fn fill_figures(&self, figures: &mut Figures) {
            figures.word("phase", "inside");
        }
    }

    #[derive(Debug, Default)]
    struct Bounded(Inner);

    impl WrappedController for Bounded {
        fn inner(&self) -> &dyn CongestionController {
            &self.0
        }

        fn inner_mut(&mut self) -> &mut dyn CongestionController {
            &mut self.0
        }

        fn window(&self) -> u64 {
            self.inner().window().min(30_000)
        }
    }

    #[test]
    fn what_a_wrapper_does_not_change_is_that_of_the_one_inside() {
        let mut bounded = Bounded::default();
        let controller: &mut dyn CongestionController = &mut bounded;
        assert_eq!((controller.name(), controller.window()), ("inner", 30_000));
        // Derived by default from the window, and then wrong.
        assert_eq!((controller.slow_start_threshold(), controller.in_slow_start()), (40_000, false));
        assert_eq!(controller.pacing_rate(), Some(Rate::from_megabits_per_second(7)));
        assert_eq!(controller.next_timeout(), Some(Time::from_secs(1)));
        assert_eq!(controller.bottleneck_group(), GroupId(3));
        assert!(controller.wants_siblings() && controller.gives_commands());
        let mut figures = Figures::default();
        controller.fill_figures(&mut figures);
        assert_eq!(figures.iter().count(), 1);
        controller.on_max_datagram_size(1_400);
        let (now, since) = (Time::from_secs(2), Time::from_secs(1));
        controller.on_outage(&Outage { now, since, bytes: 1_200, packets: 1, bytes_in_flight: 0 });
        controller.on_spurious_loss(&SpuriousLoss { now: Time::ZERO, bytes: 1_200, undone: Some(0) });
        controller.on_path_reset(Time::ZERO);
        controller.on_probe_timeout(Time::ZERO, 1);
        controller.on_timeout(Time::ZERO);
        assert_eq!(bounded.0.told, ["size", "outage", "spurious", "reset", "probe", "timer"]);
    }
}
