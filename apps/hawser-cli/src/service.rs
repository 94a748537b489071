//! What a service manager is told (`sd_notify`, systemd's `Type=notify`).

use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;

/// Says that the program serves from now on.
pub(crate) fn ready() {
    tell("READY=1");
}

/// Says that it stops.
pub(crate) fn stopping() {
    tell("STOPPING=1");
}

/// Without a manager nobody is told; one that does not listen is no reason to end.
fn tell(state: &str) {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET").filter(|socket| !socket.is_empty()) else { return };
    if let Err(error) = send(Path::new(&socket), state) {
        tracing::warn!(%error, "the service manager is not told {state}");
    }
}

fn send(socket: &Path, state: &str) -> std::io::Result<()> {
    // An abstract name begins with @ in the environment, and with a zero byte on the wire.
    let address = match socket.as_os_str().as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(socket)?,
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manager_hears_it_by_path_and_by_abstract_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let name = format!("hawser-notify-{}", std::process::id());
        let abstract_address = SocketAddr::from_abstract_name(&name).unwrap();
        let managers =
            [UnixDatagram::bind(&path).unwrap(), UnixDatagram::bind_addr(&abstract_address).unwrap()];
        for (manager, socket) in managers.iter().zip([path.clone(), format!("@{name}").into()]) {
            send(&socket, "READY=1").unwrap();
            let mut block = [0; 64];
            let count = manager.recv(&mut block).unwrap();
            assert_eq!(&block[..count], b"READY=1");
        }
        assert!(send(&folder.path().join("nobody"), "READY=1").is_err());
    }
}
