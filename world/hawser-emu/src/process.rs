//! Starting programs inside a namespace.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getpid, getppid};

use crate::namespace::Namespace;

/// A command that will run inside `namespace` and be killed when the thread that starts it ends.
pub(crate) fn command(namespace: &Namespace, program: &OsStr) -> Command {
    let namespace = namespace.clone();
    let parent = getpid();
    let mut command = Command::new(program);
    // SAFETY: between fork and exec the closure makes system calls only: no allocation, no locks.
    unsafe { command.pre_exec(move || prepare_child(&namespace, parent)) };
    command
}

/// Runs in the child, between fork and exec.
fn prepare_child(namespace: &Namespace, parent: Pid) -> io::Result<()> {
    namespace.enter()?;
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    // The parent may have died before the line above: then nobody would send the signal.
    if getppid() == parent { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
}
