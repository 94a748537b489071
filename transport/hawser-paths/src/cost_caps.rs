//! Budgets of links, and what is left of them.

mod capped;
mod ledger;

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hawser_policy::{CostCap, LinkInfo, Time};

pub use capped::Capped;
use ledger::Ledger;

/// How often the uses of budgets that came to their end are remembered for callers that ask.
const MAX_NEWS: usize = 64;

/// The budgets of a host's links, and what is left of them: one for all of its connections, which share it.
///
/// Periods of a cap follow each other without a gap; the first begins with the first byte over the link. What is counted stays
/// in memory: it starts empty with the process.
#[derive(Debug)]
pub struct CostCaps {
    books: Mutex<Books>,
}

#[derive(Debug)]
struct Books {
    ledgers: Vec<(String, Ledger)>,
    news: VecDeque<CapReached>,
}

/// A budget was used up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CapReached {
    /// The link as the cap names it.
    pub link: String,
    /// Its cap.
    pub cap: CostCap,
    /// What was counted in this period by then.
    pub used: u64,
    /// How long the link rests.
    pub rests: Duration,
}

/// What is left of a budget.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CapUse {
    /// The link as the cap names it.
    pub link: String,
    /// Its cap.
    pub cap: CostCap,
    /// Bytes counted in the period that runs.
    pub used: u64,
    /// How long the link rests if the budget is used up, or nearly; [`Duration::MAX`]: indefinitely.
    pub rests: Option<Duration>,
}

impl CostCaps {
    /// Caps of links that are named by their interface, or by one of their addresses. Of two for one link the first counts.
    pub fn new(caps: impl IntoIterator<Item = (String, CostCap)>) -> Self {
        let ledgers = caps.into_iter().map(|(link, cap)| (link, Ledger::new(cap))).collect();
        CostCaps { books: Mutex::new(Books { ledgers, news: VecDeque::new() }) }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this link must not be used now.
    pub fn is_used_up(&self, link: &LinkInfo, now: Time) -> bool {
        self.entry_of(link).is_some_and(|entry| self.rests(entry, now).is_some())
    }

    /// What is left of each budget, in the order in which they were given.
    pub fn uses(&self, now: Time) -> Vec<CapUse> {
        let mut books = self.books();
        let each = books.ledgers.iter_mut().map(|(link, ledger)| {
            let rests = ledger.rests(now);
            CapUse { link: link.clone(), cap: ledger.cap(), used: ledger.used(), rests }
        });
        each.collect()
    }

    /// The caps, by their names, that are for none of these links.
    pub fn missing(&self, links: &[LinkInfo]) -> Vec<String> {
        let books = self.books();
        let names = books.ledgers.iter().map(|(name, _)| name);
        names.filter(|name| !links.iter().any(|link| is_meant(name, link))).cloned().collect()
    }

    /// Budgets that were used up since this was last asked.
    pub fn take_reached(&self) -> Vec<CapReached> {
        self.books().news.drain(..).collect()
    }

    /// So many bytes went over this link, for a connection whose path manager does not count yet, or never will: an attempt.
    pub fn count_unmanaged(&self, link: &LinkInfo, now: Time, bytes: u64) {
        if let Some(entry) = self.entry_of(link) {
            self.count(entry, now, bytes, Duration::ZERO);
        }
    }

    /// Which cap is meant for this link.
    fn entry_of(&self, link: &LinkInfo) -> Option<usize> {
        self.books().ledgers.iter().position(|(name, _)| is_meant(name, link))
    }

    /// How long the link of this cap rests; `None` if it may be used. [`Duration::MAX`]: indefinitely.
    fn rests(&self, entry: usize, now: Time) -> Option<Duration> {
        self.books().ledgers.get_mut(entry)?.1.rests(now)
    }

    /// So many bytes went over the link of this cap, whose round trips take so long.
    fn count(&self, entry: usize, now: Time, bytes: u64, round_trip: Duration) {
        let mut books = self.books();
        let Books { ledgers, news } = &mut *books;
        let Some((link, ledger)) = ledgers.get_mut(entry) else { return };
        if ledger.count(now, bytes, round_trip) {
            if news.len() == MAX_NEWS {
                news.pop_front();
            }
            let rests = ledger.rests(now).unwrap_or_default();
            news.push_back(CapReached { link: link.clone(), cap: ledger.cap(), used: ledger.used(), rests });
        }
    }
}

/// Whether a cap of this name is for this link.
fn is_meant(name: &str, link: &LinkInfo) -> bool {
    name == link.name || name.parse().is_ok_and(|address| link.addresses.contains(&address))
}

#[cfg(test)]
mod tests;
