//! How many files a process may have open.

/// Sets the limit of open files to the most that is allowed, and returns it.
pub fn raise_descriptor_limit() -> Option<usize> {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};

    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    // A process that can have a million never needs them.
    let wanted = hard.min(1 << 16).max(soft);
    let now = setrlimit(Resource::RLIMIT_NOFILE, wanted, hard).map_or(soft, |()| wanted);
    usize::try_from(now).ok()
}
