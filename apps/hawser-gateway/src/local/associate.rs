//! UDP ASSOCIATE of SOCKS5 (RFC 1928 section 7): one local socket, a tunnel for each target.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hawser_masque::target::Target;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};

use super::socks::{self, Reply};
use crate::client::{GatewayClient, Say};
use crate::local::forward::udp::{Back, Peers, receive};

/// Most bytes of a datagram with its SOCKS header.
const MAX_DATAGRAM: usize = 65_535;
/// Targets of one association at the same time; the one that was silent for longest gives way.
const MAX_TARGETS: usize = 256;

/// Serves a program until it closes the TCP connection.
pub(super) async fn serve(
    client: GatewayClient,
    mut program: TcpStream,
    port: u16,
    idle: Duration,
    say: Say,
) {
    let bound = async {
        let (local, peer) = (program.local_addr()?, program.peer_addr()?);
        let socket = UdpSocket::bind(SocketAddr::new(local.ip(), 0)).await?;
        let address = socket.local_addr()?;
        Ok::<_, std::io::Error>((socket, address, peer.ip()))
    };
    let (socket, address, peer) = match bound.await {
        Ok(bound) => bound,
        Err(error) => {
            say(&format!("no UDP for a program: {error}"));
            let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
            let _ = program.write_all(&Reply::Failure.encode(nowhere)).await;
            return;
        }
    };
    if program.write_all(&Reply::Succeeded.encode(address)).await.is_err() {
        return;
    }
    tokio::select! {
        () = relay(client, socket, peer, port, idle, say) => {}
        () = closed(&mut program) => {}
    }
}

/// Waits until the program closes the connection; what it sends means nothing.
async fn closed(program: &mut TcpStream) {
    let mut rubbish = [0; 256];
    while program.read(&mut rubbish).await.is_ok_and(|read| read > 0) {}
}

async fn relay(
    client: GatewayClient,
    socket: UdpSocket,
    program: IpAddr,
    port: u16,
    idle: Duration,
    say: Say,
) {
    let socket = Arc::new(socket);
    let mut peers: Peers<Target> = Peers::new(client, MAX_TARGETS, idle, say);
    let mut buffer = vec![0; MAX_DATAGRAM];
    // Of the program the first address that sends, if it did not say which: others of its machine must not get in between.
    let mut source: Option<SocketAddr> = None;
    loop {
        let Some((read, from)) = receive(&socket, &mut buffer).await else { continue };
        let is_program = from.ip() == program && (port == 0 || port == from.port());
        if !is_program || source.is_some_and(|source| source != from) {
            continue;
        }
        let Some((target, payload)) = socks::read_datagram(&buffer[..read]) else { continue };
        source = Some(from);
        let (socket, header) = (socket.clone(), socks::datagram_header(&target));
        let back: Back = Arc::new(move |payload| {
            let datagram = [&header[..], payload].concat();
            // A program that does not read loses datagrams.
            let _ = socket.try_send_to(&datagram, from);
        });
        peers.send(target.clone(), &target, payload, back);
    }
}
