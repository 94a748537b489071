//! What of a machine's traffic goes through a tunnel.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ipnet::IpNet;

/// What goes through a tunnel: each of these, and nothing else; everything if nothing is named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// Packets to these addresses.
    pub routes: Vec<IpNet>,
    /// Packets to what these names, and those below them, stand for; in lower case, without a dot at the end.
    pub domains: Vec<String>,
    /// All that programs of these users send.
    pub users: Vec<u32>,
    /// All that programs in these control groups send.
    pub cgroups: Vec<Cgroup>,
}

impl Split {
    /// Whether nothing is named.
    pub fn is_everything(&self) -> bool {
        self.routes.is_empty() && self.domains.is_empty() && !self.has_senders()
    }

    /// Whether it matters who sends.
    pub(crate) fn has_senders(&self) -> bool {
        !self.users.is_empty() || !self.cgroups.is_empty()
    }
}

/// A control group (version 2), as the kernel knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cgroup {
    /// How far it is from the root.
    pub(crate) level: u32,
    /// Its number.
    pub(crate) id: u64,
}

impl Cgroup {
    /// The one of this name: a path from the root of control groups, such as `user.slice` or `/system.slice/rtorrent.service`, or that of its
    /// folder.
    ///
    /// # Errors
    /// When there is no such group, or no control groups of version 2.
    pub fn find(name: &Path) -> io::Result<Self> {
        let root = root()?;
        let below = name.strip_prefix(&root).or_else(|_| name.strip_prefix("/")).unwrap_or(name);
        let level = below.components().count();
        if level == 0 {
            return Err(io::Error::other("the root of all control groups: everything is in it"));
        }
        let folder = root.join(below);
        // What it has of a group only.
        fs::metadata(folder.join("cgroup.procs"))?;
        Ok(Cgroup { level: u32::try_from(level).unwrap_or(u32::MAX), id: fs::metadata(&folder)?.ino() })
    }
}

/// Where control groups of version 2 are.
fn root() -> io::Result<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let found = mounts.lines().find_map(mount_point);
    found.ok_or_else(|| io::Error::other("this machine has no control groups of version 2 (cgroup2)"))
}

/// Where a line of `mountinfo` (proc(5)) says that control groups are.
fn mount_point(line: &str) -> Option<PathBuf> {
    let (mount, system) = line.split_once(" - ")?;
    if system.split(' ').next() != Some("cgroup2") {
        return None;
    }
    mount.split(' ').nth(4).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_groups_are_where_the_system_has_them() {
        let line = "40 31 0:27 / /sys/fs/cgroup/unified rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate";
        assert_eq!(mount_point(line), Some(PathBuf::from("/sys/fs/cgroup/unified")));
        assert_eq!(mount_point("32 31 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu"), None);
        assert_eq!(mount_point("nothing"), None);
    }

    #[test]
    fn nothing_named_is_everything() {
        assert!(Split::default().is_everything());
        let users = Split { users: vec![1_000], ..Split::default() };
        assert!(!users.is_everything() && users.has_senders());
        let domains = Split { domains: vec!["example.org".to_owned()], ..Split::default() };
        assert!(!domains.is_everything() && !domains.has_senders());
    }
}
