//! Files that parameters name.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// What was read from a file: a type that the policy and the program agree on.
pub type FileContents = Arc<dyn Any + Send + Sync>;

/// A file that was read for a policy. Two of the same name are equal: a registry reads a file once.
#[derive(Clone)]
pub struct PolicyFile {
    name: String,
    contents: FileContents,
}

impl PolicyFile {
    /// A file that was read.
    pub fn new(name: &str, contents: FileContents) -> Self {
        PolicyFile { name: name.to_owned(), contents }
    }

    /// Its name, as it was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What was read.
    ///
    /// # Panics
    /// If that is no `T`: the program reads it as something else than the policy expects.
    pub(super) fn contents<T: Any + Send + Sync>(&self) -> Arc<T> {
        let contents = self.contents.clone().downcast();
        contents
            .unwrap_or_else(|_| panic!("{} was read as something else than the policy expects", self.name))
    }
}

impl PartialEq for PolicyFile {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for PolicyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PolicyFile").field(&self.name).finish()
    }
}
