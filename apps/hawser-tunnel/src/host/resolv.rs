//! `/etc/resolv.conf`: other resolvers, and back.
//!
//! A file keeps its place (it may be mounted there by a container) and is written again byte by byte; a symbolic link, as
//! systemd-resolved makes it, is replaced by a file and made again.

use std::io::{self, Read as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// How the first line of what is written here begins, before the name of the command: what another program writes since then stays.
const MARK: &str = "# Written by `hawser ";
/// The command whose states have no name in them.
const TUNNEL: &str = "tunnel";
/// Most bytes of a file that is kept.
const MOST: u64 = 1 << 20;
/// Most bytes of a first line that are looked at.
const MOST_OF_MARK: u64 = 256;

/// What a file was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolv {
    path: PathBuf,
    before: Before,
    /// The command that writes it.
    #[serde(default = "tunnel")]
    command: String,
}

fn tunnel() -> String {
    TUNNEL.to_owned()
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Before {
    /// There was none.
    Absent,
    /// In Base64: it need not be text.
    File(String),
    /// Where it led.
    Link(PathBuf),
}

impl Resolv {
    /// Reads what the file is now, for `hawser tunnel`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(path: &Path) -> io::Result<Self> {
        Resolv::read_for(path, TUNNEL)
    }

    /// Reads what the file is now, for the command of this name.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read_for(path: &Path, command: &str) -> io::Result<Self> {
        let before = match std::fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Before::Absent,
            Err(error) => return Err(error),
            Ok(metadata) if metadata.is_symlink() => Before::Link(std::fs::read_link(path)?),
            Ok(metadata) if metadata.len() > MOST => return Err(io::ErrorKind::FileTooLarge.into()),
            Ok(_) => Before::File(STANDARD.encode(std::fs::read(path)?)),
        };
        Ok(Resolv { path: path.to_owned(), before, command: command.to_owned() })
    }

    /// Returns the command that has written the file and not restored it yet, such as `tunnel`; `None` if another program wrote it.
    pub fn owner(path: &Path) -> Option<String> {
        let mut start = Vec::new();
        std::fs::File::open(path).ok()?.take(MOST_OF_MARK).read_to_end(&mut start).ok()?;
        let rest = start.strip_prefix(MARK.as_bytes())?;
        let end = rest.iter().position(|byte| *byte == b'`')?;
        Some(String::from_utf8_lossy(&rest[..end]).into_owned())
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How the first line begins.
    fn mark(&self) -> String {
        format!("{MARK}{}`", self.command)
    }

    /// The resolvers that a file names (resolv.conf(5)); none if there is no file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn resolvers(path: &Path) -> io::Result<Vec<IpAddr>> {
        let text = match std::fs::read(path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let named = text.lines().filter_map(|line| line.trim_start().strip_prefix("nameserver"));
        // An IPv6 address may name its link, which is not asked over another one anyway.
        Ok(named.filter_map(|rest| rest.split_whitespace().next()?.parse().ok()).collect())
    }

    /// Has names looked up at these resolvers. [`read`](Self::read) first, and keep what that returned.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn replace(&self, resolvers: &[IpAddr]) -> io::Result<()> {
        let mut text = format!("{}; it writes the file as it was when it ends.\n", self.mark());
        for resolver in resolvers {
            text.push_str(&format!("nameserver {resolver}\n"));
        }
        if matches!(self.before, Before::Link(_)) {
            std::fs::remove_file(&self.path)?;
        }
        std::fs::write(&self.path, text)
    }

    /// Writes the file as it was, unless somebody else has changed it meanwhile. Returns whether it did.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn restore(&self) -> io::Result<bool> {
        match std::fs::read(&self.path) {
            // An empty one: the process was killed between emptying and writing it.
            Ok(now) if now.is_empty() || now.starts_with(self.mark().as_bytes()) => {}
            // Between removing a link and writing the file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            _ => return Ok(false),
        }
        match &self.before {
            Before::Absent => match std::fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            },
            Before::File(content) => {
                let content = STANDARD.decode(content).map_err(io::Error::other)?;
                std::fs::write(&self.path, content)?;
            }
            Before::Link(target) => {
                if std::fs::symlink_metadata(&self.path).is_ok() {
                    std::fs::remove_file(&self.path)?;
                }
                std::os::unix::fs::symlink(target, &self.path)?;
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESOLVERS: [IpAddr; 1] = [IpAddr::V4(std::net::Ipv4Addr::new(9, 9, 9, 9))];

    #[test]
    fn a_file_is_restored_byte_by_byte() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("resolv.conf");
        let before = b"nameserver 192.0.2.1\n\xff no text\noptions ndots:2";
        std::fs::write(&path, before).unwrap();
        let resolv = Resolv::read(&path).unwrap();
        resolv.replace(&RESOLVERS).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().ends_with("\nnameserver 9.9.9.9\n"));
        let kept: Resolv = serde_json::from_str(&serde_json::to_string(&resolv).unwrap()).unwrap();
        assert!(kept.restore().unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), before);
        assert!(!kept.restore().unwrap(), "once");
    }

    #[test]
    fn a_link_is_one_again_and_nothing_is_nothing_again() {
        let folder = tempfile::tempdir().unwrap();
        let (link, absent) = (folder.path().join("link"), folder.path().join("absent"));
        std::fs::write(folder.path().join("stub"), "nameserver 127.0.0.53\n").unwrap();
        std::os::unix::fs::symlink("stub", &link).unwrap();
        for path in [&link, &absent] {
            let resolv = Resolv::read(path).unwrap();
            resolv.replace(&RESOLVERS).unwrap();
            assert!(std::fs::symlink_metadata(path).unwrap().is_file());
            assert!(resolv.restore().unwrap());
        }
        assert_eq!(std::fs::read_link(&link).unwrap(), Path::new("stub"));
        assert_eq!(std::fs::read_to_string(&link).unwrap(), "nameserver 127.0.0.53\n");
        assert!(!absent.exists());
    }

    #[test]
    fn resolvers_are_those_that_the_file_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("resolv.conf");
        assert!(Resolv::resolvers(&path).unwrap().is_empty());
        std::fs::write(
            &path,
            b"; a remark\nnameserver 192.0.2.1\n nameserver\t2001:db8::1 # x\nsearch a\nnameserver \xff",
        )
        .unwrap();
        let expected: Vec<IpAddr> = vec!["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()];
        assert_eq!(Resolv::resolvers(&path).unwrap(), expected);
    }

    #[test]
    fn commands_do_not_restore_what_another_wrote() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("resolv.conf");
        std::fs::write(&path, "nameserver 192.0.2.1\n").unwrap();
        let wifi = Resolv::read_for(&path, "wifi attach").unwrap();
        wifi.replace(&RESOLVERS).unwrap();
        assert_eq!(Resolv::owner(&path).as_deref(), Some("wifi attach"));
        let tunnel = Resolv::read(&path).unwrap();
        tunnel.replace(&RESOLVERS).unwrap();
        assert_eq!(Resolv::owner(&path).as_deref(), Some("tunnel"));
        assert!(!wifi.restore().unwrap());
        assert!(tunnel.restore().unwrap() && wifi.restore().unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "nameserver 192.0.2.1\n");
        assert_eq!(Resolv::owner(&path), None);
    }

    #[test]
    fn half_written_and_removed_files_are_restored() {
        let folder = tempfile::tempdir().unwrap();
        let [path, absent] = ["resolv.conf", "absent"].map(|name| folder.path().join(name));
        std::fs::write(&path, "nameserver 192.0.2.1\n").unwrap();
        let resolv = Resolv::read(&path).unwrap();
        std::fs::write(&path, "").unwrap();
        assert!(resolv.restore().unwrap(), "killed between emptying and writing");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "nameserver 192.0.2.1\n");
        let nothing = Resolv::read(&absent).unwrap();
        assert!(nothing.restore().unwrap(), "it is as it was already");
    }

    #[test]
    fn states_of_before_commands_had_names_are_those_of_a_tunnel() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("resolv.conf");
        let resolv = Resolv::read(&path).unwrap();
        let mut kept = serde_json::to_value(&resolv).unwrap();
        kept.as_object_mut().unwrap().remove("command").unwrap();
        assert_eq!(serde_json::from_value::<Resolv>(kept).unwrap(), resolv);
    }

    #[test]
    fn what_somebody_else_wrote_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("resolv.conf");
        std::fs::write(&path, "nameserver 192.0.2.1\n").unwrap();
        let resolv = Resolv::read(&path).unwrap();
        resolv.replace(&RESOLVERS).unwrap();
        std::fs::write(&path, "nameserver 192.0.2.7\n").unwrap();
        assert!(!resolv.restore().unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "nameserver 192.0.2.7\n");
    }
}
