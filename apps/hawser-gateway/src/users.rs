//! Who may use a gateway: names, and the hashes of their keys.
//!
//! A key is 144 random bits, so that its SHA-256 can be kept: nobody finds the key to a hash, nor one of another user, by
//! trying. A request carries the key alone, and is of the user whose hash it has; there is no name that could be right while
//! the key is wrong.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::grants::{Grants, ListenRule};

/// Most bytes of a user's name.
const MAX_NAME: usize = 64;
/// Most bytes of a file of users: some 100,000 of them.
const MAX_FILE: u64 = 16 << 20;
/// Bytes of a new key.
const KEY_BYTES: usize = 18;
/// Characters that a key may have at most, of whatever origin.
const MAX_KEY: usize = 256;

/// What a user shows. Never printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

/// What is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected the key that `hawser gateway user add` printed: letters, digits, - and _")]
pub struct InvalidKey;

impl Key {
    /// A new one.
    pub fn random() -> Self {
        Key(URL_SAFE_NO_PAD.encode(rand::random::<[u8; KEY_BYTES]>()))
    }

    /// As text: a secret.
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// What is kept of it.
    pub fn hash(&self) -> KeyHash {
        KeyHash(Sha256::digest(self.0.as_bytes()).into())
    }
}

impl FromStr for Key {
    type Err = InvalidKey;

    fn from_str(text: &str) -> Result<Self, InvalidKey> {
        let text = text.trim();
        // What may stand in a Bearer token (RFC 6750 section 2.1).
        let is_sound = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
        if text.is_empty() || text.len() > MAX_KEY || !text.bytes().all(is_sound) {
            return Err(InvalidKey);
        }
        Ok(Key(text.to_owned()))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// SHA-256 of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyHash([u8; 32]);

impl KeyHash {
    /// The bytes of the digest.
    pub fn bytes(&self) -> [u8; 32] {
        self.0
    }
}

/// What is kept of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Of the key.
    pub hash: KeyHash,
    /// What the user may.
    pub grants: Grants,
}

/// Users by name.
pub type Users = BTreeMap<String, Account>;

/// Why users cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum UsersError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It says something else.
    #[error("{}: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// It cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another user has this name.
    #[error("there is a user {0:?} already; remove that one first, or choose another name")]
    Exists(String),
    /// Nobody has this name.
    #[error("there is no user {0:?}; `hawser gateway user list` names those there are")]
    Unknown(String),
    /// No name.
    #[error("{0:?} is no user name: expected 1 to {MAX_NAME} letters, digits, or - _ . @")]
    Name(String),
}

/// The file of users: TOML, a section for each.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    #[serde(default)]
    user: BTreeMap<String, Entry>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// SHA-256 of the key, in hexadecimal digits.
    key_sha256: String,
    /// As in [`Grants`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    listen: Vec<ListenRule>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rate: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    volume: Option<u64>,
}

impl Entry {
    fn new(account: Account) -> Self {
        let Grants { listen, rate, volume } = account.grants;
        Entry { key_sha256: hex::encode(account.hash.0), listen, rate, volume }
    }
}

/// A file of users.
#[derive(Clone, Debug)]
pub struct UserFile {
    path: PathBuf,
}

/// By which it is seen that a file has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Version {
    modified: (i64, i64),
    inode: u64,
    length: u64,
}

impl UserFile {
    /// The file at this path, which need not exist: then there are no users.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        UserFile { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which state it is in; the default one if it does not exist.
    pub fn version(&self) -> Version {
        std::fs::metadata(&self.path).map_or(Version::default(), |metadata| Version {
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            inode: metadata.ino(),
            length: metadata.len(),
        })
    }

    /// Reads the users.
    ///
    /// # Errors
    /// [`UsersError::Read`] and [`UsersError::Malformed`].
    pub fn read(&self) -> Result<Users, UsersError> {
        let failed = |source| UsersError::Read { path: self.path.clone(), source };
        let mut text = String::new();
        match File::open(&self.path) {
            Ok(file) => file.take(MAX_FILE).read_to_string(&mut text).map_err(failed)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Users::new()),
            Err(error) => return Err(failed(error)),
        };
        self.parse(&text)
    }

    fn parse(&self, text: &str) -> Result<Users, UsersError> {
        let malformed = |problem| UsersError::Malformed { path: self.path.clone(), problem };
        let content: Content =
            toml::from_str(text).map_err(|error| malformed(error.to_string().trim_end().to_owned()))?;
        let mut users = Users::new();
        for (name, entry) in content.user {
            let mut hash = [0; 32];
            hex::decode_to_slice(&entry.key_sha256, &mut hash)
                .map_err(|_| malformed(format!("user {name:?}: key_sha256 is not 64 hexadecimal digits")))?;
            let grants = Grants { listen: entry.listen, rate: entry.rate, volume: entry.volume };
            users.insert(name, Account { hash: KeyHash(hash), grants });
        }
        Ok(users)
    }

    /// Adds a user and returns the key, which is kept nowhere.
    ///
    /// # Errors
    /// [`UsersError`].
    pub fn add(&self, name: &str) -> Result<Key, UsersError> {
        self.add_with(name, Grants::default())
    }

    /// Adds a user who may all this and returns the key, which is kept nowhere.
    ///
    /// # Errors
    /// [`UsersError`].
    pub fn add_with(&self, name: &str, grants: Grants) -> Result<Key, UsersError> {
        check_name(name)?;
        let key = Key::random();
        let account = Account { hash: key.hash(), grants };
        self.change(|users| match users.insert(name.to_owned(), account) {
            None => Ok(()),
            Some(_) => Err(UsersError::Exists(name.to_owned())),
        })?;
        Ok(key)
    }

    /// Changes what a user may.
    ///
    /// # Errors
    /// [`UsersError`].
    pub fn grant(&self, name: &str, change: impl FnOnce(&mut Grants)) -> Result<(), UsersError> {
        self.change(|users| {
            let account = users.get_mut(name).ok_or_else(|| UsersError::Unknown(name.to_owned()))?;
            change(&mut account.grants);
            Ok(())
        })
    }

    /// Removes a user.
    ///
    /// # Errors
    /// [`UsersError`].
    pub fn remove(&self, name: &str) -> Result<(), UsersError> {
        self.change(|users| users.remove(name).map(drop).ok_or_else(|| UsersError::Unknown(name.to_owned())))
    }

    /// Changes the file, alone among all who do it this way. It is replaced as a whole: a gateway that reads it meanwhile
    /// sees the old users or the new ones.
    fn change(&self, change: impl FnOnce(&mut Users) -> Result<(), UsersError>) -> Result<(), UsersError> {
        let failed = |source: io::Error| UsersError::Write { path: self.path.clone(), source };
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let private =
            |path: &Path| OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
        let lock = private(&self.path.with_extension("lock")).map_err(failed)?;
        let _lock = Flock::lock(lock, FlockArg::LockExclusive).map_err(|(_, errno)| failed(errno.into()))?;
        let mut users = self.read()?;
        change(&mut users)?;
        let entry = |(name, account): (String, Account)| (name, Entry::new(account));
        let content = Content { user: users.into_iter().map(entry).collect() };
        let text = toml::to_string(&content).map_err(|error| failed(io::Error::other(error)))?;
        let draft = self.path.with_extension("draft");
        let mut file = private(&draft).map_err(failed)?;
        file.set_len(0)
            .and_then(|()| file.write_all(text.as_bytes()))
            .and_then(|()| file.sync_all())
            .map_err(failed)?;
        std::fs::rename(&draft, &self.path).map_err(failed)
    }
}

fn check_name(name: &str) -> Result<(), UsersError> {
    let is_sound = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.@".contains(&byte);
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_sound) {
        return Err(UsersError::Name(name.chars().take(MAX_NAME).collect()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> (tempfile::TempDir, UserFile) {
        let folder = tempfile::tempdir().unwrap();
        let file = UserFile::new(folder.path().join("new/users.toml"));
        (folder, file)
    }

    #[test]
    fn users_are_added_listed_and_removed() {
        let (_folder, file) = file();
        assert!(file.read().unwrap().is_empty());
        let before = file.version();
        let (alice, bob) = (file.add("alice").unwrap(), file.add("bob@example").unwrap());
        assert_ne!(before, file.version());
        let users = file.read().unwrap();
        assert_eq!(users["alice"].hash, alice.hash());
        assert_eq!(users["bob@example"].hash, bob.hash());
        assert!(matches!(file.add("alice"), Err(UsersError::Exists(_))));
        file.remove("alice").unwrap();
        assert_eq!(file.read().unwrap().len(), 1);
        assert!(matches!(file.remove("alice"), Err(UsersError::Unknown(_))));
    }

    #[test]
    fn what_a_user_may_is_kept_and_changed() {
        let (_folder, file) = file();
        let grants =
            Grants { listen: vec!["8000-8099".parse().unwrap()], rate: Some(50_000_000), volume: None };
        file.add_with("alice", grants.clone()).unwrap();
        assert_eq!(file.read().unwrap()["alice"].grants, grants);
        file.grant("alice", |grants| (grants.rate, grants.volume) = (None, Some(1 << 30))).unwrap();
        let read = file.read().unwrap()["alice"].grants.clone();
        assert_eq!((read.listen, read.rate, read.volume), (grants.listen, None, Some(1 << 30)));
        assert!(matches!(file.grant("bob", |_| {}), Err(UsersError::Unknown(_))));
    }

    #[test]
    fn keys_are_not_in_the_file_and_it_is_private() {
        let (_folder, file) = file();
        let key = file.add("alice").unwrap();
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert!(!text.contains(key.secret()), "{text}");
        assert_eq!(std::fs::metadata(file.path()).unwrap().mode() & 0o777, 0o600);
        assert_eq!(format!("{key:?}"), "Key(..)");
    }

    #[test]
    fn what_is_wrong_with_a_file_is_named() {
        let (_folder, file) = file();
        let problem = |text: &str| file.parse(text).unwrap_err().to_string();
        assert!(problem("[user.a]\nkey_sha256 = \"00\"").contains("user \"a\": key_sha256 is not 64"));
        assert!(problem("[user.a]\nkey = \"00\"").contains("unknown field `key`"));
        assert!(matches!(file.add("a b"), Err(UsersError::Name(_))));
    }

    #[test]
    fn keys_are_long_and_read_as_they_were_written() {
        let key = Key::random();
        assert_eq!(key.secret().len(), 24);
        assert_eq!(format!(" {}\n", key.secret()).parse(), Ok(key));
        assert_eq!("a b".parse::<Key>(), Err(InvalidKey));
        assert_eq!("".parse::<Key>(), Err(InvalidKey));
    }
}
