//! The default answer to "which paths exist".

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hawser_policy::{
    LinkId, LinkInfo, ParameterInfo, Parameters, PathAction, PathEvent, PathId, PathManager, PathManagerInit,
    PathState, PathStatus, PathView, PolicyInfo, Time,
};

/// What can be set of [`FullMesh`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FullMeshParameters {
    /// First pause before an attempt that failed is repeated; each pause is twice the one before.
    pub first_retry: Duration,
    /// Longest pause.
    pub last_retry: Duration,
}

impl Default for FullMeshParameters {
    fn default() -> Self {
        FullMeshParameters { first_retry: Duration::from_millis(50), last_retry: Duration::from_secs(10) }
    }
}

impl FullMeshParameters {
    /// Those of a spec such as `full-mesh,last_retry=2s`.
    pub(crate) fn read(parameters: &Parameters) -> Self {
        FullMeshParameters {
            first_retry: parameters.duration("first_retry"),
            last_retry: parameters.duration("last_retry"),
        }
    }
}

/// One path for every link, always.
///
/// A link that appears gets a path; a link that goes loses it, unless it is the last one that ever worked: then it stays
/// until a replacement carries data. A path that failed is tried again with back-off for as long as its link is up.
///
/// A path goes to the server's address of the handshake if its link has an address of that family, else to the one of the
/// other family. Where a link has both, attempts take turns until one is answered.
#[derive(Debug)]
pub struct FullMesh {
    parameters: FullMeshParameters,
    /// The server's addresses: one, or one of each family.
    remotes: Vec<SocketAddr>,
    ready: bool,
    links: BTreeMap<LinkId, Entry>,
    /// Which link each path that we have seen belongs to.
    path_links: BTreeMap<PathId, LinkId>,
    /// Paths whose link or address went away under them. They never work again, even if the link returns.
    orphans: BTreeSet<PathId>,
    /// Where the handshake ran.
    first: Option<(LinkId, IpAddr)>,
}

#[derive(Debug)]
struct Entry {
    info: LinkInfo,
    /// The address that the link's path uses or was last tried with.
    source: Option<IpAddr>,
    has_path: bool,
    /// Whether a path was opened and then failed, as against never opened for lack of connection ids.
    failed: bool,
    /// Whether the path that was opened last has worked.
    worked: bool,
    /// Which of the ways to the server is tried, counted on with each attempt that nobody answered.
    turn: usize,
    next_attempt: Time,
    pause: Duration,
}

impl Entry {
    fn new(info: LinkInfo, source: Option<IpAddr>, now: Time, pause: Duration) -> Self {
        Entry {
            info,
            source,
            has_path: false,
            failed: false,
            // The path of the handshake has.
            worked: source.is_some(),
            turn: 0,
            next_attempt: now,
            pause,
        }
    }

    /// From which address of the link to which of the server's a path would go; `None` when there is no way.
    fn route(&self, remotes: &[SocketAddr]) -> Option<(IpAddr, SocketAddr)> {
        let routes =
            || remotes.iter().filter_map(|remote| Some((self.info.source_for(remote.ip())?, *remote)));
        routes().nth(self.turn.checked_rem(routes().count())?)
    }

    fn start_over(&mut self, now: Time, parameters: FullMeshParameters) {
        self.failed = false;
        self.next_attempt = now;
        self.pause = parameters.first_retry;
    }

    fn back_off(&mut self, now: Time, parameters: FullMeshParameters) {
        self.next_attempt = now + self.pause;
        self.pause = (self.pause * 2).min(parameters.last_retry);
    }
}

impl FullMesh {
    /// Its name in the registry; the entry `default` is the same.
    pub const NAME: &'static str = "full-mesh";

    /// A manager for one client connection.
    pub fn new(init: &PathManagerInit) -> Self {
        FullMesh::with_parameters(init, FullMeshParameters::default())
    }

    /// The same with other parameters.
    pub fn with_parameters(init: &PathManagerInit, parameters: FullMeshParameters) -> Self {
        let mut path_links = BTreeMap::new();
        if let Some(link) = init.link {
            path_links.insert(PathId::ZERO, link);
        }
        FullMesh {
            parameters,
            remotes: init.remotes().collect(),
            ready: false,
            links: BTreeMap::new(),
            path_links,
            orphans: BTreeSet::new(),
            first: init.link.map(|link| (link, init.local.ip())),
        }
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        let default = FullMeshParameters::default();
        let (millisecond, hour) = (Duration::from_millis(1), Duration::from_secs(3_600));
        PolicyInfo::new(Self::NAME, "one path for every link, always")
            .alias("default")
            .source("Hawser; after the full-mesh manager of MPTCP (RFC 8684)")
            .parameter(
                ParameterInfo::duration("first_retry", millisecond..=hour, default.first_retry)
                    .meaning("first pause before an attempt that failed is repeated; doubles"),
            )
            .parameter(
                ParameterInfo::duration("last_retry", millisecond..=hour, default.last_retry)
                    .meaning("longest pause between attempts"),
            )
    }

    fn link_up(&mut self, now: Time, info: &LinkInfo) {
        let Some(entry) = self.links.get_mut(&info.id) else {
            let source = self.first.take_if(|(link, _)| *link == info.id).map(|(_, address)| address);
            self.links.insert(info.id, Entry::new(info.clone(), source, now, self.parameters.first_retry));
            return;
        };
        entry.info = info.clone();
        entry.start_over(now, self.parameters);
        if entry.source.is_some_and(|source| !info.addresses.contains(&source)) {
            self.orphan_paths_of(info.id);
        }
    }

    fn link_down(&mut self, link: LinkId) {
        self.links.remove(&link);
        self.orphan_paths_of(link);
    }

    fn orphan_paths_of(&mut self, link: LinkId) {
        self.orphans.extend(self.path_links.iter().filter(|(_, of)| **of == link).map(|(path, _)| *path));
    }

    fn closed(&mut self, now: Time, path: PathId) {
        let link = self.path_links.remove(&path);
        if self.orphans.remove(&path) {
            return;
        }
        if let Some(entry) = link.and_then(|link| self.links.get_mut(&link)) {
            if !std::mem::take(&mut entry.worked) {
                entry.turn = entry.turn.wrapping_add(1);
            }
            entry.failed = true;
            entry.back_off(now, self.parameters);
        }
    }

    /// Takes note of the links of paths, before anything is done about them.
    fn learn_links(&mut self, paths: &[PathView]) {
        self.path_links.extend(paths.iter().filter_map(|path| Some((path.id, path.link?))));
    }

    /// Brings the set of paths closer to one per link. Doing it twice changes nothing.
    fn reconcile(&mut self, now: Time, paths: &[PathView], actions: &mut Vec<PathAction>) {
        if !self.ready {
            return;
        }
        self.drop_orphans(paths, actions);
        self.open_missing(now, paths, actions);
        self.align_status(paths, actions);
    }

    /// Orphans are given up once another path works.
    fn drop_orphans(&self, paths: &[PathView], actions: &mut Vec<PathAction>) {
        let is_orphan = |path: &&PathView| self.orphans.contains(&path.id);
        let has_alternative = paths.iter().any(|p| p.state == PathState::Active && !is_orphan(&p));
        if has_alternative {
            actions.extend(paths.iter().filter(is_orphan).map(|path| PathAction::Abandon(path.id)));
        }
    }

    fn open_missing(&mut self, now: Time, paths: &[PathView], actions: &mut Vec<PathAction>) {
        // There may be fewer places than links: those that have not failed come first.
        let mut links: Vec<_> = self.links.iter_mut().collect();
        links.sort_by_key(|(_, entry)| entry.failed);
        for (id, entry) in links {
            entry.has_path =
                paths.iter().any(|path| path.link == Some(*id) && !self.orphans.contains(&path.id));
            if entry.has_path || now < entry.next_attempt {
                continue;
            }
            let Some((source, remote)) = entry.route(&self.remotes) else { continue };
            entry.source = Some(source);
            entry.back_off(now, self.parameters);
            actions.push(PathAction::Open {
                local: SocketAddr::new(source, 0),
                remote,
                link: Some(*id),
                status: entry.info.preference,
            });
        }
    }

    /// The handshake's path starts as available; its link may be meant as backup.
    fn align_status(&self, paths: &[PathView], actions: &mut Vec<PathAction>) {
        for path in paths {
            let preference = path.link.and_then(|l| self.links.get(&l)).map(|entry| entry.info.preference);
            if preference == Some(PathStatus::Backup) && path.status == PathStatus::Available {
                actions.push(PathAction::SetStatus(path.id, PathStatus::Backup));
            }
        }
    }
}

impl PathManager for FullMesh {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn on_event(&mut self, now: Time, event: &PathEvent, paths: &[PathView], actions: &mut Vec<PathAction>) {
        self.learn_links(paths);
        match event {
            PathEvent::MultipathReady => self.ready = true,
            PathEvent::LinkUp(info) => self.link_up(now, info),
            PathEvent::LinkDown(link) => self.link_down(*link),
            PathEvent::Established(path) => {
                let entry = self.path_links.get(path).and_then(|link| self.links.get_mut(link));
                if let Some(entry) = entry {
                    entry.worked = true;
                    entry.start_over(now, self.parameters);
                }
            }
            PathEvent::Closed(path) => self.closed(now, *path),
            PathEvent::MorePathsAllowed => {
                for entry in self.links.values_mut().filter(|entry| !entry.failed) {
                    entry.next_attempt = now;
                }
            }
            _ => {}
        }
        self.reconcile(now, paths, actions);
    }

    fn next_timeout(&self) -> Option<Time> {
        if !self.ready {
            return None;
        }
        self.links
            .values()
            .filter(|entry| !entry.has_path && entry.route(&self.remotes).is_some())
            .map(|entry| entry.next_attempt)
            .min()
    }

    fn on_timeout(&mut self, now: Time, paths: &[PathView], actions: &mut Vec<PathAction>) {
        self.learn_links(paths);
        self.reconcile(now, paths, actions);
    }
}

#[cfg(test)]
mod tests;
