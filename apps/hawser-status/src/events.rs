//! What happened between two looks, and the log of it.
//!
//! Events are found by comparing: nothing has to be said on the way of packets, and what nobody looks at costs nothing. What began
//! and ended between two looks shows in counters, such as [`Path::times_suspect`].

use std::collections::{HashMap, VecDeque};

use crate::model::{Connection, ConnectionState, Event, EventKind, Link, LinkUsage, Path, PathState, Status};

/// Events that are kept for those who come later.
pub(crate) const KEPT: usize = 512;
/// Events of one look; of more, that there were more.
const MAX_AT_ONCE: usize = 64;

/// Something that happened, before it has a number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct News {
    kind: EventKind,
    connection: Option<String>,
    path: Option<u32>,
    name: Option<String>,
    text: String,
}

impl News {
    fn of_link(kind: EventKind, link: &Link, text: String) -> Self {
        News { kind, connection: None, path: None, name: Some(link.name.clone()), text }
    }

    fn of_connection(kind: EventKind, connection: &Connection, text: String) -> Self {
        News { kind, connection: Some(connection.id.clone()), path: None, name: None, text }
    }

    fn of_path(kind: EventKind, connection: &Connection, path: &Path, text: String) -> Self {
        let name = Some(path.name.clone());
        News { kind, connection: Some(connection.id.clone()), path: Some(path.id), name, text }
    }
}

/// The last events.
#[derive(Debug, Default)]
pub(crate) struct Log {
    events: VecDeque<Event>,
    last: u64,
}

impl Log {
    /// Adds what happened at this time.
    pub(crate) fn add(&mut self, at_unix_ms: u64, news: Vec<News>) {
        for News { kind, connection, path, name, text } in news {
            self.last += 1;
            if self.events.len() == KEPT {
                self.events.pop_front();
            }
            self.events.push_back(Event { seq: self.last, at_unix_ms, kind, connection, path, name, text });
        }
    }

    /// The number of the newest event; 0 before the first.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// The events that came after the one with this number, as far as they are kept.
    pub(crate) fn after(&self, seq: u64) -> Vec<Event> {
        self.events.iter().filter(|event| event.seq > seq).cloned().collect()
    }
}

/// What happened between two looks.
pub(crate) fn compare(before: &Status, now: &Status) -> Vec<News> {
    let mut news = Vec::new();
    if now.draining && !before.draining {
        let text = "the program stops: what runs goes on, nothing new is taken".to_owned();
        news.push(News { kind: EventKind::Drain, connection: None, path: None, name: None, text });
    }
    compare_links(before, now, &mut news);
    let known: HashMap<&str, &Connection> = by_id(before);
    for connection in &now.connections {
        match known.get(connection.id.as_str()) {
            Some(was) => compare_connection(was, connection, &mut news),
            None if connection.state == ConnectionState::Closing => {}
            None if is_complete(before) => {
                let text = format!("connected with {}", connection.remote);
                news.push(News::of_connection(EventKind::ConnectionOpened, connection, text));
                connection.paths.iter().for_each(|path| path_appeared(connection, path, &mut news));
            }
            None => {}
        }
    }
    if is_complete(now) {
        let present = by_id(now);
        let gone = |was: &&Connection| {
            was.state != ConnectionState::Closing && !present.contains_key(was.id.as_str())
        };
        for was in before.connections.iter().filter(gone) {
            let text = format!("the connection with {} ended", was.remote);
            news.push(News::of_connection(EventKind::ConnectionClosed, was, text));
        }
    }
    if news.len() > MAX_AT_ONCE {
        let more = news.len() - MAX_AT_ONCE;
        news.truncate(MAX_AT_ONCE);
        if let Some(last) = news.last_mut() {
            last.text.push_str(&format!(" (and {more} more at once)"));
        }
    }
    news
}

/// Whether all connections are listed: of one that is not, nobody can say that it came or went.
fn is_complete(status: &Status) -> bool {
    status.connections_left_out == 0
}

fn by_id(status: &Status) -> HashMap<&str, &Connection> {
    status.connections.iter().map(|connection| (connection.id.as_str(), connection)).collect()
}

fn compare_links(before: &Status, now: &Status, news: &mut Vec<News>) {
    for link in &now.links {
        let Some(was) = before.links.iter().find(|was| was.name == link.name) else {
            if !before.links.is_empty() && link.up {
                news.push(News::of_link(EventKind::LinkUp, link, format!("{} is up", link.name)));
            }
            continue;
        };
        if was.usage != link.usage {
            let text = match link.usage {
                LinkUsage::Paused => format!("{} is paused", link.name),
                LinkUsage::Backup => format!("{} is a backup now", link.name),
                LinkUsage::Available => format!("{} is used regularly", link.name),
            };
            news.push(News::of_link(EventKind::LinkUse, link, text));
        } else if was.up != link.up {
            let (kind, word) =
                if link.up { (EventKind::LinkUp, "up") } else { (EventKind::LinkDown, "down") };
            news.push(News::of_link(kind, link, format!("{} is {word}", link.name)));
        }
        compare_radio(was, link, news);
        if let (Some(was), Some(budget)) = (&was.budget, &link.budget)
            && was.resting != budget.resting
        {
            let text = match budget.resting {
                true => format!("the budget of {} is used up", link.name),
                false => format!("a new period of the budget of {} begins", link.name),
            };
            news.push(News::of_link(EventKind::Budget, link, text));
        }
    }
    for was in before.links.iter().filter(|was| was.up) {
        if !now.links.iter().any(|link| link.name == was.name) {
            news.push(News::of_link(EventKind::LinkDown, was, format!("{} is down", was.name)));
        }
    }
}

fn compare_radio(was: &Link, link: &Link, news: &mut Vec<News>) {
    let (Some(before), Some(now)) = (&was.radio, &link.radio) else { return };
    if let Some(point) = &now.attached_to
        && before.attached_to.as_ref().is_some_and(|before| before != point)
    {
        news.push(News::of_link(EventKind::Attached, link, format!("{} is served by {point}", link.name)));
    }
    if let Some(next) = now.handover.as_ref().filter(|_| before.handover.is_none()) {
        let to = next.to.as_ref().map(|to| format!(" to {to}")).unwrap_or_default();
        let text = format!("{}: a handover{to} is forecast in {:.1} s", link.name, next.in_ms / 1e3);
        news.push(News::of_link(EventKind::Handover, link, text));
    }
}

fn compare_connection(was: &Connection, now: &Connection, news: &mut Vec<News>) {
    if now.state == ConnectionState::Closing {
        if was.state != ConnectionState::Closing {
            let text = format!("the connection with {} ended", now.remote);
            news.push(News::of_connection(EventKind::ConnectionClosed, now, text));
        }
        return;
    }
    if was.scheduler != now.scheduler {
        let text = format!("the scheduler is {} now, was {}", now.scheduler, was.scheduler);
        news.push(News::of_connection(EventKind::Scheduler, now, text));
    }
    for path in &now.paths {
        match was.paths.iter().find(|was| was.id == path.id) {
            Some(was) => compare_path(now, was, path, news),
            None => path_appeared(now, path, news),
        }
    }
    for path in was.paths.iter().filter(|was| !now.paths.iter().any(|path| path.id == was.id)) {
        let text = format!("path {} over {} is closed", path.id, path.name);
        news.push(News::of_path(EventKind::PathClosed, now, path, text));
    }
}

fn path_appeared(connection: &Connection, path: &Path, news: &mut Vec<News>) {
    if path.state != PathState::Validating {
        let text = format!("path {} over {} is open", path.id, path.name);
        news.push(News::of_path(EventKind::PathOpened, connection, path, text));
    }
}

fn compare_path(connection: &Connection, was: &Path, path: &Path, news: &mut Vec<News>) {
    let name = &path.name;
    match (was.state, path.state) {
        (PathState::Validating, PathState::Active) => path_appeared(connection, path, news),
        (before, PathState::Suspect) if before != PathState::Suspect => {
            let text = format!("{name} fell silent: others carry its data");
            news.push(News::of_path(EventKind::PathSuspect, connection, path, text));
        }
        _ if path.stalled && !was.is_silent() => {
            let text = format!("{} brings nothing any more, and others do", path.name);
            news.push(News::of_path(EventKind::PathStalled, connection, path, text));
        }
        // Of one that has been silent for long nobody knows what it should bring.
        (PathState::Active, PathState::Active)
            if was.stalled && !path.stalled && path.silent_ms < was.silent_ms =>
        {
            let text = format!("{} brings data again", path.name);
            news.push(News::of_path(EventKind::PathRecovered, connection, path, text));
        }
        (PathState::Suspect, PathState::Active) => {
            let text = format!("{name} answers again");
            news.push(News::of_path(EventKind::PathRecovered, connection, path, text));
        }
        (PathState::Active, PathState::Active) if path.times_suspect > was.times_suspect => {
            let text = format!("{name} fell silent for a moment, and answers again");
            news.push(News::of_path(EventKind::PathRecovered, connection, path, text));
        }
        _ => {}
    }
    // Where the link was ordered to be used otherwise, that was said.
    let is_told = |news: &News| news.kind == EventKind::LinkUse && news.name.as_ref() == Some(name);
    if was.backup != path.backup && !news.iter().any(is_told) {
        let text = if path.backup {
            format!("path {} over {name} is a backup now", path.id)
        } else {
            format!("path {} over {name} is used regularly", path.id)
        };
        news.push(News::of_path(EventKind::PathUse, connection, path, text));
    }
    if was.controller != path.controller {
        let text = format!("{name}: the controller is {} now, was {}", path.controller, was.controller);
        news.push(News::of_path(EventKind::Controller, connection, path, text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(id: u32, name: &str, state: PathState) -> Path {
        Path { id, name: name.to_owned(), state, controller: "cubic".to_owned(), ..Path::default() }
    }

    fn status(paths: Vec<Path>) -> Status {
        let connection = Connection { id: "1.1".to_owned(), paths, ..Connection::default() };
        Status { connections: vec![connection], ..Status::default() }
    }

    fn kinds(before: &Status, now: &Status) -> Vec<EventKind> {
        compare(before, now).into_iter().map(|news| news.kind).collect()
    }

    #[test]
    fn the_life_of_a_path_is_told() {
        use EventKind::{PathClosed, PathOpened, PathRecovered, PathSuspect};
        use PathState::{Active, Suspect, Validating};
        let at = |state| status(vec![path(1, "wlan0", state)]);
        assert_eq!(kinds(&status(vec![]), &at(Validating)), []);
        assert_eq!(kinds(&at(Validating), &at(Active)), [PathOpened]);
        assert_eq!(kinds(&at(Active), &at(Active)), []);
        assert_eq!(kinds(&at(Active), &at(Suspect)), [PathSuspect]);
        assert_eq!(kinds(&at(Suspect), &at(Active)), [PathRecovered]);
        assert_eq!(kinds(&at(Active), &status(vec![])), [PathClosed]);
        let mut blinked = at(Active);
        blinked.connections[0].paths[0].times_suspect = 1;
        assert_eq!(kinds(&at(Active), &blinked), [PathRecovered], "a silence between two looks");
    }

    #[test]
    fn connections_that_are_not_listed_neither_come_nor_go() {
        let empty = Status::default();
        let one = status(vec![]);
        assert_eq!(kinds(&empty, &one), [EventKind::ConnectionOpened]);
        assert_eq!(kinds(&one, &empty), [EventKind::ConnectionClosed]);
        let partial = Status { connections_left_out: 3, ..Status::default() };
        assert_eq!(kinds(&one, &partial), []);
        assert_eq!(kinds(&partial, &one), []);
        let mut closing = one.clone();
        closing.connections[0].state = ConnectionState::Closing;
        assert_eq!(kinds(&one, &closing), [EventKind::ConnectionClosed]);
        assert_eq!(kinds(&closing, &empty), [], "told once");
    }

    #[test]
    fn a_paused_link_is_told_as_such() {
        let link = |usage, up| {
            let link = Link { name: "wwan0".to_owned(), usage, up, ..Link::default() };
            Status { links: vec![link], ..Status::default() }
        };
        let (used, paused) = (link(LinkUsage::Available, true), link(LinkUsage::Paused, false));
        assert_eq!(kinds(&used, &paused), [EventKind::LinkUse]);
        assert_eq!(kinds(&paused, &used), [EventKind::LinkUse]);
        assert_eq!(kinds(&used, &link(LinkUsage::Available, false)), [EventKind::LinkDown]);
    }

    #[test]
    fn events_at_once_and_kept_events_are_bounded() {
        let paths = |state| status((0..500).map(|id| path(id, "x", state)).collect());
        let news = compare(&paths(PathState::Active), &paths(PathState::Suspect));
        assert_eq!(news.len(), MAX_AT_ONCE);
        assert!(news.last().is_some_and(|last| last.text.contains("436 more")));
        let mut log = Log::default();
        (0..20).for_each(|at| log.add(at, news.clone()));
        assert_eq!((log.last(), log.after(0).len()), (20 * MAX_AT_ONCE as u64, KEPT));
        assert_eq!(log.after(log.last() - 2).len(), 2);
    }
}
