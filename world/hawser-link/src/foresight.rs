//! When a packet would arrive that came now: for an oracle that schedulers are measured against, never for a scheduler
//! that is to be used.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::config::DirectionConfig;
use crate::outage::{OutagePolicy, Outages};
use crate::rate::RateServer;
use crate::series::Series;
use crate::time::{NEVER, Nanos};

/// A held packet is cut by at most this many outages in a row. One that fits between none of them passes then:
/// the link is slow, not stuck.
const MOST_ATTEMPTS: usize = 16;

/// When the first and the last bit of a packet leave that a server takes at `start` and that outages cut.
pub(crate) fn plan_between_outages(
    server: &mut RateServer,
    outages: &Outages,
    start: Nanos,
    length: u32,
) -> (Nanos, Nanos) {
    let mut began = outages.next_up(start);
    let mut finish = NEVER;
    for _ in 0..MOST_ATTEMPTS {
        if began == NEVER {
            return (NEVER, NEVER);
        }
        finish = server.plan(began, length);
        match outages.next_down(began).filter(|&down| down < finish) {
            Some(down) => began = outages.next_up(down),
            None => break,
        }
    }
    (began, finish)
}

/// The future of one direction of a link: its rate, its delay and its outages from now on, behind the packets that have
/// entered it, from all senders. Exact where packets leave in order and none is dropped after it has entered; random loss,
/// jitter, and what others will send are not foreseen.
#[derive(Clone, Debug)]
pub(crate) struct Foresight(Arc<Mutex<Service>>);

#[derive(Debug)]
struct Service {
    /// Takes the packets that enter the link as the link itself does, only at once.
    server: RateServer,
    outages: Outages,
    outage_policy: OutagePolicy,
    delay: Series<Nanos>,
    /// When the last bit leaves of what has entered.
    free_at: Nanos,
    entered_bytes: u64,
}

impl Foresight {
    /// Of a link with this configuration and seed, at the start of its schedule.
    pub(crate) fn new(config: &DirectionConfig, seed: u64) -> Self {
        Foresight(Arc::new(Mutex::new(Service {
            server: RateServer::new(&config.rate, seed),
            outages: config.outages.clone(),
            outage_policy: config.outage_policy,
            delay: config.delay.base.clone(),
            free_at: 0,
            entered_bytes: 0,
        })))
    }

    /// A packet has entered the link, which was idle or not.
    pub(crate) fn enter(&self, now: Nanos, length: u32, was_idle: bool) {
        let mut service = self.lock();
        // A queue that drops what it has taken is done sooner than it was held to be.
        let start = if was_idle { now } else { service.free_at.max(now) };
        let finish = service.plan(start, length);
        service.server.commit(finish);
        service.free_at = finish;
        service.entered_bytes += u64::from(length);
    }

    fn lock(&self) -> MutexGuard<'_, Service> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Service {
    fn plan(&mut self, start: Nanos, length: u32) -> Nanos {
        match self.outage_policy {
            OutagePolicy::Drop => self.server.plan(start, length),
            OutagePolicy::Hold => plan_between_outages(&mut self.server, &self.outages, start, length).1,
        }
    }

    /// See [`RouteForesight::arrival`].
    fn arrival(&mut self, now: Nanos, bytes: u32) -> Option<Nanos> {
        let start = self.free_at.max(now);
        let finish = self.plan(start, bytes);
        if finish == NEVER {
            return None;
        }
        if self.outage_policy == OutagePolicy::Drop {
            let cut = self.outages.next_down(start).is_some_and(|down| down <= finish);
            if cut || self.outages.is_down(now) {
                return None;
            }
        }
        Some(finish.saturating_add(self.delay.value_at(finish)))
    }
}

/// The future of a route: that of the links it leads over.
#[derive(Clone, Debug)]
pub struct RouteForesight {
    pub(crate) alternatives: Vec<Vec<Foresight>>,
    pub(crate) schedule: Series<usize>,
}

impl RouteForesight {
    /// When the last of so many bytes would arrive that entered the route at `now`, behind what has entered its links before.
    /// `None`: a link would lose some of them because it is down, or it will never send them.
    pub fn arrival(&self, now: Nanos, bytes: u32) -> Option<Nanos> {
        let hops = self.alternatives.get(self.schedule.value_at(now))?;
        hops.iter().try_fold(now, |at, hop| hop.lock().arrival(at, bytes))
    }

    /// Bytes that have entered the first link of the route so far.
    pub fn entered_bytes(&self, now: Nanos) -> u64 {
        let first = self.alternatives.get(self.schedule.value_at(now)).and_then(|hops| hops.first());
        first.map_or(0, |hop| hop.lock().entered_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::RateModel;
    use crate::steps::RandomSteps;
    use crate::time::MILLISECOND;
    use crate::{Fabric, QueueConfig};

    /// Sends packets of 1500 bytes at the times, and compares what was foreseen with what happened.
    fn arrivals(config: &DirectionConfig, times: &[Nanos]) -> Vec<(Option<Nanos>, Option<Nanos>)> {
        let mut fabric = Fabric::<u32>::new();
        let link = fabric.add_link(config, 7);
        let route = fabric.add_route(&[link]);
        let foresight = fabric.foresee(route);
        let mut result: Vec<_> = Vec::new();
        for (number, at) in times.iter().enumerate() {
            fabric.advance(*at);
            result.push((foresight.arrival(*at, 1500), None));
            fabric.send(*at, route, 1500, number as u32);
        }
        while let Some(next) = fabric.next_event() {
            fabric.advance(next);
            while let Some(arrival) = fabric.poll_arrival() {
                result[arrival.payload as usize].1 = Some(arrival.at);
            }
        }
        result
    }

    /// A burst, a pause, then a packet every 3 ms.
    fn times() -> Vec<Nanos> {
        let steady = (0..100).map(|number| (150 + 3 * number) * MILLISECOND);
        [0; 40].into_iter().chain(steady).collect()
    }

    #[test]
    fn what_was_foreseen_happens() {
        let random = RateModel::Random(RandomSteps::Redraw {
            base: 6_000_000,
            spread: 0.9,
            interval: 20 * MILLISECOND,
        });
        let steps = Series::new(vec![(0, 20_000_000), (200 * MILLISECOND, 2_000_000)], None).unwrap();
        let outages = Outages::none().with_window(10 * MILLISECOND, 100 * MILLISECOND);
        for (rate, outage_policy) in [
            (random.clone(), OutagePolicy::Hold),
            (random, OutagePolicy::Drop),
            (RateModel::Scheduled(steps), OutagePolicy::Drop),
        ] {
            let delay = Series::new(vec![(0, 10 * MILLISECOND), (300 * MILLISECOND, 40 * MILLISECOND)], None);
            let config = DirectionConfig {
                rate,
                delay: delay.unwrap().into(),
                outages: outages.clone(),
                outage_policy,
                queue: QueueConfig::bytes(10_000_000),
                ..DirectionConfig::with_delay(0)
            };
            let seen = arrivals(&config, &times());
            let lost = seen.iter().filter(|(foreseen, _)| foreseen.is_none()).count();
            assert_eq!(lost > 0, outage_policy == OutagePolicy::Drop);
            for (foreseen, happened) in seen {
                // A packet that an outage would cut may be lost with it; what is promised comes.
                assert!(foreseen.is_none() || foreseen == happened, "{foreseen:?}, {happened:?}");
            }
        }
    }

    #[test]
    fn a_link_that_stays_down_delivers_nothing() {
        let outages = Outages::none().with_window(MILLISECOND, NEVER);
        for outage_policy in [OutagePolicy::Hold, OutagePolicy::Drop] {
            let config = DirectionConfig {
                rate: RateModel::constant(12_000_000),
                outages: outages.clone(),
                outage_policy,
                ..DirectionConfig::with_delay(0)
            };
            let seen = arrivals(&config, &[0, 2 * MILLISECOND]);
            assert_eq!(seen[1], (None, None));
        }
    }
}
