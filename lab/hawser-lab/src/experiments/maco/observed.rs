//! A congestion controller that is watched: what it does is what it does anyway.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hawser_policy::{
    Ack, CongestionController, ControllerFactory, ControllerInit, LinkUpdate, Loss, Rate, Registry, Sent,
    Siblings, Side, Time, WrappedController,
};

/// A window or a rate that falls to less than this share in one step was reduced.
const REDUCED: f64 = 0.85;

/// What the controllers of the connections' clients did.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Windows that were reduced for a loss or mark: when, subflow.
    pub(super) reductions: Vec<(Time, usize)>,
    /// Recovery epochs: losses that may have been congestion.
    pub(super) epochs: u64,
    /// Falls of the pacing rate, or of the window for any reason.
    pub(super) back_offs: u64,
    /// Slow starts up to a threshold.
    pub(super) starts: Vec<Start>,
    /// The first subflow's window after each acknowledgement of the first four seconds.
    pub(super) beginning: Vec<(Time, u64)>,
}

/// A slow start up to a threshold that is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub(super) at: Time,
    pub(super) window: u64,
    pub(super) threshold: u64,
    /// Least round-trip time of the path then, seconds.
    pub(super) min_rtt: f64,
    /// When the first packet left that the window let out. Before, it may be filled by what was lost with a satellite.
    pub(super) sent: Option<Time>,
    /// When it ended, and the smoothed round-trip time then in seconds.
    pub(super) end: Option<(Time, f64)>,
}

/// A handle on the log.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch(Arc<Mutex<Log>>);

impl Watch {
    pub(super) fn log(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The registry with `policy` under the name `observed`, watched.
    pub(super) fn registry(&self, registry: &Registry, policy: &str) -> Result<Registry, String> {
        let inner = registry.congestion(policy).map_err(|error| error.to_string())?;
        let mut watched = registry.clone();
        let watch = self.clone();
        let info = hawser_policy::PolicyInfo::new("observed", "a controller that is watched");
        watched.add_controllers(info, move |_| {
            Arc::new(Factory { inner: inner.clone(), watch: watch.clone() }) as Arc<dyn ControllerFactory>
        });
        Ok(watched)
    }
}

struct Factory {
    inner: Arc<dyn ControllerFactory>,
    watch: Watch,
}

impl ControllerFactory for Factory {
    fn build(&self, init: &ControllerInit) -> Box<dyn CongestionController> {
        let inner = self.inner.build(init);
        let pacing = inner.pacing_rate();
        Box::new(Observed {
            inner,
            watch: self.watch.clone(),
            subflow: init.link.map_or(0, |link| link.0 as usize),
            min_rtt: 0.0,
            pacing,
            start: None,
        })
    }

    fn for_connection(&self, side: Side, seed: u64) -> Option<Arc<dyn ControllerFactory>> {
        let inner = self.inner.for_connection(side, seed);
        // The server sends acknowledgements only.
        match side {
            Side::Server => Some(inner.unwrap_or_else(|| self.inner.clone())),
            Side::Client => {
                let inner = inner.unwrap_or_else(|| self.inner.clone());
                Some(Arc::new(Factory { inner, watch: self.watch.clone() }))
            }
        }
    }
}

#[derive(Debug)]
struct Observed {
    inner: Box<dyn CongestionController>,
    watch: Watch,
    /// Number of the link.
    subflow: usize,
    min_rtt: f64,
    pacing: Option<Rate>,
    /// The slow start that is under way, by its number in the log.
    start: Option<usize>,
}

/// Before a call.
struct Before {
    window: u64,
    threshold: u64,
    in_slow_start: bool,
}

impl Observed {
    fn before(&self) -> Before {
        Before {
            window: self.inner.window(),
            threshold: self.inner.slow_start_threshold(),
            in_slow_start: self.inner.in_slow_start(),
        }
    }

    /// After a call that may have moved the window; `rtt` is the smoothed round-trip time in seconds.
    fn after(&mut self, now: Time, before: &Before, rtt: f64) {
        let (window, threshold) = (self.inner.window(), self.inner.slow_start_threshold());
        let in_slow_start = self.inner.in_slow_start();
        let mut log = self.watch.log();
        if let Some(start) = self.start.filter(|_| !in_slow_start) {
            if let Some(start) = log.starts.get_mut(start) {
                start.end = Some((now, rtt));
            }
            self.start = None;
        }
        let begins = !before.in_slow_start || before.threshold != threshold;
        if in_slow_start && threshold != u64::MAX && begins {
            self.start = Some(log.starts.len());
            let min_rtt = self.min_rtt;
            log.starts.push(Start { at: now, window, threshold, min_rtt, sent: None, end: None });
        }
        let pacing = self.inner.pacing_rate();
        let fell = |before: u64, after: u64| (after as f64) < REDUCED * before as f64;
        let rate_fell = self
            .pacing
            .zip(pacing)
            .is_some_and(|(before, after)| fell(before.bits_per_second(), after.bits_per_second()));
        log.back_offs += u64::from(rate_fell || fell(before.window, window));
        self.pacing = pacing;
    }
}

impl WrappedController for Observed {
    fn inner(&self) -> &dyn CongestionController {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn CongestionController {
        &mut *self.inner
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.inner.on_sent(sent);
        if let Some(start) = self.start.filter(|_| sent.bytes_in_flight <= self.inner.window()) {
            let mut log = self.watch.log();
            if let Some(start) = log.starts.get_mut(start) {
                start.sent.get_or_insert(sent.now);
            }
        }
    }

    fn on_ack(&mut self, ack: &Ack, siblings: &Siblings<'_>) {
        let before = self.before();
        self.min_rtt = ack.min_rtt.as_secs_f64();
        self.inner.on_ack(ack, siblings);
        self.after(ack.now, &before, ack.smoothed_rtt.as_secs_f64());
        if self.subflow == 0 && ack.now < Time::from_secs(4) {
            let window = self.inner.window();
            self.watch.log().beginning.push((ack.now, window));
        }
    }

    fn on_loss(&mut self, loss: &Loss, siblings: &Siblings<'_>) {
        let before = self.before();
        self.inner.on_loss(loss, siblings);
        self.after(loss.now, &before, 0.0);
        let mut log = self.watch.log();
        log.epochs += u64::from(loss.new_epoch);
        if (self.inner.window() as f64) < REDUCED * before.window as f64 {
            log.reductions.push((loss.now, self.subflow));
        }
    }

    fn on_probe_timeout(&mut self, now: Time, count: u32) {
        let before = self.before();
        self.inner.on_probe_timeout(now, count);
        self.after(now, &before, 0.0);
    }

    fn on_timeout(&mut self, now: Time) {
        let before = self.before();
        self.inner.on_timeout(now);
        self.after(now, &before, 0.0);
    }

    fn on_link_update(&mut self, update: &LinkUpdate<'_>) {
        let before = self.before();
        self.inner.on_link_update(update);
        self.after(update.now, &before, 0.0);
    }
}
