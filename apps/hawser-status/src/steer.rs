//! What can be ordered while a program runs.

use hawser_net::policy::{PathId, PathStatus, PolicySpec};
use hawser_net::{ConnectionObserver, LinkUse, LinkUseError};
use hawser_sched::{FixedSplit, Mode, Modes};

use crate::hub::Hub;
use crate::model::{Connection, LinkUsage};

/// Why an order was not followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SteerError {
    /// Nothing of this name.
    #[error("no link and no path is named `{name}`; known are: {known}")]
    Unknown {
        /// The name.
        name: String,
        /// What there is.
        known: String,
    },
    /// There is no such connection.
    #[error("there is no connection `{0}`; `hawser ctl status` lists them")]
    NoConnection(String),
    /// This end cannot do that.
    #[error("{0}")]
    Unsupported(String),
    /// Why not.
    #[error("{0}")]
    Refused(String),
}

/// What was done, in words.
pub type Done = Result<String, SteerError>;

impl Hub {
    /// Uses a link otherwise, or at an end that chooses no links, the paths to the peer with this address.
    ///
    /// # Errors
    /// [`SteerError`].
    pub fn set_link(&self, name: &str, usage: LinkUsage) -> Done {
        let wanted = match usage {
            LinkUsage::Available => LinkUse::Available,
            LinkUsage::Backup => LinkUse::Backup,
            LinkUsage::Paused => LinkUse::Paused,
        };
        let (mut done, mut known) = (false, Vec::new());
        for watched in self.watched() {
            match watched.endpoint.set_link_use(name, wanted) {
                Ok(()) => done = true,
                Err(LinkUseError::NotChosen) => {}
                Err(LinkUseError::Unknown { known: names, .. }) => known.push(names),
                Err(error) => return Err(SteerError::Refused(error.to_string())),
            }
        }
        if done {
            self.remember_use(name, wanted);
            return Ok(match usage {
                LinkUsage::Available => format!("{name} is used regularly"),
                LinkUsage::Backup => format!("{name} is a backup"),
                LinkUsage::Paused => format!("{name} is paused"),
            });
        }
        self.set_paths_of_peer(name, usage, known)
    }

    /// The same for the paths that peers opened.
    fn set_paths_of_peer(&self, name: &str, usage: LinkUsage, mut known: Vec<String>) -> Done {
        let status = match usage {
            LinkUsage::Available => PathStatus::Available,
            LinkUsage::Backup | LinkUsage::Paused => PathStatus::Backup,
        };
        let mut changed = 0;
        for connection in self.observers(None)? {
            for path in connection.sample().paths {
                let address = path.info.tuple.remote.ip().to_canonical().to_string();
                if address != name {
                    known.push(address);
                    continue;
                }
                if usage == LinkUsage::Paused {
                    let reason = format!(
                        "the peer at {name} opened this path, so only the peer can pause it; `backup` leaves it for when no other path works"
                    );
                    return Err(SteerError::Unsupported(reason));
                }
                let set = connection.set_path_status(path.info.id, status);
                set.map_err(|error| SteerError::Refused(error.to_string()))?;
                changed += 1;
            }
        }
        if changed == 0 {
            known.sort();
            known.dedup();
            known.truncate(16);
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(SteerError::Unknown { name: name.to_owned(), known });
        }
        let word = if status == PathStatus::Backup { "as a backup" } else { "regularly" };
        let verb = if changed == 1 { "is" } else { "are" };
        Ok(format!("{} to {name} {verb} used {word}", count(changed, "path")))
    }

    /// Exchanges the scheduler of a connection, or of all that exist.
    ///
    /// # Errors
    /// [`SteerError`].
    pub fn set_scheduler(&self, spec: &str, connection: Option<&str>) -> Done {
        let spec = read_spec(spec)?;
        let connections = self.observers(connection)?;
        for connection in &connections {
            let set = connection.set_scheduler(spec.clone());
            set.map_err(|error| SteerError::Refused(error.to_string()))?;
        }
        Ok(format!("{spec} places what {} send from here", count(connections.len(), "connection")))
    }

    /// Divides what connections with two paths send: so many percent over this link or to this peer, the rest on the other path.
    ///
    /// # Errors
    /// [`SteerError`].
    pub fn set_share(&self, name: &str, percent: u8, connection: Option<&str>) -> Done {
        if percent > 100 {
            return Err(SteerError::Refused(format!("a share is 0 to 100 percent, not {percent}")));
        }
        self.observers(connection)?;
        let status = self.look(std::time::Duration::ZERO);
        let wanted = |seen: &&Connection| connection.is_none_or(|id| id == seen.id);
        let (mut changed, mut known) = (0, Vec::new());
        for seen in status.connections.iter().filter(wanted) {
            let mut paths: Vec<_> = seen.paths.iter().filter(|path| !path.backup).collect();
            paths.sort_by_key(|path| path.id);
            let Some(position) = paths.iter().position(|path| path.name == name) else {
                known.extend(paths.iter().map(|path| path.name.clone()));
                continue;
            };
            if paths.len() != 2 {
                let reason = format!(
                    "connection {} has {} in use; a share is possible where there are two",
                    seen.id,
                    count(paths.len(), "path")
                );
                return Err(SteerError::Refused(reason));
            }
            let share = f64::from(if position == 0 { percent } else { 100 - percent }) / 100.0;
            let spec = read_spec(&format!("{},share={share}", FixedSplit::NAME))?;
            self.set_scheduler(&spec.to_string(), Some(&seen.id))?;
            changed += 1;
        }
        match changed {
            0 => Err(SteerError::Unknown { name: name.to_owned(), known: known.join(", ") }),
            _ => Ok(format!("{name} gets {percent} % of what {} send", count(changed, "connection"))),
        }
    }

    /// Exchanges the congestion controller of paths: of a link or peer, or of all.
    ///
    /// # Errors
    /// [`SteerError`].
    pub fn set_controller(&self, spec: &str, name: Option<&str>, connection: Option<&str>) -> Done {
        let spec = read_spec(spec)?;
        let status = self.look(std::time::Duration::ZERO);
        let (mut changed, mut known) = (0, Vec::new());
        for watched in self.watched() {
            for observer in watched.endpoint.connections() {
                let id = format!("{}.{}", watched.number, observer.number());
                if connection.is_some_and(|wanted| wanted != id) {
                    continue;
                }
                let seen = status.connections.iter().find(|seen| seen.id == id);
                for path in seen.iter().flat_map(|seen| &seen.paths) {
                    if name.is_some_and(|name| name != path.name) {
                        known.push(path.name.clone());
                        continue;
                    }
                    let set = observer.set_controller(PathId(path.id), spec.clone());
                    set.map_err(|error| SteerError::Refused(error.to_string()))?;
                    changed += 1;
                }
            }
        }
        match (changed, name, connection) {
            (0, Some(name), _) => Err(SteerError::Unknown { name: name.to_owned(), known: known.join(", ") }),
            (0, None, Some(connection)) => Err(SteerError::NoConnection(connection.to_owned())),
            _ => Ok(format!("{spec} controls {}", count(changed, "path"))),
        }
    }

    /// What connections are for (`aggregate`, `low-latency`, `redundant`, `backup`): all that they send from here, or streams and
    /// datagrams of one class. A connection with another scheduler than `modes` gets that.
    ///
    /// # Errors
    /// [`SteerError`].
    pub fn set_mode(&self, mode: &str, class: Option<u32>, connection: Option<&str>) -> Done {
        let mode = Mode::from_name(mode).ok_or_else(|| {
            let known: Vec<&str> = Mode::ALL.iter().map(|mode| mode.name()).collect();
            SteerError::Refused(format!("there is no mode \"{mode}\"; known are: {}", known.join(", ")))
        })?;
        let connections = self.observers(connection)?;
        for connection in &connections {
            if connection.sample().scheduler != Modes::NAME {
                let spec = read_spec(Modes::NAME)?;
                let set = connection.set_scheduler(spec);
                set.map_err(|error| SteerError::Refused(error.to_string()))?;
            }
            connection.tell_policies(&match class {
                Some(class) => mode.for_class(class),
                None => mode.for_connection(),
            });
        }
        let what = class.map_or_else(String::new, |class| format!(" for class {class}"));
        Ok(format!("mode {}{what} on {}", mode.name(), count(connections.len(), "connection")))
    }

    /// The connections that are meant.
    pub(crate) fn observers(&self, id: Option<&str>) -> Result<Vec<ConnectionObserver>, SteerError> {
        let mut found = Vec::new();
        for watched in self.watched() {
            for connection in watched.endpoint.connections() {
                let own = format!("{}.{}", watched.number, connection.number());
                if id.is_none_or(|id| id == own) && !connection.is_closed() {
                    found.push(connection);
                }
            }
        }
        match id {
            Some(id) if found.is_empty() => Err(SteerError::NoConnection(id.to_owned())),
            _ => Ok(found),
        }
    }
}

fn read_spec(spec: &str) -> Result<PolicySpec, SteerError> {
    spec.parse().map_err(|error: hawser_net::policy::SpecError| SteerError::Refused(error.to_string()))
}

fn count(number: usize, of: &str) -> String {
    if number == 1 { format!("1 {of}") } else { format!("{number} {of}s") }
}
