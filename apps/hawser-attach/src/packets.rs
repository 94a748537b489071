//! DHCP frames of an interface that has no address yet: a packet socket.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;

use hawser_wifi::dhcp::{MAX_MESSAGE, frame, payload};
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{AddressFamily, LinkAddr, SockFlag, SockProtocol, SockType, bind, socket};
use tokio::net::UdpSocket;

/// A frame with Ethernet, IP and UDP headers around the longest message that is read.
const MAX_FRAME: usize = MAX_MESSAGE + 128;

/// Sees the IPv4 frames of one interface, and sends on it.
#[derive(Debug)]
pub(super) struct Packets {
    /// No UDP socket: of tokio's types for sockets it is the one that only receives and sends, and asks for no address.
    socket: UdpSocket,
    interface: String,
    mac: [u8; 6],
}

impl Packets {
    /// Opens the socket: needs CAP_NET_RAW.
    pub(super) fn open(interface: &str) -> io::Result<Packets> {
        let address = link_address(interface)?;
        let mac = address.addr().ok_or_else(|| io::Error::other("it has no hardware address"))?;
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Packet, SockType::Raw, flags, SockProtocol::EthIp)?;
        // The address has the interface and no protocol: that of the socket stays.
        bind(socket.as_raw_fd(), &address)?;
        Ok(Packets { socket: UdpSocket::from_std(socket.into())?, interface: interface.to_owned(), mac })
    }

    /// Reads the hardware address of the interface again: from now on frames come from there.
    pub(super) fn read_mac(&mut self) -> io::Result<[u8; 6]> {
        let address = link_address(&self.interface)?;
        self.mac = address.addr().ok_or_else(|| io::Error::other("it has no hardware address"))?;
        Ok(self.mac)
    }

    /// Hardware address of the interface.
    pub(super) fn mac(&self) -> [u8; 6] {
        self.mac
    }

    /// Broadcasts a DHCP message. A link that is down loses it, as the air would.
    pub(super) async fn send(&self, source: Ipv4Addr, message: &[u8]) {
        if let Err(error) = self.socket.send(&frame(self.mac, source, message)).await {
            tracing::debug!(%error, "a DHCP message was not sent");
        }
    }

    /// The next DHCP message for a client. May be dropped while it waits.
    pub(super) async fn receive(&self) -> io::Result<Vec<u8>> {
        let mut buffer = vec![0; MAX_FRAME];
        loop {
            match self.socket.recv(&mut buffer).await {
                Ok(length) => {
                    if let Some(message) = payload(&buffer[..length]) {
                        return Ok(message.to_vec());
                    }
                }
                // The interface went down: it may come up again.
                Err(error) if error.raw_os_error() == Some(nix::libc::ENETDOWN) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn link_address(interface: &str) -> io::Result<LinkAddr> {
    let found = getifaddrs()?.find_map(|known| {
        let is_it = known.interface_name == interface;
        known.address.filter(|_| is_it)?.as_link_addr().copied()
    });
    found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "there is no such interface"))
}
