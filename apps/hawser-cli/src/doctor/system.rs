//! The system: buffers, segmentation offload, descriptors, devices, the control socket.

use nix::sys::resource::{Resource, getrlimit};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt::UdpGsoSegment};

use super::Finding;
use super::machine::Machine;
use hawser_status::control::runtime_folder;

/// What a gigabit per second brings in 50 ms: what the endpoint asks for.
const SOCKET_BUFFER: u64 = 7 << 20;
/// Descriptors that a server with some hundreds of files needs.
const DESCRIPTORS: u64 = 4_096;
/// A connection tracker that forgets sooner breaks idle paths.
const TRACKED_SECONDS: u64 = 30;

/// Checks the system.
pub(super) fn check(machine: &Machine) -> Vec<Finding> {
    let mut findings = vec![
        buffer("receive buffer", "net.core.rmem_max", machine),
        buffer("send buffer", "net.core.wmem_max", machine),
        segmentation(),
        descriptors(),
        tun(),
        control(),
    ];
    findings.extend(tracking(machine));
    findings
}

/// Small buffers lose packets when the program is busy for a moment.
fn buffer(check: &str, name: &str, machine: &Machine) -> Finding {
    match machine.parameter(name) {
        Some(most) if most < SOCKET_BUFFER => Finding::warning(
            check,
            format!(
                "at most {} KiB: packets are lost above some 100 Mbit/s when the program is busy",
                most >> 10
            ),
            format!("sysctl -w {name}={SOCKET_BUFFER}"),
        ),
        Some(most) => Finding::ok(check, format!("up to {} KiB", most >> 10)),
        None => Finding::ok(check, "the kernel does not say"),
    }
}

/// Generic segmentation offload: many datagrams in one call.
fn segmentation() -> Finding {
    let set = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)
        .and_then(|socket| setsockopt(&socket, UdpGsoSegment, &1_200));
    match set {
        Ok(()) => Finding::ok("UDP segmentation offload", "the kernel has it"),
        Err(error) => Finding::warning(
            "UDP segmentation offload",
            format!(
                "the kernel has none ({error}): each datagram is a call, which takes several times the processor time"
            ),
            "uname -r   # Linux 4.18 and later have it",
        ),
    }
}

fn descriptors() -> Finding {
    match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok((_, most)) if most < DESCRIPTORS => Finding::warning(
            "open files",
            format!("at most {most}: servers and gateways refuse clients when they are used up"),
            "ulimit -n 65536   # or LimitNOFILE=65536 in the unit of systemd",
        ),
        Ok((_, most)) => Finding::ok("open files", format!("up to {most}")),
        Err(error) => Finding::warning("open files", error.to_string(), ""),
    }
}

fn tun() -> Finding {
    let path = std::path::Path::new("/dev/net/tun");
    match std::fs::OpenOptions::new().read(true).write(true).open(path) {
        Ok(_) => Finding::ok("/dev/net/tun", "can be opened: emulated links and tunnels work"),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Finding::warning(
            "/dev/net/tun",
            "is not there: emulated links and tunnels do not work",
            "modprobe tun",
        ),
        Err(error) => {
            let found = format!("cannot be opened ({error}): emulated links and tunnels need root");
            Finding::warning("/dev/net/tun", found, "sudo hawser ...")
        }
    }
}

/// Where programs can be looked at.
fn control() -> Finding {
    let folder = runtime_folder();
    let parent = folder.parent().unwrap_or(&folder);
    let place = if folder.is_dir() { folder.as_path() } else { parent };
    match nix::unistd::access(place, nix::unistd::AccessFlags::W_OK) {
        Ok(()) => Finding::ok("control sockets", format!("in {}", folder.display())),
        Err(error) => Finding::warning(
            "control sockets",
            format!("cannot be made in {} ({error}): hawser top and ctl find no program", folder.display()),
            "export XDG_RUNTIME_DIR=/run/user/$(id -u)   # or --control PATH",
        ),
    }
}

/// A firewall of this machine that forgets UDP flows.
fn tracking(machine: &Machine) -> Option<Finding> {
    let name = "net.netfilter.nf_conntrack_udp_timeout_stream";
    let seconds = machine.parameter(name)?;
    Some(match seconds {
        seconds if seconds < TRACKED_SECONDS => Finding::warning(
            "connection tracking",
            format!("UDP flows are forgotten after {seconds} s of silence: idle paths die"),
            format!("sysctl -w {name}=120"),
        ),
        seconds => Finding::ok("connection tracking", format!("UDP flows are remembered for {seconds} s")),
    })
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn small_buffers_and_short_memories_are_told_with_a_command() {
        let folder = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("sys/net/core/rmem_max", "212992\n");
        put("sys/net/core/wmem_max", "16777216\n");
        put("sys/net/netfilter/nf_conntrack_udp_timeout_stream", "10\n");
        let machine = Machine::at(folder.path());
        let small = buffer("receive buffer", "net.core.rmem_max", &machine);
        assert_eq!(small.state, State::Warning);
        assert_eq!(small.fix.as_deref(), Some("sysctl -w net.core.rmem_max=7340032"));
        assert_eq!(buffer("send buffer", "net.core.wmem_max", &machine).state, State::Ok);
        assert_eq!(tracking(&machine).map(|finding| finding.state), Some(State::Warning));
    }
}
