//! The policies of one kind.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::given::Given;
use super::{PolicyError, PolicyInfo, PolicyKind};
use crate::PolicySpec;
use crate::parameters::{ParameterError, Parameters};

/// Makes a factory with these parameters.
type Make<F> = Arc<dyn Fn(&Parameters) -> Arc<F> + Send + Sync>;

/// Factories of one kind by name.
pub(super) struct Section<F: ?Sized> {
    kind: PolicyKind,
    /// Under their names and aliases as [`key`] writes them.
    entries: BTreeMap<String, Entry<F>>,
}

struct Entry<F: ?Sized> {
    info: Arc<PolicyInfo>,
    make: Make<F>,
}

/// Names that differ only in case, `-` and `_` are the same.
pub(super) fn key(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '-' | '_')).map(|c| c.to_ascii_lowercase()).collect()
}

impl<F: ?Sized> Section<F> {
    pub(super) fn new(kind: PolicyKind) -> Self {
        Section { kind, entries: BTreeMap::new() }
    }

    /// Adds or replaces a policy.
    pub(super) fn add(
        &mut self,
        info: PolicyInfo,
        make: impl Fn(&Parameters) -> Arc<F> + Send + Sync + 'static,
    ) {
        let entry = Entry { info: Arc::new(info), make: Arc::new(make) };
        for name in std::iter::once(&entry.info.name).chain(&entry.info.aliases) {
            self.entries.insert(key(name), entry.clone());
        }
    }

    /// Lets the policy of this name also be what `alias` stands for; false: the name is unknown.
    pub(super) fn alias(&mut self, alias: &str, name: &str) -> bool {
        let Some(entry) = self.entries.get(&key(name)).cloned() else { return false };
        self.entries.insert(key(alias), entry);
        true
    }

    /// The factory that `spec` names, with its parameters.
    pub(super) fn find(&self, spec: &PolicySpec, given: &Given) -> Result<Arc<F>, PolicyError> {
        let (make, parameters) = self.read(spec, given)?;
        Ok(make(&parameters))
    }

    /// Whether `spec` names a policy and parameters that exist.
    pub(super) fn check(&self, spec: &PolicySpec, given: &Given) -> Result<(), PolicyError> {
        self.read(spec, given).map(drop)
    }

    fn read(&self, spec: &PolicySpec, given: &Given) -> Result<(&Make<F>, Parameters), PolicyError> {
        let Some(Entry { info, make }) = self.entries.get(&key(spec.name())) else {
            return Err(PolicyError::UnknownPolicy {
                kind: self.kind,
                name: spec.name().to_owned(),
                known: self.infos().map(|info| info.name.clone()).collect(),
            });
        };
        let spec = given.complete(self.kind, &info.name, spec);
        let load = |parameter: &str, file: &str| given.load(&info.name, parameter, file);
        let parameters = Parameters::read_with(&info.parameters, &spec, &load);
        let parameters = parameters.map_err(|error| match error {
            ParameterError::Unknown(parameter) => PolicyError::UnknownParameter {
                policy: info.name.clone(),
                parameter,
                known: info.parameters.clone(),
            },
            ParameterError::Value { parameter, found } => {
                PolicyError::BadValue { policy: info.name.clone(), parameter, found }
            }
            ParameterError::File { parameter, reason } => {
                PolicyError::File { policy: info.name.clone(), parameter, reason }
            }
        })?;
        Ok((make, parameters))
    }

    /// What is told of the policy of this name or alias.
    pub(super) fn info(&self, name: &str) -> Option<&PolicyInfo> {
        self.entries.get(&key(name)).map(|entry| &*entry.info)
    }

    /// What is told of each policy, once, by name.
    pub(super) fn infos(&self) -> impl Iterator<Item = &PolicyInfo> {
        // An alias that another policy took over does not hide the policy itself.
        let own = |(name, entry): &(&String, &Entry<F>)| key(&entry.info.name) == **name;
        self.entries.iter().filter(own).map(|(_, entry)| &*entry.info)
    }
}

impl<F: ?Sized> Clone for Section<F> {
    fn clone(&self) -> Self {
        Section { kind: self.kind, entries: self.entries.clone() }
    }
}

impl<F: ?Sized> Clone for Entry<F> {
    fn clone(&self) -> Self {
        Entry { info: self.info.clone(), make: self.make.clone() }
    }
}
