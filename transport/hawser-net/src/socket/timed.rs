//! Receiving on a wildcard socket whose messages have a receive time.
//!
//! Destination, ECN mark, GRO size and time together do not fit the control buffer of quinn-udp (88 bytes in 0.6.3: the
//! kernel then drops the last of them). A socket bound to one address can do without the destination; here is room for all
//! four, at the price of one system call per message instead of one per sixteen.

use std::io::{self, IoSliceMut};
use std::net::UdpSocket;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use hawser_core::Ecn;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};

/// 24 bytes each for the ECN mark and the GRO size, 32 for the time, at most 40 for the destination; aligned as the
/// headers in it.
#[repr(C, align(8))]
struct Control([u8; 192]);

/// A message as the kernel describes it.
pub(super) struct Timed {
    pub(super) length: usize,
    pub(super) remote: SocketAddr,
    pub(super) destination: Option<IpAddr>,
    pub(super) ecn: Option<Ecn>,
    /// All datagrams are this long but the last.
    pub(super) segment_size: usize,
    /// Since 1970.
    pub(super) received_at: Option<Duration>,
}

/// Receives one message into `slot`.
pub(super) fn receive(socket: &UdpSocket, slot: &mut IoSliceMut<'_>) -> io::Result<Timed> {
    let mut control = Control([0; 192]);
    let fd: RawFd = socket.as_raw_fd();
    let slots = std::slice::from_mut(slot);
    let message = recvmsg::<SockaddrStorage>(fd, slots, Some(&mut control.0), MsgFlags::empty())
        .map_err(io::Error::from)?;
    let remote = message.address.as_ref().and_then(socket_address).ok_or(io::ErrorKind::InvalidData)?;
    let mut timed = Timed {
        length: message.bytes,
        remote,
        destination: None,
        ecn: None,
        segment_size: message.bytes,
        received_at: None,
    };
    for item in message.cmsgs().map_err(io::Error::from)? {
        match item {
            ControlMessageOwned::Ipv4PacketInfo(info) => {
                timed.destination = Some(Ipv4Addr::from_bits(u32::from_be(info.ipi_addr.s_addr)).into());
            }
            ControlMessageOwned::Ipv6PacketInfo(info) => {
                timed.destination = Some(Ipv6Addr::from(info.ipi6_addr.s6_addr).into());
            }
            ControlMessageOwned::Ipv4Tos(class) => timed.ecn = ecn(class),
            ControlMessageOwned::Ipv6TClass(class) => timed.ecn = ecn(class as u8),
            ControlMessageOwned::UdpGroSegments(size) => {
                timed.segment_size = usize::try_from(size).unwrap_or(message.bytes);
            }
            ControlMessageOwned::ScmTimestampns(time) => timed.received_at = Some(time.into()),
            _ => {}
        }
    }
    Ok(timed)
}

fn socket_address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = storage.as_sockaddr_in().map(|address| SocketAddr::V4((*address).into()));
    v4.or_else(|| storage.as_sockaddr_in6().map(|address| SocketAddr::V6((*address).into())))
}

/// The two bits of RFC 3168 section 5.
fn ecn(traffic_class: u8) -> Option<Ecn> {
    match traffic_class & 3 {
        1 => Some(Ecn::Ect1),
        2 => Some(Ecn::Ect0),
        3 => Some(Ecn::Ce),
        _ => None,
    }
}
