//! The forms of attack of a user of `hawser gateway`, and of those who send to ports that it has for one.

use std::net::{TcpStream, UdpSocket};
use std::time::Duration;

use super::Error;
use super::client::{GET, request as plain};
use super::flood::Sources;
use super::form::{FORM, Form, H3, HANDSHAKES, SIGNATURES, Siege};

/// TCP and UDP port that the user may have.
const PORT: u16 = 18_345;
/// What a gateway needs for these: all is on loopback.
const ARGUMENTS: &[&str] = &["gateway", "--allow-egress", "127.0.0.1/32", "--tunnels-per-user", "512"];
/// Place of `:method CONNECT` and `:method POST` in the static table of QPACK.
const CONNECT: u8 = 15;
const POST: u8 = 20;

/// A user with a key.
fn user(siege: &mut Siege<'_>) -> Result<(), Error> {
    siege.key = siege.server.add_user(&[&format!("127.0.0.1:{PORT}"), &format!("127.0.0.1:{PORT}/udp")])?;
    Ok(())
}

/// HEADERS as of a client of the gateway; names as literals (RFC 9204 section 4.5.6).
fn request(method: u8, path: &str, lines: &[(&str, &str)]) -> Vec<u8> {
    let mut section = vec![0, 0, 0xc0 | method, 0xc0 | 23, 0x50, 1, b'l', 0x51, path.len() as u8];
    section.extend_from_slice(path.as_bytes());
    for (name, value) in lines {
        // A length of 7 and more has a second byte.
        match name.len() as u8 {
            short @ 0..7 => section.push(0x20 | short),
            long => section.extend([0x27, long - 7]),
        }
        section.extend_from_slice(name.as_bytes());
        section.push(value.len() as u8);
        section.extend_from_slice(value.as_bytes());
    }
    let length = section.len() as u16 | 0x4000;
    [&[1], length.to_be_bytes().as_slice(), &section].concat()
}

/// A request for UDP to a port of loopback.
fn udp(key: &str, port: u16) -> Vec<u8> {
    let path = format!("/.well-known/masque/udp/127.0.0.1/{port}/");
    let bearer = format!("Bearer {key}");
    let lines =
        [(":protocol", "connect-udp"), ("capsule-protocol", "?1"), ("proxy-authorization", bearer.as_str())];
    request(CONNECT, &path, &lines)
}

/// DATA with the beginning of a DATAGRAM capsule of 16,000 bytes.
fn begun_capsule() -> Vec<u8> {
    [&[0, 0x44, 0x00][..], &[0, 0x7e, 0x80], &[7; 1_021]].concat()
}

/// Opens a port of the gateway, and leaves it open; what comes there is not fetched.
async fn listen(siege: &mut Siege<'_>, transport: &str) -> Result<(), Error> {
    let path = format!("/.well-known/hawser-gateway/listen/{transport}/127.0.0.1/{PORT}");
    let bearer = format!("Bearer {}", siege.key);
    let asked = request(POST, &path, &[("proxy-authorization", bearer.as_str())]);
    siege.leave_open(1, 1, |_| asked.clone()).await?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    Ok(())
}

pub(crate) const GATEWAY: &[Form] = &[
    Form {
        name: "half-open connections of the gateway",
        arguments: &["gateway"],
        attack: |siege| Box::pin(async { siege.half_open(H3, 600, Sources::ManyAddresses) }),
        micros: SIGNATURES,
        ..FORM
    },
    Form {
        name: "requests without a key",
        arguments: &["gateway"],
        attack: |siege| {
            Box::pin(async {
                for _ in 0..20 {
                    siege.connect(1 << 16, 1 << 20).await?;
                    let client = siege.clients.last().expect("connected");
                    // The gateway closes a connection that asks too often.
                    for _ in 0..200 {
                        let Ok((mut send, _answer)) = client.connection.open_bi().await else { break };
                        if send.write_all(&plain(GET, "/none", &[])).await.is_err() || send.finish().is_err()
                        {
                            break;
                        }
                    }
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
                Ok(())
            })
        },
        micros: HANDSHAKES,
        ..FORM
    },
    Form {
        name: "targets of CONNECT-UDP",
        arguments: ARGUMENTS,
        prepare: user,
        attack: |siege| {
            Box::pin(async {
                let key = siege.key.clone();
                // Beyond 512 of them the user is refused.
                siege.leave_open(8, 100, |n| udp(&key, 10_000 + n as u16)).await?;
                tokio::time::sleep(Duration::from_millis(500)).await;
                Ok(())
            })
        },
        // Each is a socket, an answer and a task.
        micros: HANDSHAKES,
        mebibytes: 48,
        ..FORM
    },
    Form {
        name: "capsules of CONNECT-UDP that stop",
        arguments: ARGUMENTS,
        prepare: user,
        attack: |siege| {
            Box::pin(async {
                let key = siege.key.clone();
                let begun = |n: usize| [udp(&key, 10_000 + n as u16), begun_capsule()].concat();
                siege.leave_open(4, 100, begun).await?;
                tokio::time::sleep(Duration::from_millis(500)).await;
                Ok(())
            })
        },
        micros: HANDSHAKES,
        mebibytes: 48,
        ..FORM
    },
    Form {
        name: "connections to a port of forward -R",
        arguments: ARGUMENTS,
        prepare: user,
        attack: |siege| {
            Box::pin(async {
                listen(siege, "tcp").await?;
                let mut held = Vec::new();
                for _ in 0..400 {
                    // Those beyond 64 wait in the kernel, and beyond its queue nobody answers.
                    match TcpStream::connect_timeout(
                        &([127, 0, 0, 1], PORT).into(),
                        Duration::from_millis(20),
                    ) {
                        Ok(stream) => held.push(stream),
                        Err(_) => break,
                    }
                }
                siege.raw = (3 * held.len() as u64, 180 * held.len() as u64);
                tokio::time::sleep(Duration::from_millis(500)).await;
                if held.len() < 64 { Err("nobody listens at the port".into()) } else { Ok(()) }
            })
        },
        // A number, a capsule and its packet for each connection.
        micros: HANDSHAKES,
        mebibytes: 16,
        ..FORM
    },
    Form {
        name: "hosts at a port of forward -R",
        arguments: ARGUMENTS,
        prepare: user,
        attack: |siege| {
            Box::pin(async {
                listen(siege, "udp").await?;
                for number in 0..4_000_u64 {
                    let host = UdpSocket::bind("127.0.0.1:0")?;
                    siege.raw = (number + 1, (number + 1) * 1_228);
                    // Nobody hears those that come when 64 wait to be fetched.
                    let _ = host.send_to(&[1; 1_200], ("127.0.0.1", PORT));
                    if number % 64 == 63 {
                        tokio::time::sleep(Duration::from_millis(2)).await;
                    }
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
                Ok(())
            })
        },
        mebibytes: 16,
        ..FORM
    },
];
