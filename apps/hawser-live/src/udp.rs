//! MPEG transport streams over UDP, plain or in RTP, as hardware encoders send them.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hawser_media::ts::{PACKET, SYNC, TsReader};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::hub::Hub;
use hawser_command::exit::{Exit, Failure};
use hawser_command::output::Output;

/// How long the source may be silent before another one may follow it, and the stream is over.
const SILENCE: Duration = Duration::from_secs(5);
/// Bytes of the header of RTP without extensions (RFC 3550 section 5.1).
const RTP_HEADER: usize = 12;

/// Where a transport stream comes.
pub(super) async fn bind(address: SocketAddr) -> Result<UdpSocket, Failure> {
    let wrong = |error: std::io::Error| {
        Failure::new(Exit::CannotListen, format!("cannot listen on UDP {address}: {error}"))
    };
    let socket = UdpSocket::bind(address).await.map_err(wrong)?;
    match address.ip() {
        IpAddr::V4(group) if group.is_multicast() => {
            socket.join_multicast_v4(group, std::net::Ipv4Addr::UNSPECIFIED).map_err(wrong)?;
        }
        IpAddr::V6(group) if group.is_multicast() => socket.join_multicast_v6(&group, 0).map_err(wrong)?,
        _ => {}
    }
    Ok(socket)
}

/// The packets in a datagram: all of it, or what follows the header of RTP.
pub(super) fn packets(datagram: &[u8]) -> Option<&[u8]> {
    let begins = |at: usize| datagram.get(at) == Some(&SYNC) && (datagram.len() - at).is_multiple_of(PACKET);
    if begins(0) {
        return Some(datagram);
    }
    (datagram.first().is_some_and(|first| first >> 6 == 2) && begins(RTP_HEADER))
        .then(|| &datagram[RTP_HEADER..])
}

/// Takes what comes from one source at a time: the first that sends, until it is silent.
pub(super) async fn receive(
    socket: UdpSocket,
    hub: Arc<Hub>,
    output: Output,
    done: mpsc::Sender<bool>,
) -> std::io::Error {
    let mut block = vec![0; 64 << 10];
    let mut current: Option<(SocketAddr, TsReader, Instant)> = None;
    loop {
        let silent_at = current.as_ref().map(|(_, _, heard)| *heard + SILENCE);
        let silent = async {
            match silent_at {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let (count, from) = tokio::select! {
            received = socket.recv_from(&mut block) => match received {
                Ok(received) => received,
                Err(error) => return error,
            },
            () = silent => {
                if let Some((from, mut reader, _)) = current.take() {
                    reader.end();
                    std::iter::from_fn(|| reader.next_tag()).for_each(|tag| hub.push_tag(tag));
                    let missing = reader.counts().missing_packets;
                    output.remark(format_args!(
                        "hawser: the encoder at {from} is silent; {missing} packets of its stream did not come"
                    ));
                }
                let _ = done.try_send(false);
                continue;
            }
        };
        let Some(data) = packets(&block[..count]) else { continue };
        let now = Instant::now();
        let (_, reader, heard) = match &mut current {
            Some(current) if current.0 == from => current,
            // Another source: two streams in one would be none.
            Some(_) => continue,
            none => {
                hub.begin_encoder();
                output.remark(format_args!("hawser: an encoder publishes from {from} over UDP"));
                none.insert((from, TsReader::default(), now))
            }
        };
        *heard = now;
        reader.push_datagram(data);
        std::iter::from_fn(|| reader.next_tag()).for_each(|tag| hub.push_tag(tag));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_found_with_and_without_rtp() {
        let mut plain = vec![0; 7 * PACKET];
        plain.iter_mut().step_by(PACKET).for_each(|byte| *byte = SYNC);
        assert_eq!(packets(&plain), Some(&plain[..]));
        let rtp = [&[0x80, 33][..], &[0; 10], &plain].concat();
        assert_eq!(packets(&rtp), Some(&plain[..]));
        assert_eq!((packets(&plain[1..]), packets(&plain[..100]), packets(&[])), (None, None, None));
    }
}
