//! `top-up`: a metered path carries what the others lack of a wanted rate, and no more bytes than its budget.
//!
//! Controllers know what was delivered on the free paths and what left on the metered one, retransmissions and probes
//! included, packets of acknowledgements alone not; the scheduler decides when the metered path may be used. Both keep
//! one account.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hawser_policy::{
    Ack, Assignment, Commands, CongestionController, ControllerFactory, ControllerInit, Decision, FeatureSet,
    Loss, ParameterInfo, PathId, PolicyError, PolicyInfo, PolicySet, PolicySetFactory, Rate, Registry,
    Scheduler, SendView, SetInit, Siblings, Time, WrappedController,
};

/// Longest time for which a right to send is saved up.
const SAVED: Duration = Duration::from_millis(250);

/// What is owed to the connection on the metered path: grows at the wanted rate, and shrinks by what the free paths
/// deliver and by what the metered one sends.
#[derive(Debug)]
struct Account {
    rate: Rate,
    credit: f64,
    budget_left: u64,
    updated: Time,
}

impl Account {
    fn new(rate: Rate, budget: u64, now: Time) -> Account {
        Account { rate, credit: 0.0, budget_left: budget, updated: now }
    }

    fn refill(&mut self, now: Time) {
        let bytes_per_second = self.rate.bits_per_second() as f64 / 8.0;
        if now > self.updated {
            self.credit += bytes_per_second * now.since(self.updated).as_secs_f64();
            self.updated = now;
        }
        let most = bytes_per_second * SAVED.as_secs_f64();
        self.credit = self.credit.min(most);
    }

    fn delivered_for_free(&mut self, now: Time, bytes: u64) {
        self.refill(now);
        // What is more than was wanted counts for the near future only.
        let most = self.rate.bits_per_second() as f64 / 8.0 * SAVED.as_secs_f64();
        self.credit = (self.credit - bytes as f64).max(-most);
    }

    fn sent_for_money(&mut self, now: Time, bytes: u64) {
        self.refill(now);
        self.credit -= bytes as f64;
        self.budget_left = self.budget_left.saturating_sub(bytes);
    }

    /// When the next datagram of so many bytes may leave on the metered path; `None`: never again.
    fn next(&mut self, now: Time, bytes: u64) -> Option<Time> {
        self.refill(now);
        let missing = (bytes as f64 - self.credit).max(0.0);
        (self.budget_left >= bytes).then(|| now + self.rate.time_for(missing.ceil() as u64))
    }
}

type Shared = Arc<Mutex<Account>>;

struct Thrift {
    metered: PathId,
    account: Shared,
}

impl Scheduler for Thrift {
    fn name(&self) -> &'static str {
        "top-up"
    }

    fn schedule(&mut self, view: &SendView<'_>, _commands: &mut Commands) -> Decision {
        let limited = self.metered;
        let ready = |metered: bool| {
            let paths = view.preferred().filter(move |path| (path.id == limited) == metered);
            paths.filter(|path| path.sendable() > 0).min_by_key(|path| path.smoothed_rtt)
        };
        if let Some(path) = ready(false) {
            return Decision::Send(Assignment::next(path.id));
        }
        let Some(path) = ready(true) else { return Decision::Wait(None) };
        let datagram = u64::from(path.max_datagram_size);
        let next = self.account.lock().expect("nobody panicked").next(view.now, datagram);
        match next {
            Some(at) if at <= view.now => {
                Decision::Send(Assignment::next(path.id).with(|assignment| assignment.max_bytes = datagram))
            }
            at => Decision::Wait(at),
        }
    }
}

/// A controller of another kind, which tells the account what happens on its path.
#[derive(Debug)]
struct Accounting {
    inner: Box<dyn CongestionController>,
    account: Shared,
    is_metered: bool,
    in_flight: u64,
}

impl WrappedController for Accounting {
    fn inner(&self) -> &dyn CongestionController {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn CongestionController {
        &mut *self.inner
    }

    fn on_sent(&mut self, sent: &hawser_policy::Sent) {
        self.in_flight = sent.bytes_in_flight;
        if self.is_metered {
            self.account.lock().expect("nobody panicked").sent_for_money(sent.now, sent.bytes);
        }
        self.inner.on_sent(sent);
    }

    fn on_ack(&mut self, ack: &Ack, siblings: &Siblings<'_>) {
        self.in_flight = ack.bytes_in_flight;
        if !self.is_metered {
            self.account.lock().expect("nobody panicked").delivered_for_free(ack.now, ack.bytes);
        }
        self.inner.on_ack(ack, siblings);
    }

    fn on_loss(&mut self, loss: &Loss, siblings: &Siblings<'_>) {
        self.in_flight = loss.bytes_in_flight;
        self.inner.on_loss(loss, siblings);
    }

    /// The budget binds those packets, too, about which the scheduler is not asked.
    fn window(&self) -> u64 {
        let window = self.inner.window();
        if !self.is_metered {
            return window;
        }
        window.min(self.in_flight + self.account.lock().expect("nobody panicked").budget_left)
    }
}

struct TopUp {
    metered: PathId,
    rate: Rate,
    budget: u64,
    controllers: Arc<dyn ControllerFactory>,
    usual: Arc<dyn PolicySetFactory>,
}

impl PolicySetFactory for TopUp {
    fn build(&self, init: &SetInit) -> PolicySet {
        let account = Arc::new(Mutex::new(Account::new(self.rate, self.budget, init.now)));
        let shared = self.controllers.for_connection(init.side, init.seed);
        let inner = shared.unwrap_or_else(|| self.controllers.clone());
        let (metered, of_controllers) = (self.metered, account.clone());
        let congestion = move |init: &ControllerInit| {
            Box::new(Accounting {
                inner: inner.build(init),
                account: of_controllers.clone(),
                is_metered: init.path == metered,
                in_flight: 0,
            }) as Box<dyn CongestionController>
        };
        self.usual.build(init).with(|set| {
            set.scheduler = Box::new(Thrift { metered, account });
            set.congestion = Arc::new(congestion);
        })
    }

    fn features(&self) -> FeatureSet {
        FeatureSet::NONE
    }
}

/// Makes it known as `top-up`.
pub(crate) fn register(registry: &mut Registry) -> Result<(), PolicyError> {
    let mbit = |rate: u64| Rate::from_bits_per_second(rate * 1_000_000);
    let info = PolicyInfo::new("top-up", "a metered path carries what the others lack of a wanted rate")
        .parameter(ParameterInfo::integer("path", 0..=7, 1).meaning("id of the metered path"))
        .parameter(
            ParameterInfo::rate("rate", mbit(1)..=mbit(10_000), mbit(8))
                .meaning("what the connection is to have in sum, if the budget allows"),
        )
        .parameter(
            ParameterInfo::integer("budget", 0..=1_000_000_000_000, 1_000_000_000)
                .unit("bytes")
                .meaning("most that the metered path sends, acknowledgements apart"),
        );
    let (controllers, usual) = (registry.congestion("cubic")?, super::usual(registry)?);
    registry.add_sets(info, move |parameters| {
        Arc::new(TopUp {
            // The range of the parameter has been checked.
            metered: PathId(parameters.integer("path") as u32),
            rate: parameters.rate("rate"),
            budget: parameters.integer("budget"),
            controllers: controllers.clone(),
            usual: usual.clone(),
        })
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_policy::{PathView, QueueView};

    /// The free path is full; the metered one may be used when its account allows, and not beyond its budget.
    #[test]
    fn the_metered_path_waits_for_credit_and_ends_with_its_budget() {
        let account =
            Arc::new(Mutex::new(Account::new(Rate::from_bits_per_second(8_000_000), 3_000, Time::ZERO)));
        let mut scheduler = Thrift { metered: PathId(1), account: account.clone() };
        let mut free = PathView::new(PathId(0));
        free.bytes_in_flight = free.congestion_window;
        let paths = [free, PathView::new(PathId(1))];
        let mut ask = |now| {
            let queue = QueueView::default().with(|queue| queue.unsent = 30_000);
            scheduler.schedule(&SendView::new(now, &paths, queue, &()), &mut Vec::new())
        };
        assert!(matches!(ask(Time::ZERO), Decision::Wait(Some(at)) if at > Time::ZERO));
        assert!(matches!(ask(Time::from_millis(100)), Decision::Send(_)));
        account.lock().unwrap().delivered_for_free(Time::from_millis(100), 200_000);
        assert!(matches!(ask(Time::from_millis(150)), Decision::Wait(Some(_))), "the free path does well");
        assert!(matches!(ask(Time::from_millis(900)), Decision::Send(_)));
        account.lock().unwrap().sent_for_money(Time::from_millis(900), 2_500);
        assert_eq!(ask(Time::from_millis(2_000)), Decision::Wait(None), "nothing is left of the budget");
    }
}
