//! The same traffic through a router of the kernel: two veth pairs, and a token bucket on the way to the server.

use std::fs::File;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use std::thread;

use nix::sched::{CloneFlags, setns};

use crate::common::measure;
use crate::machine::Busy;
use crate::{DURATION, RATES, Result, offered};

const NAMES: [&str; 3] = ["hawser-speed-c", "hawser-speed-r", "hawser-speed-s"];

/// Removes the namespaces, and with them the devices.
struct Router;

impl Router {
    fn start(megabits: u64) -> Result<Self> {
        // What a killed run left.
        drop(Router);
        let router = Router;
        // The bucket holds 2 ms, or more than its timer could not keep the rate.
        let burst = (megabits * 250).max(32_000);
        let [client, gateway, server] = NAMES;
        // In the router: on the sender's own device the queue would push back on its socket and hide losses.
        let lines = [
            format!("ip netns add {client}"),
            format!("ip netns add {gateway}"),
            format!("ip netns add {server}"),
            format!("ip -n {gateway} link add in0 type veth peer name eth0 netns {client}"),
            format!("ip -n {gateway} link add out0 type veth peer name eth0 netns {server}"),
            format!("ip -n {client} addr add 10.78.1.2/24 dev eth0"),
            format!("ip -n {gateway} addr add 10.78.1.1/24 dev in0"),
            format!("ip -n {gateway} addr add 10.78.2.1/24 dev out0"),
            format!("ip -n {server} addr add 10.78.2.2/24 dev eth0"),
            format!("ip -n {client} link set eth0 up"),
            format!("ip -n {gateway} link set in0 up"),
            format!("ip -n {gateway} link set out0 up"),
            format!("ip -n {server} link set eth0 up"),
            format!("ip -n {client} route add default via 10.78.1.1"),
            format!("ip -n {server} route add default via 10.78.2.1"),
            format!("ip netns exec {gateway} sysctl -q net.ipv4.ip_forward=1"),
            format!(
                "tc -n {gateway} qdisc add dev out0 root tbf rate {megabits}mbit burst {burst} latency 20ms"
            ),
        ];
        for line in lines {
            let mut words = line.split(' ');
            let status = Command::new(words.next().unwrap_or("ip")).args(words).status()?;
            if !status.success() {
                return Err(format!("`{line}` failed").into());
            }
        }
        Ok(router)
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        for name in NAMES {
            let _ = Command::new("ip").args(["netns", "del", name]).stderr(Stdio::null()).status();
        }
    }
}

/// A socket in a namespace.
fn socket_in(name: &str, address: &str) -> io::Result<UdpSocket> {
    let path = format!("/run/netns/{name}");
    let inside = || -> io::Result<UdpSocket> {
        setns(File::open(path)?, CloneFlags::CLONE_NEWNET)?;
        UdpSocket::bind(address)
    };
    thread::scope(|scope| scope.spawn(inside).join().expect("binding does not panic"))
}

/// As that of the emulator.
pub(crate) fn saturation() -> Result<()> {
    println!("\nveth and token bucket of growing rate, offered 5 % more, no delay");
    for megabits in RATES {
        let _router = Router::start(megabits)?;
        let receiver = socket_in(NAMES[2], "10.78.2.2:0")?;
        let sender = socket_in(NAMES[0], "0.0.0.0:0")?;
        sender.connect(SocketAddr::from(([10, 78, 2, 2], receiver.local_addr()?.port())))?;
        let busy = Busy::start();
        let flows = measure(&[(sender, receiver)], megabits * 1_050_000, DURATION);
        let share = flows[0].rate_bps / (megabits as f64 * 1e6);
        println!(
            "  {megabits:>5} Mbit/s: {:>6.2} % of it carried, {:.2} offered, delay p50 {:.3} p99 {:.3} ms; {busy}",
            share * 100.0,
            offered(&flows[0], megabits),
            flows[0].delay_ms(0.5),
            flows[0].delay_ms(0.99)
        );
        if share < 0.97 {
            break;
        }
    }
    Ok(())
}
