//! Interfaces by name.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use nix::net::if_::{if_nameindex, if_nametoindex};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};

use hawser_command::exit::{Exit, Failure};

/// The number of an interface. A name that none has is a mistake, not something to wait for: wpa_supplicant may come, the interface would have to be
/// plugged in first.
///
/// # Errors
/// Names the interfaces that are there.
pub(super) fn known_interface(name: &str) -> Result<u32, Failure> {
    if let Some(number) = number(name) {
        return Ok(number);
    }
    let known: Vec<String> = if_nameindex()
        .map(|list| list.iter().map(|known| known.name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    let others: Vec<&str> = known.iter().map(String::as_str).filter(|known| *known != "lo").collect();
    let hint = match others[..] {
        [] => "only the loopback exists".to_owned(),
        _ => format!("there are: {}", others.join(", ")),
    };
    Err(Failure::new(Exit::Failure, format!("{name}: there is no such interface; {hint}")))
}

/// The number of the interface that has this name now.
pub(super) fn number(name: &str) -> Option<u32> {
    if_nametoindex(name).ok()
}

/// That an interface is configured by this process: two would take its address, and the access point, from each other. It ends with the
/// process, however that ends, and counts in one network namespace.
#[derive(Debug)]
pub(super) struct Claim {
    _listener: UnixListener,
}

impl Claim {
    /// Claims an interface.
    ///
    /// # Errors
    /// Names the process that has it.
    pub(super) fn of(interface: &str) -> Result<Claim, Failure> {
        let failed = |error: &io::Error| {
            Failure::new(Exit::Failure, format!("{interface}: cannot be claimed: {error}"))
        };
        let name = format!("hawser-wifi-attach-{interface}");
        let address = SocketAddr::from_abstract_name(name).map_err(|error| failed(&error))?;
        match UnixListener::bind_addr(&address) {
            Ok(listener) => Ok(Claim { _listener: listener }),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                let holder =
                    holder(&address).map(|process| format!(" as process {process}")).unwrap_or_default();
                let text =
                    format!("{interface}: another `hawser wifi attach` runs{holder}; it has to end first");
                Err(Failure::new(Exit::Failure, text))
            }
            Err(error) => Err(failed(&error)),
        }
    }
}

fn holder(address: &SocketAddr) -> Option<i32> {
    let stream = UnixStream::connect_addr(address).ok()?;
    Some(getsockopt(&stream, PeerCredentials).ok()?.pid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interface_is_claimed_by_one_process_at_a_time() {
        let name = format!("t{}", std::process::id());
        let first = Claim::of(&name).unwrap();
        let refused = Claim::of(&name).unwrap_err().to_string();
        assert!(refused.contains(&format!("runs as process {};", std::process::id())), "{refused}");
        drop(first);
        Claim::of(&name).unwrap();
        assert!(number("lo").is_some() && number(&name).is_none());
    }
}
