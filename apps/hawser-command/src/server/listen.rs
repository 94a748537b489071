//! Where a server listens, and who it is.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use listenfd::ListenFd;

use super::reset_key;
use crate::exit::{Exit, Failure};
use hawser::{Endpoint, EndpointBuilder, EndpointError, Identity};

/// Whether a socket at `listening` receives what is sent to `address`.
fn covers(listening: SocketAddr, address: SocketAddr) -> bool {
    let any = listening.ip().is_unspecified() && (listening.is_ipv6() || address.is_ipv4());
    listening.port() == address.port() && (any || listening.ip() == address.ip())
}

/// Binds an endpoint to the address, or to the default ones with this port, and to those of `also` that are not among
/// them. Sockets that a service manager hands in (`LISTEN_FDS`, socket activation of systemd) take the place of all these:
/// their unit says where they listen.
///
/// # Errors
/// An address is taken or not allowed; what was handed in is no UDP socket, or there are several workers for it.
pub fn listen(
    builder: impl Fn() -> EndpointBuilder,
    identity: &Identity,
    address: Option<SocketAddr>,
    default_port: u16,
    also: &[SocketAddr],
) -> Result<Endpoint, EndpointError> {
    let handed_in = handed_in(&mut ListenFd::from_env()).map_err(EndpointError::Socket)?;
    if !handed_in.is_empty() {
        return listen_on(builder(), identity, handed_in);
    }
    let bind = |address: SocketAddr| {
        let further = also.iter().filter(|further| !covers(address, **further));
        let endpoint = further.fold(builder().listen(address), |endpoint, further| endpoint.listen(*further));
        // A port that the system chooses is another one the next time.
        match address.port() {
            0 => endpoint.bind(),
            _ => endpoint.reset_key(reset_key::reset_key(identity, address)).bind(),
        }
    };
    if let Some(address) = address {
        return bind(address);
    }
    let any = |family: IpAddr| SocketAddr::new(family, default_port);
    match bind(any(std::net::Ipv6Addr::UNSPECIFIED.into())) {
        // A machine without IPv6.
        Err(EndpointError::Listen { source, .. })
            if matches!(source.kind(), io::ErrorKind::Unsupported | io::ErrorKind::AddrNotAvailable)
                || source.raw_os_error() == Some(nix::libc::EAFNOSUPPORT) =>
        {
            bind(any(std::net::Ipv4Addr::UNSPECIFIED.into()))
        }
        result => result,
    }
}

/// The sockets of the service manager.
fn handed_in(manager: &mut ListenFd) -> io::Result<Vec<UdpSocket>> {
    let is_none = |error: io::Error| {
        let words = "it is not of UDP (ListenDatagram= in the unit of a service manager)";
        io::Error::new(error.kind(), words)
    };
    let sockets = (0..manager.len()).map(|at| manager.take_udp_socket(at).map_err(is_none));
    sockets.filter_map(Result::transpose).collect()
}

/// Accepts on sockets that are bound already.
fn listen_on(
    builder: EndpointBuilder,
    identity: &Identity,
    sockets: Vec<UdpSocket>,
) -> Result<Endpoint, EndpointError> {
    let address = sockets.first().map(UdpSocket::local_addr).transpose().map_err(EndpointError::Socket)?;
    let builder = match address {
        Some(address) => builder.reset_key(reset_key::reset_key(identity, address)),
        None => builder,
    };
    sockets.into_iter().fold(builder, EndpointBuilder::listen_on).bind()
}

/// The certificate: given, kept, or new.
pub fn identity(cert: Option<&Path>, key: Option<&Path>, state: Option<&Path>) -> Result<Identity, Failure> {
    if let (Some(cert), Some(key)) = (cert, key) {
        return Ok(Identity::from_pem_files(cert, key)?);
    }
    let folder = match state {
        Some(folder) => folder.to_owned(),
        None => state_folder()?,
    };
    // Whatever the umask says: keys are kept here. A folder that is there stays as it is.
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    made.map_err(|error| Failure::write(&folder, &error))?;
    Ok(Identity::load_or_create(&folder, &["localhost"])?)
}

/// The XDG base directory specification's place for what a program keeps.
pub fn state_folder() -> Result<PathBuf, Failure> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state")));
    base.map(|base| base.join("hawser")).ok_or_else(|| {
        Failure::new(
            Exit::NotWritten,
            "there is no home folder to keep the certificate in; name one with --state",
        )
    })
}

/// An address at which others may find this machine.
pub fn suggested_host(listening: &[SocketAddr]) -> IpAddr {
    let loopback = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    let Some(first) = listening.first().map(SocketAddr::ip) else { return loopback };
    if !first.is_unspecified() {
        return first;
    }
    // The address with which this machine goes out: the routing table is asked, nothing is sent.
    let routed = ROUTED_TO.iter().filter_map(|(bind, remote)| {
        let socket = std::net::UdpSocket::bind(bind).ok()?;
        socket.connect(remote).ok()?;
        socket.local_addr().ok().map(|local| local.ip())
    });
    let interfaces = nix::ifaddrs::getifaddrs().into_iter().flatten();
    let others =
        interfaces.filter_map(|interface| interface.address.and_then(|address| address_of(&address)));
    let is_usable = |address: &IpAddr| {
        let is_link_local = match address {
            IpAddr::V4(v4) => v4.is_link_local(),
            IpAddr::V6(v6) => v6.is_unicast_link_local(),
        };
        let is_heard = first.is_ipv6() || address.is_ipv4();
        is_heard && !address.is_loopback() && !address.is_unspecified() && !is_link_local
    };
    let candidates: Vec<IpAddr> = routed.chain(others).filter(is_usable).collect();
    let v4 = candidates.iter().find(|address| address.is_ipv4());
    v4.or(candidates.first()).copied().unwrap_or(loopback)
}

/// Addresses for documentation (RFC 5737, RFC 3849), which lie behind the default route of their family.
const ROUTED_TO: [(&str, &str); 2] = [("0.0.0.0:0", "192.0.2.1:9"), ("[::]:0", "[2001:db8::1]:9")];

fn address_of(storage: &nix::sys::socket::SockaddrStorage) -> Option<IpAddr> {
    let v4 = storage.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
    v4.or_else(|| storage.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
}
