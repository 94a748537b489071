//! The bandwidth-delay product (Algorithm 3): what the link can carry, what the network was seen to, and for how long it is
//! under way. Rates in bytes per second, times in seconds, products in bytes.

use hawser_learn::{Ewma, InnovationKalman};
use hawser_policy::{Ack, LinkUpdate, Rate, Time};

use super::delay::Delay;
use super::settings::Settings;

/// A sample of the rate is of at least so many datagrams. Between two lie as many, or this share of a round trip.
const SAMPLE_DATAGRAMS: f64 = 10.0;
const SAMPLE_ROUND: u32 = 4;
/// Gain of the throughput over a round trip: each of its samples is of about one.
const THROUGHPUT_GAIN: f64 = 1.0 / 8.0;
/// A link is not believed to carry more than so many times what the network was seen to.
const MOST_OVER_SEEN: f64 = 10.0;
/// Products that are kept, and how many a round trip has.
const PRODUCTS: usize = 32;
const PRODUCTS_PER_ROUND: u32 = 16;

/// What a source of link states tells of the link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LinkForecast {
    /// C^A: what the link carries from this host.
    pub(super) capacity: f64,
    /// Propagation over it, up and down.
    pub(super) delay: f64,
    /// The same some time later.
    pub(super) later: Option<(f64, f64)>,
}

impl LinkForecast {
    /// Of an update that has a capacity.
    pub(super) fn of(update: &LinkUpdate<'_>) -> Option<LinkForecast> {
        let later = update.forecasts.first().and_then(|forecast| {
            let ahead = forecast.at.since(update.now).as_secs_f64();
            Some((ahead, bytes_per_second(forecast.state.uplink.capacity?)))
        });
        Self::of_state(update.state).map(|forecast| LinkForecast { later, ..forecast })
    }

    pub(super) fn of_state(state: &hawser_policy::LinkState) -> Option<LinkForecast> {
        let capacity = state.uplink.capacity.map(bytes_per_second).filter(|rate| *rate > 0.0)?;
        let seconds = |delay: Option<std::time::Duration>| delay.unwrap_or_default().as_secs_f64();
        let delay = seconds(state.uplink.delay) + seconds(state.downlink.delay);
        Some(LinkForecast { capacity, delay, later: None })
    }
}

fn bytes_per_second(rate: Rate) -> f64 {
    rate.bits_per_second() as f64 / 8.0
}

/// C^N, measured and filtered.
#[derive(Clone, Copy, Debug)]
struct Measured {
    filter: InnovationKalman,
    last: f64,
}

/// The estimate of one path.
#[derive(Clone, Debug)]
pub(super) struct Bandwidth {
    link: Option<LinkForecast>,
    measured: Option<Measured>,
    /// What was measured below the satellite before: how far a forecast may be believed until this one was.
    seen: Option<f64>,
    takes_capacity: bool,
    kalman: bool,
    predicts: bool,
    throughput: Ewma,
    sampled_at: Time,
    delivered: u64,
    pub(super) delay: Delay,
    products: Products,
}

impl Bandwidth {
    pub(super) fn new(settings: &Settings) -> Bandwidth {
        Bandwidth {
            link: None,
            measured: None,
            seen: None,
            takes_capacity: settings.takes_capacity,
            kalman: settings.kalman,
            predicts: settings.predicts,
            throughput: Ewma::new(THROUGHPUT_GAIN),
            sampled_at: Time::ZERO,
            delivered: 0,
            delay: Delay::new(settings),
            products: Products::default(),
        }
    }

    /// Whether anything is known of the link.
    pub(super) fn knows_link(&self) -> bool {
        self.link.is_some()
    }

    pub(super) fn set_link(&mut self, forecast: Option<LinkForecast>) {
        self.link = forecast;
        self.delay.set_link(forecast.map(|link| link.delay));
    }

    pub(super) fn take_link(&mut self) -> Option<LinkForecast> {
        self.link.take()
    }

    /// The delivery rate of an acknowledgement, which may be taken as a sample.
    pub(super) fn on_ack(&mut self, ack: &Ack, datagram: f64) {
        let Some((sample, rate)) = ack.delivery.and_then(|sample| Some((sample, sample.rate?))) else {
            return;
        };
        let rate = bytes_per_second(rate);
        self.throughput.update(rate);
        let round = ack.smoothed_rtt / SAMPLE_ROUND;
        let datagrams = ack.delivered.saturating_sub(self.delivered) as f64 / datagram;
        if datagrams < SAMPLE_DATAGRAMS && ack.now.since(self.sampled_at) < round {
            return;
        }
        (self.sampled_at, self.delivered) = (ack.now, ack.delivered);
        // A sender that is held back, also by its window while no queue shows, measures itself: the network may carry more.
        // A few datagrams, such as a handshake, are no measurement at all.
        let few = (sample.delivered as f64) < SAMPLE_DATAGRAMS * datagram;
        let limited = few || sample.limited_by.leaves_window_unused() || !self.delay.has_risen();
        match &mut self.measured {
            Some(measured) if !limited || rate > measured.filter.estimate() => {
                measured.last = rate;
                measured.filter.update(rate);
            }
            Some(_) => {}
            None if limited => {}
            None => self.measured = Some(Measured { filter: InnovationKalman::new(rate), last: rate }),
        }
    }

    /// C^N; none before the network, and not the sender, was measured.
    pub(super) fn measured(&self) -> Option<f64> {
        let measured = self.measured.as_ref()?;
        Some(if self.kalman { measured.filter.estimate() } else { measured.last })
    }

    /// C^A of one of so many paths that share the link's satellite; none without a forecast.
    pub(super) fn access(&self, sharers: usize) -> Option<f64> {
        self.link.map(|link| self.share_of(link.capacity, sharers))
    }

    fn share_of(&self, capacity: f64, sharers: usize) -> f64 {
        let seen = self.measured().or(self.seen);
        let believed = seen.map_or(capacity, |seen| capacity.min(MOST_OVER_SEEN * seen));
        believed / sharers.max(1) as f64
    }

    /// Con_I of Algorithm 5: less is delivered than the link carries, that is all of it, since one of several paths that share it
    /// may have most. Where that is not known, it may always be so.
    pub(super) fn is_below_access(&self) -> bool {
        match (self.throughput.value(), self.access(1)) {
            (Some(throughput), Some(access)) => throughput < access,
            _ => true,
        }
    }

    /// B of eq. (3.13), in bytes: the smaller rate for the time of a round trip without queue; none: nothing is known.
    pub(super) fn product(&self, sharers: usize) -> Option<f64> {
        Some(self.rate(sharers)? * self.delay.without_queue())
    }

    /// The same on a link like this.
    pub(super) fn product_over(&self, link: &LinkForecast, sharers: usize) -> f64 {
        let access = self.share_of(link.capacity, sharers);
        let rate = self.measured().map_or(access, |measured| measured.min(access));
        rate * self.delay.without_queue_over(link.delay)
    }

    fn rate(&self, sharers: usize) -> Option<f64> {
        match (self.access(sharers), self.measured()) {
            (Some(access), Some(measured)) => Some(access.min(measured)),
            (access, measured) => access.or(measured),
        }
    }

    /// Notes the product of this moment.
    pub(super) fn note_product(&mut self, now: Time, round: std::time::Duration, sharers: usize) {
        if let Some(product) = self.product(sharers) {
            self.products.note(now, product, round / PRODUCTS_PER_ROUND);
        }
    }

    /// The mean of eq. (3.14) over the last round trip, or over the next one: the link as forecast, the network as it is.
    pub(super) fn mean_product(&self, now: Time, round: std::time::Duration, sharers: usize) -> Option<f64> {
        let present = self.product(sharers)?;
        if !self.predicts {
            return Some(self.products.mean(now, round).unwrap_or(present));
        }
        let Some((link, (ahead, capacity))) = self.link.and_then(|link| Some((link, link.later?))) else {
            return Some(present);
        };
        let progress = if ahead > 0.0 { (round.as_secs_f64() / ahead).min(1.0) } else { 1.0 };
        let then = LinkForecast { capacity: link.capacity + progress * (capacity - link.capacity), ..link };
        Some((present + self.product_over(&then, sharers)) / 2.0)
    }

    /// The share of the satellite changed: earlier products do not count.
    pub(super) fn forget_products(&mut self) {
        self.products = Products::default();
    }

    /// Another satellite: what was measured is to be learned again. Where it is known what this one carries, that counts until then
    /// (Algorithm 3, line 6); the load of the last one says nothing of it.
    pub(super) fn on_hand_over(&mut self, knows_capacity: bool) {
        if self.takes_capacity && knows_capacity {
            self.seen = self.measured().or(self.seen);
            self.measured = None;
        }
        if let Some(measured) = &mut self.measured {
            measured.filter.doubt();
        }
        self.delay.on_hand_over();
        self.throughput.reset();
        self.forget_products();
    }
}

/// Products of the last round trip.
#[derive(Clone, Copy, Debug)]
struct Products {
    /// In a ring.
    noted: [(Time, f64); PRODUCTS],
    count: usize,
}

impl Default for Products {
    fn default() -> Self {
        Products { noted: [(Time::ZERO, 0.0); PRODUCTS], count: 0 }
    }
}

impl Products {
    fn note(&mut self, now: Time, product: f64, spacing: std::time::Duration) {
        let newest = self.count.checked_sub(1).map(|newest| self.noted[newest % PRODUCTS]);
        if newest.is_none_or(|(at, _)| now.since(at) >= spacing) {
            self.noted[self.count % PRODUCTS] = (now, product);
            self.count += 1;
        }
    }

    /// The mean over the time from `round` ago until now, by trapezoids; none: nothing was noted.
    fn mean(&self, now: Time, round: std::time::Duration) -> Option<f64> {
        let since = now - round;
        let (mut later, mut area, mut width): (Option<(Time, f64)>, f64, f64) = (None, 0.0, 0.0);
        for index in (self.count.saturating_sub(PRODUCTS)..self.count).rev() {
            let (at, product) = self.noted[index % PRODUCTS];
            if let Some((then, value)) = later {
                let seconds = then.since(at).as_secs_f64();
                area += seconds * (product + value) / 2.0;
                width += seconds;
            }
            later = Some((at, product));
            if at <= since {
                break;
            }
        }
        let last = later.map(|(_, product)| product);
        if width > 0.0 { Some(area / width) } else { last }
    }
}

#[cfg(test)]
mod tests;
