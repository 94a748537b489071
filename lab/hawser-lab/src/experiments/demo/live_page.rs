//! The status page of the server, at an address of this host while the demonstration runs.
//!
//! In namespaces the page is on the server's loopback, which nobody else reaches: connections are carried over to it.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::DemoError;
use super::stage::Stage;

/// Where the page is in the server's namespace.
const INSIDE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9090);
/// Connections at the same time.
const MAX_CONNECTIONS: usize = 64;

/// Carries connections to the page until the process ends. Returns where the server is to have its page.
pub(crate) fn carry(stage: &Stage, address: SocketAddr) -> Result<SocketAddr, DemoError> {
    if !stage.carries_tcp() {
        return Ok(address);
    }
    let step = || format!("listening on TCP {address} for the status page");
    let listener = TcpListener::bind(address).map_err(DemoError::io(step()))?;
    let connect = stage.connector(INSIDE)?;
    let open = Arc::new(AtomicUsize::new(0));
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            if open.load(Ordering::Relaxed) >= MAX_CONNECTIONS {
                continue;
            }
            if let Ok(server) = connect() {
                let guard = Count::new(&open);
                let _ = both_ways(client, server, &Arc::new(guard));
            }
        }
    });
    Ok(INSIDE)
}

/// One connection of those that are open.
struct Count(Arc<AtomicUsize>);

impl Count {
    fn new(open: &Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        Count(open.clone())
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn both_ways(client: TcpStream, server: TcpStream, count: &Arc<Count>) -> io::Result<()> {
    let directions = [(client.try_clone()?, server.try_clone()?), (server, client)];
    for (mut from, mut to) in directions {
        let count = count.clone();
        thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            let _ = (to.shutdown(Shutdown::Both), from.shutdown(Shutdown::Both));
            drop(count);
        });
    }
    Ok(())
}
