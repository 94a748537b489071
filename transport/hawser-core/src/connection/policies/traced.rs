//! Controllers of whose calls it is noted what they changed, while somebody wants that.
//!
//! | note | when | values |
//! |---|---|---|
//! | `controller.begin` | a path has got a controller | `name`, `link` if it is known, `pacing_bps` |
//! | `controller.sent` | after a packet | `in_flight_bytes`, `window_bytes` |
//! | `controller.ack` | after an acknowledgement | those of an update, `min_rtt_s`, `smoothed_rtt_s`, the controller's own figures |
//! | `controller.loss` | after a loss or mark | those of an update, `new_epoch`, `newest_sent_s` |
//! | `controller.timeout`, `controller.link` | after a timer, a probe timeout; after news of the link | those of an update |
//!
//! An update has `window_bytes`, `in_slow_start`, `threshold_bytes` if there is one and `pacing_bps` likewise; with `before_` at the
//! beginning of its name what the first three were before the call.

use std::sync::Arc;

use hawser_policy::{
    Ack, CongestionController, ControllerFactory, ControllerInit, Figure, Figures, LinkUpdate, Loss, PathId,
    Sent, Siblings, Time, Trace, WrappedController,
};

const BEGIN: &str = "controller.begin";
const SENT: &str = "controller.sent";
const ACK: &str = "controller.ack";
const LOSS: &str = "controller.loss";
const TIMEOUT: &str = "controller.timeout";
const LINK: &str = "controller.link";
const ALL: [&str; 6] = [BEGIN, SENT, ACK, LOSS, TIMEOUT, LINK];

/// The controllers of `inner`, traced if somebody wants that.
pub(super) fn traced(inner: Arc<dyn ControllerFactory>, trace: &Trace) -> Arc<dyn ControllerFactory> {
    if ALL.iter().any(|name| trace.wants(name)) {
        Arc::new(Factory { inner, trace: trace.clone() })
    } else {
        inner
    }
}

struct Factory {
    inner: Arc<dyn ControllerFactory>,
    trace: Trace,
}

impl ControllerFactory for Factory {
    fn build(&self, init: &ControllerInit) -> Box<dyn CongestionController> {
        let inner = self.inner.build(init);
        self.trace.note(init.now, BEGIN, Some(init.path), || {
            let name = [("name", inner.name().into())].into_iter();
            let link = init.link.map(|link| ("link", link.0.into()));
            name.chain(link).chain(pacing(&*inner)).collect::<Vec<_>>()
        });
        Box::new(Traced { inner, trace: self.trace.clone(), path: init.path })
    }
}

#[derive(Debug)]
struct Traced {
    inner: Box<dyn CongestionController>,
    trace: Trace,
    path: PathId,
}

/// Window, threshold, and whether it is in slow start.
#[derive(Clone, Copy)]
struct Limits(u64, u64, bool);

impl Limits {
    fn of(controller: &dyn CongestionController) -> Limits {
        Limits(controller.window(), controller.slow_start_threshold(), controller.in_slow_start())
    }

    fn values(self, names: [&'static str; 3]) -> impl Iterator<Item = (&'static str, Figure)> {
        let Limits(window, threshold, in_slow_start) = self;
        let [of_window, of_threshold, of_slow_start] = names;
        let threshold = (threshold != u64::MAX).then_some((of_threshold, Figure::Number(threshold as f64)));
        let others = [(of_window, Figure::Number(window as f64)), (of_slow_start, in_slow_start.into())];
        others.into_iter().chain(threshold)
    }
}

fn pacing(controller: &dyn CongestionController) -> Option<(&'static str, Figure)> {
    controller.pacing_rate().map(|rate| ("pacing_bps", Figure::Number(rate.bits_per_second() as f64)))
}

impl Traced {
    fn before(&self) -> Limits {
        Limits::of(&*self.inner)
    }

    fn update(
        &self,
        now: Time,
        name: &'static str,
        before: Limits,
        more: impl FnOnce(&mut Vec<(&'static str, Figure)>),
    ) {
        self.trace.note(now, name, Some(self.path), || {
            let limits =
                Limits::of(&*self.inner).values(["window_bytes", "threshold_bytes", "in_slow_start"]);
            let names = ["before_window_bytes", "before_threshold_bytes", "before_in_slow_start"];
            let mut values: Vec<_> = limits.chain(before.values(names)).chain(pacing(&*self.inner)).collect();
            more(&mut values);
            values
        });
    }
}

impl WrappedController for Traced {
    fn inner(&self) -> &dyn CongestionController {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn CongestionController {
        &mut *self.inner
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.inner.on_sent(sent);
        self.trace.note(sent.now, SENT, Some(self.path), || {
            let [in_flight, window] = [sent.bytes_in_flight, self.inner.window()];
            [("in_flight_bytes", (in_flight as f64).into()), ("window_bytes", (window as f64).into())]
        });
    }

    fn on_ack(&mut self, ack: &Ack, siblings: &Siblings<'_>) {
        let before = self.before();
        self.inner.on_ack(ack, siblings);
        self.update(ack.now, ACK, before, |values| {
            values.push(("min_rtt_s", ack.min_rtt.as_secs_f64().into()));
            values.push(("smoothed_rtt_s", ack.smoothed_rtt.as_secs_f64().into()));
            let mut figures = Figures::default();
            self.inner.fill_figures(&mut figures);
            values.extend(figures.iter());
        });
    }

    fn on_loss(&mut self, loss: &Loss, siblings: &Siblings<'_>) {
        let before = self.before();
        self.inner.on_loss(loss, siblings);
        self.update(loss.now, LOSS, before, |values| {
            values.push(("new_epoch", loss.new_epoch.into()));
            values.push(("newest_sent_s", loss.largest_sent_at.as_secs_f64().into()));
        });
    }

    fn on_probe_timeout(&mut self, now: Time, count: u32) {
        let before = self.before();
        self.inner.on_probe_timeout(now, count);
        self.update(now, TIMEOUT, before, |_| {});
    }

    fn on_timeout(&mut self, now: Time) {
        let before = self.before();
        self.inner.on_timeout(now);
        self.update(now, TIMEOUT, before, |_| {});
    }

    fn on_link_update(&mut self, update: &LinkUpdate<'_>) {
        let before = self.before();
        self.inner.on_link_update(update);
        self.update(update.now, LINK, before, |_| {});
    }
}
