//! What an end of a path is expected to carry.

/// A moment of a [`MamsForecast`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MamsPoint {
    /// Seconds from now; may have passed.
    pub at: f64,
    /// The bandwidth-delay product, in packets.
    pub packets: f64,
    /// Packet errors, 0 to 1.
    pub loss: f64,
}

/// The most points of a [`MamsForecast`]; later ones are left out.
pub const MAX_MAMS_POINTS: usize = 8;

/// What an end of a path is expected to carry, by time from now on: linear between the points, and as at the last one after
/// it, since nothing may be extrapolated across a handover. Without points it is unlimited and loses nothing.
#[derive(Clone, Copy, Default, PartialEq)]
pub struct MamsForecast {
    points: [MamsPoint; MAX_MAMS_POINTS],
    count: usize,
}

impl MamsForecast {
    /// Nothing is known: neither a limit nor loss.
    pub const UNKNOWN: MamsForecast =
        MamsForecast { points: [MamsPoint { at: 0.0, packets: 0.0, loss: 0.0 }; MAX_MAMS_POINTS], count: 0 };

    /// The same at all times.
    pub fn constant(packets: f64, loss: f64) -> Self {
        [MamsPoint { at: 0.0, packets, loss }].into_iter().collect()
    }

    /// Whether anything is known.
    pub fn is_known(&self) -> bool {
        self.count > 0
    }

    /// The same without a limit.
    #[must_use]
    pub fn without_limit(mut self) -> Self {
        self.points.iter_mut().for_each(|point| point.packets = f64::INFINITY);
        self
    }

    /// The same without loss.
    #[must_use]
    pub fn without_loss(mut self) -> Self {
        self.points.iter_mut().for_each(|point| point.loss = 0.0);
        self
    }

    /// Packets and loss at a time.
    pub fn at(&self, time: f64) -> (f64, f64) {
        let points = self.points.get(..self.count).unwrap_or_default();
        let later = points.partition_point(|point| point.at <= time);
        match (later.checked_sub(1).and_then(|before| points.get(before)), points.get(later)) {
            (None, None) => (f64::INFINITY, 0.0),
            (Some(only), None) | (None, Some(only)) => (only.packets, only.loss),
            (Some(before), Some(after)) => {
                let share = (time - before.at) / (after.at - before.at);
                // Between a limit and none there is nothing to be drawn.
                let between = |from: f64, to: f64| {
                    if (to - from).is_finite() { from + share * (to - from) } else { from }
                };
                (between(before.packets, after.packets), between(before.loss, after.loss))
            }
        }
    }
}

impl std::fmt::Debug for MamsForecast {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.points.iter().take(self.count)).finish()
    }
}

/// Points in order of time; what is no number, or out of order, is left out.
impl FromIterator<MamsPoint> for MamsForecast {
    fn from_iter<I: IntoIterator<Item = MamsPoint>>(points: I) -> Self {
        let mut forecast = MamsForecast::UNKNOWN;
        let is_number =
            |point: &MamsPoint| point.at.is_finite() && !point.packets.is_nan() && !point.loss.is_nan();
        for point in points.into_iter().filter(is_number) {
            let last = forecast.count.checked_sub(1).and_then(|last| forecast.points.get(last));
            if last.is_some_and(|last| point.at <= last.at) {
                continue;
            }
            let Some(place) = forecast.points.get_mut(forecast.count) else { break };
            *place = MamsPoint { packets: point.packets.max(0.0), loss: point.loss.clamp(0.0, 1.0), ..point };
            forecast.count += 1;
        }
        forecast
    }
}
