//! What a program gives to the policies of a registry: who reads their files, and values where nobody sets any.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::section::key;
use super::{DEFAULT, PolicyError, PolicyKind, Registry};
use crate::PolicySpec;
use crate::parameters::FileContents;

/// Reads a file by its name; else what is wrong, with that name.
type Load = Arc<dyn Fn(&str) -> Result<FileContents, String> + Send + Sync>;

/// By names as [`key`] writes them.
#[derive(Clone, Default)]
pub(super) struct Given {
    /// By policy and parameter.
    files: BTreeMap<(String, String), Load>,
    /// By kind and policy.
    values: BTreeMap<(&'static str, String), PolicySpec>,
}

impl Given {
    /// What `spec` says of this policy, and the values that were given for what it does not mention.
    pub(super) fn complete(&self, kind: PolicyKind, policy: &str, spec: &PolicySpec) -> PolicySpec {
        let Some(given) = self.values.get(&(kind.field(), key(policy))) else { return spec.clone() };
        let missing = given.values().filter(|(parameter, _)| spec.value(parameter).is_none());
        // Each value was in a text before, so that it can be in one again.
        missing.fold(spec.clone(), |spec, (parameter, value)| {
            spec.clone().with(parameter, value).unwrap_or(spec)
        })
    }

    /// Reads the file that a parameter names.
    pub(super) fn load(&self, policy: &str, parameter: &str, file: &str) -> Result<FileContents, String> {
        match self.files.get(&(key(policy), parameter.to_owned())) {
            Some(load) => load(file),
            None => Err(format!("{file}: no files are read for policies here")),
        }
    }
}

/// Files and defaults.
impl Registry {
    /// Has a program read the files that this parameter of a policy names. `load` takes the name as it was written, and returns what
    /// the policy takes for the contents, or what is wrong, with the name. It is called whenever such a policy is checked or made, and is
    /// to read each file once.
    ///
    /// Without this, texts that name a file are refused: a text may come from a peer.
    pub fn read_with<L>(&mut self, policy: &str, parameter: &str, load: L)
    where
        L: Fn(&str) -> Result<FileContents, String> + Send + Sync + 'static,
    {
        self.given.files.insert((key(policy), parameter.to_owned()), Arc::new(load));
    }

    /// The same registry, which reads no files: for texts that come from a peer.
    #[must_use]
    pub fn without_files(&self) -> Self {
        let mut registry = self.clone();
        registry.given.files.clear();
        registry
    }

    /// Uses these values where a policy is chosen without them, in place of the declared defaults.
    ///
    /// # Errors
    /// [`PolicyError`] as for any choice of a policy.
    pub fn set_defaults(&mut self, kind: PolicyKind, spec: &PolicySpec) -> Result<(), PolicyError> {
        self.check(kind, spec)?;
        if let Some(info) = self.policy(kind, spec.name()) {
            let place = (kind.field(), key(&info.name));
            let earlier = self.given.complete(kind, &info.name, spec);
            self.given.values.insert(place, earlier);
        }
        Ok(())
    }

    /// Lets the policy of this kind and name be the one to use when nobody chooses.
    ///
    /// # Errors
    /// [`PolicyError::UnknownPolicy`]: unknown name.
    pub fn choose_default(&mut self, kind: PolicyKind, name: &str) -> Result<(), PolicyError> {
        let found = match kind {
            PolicyKind::Scheduler => self.schedulers.alias(DEFAULT, name),
            PolicyKind::Congestion => self.controllers.alias(DEFAULT, name),
            PolicyKind::Acks => self.acks.alias(DEFAULT, name),
            PolicyKind::Paths => self.path_managers.alias(DEFAULT, name),
            PolicyKind::Set => self.sets.alias(DEFAULT, name),
            PolicyKind::Protection => self.protections.alias(DEFAULT, name),
        };
        let known = || self.names(kind).map(str::to_owned).collect();
        if found {
            Ok(())
        } else {
            Err(PolicyError::UnknownPolicy { kind, name: name.to_owned(), known: known() })
        }
    }
}
