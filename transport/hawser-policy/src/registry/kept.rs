//! What policies were added with, for who adds them again with more.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::Registry;

/// One value of each type.
pub(super) type Kept = BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>;

/// Parts that are no parameters.
impl Registry {
    /// Keeps what a policy was added with besides its parameters, such as models that were read from a file. A later value of the
    /// same type takes the place of an earlier one, and copies of the registry have it too.
    ///
    /// Code that adds the policy once more, with an observer for instance, takes the rest from [`Registry::kept`]; otherwise the choice
    /// of the code that added it first would be lost.
    pub fn keep<T: Any + Send + Sync>(&mut self, parts: T) {
        self.kept.insert(TypeId::of::<T>(), Arc::new(parts));
    }

    /// What was kept of this type.
    pub fn kept<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.kept.get(&TypeId::of::<T>()).and_then(|parts| parts.downcast_ref())
    }
}
