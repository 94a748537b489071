//! Packets with a codepoint of differentiated services (RFC 2474): quinn-udp writes the whole byte that it shares with the ECN mark,
//! and leaves its bits zero.

use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::libc::{in_addr, in_pktinfo, in6_addr, in6_pktinfo};
use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrStorage, sendmsg, setsockopt, sockopt};
use quinn_udp::Transmit;

/// What the socket sends without further word has this codepoint, too.
pub(super) fn set(socket: &UdpSocket, dscp: u8) -> io::Result<()> {
    let class = i32::from(dscp) << 2;
    match socket.local_addr()? {
        SocketAddr::V4(_) => setsockopt(socket, sockopt::Ipv4Tos, &class)?,
        SocketAddr::V6(_) => setsockopt(socket, sockopt::Ipv6TClass, &class)?,
    }
    Ok(())
}

/// Sends a message; one by one where the kernel does not cut it.
pub(super) fn send(socket: &UdpSocket, dscp: u8, message: &Transmit<'_>) -> io::Result<()> {
    let Some(size) = message.segment_size else { return send_once(socket, dscp, message) };
    match send_once(socket, dscp, message).map_err(|error| (error.raw_os_error().map(Errno::from_raw), error))
    {
        // As of quinn-udp: what a device without checksums, and a kernel without segmentation, say.
        Err((Some(Errno::EIO | Errno::EINVAL), _)) => {
            message.contents.chunks(size).try_for_each(|contents| {
                let one = Transmit { contents, segment_size: None, ..message.clone() };
                // The others are lost as any packet may be: the caller, who would send them again, would send the first ones twice.
                match send_once(socket, dscp, &one) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
                    sent => sent,
                }
            })
        }
        sent => sent.map_err(|(_, error)| error),
    }
}

fn send_once(socket: &UdpSocket, dscp: u8, message: &Transmit<'_>) -> io::Result<()> {
    let class = dscp << 2 | message.ecn.map_or(0, |ecn| ecn as u8);
    let (class_v6, is_v4) = (i32::from(class), message.destination.ip().to_canonical().is_ipv4());
    let size = message.segment_size.map(|size| u16::try_from(size).unwrap_or(u16::MAX));
    let from_v4 = match message.src_ip {
        Some(IpAddr::V4(from)) => {
            let address = in_addr { s_addr: u32::from(from).to_be() };
            Some(in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: address, ipi_addr: in_addr { s_addr: 0 } })
        }
        _ => None,
    };
    let from_v6 = match message.src_ip {
        Some(IpAddr::V6(from)) => {
            Some(in6_pktinfo { ipi6_ifindex: 0, ipi6_addr: in6_addr { s6_addr: from.octets() } })
        }
        _ => None,
    };
    let mut control =
        vec![if is_v4 { ControlMessage::Ipv4Tos(&class) } else { ControlMessage::Ipv6TClass(&class_v6) }];
    control.extend(size.as_ref().map(ControlMessage::UdpGsoSegments));
    control.extend(from_v4.as_ref().map(ControlMessage::Ipv4PacketInfo));
    control.extend(from_v6.as_ref().map(ControlMessage::Ipv6PacketInfo));
    let contents = [IoSlice::new(message.contents)];
    let to = SockaddrStorage::from(message.destination);
    sendmsg(socket.as_raw_fd(), &contents, &control, MsgFlags::empty(), Some(&to))?;
    Ok(())
}
