//! `hawser wifi watch`: what the kernel knows of the access point (nl80211), as link states for other commands.

use std::io::{self, Write};
use std::os::fd::AsRawFd;

use hawser_policy::Time;
use hawser_wifi::nl80211::{Monitor, Observation};
use nix::sys::socket::{AddressFamily, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, connect, socket};
use tokio::net::UdpSocket;
use tokio::time::{Instant, sleep_until};

use super::Watch;
use super::interface::known_interface;
use hawser_command::exit::{Exit, Failure};
use hawser_command::interrupt::Interrupt;

/// Longest datagram that is read: the kernel's dumps come in pieces of at most this.
const MAX_DATAGRAM: usize = 32 << 10;

/// Prints a line for each observation, until Ctrl-C or until nobody reads any more.
pub(super) async fn run(arguments: &Watch, mut interrupt: Interrupt) -> Result<(), Failure> {
    let interface = arguments.interface.as_str();
    let index = known_interface(interface)?;
    let failed = |what: &str, error: io::Error| {
        Failure::new(Exit::Failure, format!("{interface}: cannot {what} nl80211: {error}"))
    };
    let socket = open().map_err(|error| failed("open a socket of", error))?;
    let mut monitor = Monitor::new(index);
    let start = Instant::now();
    let mut buffer = vec![0; MAX_DATAGRAM];
    loop {
        let now = Time::ZERO + start.elapsed();
        while let Some(request) = monitor.poll_transmit(now) {
            socket.send(&request).await.map_err(|error| failed("ask", error))?;
        }
        if let Some(seen) = monitor.poll_report()
            && !tell(&seen, arguments).map_err(|error| failed("tell what is known of", error))?
        {
            return Ok(());
        }
        let due = monitor.poll_timeout().map_or(start, |time| start + (time - Time::ZERO));
        tokio::select! {
            () = interrupt.raised() => return Ok(()),
            () = sleep_until(due) => monitor.handle_timeout(Time::ZERO + start.elapsed()),
            length = socket.recv(&mut buffer) => {
                let length = match length {
                    Ok(length) => length,
                    // Messages were dropped for lack of room: the question is asked again.
                    Err(error) if error.raw_os_error() == Some(nix::libc::ENOBUFS) => continue,
                    Err(error) => return Err(failed("hear", error)),
                };
                monitor.handle(&buffer[..length]).map_err(|error| {
                    Failure::new(Exit::Failure, format!("{interface}: {error}"))
                })?;
            }
        }
    }
}

/// A socket of generic netlink, connected to the kernel.
fn open() -> io::Result<UdpSocket> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Netlink, SockType::Datagram, flags, SockProtocol::NetlinkGeneric)?;
    // Port 0: a name of our own that the kernel chooses, and the kernel's.
    bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
    connect(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
    // No UDP socket: of tokio's types for sockets it is the one that only receives and sends.
    UdpSocket::from_std(socket.into())
}

/// Prints a line. Returns whether somebody reads it.
fn tell(seen: &Observation, arguments: &Watch) -> io::Result<bool> {
    let mut output = io::stdout().lock();
    let line = seen.line(&arguments.interface, arguments.airtime);
    match writeln!(output, "{line}").and_then(|()| output.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        written => written.map(|()| true),
    }
}
