//! `hawser wifi attach` over a cable that delays frames and loses some: a relay of packet sockets between the real supplicant and
//! the real servers. Needs what the tests of wifi.rs need.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::Signal;
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, bind, recvfrom, send, setsockopt,
    socket, sockopt,
};
use nix::sys::time::TimeVal;
use serde_json::Value;

use crate::support::*;
use crate::wifi::{Far, Programs, attach, has_address, ip, lines, supplicant};

/// How often a reader looks whether it shall end.
const LOOK: i64 = 50_000;
const MAX_FRAME: usize = 2048;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Eap,
    Dhcp,
    Other,
}

/// What is in an Ethernet frame.
fn kind(frame: &[u8]) -> Kind {
    match frame.get(12..14) {
        Some([0x88, 0x8e]) => Kind::Eap,
        // UDP between the ports of DHCP; both ends send IP headers without options.
        Some([0x08, 0x00]) if matches!(frame.get(34..38), Some([0, 67, 0, 68] | [0, 68, 0, 67])) => {
            Kind::Dhcp
        }
        _ => Kind::Other,
    }
}

/// Two interfaces joined by threads, until it is dropped.
struct Relay {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Relay {
    /// Frames take `delay`; `lost` says of each direction which frames of a kind do not arrive, counted from 1.
    fn join(interfaces: [&str; 2], delay: Duration, lost: [fn(Kind, u32) -> bool; 2]) -> Relay {
        let stop = Arc::new(AtomicBool::new(false));
        let mut threads = Vec::new();
        for (at, lost) in lost.into_iter().enumerate() {
            let (from, to) = (open(interfaces[at]), open(interfaces[1 - at]));
            let (queue, queued) = mpsc::channel();
            let stopped = stop.clone();
            threads.push(std::thread::spawn(move || read(&from, lost, &queue, &stopped)));
            threads.push(std::thread::spawn(move || {
                for (came, frame) in queued {
                    std::thread::sleep((came + delay).saturating_duration_since(Instant::now()));
                    let _ = send(to.as_raw_fd(), &frame, MsgFlags::empty());
                }
            }));
        }
        Relay { stop, threads }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| _ = thread.join());
    }
}

fn open(interface: &str) -> OwnedFd {
    ip(&format!("link set {interface} up promisc on"));
    let is_it = |known: &nix::ifaddrs::InterfaceAddress| known.interface_name == interface;
    let address =
        getifaddrs().unwrap().filter(is_it).find_map(|known| known.address?.as_link_addr().copied()).unwrap();
    let socket =
        socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::EthAll).unwrap();
    bind(socket.as_raw_fd(), &address).unwrap();
    setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::new(0, LOOK)).unwrap();
    socket
}

fn read(
    from: &OwnedFd,
    lost: fn(Kind, u32) -> bool,
    queue: &mpsc::Sender<(Instant, Vec<u8>)>,
    stop: &AtomicBool,
) {
    let mut seen = [0; 2];
    let mut buffer = [0; MAX_FRAME];
    while !stop.load(Ordering::Relaxed) {
        let (length, source) = match recvfrom::<LinkAddr>(from.as_raw_fd(), &mut buffer) {
            Ok((length, Some(source))) => (length, source),
            Ok((_, None)) | Err(Errno::EAGAIN | Errno::EINTR) => continue,
            Err(error) => panic!("relay: {error}"),
        };
        // What the other direction sent is seen as well.
        if source.pkttype() == nix::libc::PACKET_OUTGOING {
            continue;
        }
        let frame = &buffer[..length];
        let is_lost = match kind(frame) {
            Kind::Other => false,
            kind => {
                let count = &mut seen[usize::from(kind == Kind::Dhcp)];
                *count += 1;
                lost(kind, *count)
            }
        };
        if !is_lost {
            _ = queue.send((Instant::now(), frame.to_vec()));
        }
    }
}

#[test]
fn lost_messages_cost_tenths_of_a_second() {
    let programs = match Programs::find() {
        Ok(programs) => programs,
        Err(reason) => return eprintln!("skipped: {reason}"),
    };
    if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
        return eprintln!("skipped: network namespaces need root ({error})");
    }
    let folder = tempfile::tempdir().unwrap();
    ip("link set lo up");
    let far = Far::start();
    ip("link add w0 type veth peer name near");
    ip(&format!("link add far type veth peer name p0 netns {}", far.thread));
    ip("link set w0 up");
    // Of the client two DISCOVERs are lost, of the server its first OFFER.
    let lost: [fn(Kind, u32) -> bool; 2] =
        [|kind, count| kind == Kind::Dhcp && count <= 2, |kind, count| kind == Kind::Dhcp && count == 1];
    let _relay = Relay::join(["near", "far"], Duration::from_millis(20), lost);
    let far = far.serve(programs, &folder);
    let _supplicant = supplicant(&far.programs, folder.path());

    let mut client = attach(folder.path(), "attach.log");
    wait_until("there is an address", has_address);
    client.signal(Signal::SIGINT);
    let records = lines(&folder.path().join("records.jsonl"));
    let up: Vec<&Value> = records.iter().filter(|record| record.get("failed_in").is_none()).collect();
    let dhcp = up[0]["phases_ms"]["dhcp"].as_f64().unwrap();
    // Sent after 0, 100, 200 and 300 ms; offered and acknowledged a round trip of 40 ms later each. dhcpcd would send after 4 s
    // and 8 s more.
    assert_eq!(up[0]["resent"], 3, "{records:?}");
    assert!((380.0..900.0).contains(&dhcp), "{records:?}");
}
