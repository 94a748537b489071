//! `--cap`: what links may carry in a period, what is said of it, and how a command ends when it is used up.

use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hawser_core::Code;
use hawser_policy::LinkInfo;
use serde::Serialize;
use tokio::task::JoinHandle;

use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::silence::Shown;
use crate::units;
use hawser::{CapReached, CapUse, Connection, ConnectionError, CostCap, CostCaps, LinkSelector};

/// How often it is looked whether a budget is used up.
const INTERVAL: Duration = Duration::from_millis(100);

/// `wwan0=1GB/24h`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkCap {
    link: LinkSelector,
    cap: CostCap,
}

impl LinkCap {
    /// The link that it is for.
    pub fn link(&self) -> &LinkSelector {
        &self.link
    }
}

impl FromStr for LinkCap {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (link, cap) = text.split_once('=').ok_or_else(|| {
            format!(
                "`{text}`: expected LINK=BYTES/PERIOD, for example wwan0=1GB/24h; LINK as --path names it"
            )
        })?;
        let link = link.parse().map_err(|error: hawser::InvalidSelector| error.to_string())?;
        let cap = cap.parse().map_err(|error: hawser::InvalidCostCap| error.to_string())?;
        Ok(LinkCap { link, cap })
    }
}

/// What became of a budget, in the result with `--json`.
#[derive(Clone, Debug, Serialize)]
pub struct CapReport {
    link: String,
    cap_bytes: u64,
    period_seconds: u64,
    /// Bytes of IP packets in the period that runs, both directions.
    used_bytes: u64,
    /// Whether nothing more goes over the link before the next period.
    resting: bool,
}

/// The budgets of a command's links, and what is said of them. Says the last of it when it is dropped.
pub struct Caps {
    caps: Arc<CostCaps>,
    teller: Arc<Teller>,
    task: JoinHandle<()>,
}

struct Teller {
    caps: Arc<CostCaps>,
    output: Output,
    /// Of the newest connection: lines between those of a progress would be lost.
    shown: Mutex<Shown>,
    /// Links of caps whose lack was told.
    missing: Mutex<Vec<String>>,
}

impl Caps {
    /// Begins to count. Must be called inside a tokio runtime. `None` without caps.
    ///
    /// # Errors
    /// When there are two for one link.
    pub fn start(caps: &[LinkCap], output: Output) -> Result<Option<Self>, Failure> {
        for (index, LinkCap { link, .. }) in caps.iter().enumerate() {
            if caps[..index].iter().any(|before| before.link == *link) {
                return Err(Failure::usage(format!("--cap: there are two for {link}; give one")));
            }
            if caps[index].cap.bytes == 0 {
                output.remark(format_args!("{link}: the cap is zero, the link is not used"));
            }
        }
        if caps.is_empty() {
            return Ok(None);
        }
        let named = caps.iter().map(|cap| (cap.link.to_string(), cap.cap));
        let caps = Arc::new(CostCaps::new(named));
        let (shown, missing) = (Mutex::default(), Mutex::default());
        let teller = Arc::new(Teller { caps: caps.clone(), output, shown, missing });
        let telling = teller.clone();
        let task = tokio::spawn(async move {
            let mut ticks = tokio::time::interval(INTERVAL);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
            loop {
                ticks.tick().await;
                if !telling.shown().is_drawn() {
                    telling.tell();
                }
            }
        });
        Ok(Some(Caps { caps, teller, task }))
    }

    /// For endpoints, which share them.
    pub fn shared(&self) -> Arc<CostCaps> {
        self.caps.clone()
    }

    /// A connection begins whose progress may be drawn, over some of these links.
    pub fn begin_connection(&self, shown: Shown, links: &[LinkInfo]) {
        *self.teller.shown.lock().unwrap_or_else(PoisonError::into_inner) = shown;
        let mut told = self.teller.missing.lock().unwrap_or_else(PoisonError::into_inner);
        for link in
            self.caps.missing(links).into_iter().filter(|link| !told.contains(link)).collect::<Vec<_>>()
        {
            self.teller
                .output
                .remark(format_args!("{link}: no such link is in use; its cap holds once there is one"));
            told.push(link);
        }
    }

    /// What is left now.
    pub fn reports(&self) -> Vec<CapReport> {
        let report = |of: CapUse| CapReport {
            link: of.link,
            cap_bytes: of.cap.bytes,
            period_seconds: of.cap.period.as_secs(),
            used_bytes: of.used,
            resting: of.rests.is_some(),
        };
        hawser::cost_cap_uses(&self.caps).into_iter().map(report).collect()
    }

    /// What is left now, for people: a line for each.
    pub fn summary(&self) -> Vec<String> {
        let line = |CapUse { link, cap, used, rests, .. }| {
            let state = rests.map(|rests| format!(", {}", rest(rests))).unwrap_or_default();
            format!("  {link:<12} {:>10} of {cap} used{state}", megabytes(used))
        };
        hawser::cost_cap_uses(&self.caps).into_iter().map(line).collect()
    }

    /// The failure of what ran over a connection that was closed since all its links were used up.
    pub fn explain(&self, failure: Failure, connection: &Connection) -> Failure {
        let is_without_path = matches!(connection.close_reason(),
            Some(ConnectionError::Transport(error)) if error.code == Code::NO_VIABLE_PATH);
        let resting = hawser::cost_cap_uses(&self.caps).into_iter().filter(|of| of.rests.is_some());
        let resting: Vec<_> = resting.collect();
        let Some(soonest) = resting.iter().filter_map(|of| of.rests).min().filter(|_| is_without_path) else {
            return failure;
        };
        let links: Vec<_> = resting.iter().map(|of| format!("{} ({})", of.link, of.cap)).collect();
        let message = format!(
            "the budget of {} is used up, and no other link works; {}",
            links.join(", "),
            rest(soonest)
        );
        Failure { message, exit: Exit::NoBudget, ..failure }
    }
}

impl Drop for Caps {
    fn drop(&mut self) {
        self.task.abort();
        self.teller.tell();
    }
}

impl Teller {
    fn shown(&self) -> Shown {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says which budgets were used up since the last time.
    fn tell(&self) {
        for CapReached { link, cap, used, rests, .. } in self.caps.take_reached() {
            let (used, rest) = (megabytes(used), rest(rests));
            self.output.remark(format_args!("{link}: the cap of {cap} is reached ({used} used); {rest}"));
        }
    }
}

fn rest(rests: Duration) -> String {
    if rests == Duration::MAX {
        return "never used".to_owned();
    }
    format!("used again in {}", units::clock(rests))
}

/// In powers of 1000, as caps are written.
fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_cap_of_a_link_is_told() {
        let read = |text: &str| text.parse::<LinkCap>();
        let cap = read("wwan0=1GB/24h").unwrap();
        assert_eq!((cap.link.to_string(), cap.cap.to_string()), ("wwan0".into(), "1GB/24h".into()));
        assert_eq!(read("::1=0/1h").unwrap().link, LinkSelector::Address("::1".parse().unwrap()));
        assert!(read("1GB/24h").unwrap_err().contains("expected LINK=BYTES/PERIOD"));
        assert!(read("a b=1GB/24h").unwrap_err().contains("interface name"));
        assert!(read("wwan0=1GB").unwrap_err().contains("expected BYTES/PERIOD such as 1GB/24h"));
    }
}
