//! TLS secrets in the format of the NSS key log, for Wireshark and the like.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rustls::KeyLog;

/// Appends secrets to a file.
#[derive(Debug)]
pub(crate) struct FileKeyLog {
    file: Mutex<File>,
}

impl FileKeyLog {
    /// Opens the file, or creates it for the user alone.
    pub(crate) fn append_to(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        Ok(FileKeyLog { file: Mutex::new(file) })
    }
}

impl KeyLog for FileKeyLog {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let line = format!("{label} {} {}\n", hex::encode(client_random), hex::encode(secret));
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = file.write_all(line.as_bytes()) {
            tracing::warn!(%error, "cannot write the key log");
        }
    }
}
