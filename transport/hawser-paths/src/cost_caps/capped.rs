//! A path manager under which links rest when their budgets are used up.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hawser_policy::{
    Earliest, LinkId, LinkInfo, LinkTraffic, LinkUpdate, PathAction, PathEvent, PathManager, PathView, Time,
};

use super::CostCaps;

/// Any path manager, for a host with [`CostCaps`].
///
/// To the manager inside a link whose budget is used up is gone, and it comes back with the next period. Its paths are abandoned:
/// a path of status backup would still carry probes, and everything when the others are silent. PATH_ABANDON goes over another
/// path (draft-ietf-quic-multipath-21 section 3.4), so what comes over the link after that is what the peer had sent by the time it
/// arrives. A connection that has no other path is closed. Of several connections over a link each notices with its next packet.
pub struct Capped {
    inner: Box<dyn PathManager>,
    caps: Arc<CostCaps>,
    links: BTreeMap<LinkId, CappedLink>,
}

struct CappedLink {
    info: LinkInfo,
    entry: usize,
    /// Whether the manager inside takes it to be gone.
    rests: bool,
    /// When it is to be looked at again if it rests. The ledger knows no more of it once another connection has begun the next
    /// period.
    returns: Option<Time>,
}

impl Capped {
    /// The same manager, under which links rest when their budgets are used up.
    pub fn new(inner: Box<dyn PathManager>, caps: Arc<CostCaps>) -> Self {
        Capped { inner, caps, links: BTreeMap::new() }
    }

    /// Has links rest whose budgets are used up, and begin again with the next period.
    fn enforce(&mut self, now: Time, paths: &[PathView], actions: &mut Vec<PathAction>) {
        for (id, link) in &mut self.links {
            let rest = self.caps.rests(link.entry, now);
            let rests = rest.is_some();
            link.returns = rest.filter(|rest| *rest != Duration::MAX).map(|rest| now + rest);
            if std::mem::replace(&mut link.rests, rests) != rests {
                let event =
                    if rests { PathEvent::LinkDown(*id) } else { PathEvent::LinkUp(link.info.clone()) };
                self.inner.on_event(now, &event, paths, actions);
            }
        }
        self.leave_resting(paths, actions);
    }

    /// The manager inside keeps the last path that works; here no byte more may be spent.
    fn leave_resting(&self, paths: &[PathView], actions: &mut Vec<PathAction>) {
        let rests =
            |link: Option<LinkId>| link.and_then(|link| self.links.get(&link)).is_some_and(|link| link.rests);
        let mut resting = paths.iter().filter(|path| rests(path.link)).peekable();
        if resting.peek().is_none() {
            return;
        }
        let opens = |action: &PathAction| matches!(action, PathAction::Open { link, .. } if !rests(*link));
        if paths.iter().any(|path| !rests(path.link)) || actions.iter().any(opens) {
            for path in resting {
                if !actions.contains(&PathAction::Abandon(path.id)) {
                    actions.push(PathAction::Abandon(path.id));
                }
            }
        } else {
            actions.push(PathAction::Close);
        }
    }

    /// When the first of the links that rest may be used again.
    fn next_period(&self) -> Option<Time> {
        self.links.values().filter_map(|link| link.returns).min()
    }
}

/// How long a round trip over a link takes.
fn round_trip(link: LinkId, paths: &[PathView]) -> Duration {
    let over = paths.iter().filter(|path| path.link == Some(link));
    over.map(|path| path.smoothed_rtt.max(path.latest_rtt)).max().unwrap_or_default()
}

impl PathManager for Capped {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn on_event(&mut self, now: Time, event: &PathEvent, paths: &[PathView], actions: &mut Vec<PathAction>) {
        match event {
            PathEvent::LinkUp(info) => {
                let Some(entry) = self.caps.entry_of(info) else {
                    self.links.remove(&info.id);
                    return self.inner.on_event(now, event, paths, actions);
                };
                let rests = self.caps.rests(entry, now).is_some();
                self.links.insert(info.id, CappedLink { info: info.clone(), entry, rests, returns: None });
                if !rests {
                    self.inner.on_event(now, event, paths, actions);
                }
            }
            PathEvent::LinkDown(id) => {
                if !self.links.remove(id).is_some_and(|link| link.rests) {
                    self.inner.on_event(now, event, paths, actions);
                }
            }
            _ => self.inner.on_event(now, event, paths, actions),
        }
        self.enforce(now, paths, actions);
    }

    fn on_link_update(&mut self, update: &LinkUpdate<'_>, paths: &[PathView], actions: &mut Vec<PathAction>) {
        self.inner.on_link_update(update, paths, actions);
    }

    fn counts_traffic(&self) -> bool {
        true
    }

    fn on_traffic(
        &mut self,
        now: Time,
        traffic: &[LinkTraffic],
        paths: &[PathView],
        actions: &mut Vec<PathAction>,
    ) {
        for LinkTraffic { link, bytes, .. } in traffic {
            if let Some(entry) = self.links.get(link).map(|link| link.entry) {
                self.caps.count(entry, now, *bytes, round_trip(*link, paths));
            }
        }
        self.enforce(now, paths, actions);
    }

    fn next_timeout(&self) -> Option<Time> {
        Earliest::NONE.or(self.inner.next_timeout()).or(self.next_period()).time()
    }

    fn on_timeout(&mut self, now: Time, paths: &[PathView], actions: &mut Vec<PathAction>) {
        if self.inner.next_timeout().is_some_and(|at| at <= now) {
            self.inner.on_timeout(now, paths, actions);
        }
        self.enforce(now, paths, actions);
    }
}
