//! Traces of connections, one file each.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hawser_core::{QlogAddresses, QlogFactory, TransportConfig};

use crate::ConfigError;

/// Traces of one end with the same id. The client chooses the id, so anybody can make a server meet one again.
const MAX_SAME_ID: u32 = 16;

/// Where the traces of an end go, and what they show.
pub(crate) struct Traces {
    pub(crate) folder: Option<PathBuf>,
    /// Most bytes of one.
    pub(crate) limit: u64,
    /// Addresses of sockets are of people.
    pub(crate) addresses: QlogAddresses,
}

impl Default for Traces {
    fn default() -> Self {
        Traces { folder: None, limit: 1 << 30, addresses: QlogAddresses::Redacted }
    }
}

impl Traces {
    /// Puts them into the configuration of an end; creates the folder, if they are wanted.
    pub(crate) fn apply(&self, transport: &mut TransportConfig) -> Result<(), ConfigError> {
        transport.qlog_addresses = self.addresses;
        let Some(folder) = self.folder.clone() else { return Ok(()) };
        match std::fs::create_dir_all(&folder) {
            Ok(()) => transport.qlog = Some(in_folder(folder, self.limit)),
            Err(source) => return Err(ConfigError::QlogDirectory { folder, source }),
        }
        Ok(())
    }
}

/// Writes each connection's trace, up to so many bytes, to `<original destination connection id>_<client|server>.sqlog` in `folder`, as
/// draft-ietf-quic-qlog-quic-events-13 section 1.1 suggests: both ends' traces of a connection have the same id.
fn in_folder(folder: PathBuf, limit: u64) -> QlogFactory {
    Arc::new(move |connection| {
        let end = if connection.side.is_client() { "client" } else { "server" };
        let name = format!("{}_{end}", connection.original_destination);
        match create(&folder, &name) {
            Ok(file) => {
                let writer = Limited { writer: BufWriter::new(file), left: limit, name };
                Some(Box::new(writer) as Box<dyn Write + Send>)
            }
            Err(error) => {
                let folder = folder.display();
                tracing::warn!("no trace of a connection: cannot create {name}.sqlog in {folder}: {error}");
                None
            }
        }
    })
}

/// Takes whole records, one with each call, as long as they fit.
struct Limited<W> {
    writer: W,
    left: u64,
    name: String,
}

impl<W: Write> Write for Limited<W> {
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        let Some(left) = self.left.checked_sub(record.len() as u64) else {
            tracing::warn!("the trace {}.sqlog has reached its limit and ends here", self.name);
            return Err(io::ErrorKind::FileTooLarge.into());
        };
        self.writer.write_all(record)?;
        self.left = left;
        Ok(record.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// A file that was not there, for the user's eyes only: traces tell who talked to whom. Next to an older one of the same
/// id it is called `NAME.2.sqlog` and so on.
fn create(folder: &Path, name: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // Neither an existing file nor a symbolic link is followed.
    options.write(true).create_new(true).mode(0o600);
    let mut result = options.open(folder.join(format!("{name}.sqlog")));
    for number in 2..=MAX_SAME_ID {
        match &result {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                result = options.open(folder.join(format!("{name}.{number}.sqlog")));
            }
            _ => break,
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn an_older_trace_of_the_same_id_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        create(folder.path(), "00ff_server").unwrap().write_all(b"old").unwrap();
        create(folder.path(), "00ff_server").unwrap().write_all(b"new").unwrap();
        assert_eq!(fs::read(path("00ff_server.sqlog")).unwrap(), b"old");
        assert_eq!(fs::read(path("00ff_server.2.sqlog")).unwrap(), b"new");
        let mode = fs::metadata(path("00ff_server.sqlog")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_link_in_the_place_of_a_trace_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = folder.path().join("elsewhere");
        fs::write(&elsewhere, b"precious").unwrap();
        symlink(&elsewhere, folder.path().join("00ff_server.sqlog")).unwrap();
        create(folder.path(), "00ff_server").unwrap().write_all(b"trace").unwrap();
        assert_eq!(fs::read(&elsewhere).unwrap(), b"precious");
    }

    #[test]
    fn a_trace_ends_with_the_last_record_that_fits() {
        let mut limited = Limited { writer: Vec::new(), left: 10, name: "x".to_owned() };
        limited.write_all(b"12345\n").unwrap();
        assert_eq!(limited.write_all(b"6789\n").unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(limited.writer, b"12345\n");
    }

    #[test]
    fn one_id_makes_a_bounded_number_of_files() {
        let folder = tempfile::tempdir().unwrap();
        let made = (0..100).filter(|_| create(folder.path(), "00ff_server").is_ok()).count();
        assert_eq!(made, MAX_SAME_ID as usize);
    }
}
