//! Sysctls of the network.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A sysctl and what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sysctl {
    /// Below `/proc/sys/net`.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl Sysctl {
    /// Reads one; `None` if this kernel has none of that name.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(name: &str) -> io::Result<Option<Self>> {
        match std::fs::read_to_string(path(name)) {
            Ok(value) => Ok(Some(Sysctl { name: name.to_owned(), value: value.trim_end().to_owned() })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Gives it this value.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn write(&self) -> io::Result<()> {
        std::fs::write(path(&self.name), &self.value)
    }
}

fn path(name: &str) -> PathBuf {
    Path::new("/proc/sys/net").join(name)
}
