//! The file that is fetched, and the digests of what arrived.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use sha2::{Digest, Sha256};

use super::DemoError;

const NAME: &str = "drive.bin";
const CHUNK: usize = 1 << 20;

/// A file of random content: nothing on the way can compress it.
#[derive(Debug)]
pub(crate) struct RandomFile {
    folder: PathBuf,
    sha256: String,
}

impl RandomFile {
    /// Writes `bytes` bytes that follow from the seed into a new folder.
    pub(crate) fn create(folder: &Path, bytes: u64, seed: u64) -> Result<Self, DemoError> {
        let path = folder.join(NAME);
        let write = || -> std::io::Result<String> {
            fs::create_dir(folder)?;
            let mut file = File::create(&path)?;
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut hasher = Sha256::new();
            let mut chunk = vec![0; CHUNK];
            let mut missing = bytes;
            while missing > 0 {
                let length = usize::try_from(missing).map_or(CHUNK, |missing| missing.min(CHUNK));
                random.fill_bytes(&mut chunk[..length]);
                hasher.update(&chunk[..length]);
                file.write_all(&chunk[..length])?;
                missing -= length as u64;
            }
            // Writing it to the disk later would disturb the measurement.
            file.sync_all()?;
            Ok(hex::encode(hasher.finalize()))
        };
        let sha256 = write().map_err(DemoError::write(&path))?;
        Ok(Self { folder: folder.to_owned(), sha256 })
    }

    /// The folder that it lies in, alone.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its name in the folder.
    pub(crate) fn name(&self) -> &str {
        NAME
    }

    /// Where it is.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(NAME)
    }

    /// In hex.
    pub(crate) fn sha256(&self) -> &str {
        &self.sha256
    }
}

/// SHA-256 of a file on disk, in hex.
pub(crate) fn sha256(path: &Path) -> Result<String, DemoError> {
    let hash = || -> std::io::Result<String> {
        let mut file = File::open(path)?;
        let mut hasher = Sha256::new();
        let mut chunk = vec![0; CHUNK];
        loop {
            let length = file.read(&mut chunk)?;
            if length == 0 {
                return Ok(hex::encode(hasher.finalize()));
            }
            hasher.update(&chunk[..length]);
        }
    };
    hash().map_err(DemoError::io(format!("reading {}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_follows_from_its_seed() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name, seed| RandomFile::create(&folder.path().join(name), 1_500_000, seed).unwrap();
        let (one, same, other) = (make("a", 1), make("b", 1), make("c", 2));
        assert_eq!(one.sha256(), same.sha256());
        assert_ne!(one.sha256(), other.sha256());
        assert_eq!(sha256(&one.path()).unwrap(), one.sha256());
        assert_eq!(fs::metadata(one.path()).unwrap().len(), 1_500_000);
    }
}
