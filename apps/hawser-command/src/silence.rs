//! Says at once when a server falls silent on all links, or no link is left, and when that is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use crate::output::Output;
use hawser::{Connection, Endpoint};

/// How often it is looked.
const INTERVAL: Duration = Duration::from_millis(250);
/// An answer that takes longer does not come: four times the round trip over a geostationary satellite, and more than any
/// probe timeout of a path in use.
const PATIENCE: Duration = Duration::from_millis(2_500);

/// What the watch of a connection and the display of its progress know of each other. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Shown(Arc<Flags>);

#[derive(Debug, Default)]
struct Flags {
    /// The server is silent now.
    silent: AtomicBool,
    /// The progress is drawn, and says so.
    drawn: AtomicBool,
}

impl Shown {
    /// Returns true if nothing arrives on the path although it should.
    pub fn is_silent(&self) -> bool {
        self.0.silent.load(Ordering::Relaxed)
    }

    /// The progress is drawn from now on, or not any more.
    pub fn set_drawn(&self, drawn: bool) {
        self.0.drawn.store(drawn, Ordering::Relaxed);
    }

    /// Whether a line between those of the progress would be lost.
    pub fn is_drawn(&self) -> bool {
        self.0.drawn.load(Ordering::Relaxed)
    }
}

/// Watches a connection until it ends. `timeout`: after how much silence it is given up.
pub fn watch(
    endpoint: Endpoint,
    connection: Connection,
    timeout: Duration,
    shown: Shown,
    output: Output,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        let counts = || {
            let stats = connection.stats();
            (stats.datagrams_sent, stats.datagrams_received)
        };
        let mut silence = Silence::new(Instant::now(), counts());
        let mut links = Links::default();
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        while connection.close_reason().is_none() {
            ticks.tick().await;
            let news = silence.observe(Instant::now(), counts());
            shown.0.silent.store(silence.is_told(), Ordering::Relaxed);
            let links = links.observe(endpoint.links().len());
            if !shown.is_drawn() {
                let lines = [news.map(|news| news.text(timeout)), links.map(str::to_owned)];
                lines.into_iter().flatten().for_each(|line| output.remark(line));
            }
        }
    })
}

/// What there is to say of a silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    /// It has lasted so long.
    Began(Duration),
    /// It is over, and lasted so long.
    Ended(Duration),
}

impl News {
    fn text(self, timeout: Duration) -> String {
        match self {
            News::Began(lasts) => format!(
                "nothing was heard from the server over any link for {:.0} s; it is given up after {} s (--timeout)",
                lasts.as_secs_f64(),
                timeout.as_secs_f64()
            ),
            News::Ended(lasted) => format!("the server is heard again after {:.0} s", lasted.as_secs_f64()),
        }
    }
}

/// Whether the peer answers: it is silent if something was sent since it was last heard, and the answer is overdue. Who has
/// nothing to say and is asked nothing is not.
#[derive(Debug)]
struct Silence {
    /// Datagrams sent and received, when last looked at.
    counts: (u64, u64),
    heard: Instant,
    /// When the first datagram left that is not answered.
    asked: Option<Instant>,
    told: bool,
}

impl Silence {
    fn new(now: Instant, counts: (u64, u64)) -> Self {
        Silence { counts, heard: now, asked: None, told: false }
    }

    /// Looks at the numbers of datagrams sent and received so far.
    fn observe(&mut self, now: Instant, (sent, received): (u64, u64)) -> Option<News> {
        let (sent_before, received_before) = std::mem::replace(&mut self.counts, (sent, received));
        let lasts = now.duration_since(self.heard);
        if received > received_before {
            (self.heard, self.asked) = (now, None);
            return std::mem::take(&mut self.told).then_some(News::Ended(lasts));
        }
        if sent > sent_before {
            self.asked.get_or_insert(now);
        }
        let overdue = self.asked.is_some_and(|asked| now.duration_since(asked) >= PATIENCE);
        (overdue && !std::mem::replace(&mut self.told, overdue)).then_some(News::Began(lasts))
    }

    fn is_told(&self) -> bool {
        self.told
    }
}

/// Whether there is a link.
#[derive(Debug, Default)]
struct Links {
    present: usize,
}

impl Links {
    /// Looks at their number. Where they are not known there never are any, and nothing is said.
    fn observe(&mut self, present: usize) -> Option<&'static str> {
        match (std::mem::replace(&mut self.present, present), present) {
            (1.., 0) => Some("no link is up any more; waiting for one to return"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_overdue_is_told_once_and_so_is_its_coming() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut silence = Silence::new(start, (10, 10));
        // Nobody says anything: that is no silence.
        assert_eq!(silence.observe(at(60_000), (10, 10)), None);
        assert_eq!(silence.observe(at(60_000), (11, 10)), None);
        assert_eq!(silence.observe(at(62_000), (12, 10)), None);
        assert_eq!(silence.observe(at(62_500), (12, 10)), Some(News::Began(Duration::from_millis(62_500))));
        assert_eq!(silence.observe(at(70_000), (15, 10)), None, "once");
        assert!(silence.is_told());
        assert_eq!(silence.observe(at(71_000), (15, 11)), Some(News::Ended(Duration::from_secs(71))));
        assert!(!silence.is_told());
        // An answer ends the wait for it.
        assert_eq!(silence.observe(at(72_000), (16, 11)), None);
        assert_eq!(silence.observe(at(74_000), (17, 12)), None);
        assert_eq!(silence.observe(at(80_000), (17, 12)), None);
    }

    #[test]
    fn that_the_last_link_went_is_told() {
        let mut links = Links::default();
        let told: Vec<bool> = [0, 2, 1, 0, 0, 1, 0].map(|present| links.observe(present).is_some()).into();
        assert_eq!(told, [false, false, false, true, false, false, true]);
    }
}
