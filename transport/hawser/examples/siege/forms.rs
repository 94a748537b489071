//! The forms of attack, and those on `hawser serve`.

use std::future::Future;
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::time::Duration;
use std::{fs, io};

use hawser::{Endpoint, Links, RecvStream, SendStream};

use super::Error;
use super::client::{Client, GET, HEAD, PUT, address, config, request, windows};
use super::server::Server;

type Running<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + 'a>>;

/// A form of attack, and what it may cost.
pub(crate) struct Form {
    pub(crate) name: &'static str,
    /// Of the command.
    pub(crate) arguments: &'static [&'static str],
    pub(crate) alpn: &'static [u8],
    pub(crate) prepare: fn(&mut Siege<'_>) -> Result<(), Error>,
    pub(crate) attack: for<'a> fn(&'a mut Siege<'_>) -> Running<'a>,
    /// What is wrong afterwards, besides figures.
    pub(crate) check: fn(&Siege<'_>) -> Option<String>,
    /// CPU for each packet, in microseconds.
    pub(crate) micros: f64,
    /// What may be held, in MiB, where it is more than 100 bytes for each byte.
    pub(crate) mebibytes: u64,
}

/// A server under attack, and what the attackers keep open.
pub(crate) struct Siege<'a> {
    pub(crate) server: &'a Server,
    pub(crate) clients: Vec<Client>,
    pub(crate) streams: Vec<SendStream>,
    pub(crate) answers: Vec<RecvStream>,
    /// Packets and bytes that no connection counts.
    pub(crate) raw: (u64, u64),
    /// Of a user of the gateway, where the form has one.
    pub(crate) key: String,
}

impl<'a> Siege<'a> {
    pub(crate) fn new(server: &'a Server) -> io::Result<Self> {
        fs::write(server.folder().join("small"), b"content")?;
        Ok(Siege {
            server,
            clients: Vec::new(),
            streams: Vec::new(),
            answers: Vec::new(),
            raw: (0, 0),
            key: String::new(),
        })
    }

    /// Packets and bytes of all attackers.
    pub(crate) fn sent(&self) -> (u64, u64) {
        let counts = self.clients.iter().map(|client| client.connection.stats());
        counts.fold(self.raw, |(packets, bytes), stats| {
            (packets + stats.datagrams_sent, bytes + stats.bytes_sent)
        })
    }

    pub(crate) async fn connect(&mut self, stream: u64, connection: u64) -> Result<&Client, Error> {
        let client = Client::with(self.server, hawser_h3::ALPN, windows(stream, connection)).await?;
        self.clients.push(client);
        Ok(self.clients.last().expect("it was pushed just now"))
    }

    /// Asks for something on each of so many streams of so many connections, and reads no answer.
    async fn ask_unread(
        &mut self,
        clients: usize,
        streams: usize,
        window: u64,
        asked: &[u8],
    ) -> Result<(), Error> {
        for _ in 0..clients {
            self.connect(window, window * 64).await?;
            for _ in 0..streams {
                let answer = self.clients.last().expect("connected").ask(asked).await?;
                self.answers.push(answer);
            }
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok(())
    }

    /// Begins something on each of so many streams of so many connections, and leaves them open.
    pub(crate) async fn leave_open(
        &mut self,
        clients: usize,
        streams: usize,
        begun: impl Fn(usize) -> Vec<u8>,
    ) -> Result<(), Error> {
        for client in 0..clients {
            self.connect(1 << 16, 1 << 20).await?;
            for stream in 0..streams {
                let connection = &self.clients.last().expect("connected").connection;
                let Ok((mut send, answer)) = connection.open_bi().await else { break };
                let bytes = begun(client * streams + stream);
                // The server may stop the stream, or close the connection, in the middle.
                let _ = tokio::time::timeout(Duration::from_secs(2), send.write_all(&bytes)).await;
                self.streams.push(send);
                self.answers.push(answer);
            }
        }
        Ok(())
    }
}

/// A PUT of a file, with the beginning of its body.
fn upload(path: &str, body: &[u8]) -> Vec<u8> {
    [request(PUT, path, &[]), vec![0, body.len() as u8], body.to_vec()].concat()
}

fn large(siege: &mut Siege<'_>) -> Result<(), Error> {
    Ok(fs::File::create(siege.server.folder().join("large"))?.set_len(1 << 30)?)
}

pub(crate) fn nothing(_: &mut Siege<'_>) -> Result<(), Error> {
    Ok(())
}

pub(crate) fn content(_: &Siege<'_>) -> Option<String> {
    None
}

/// Initial packets of clients that hear no answer, as forged ones.
pub(crate) async fn half_open(siege: &mut Siege<'_>, alpn: &'static [u8], count: usize) -> Result<(), Error> {
    let trap = tokio::net::UdpSocket::bind("127.0.0.1:0").await?;
    let to = trap.local_addr()?;
    for _ in 0..count {
        let endpoint =
            Endpoint::client(config(siege.server, alpn, hawser::default_transport())?, Links::All)?;
        let connecting = tokio::spawn(async move { endpoint.connect(to, "localhost").await.map(drop) });
        let mut datagram = vec![0; 2048];
        let length = trap.recv(&mut datagram).await?;
        connecting.abort();
        UdpSocket::bind("127.0.0.1:0")?.send_to(&datagram[..length], address(siege.server))?;
        siege.raw = (siege.raw.0 + 1, siege.raw.1 + length as u64);
    }
    Ok(())
}

/// Datagrams that no key fits: short headers, long ones, unknown versions.
pub(crate) fn garbage(to: SocketAddr, count: u64) -> io::Result<u64> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let mut bytes = 0;
    for n in 0..count {
        let mut datagram = vec![n as u8; if n.is_multiple_of(2) { 1200 } else { 60 }];
        datagram[0] = [0x45, 0xc3, 0xe0, 0x7f][(n % 4) as usize];
        datagram[1..9].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        bytes += socket.send_to(&datagram, to)? as u64;
        // The kernel's buffer is not what is attacked.
        if n % 64 == 63 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(bytes)
}

pub(crate) const SERVE: &[&str] = &["serve", "FOLDER"];
const UPLOADS: &[&str] = &["serve", "FOLDER", "--allow-put", "--upload-quota", "8M"];
pub(crate) const H3: &[u8] = hawser_h3::ALPN;

/// A handshake costs about a millisecond of CPU and takes a client some ten packets.
pub(crate) const HANDSHAKES: f64 = 600.0;
/// An eighth of 1 GiB for what is read of files, another for what is not acknowledged.
const REPLIES: u64 = 288;

pub(crate) const FORMS: &[Form] = &[
    Form {
        name: "unread replies",
        arguments: SERVE,
        alpn: H3,
        prepare: large,
        attack: |siege| {
            Box::pin(async { siege.ask_unread(64, 16, 1 << 20, &request(GET, "/large", &[])).await })
        },
        check: content,
        // A packet asks for a megabyte, of which a quarter of a gigabyte is sent.
        micros: 2_000.0,
        mebibytes: REPLIES,
    },
    Form {
        name: "unread listings",
        arguments: SERVE,
        alpn: H3,
        prepare: |siege| {
            for n in 0..4_000 {
                fs::write(siege.server.folder().join(format!("{n:04}{}", "x".repeat(150))), b"")?;
            }
            Ok(())
        },
        attack: |siege| Box::pin(async { siege.ask_unread(20, 16, 2_000, &request(GET, "/", &[])).await }),
        check: content,
        micros: HANDSHAKES,
        mebibytes: REPLIES,
    },
    Form {
        name: "uploads of a byte",
        arguments: UPLOADS,
        alpn: H3,
        prepare: nothing,
        attack: |siege| {
            Box::pin(async {
                siege.leave_open(16, 16, |n| upload(&format!("/slow{n}"), b"x")).await?;
                // A victim of the same address stores a file at once.
                let client = Client::connect(siege.server, H3).await?;
                let mut answer = client.ask(&upload("/victim", b"content")).await?;
                tokio::time::timeout(Duration::from_secs(1), answer.read_to_end(1 << 16)).await??;
                Ok(())
            })
        },
        check: |siege| {
            let is_stored =
                fs::read(siege.server.folder().join("victim")).is_ok_and(|content| content == b"content");
            (!is_stored).then(|| "the victim's upload was refused".to_owned())
        },
        micros: HANDSHAKES,
        mebibytes: 64,
    },
    Form {
        name: "empty uploads",
        arguments: UPLOADS,
        alpn: H3,
        prepare: nothing,
        attack: |siege| {
            Box::pin(async {
                siege.connect(1 << 16, 1 << 20).await?;
                for n in 0..3_000 {
                    let asked = request(PUT, &format!("/empty{n:05}"), &[]);
                    let mut answer = siege.clients[0].ask(&asked).await?;
                    let _ = answer.read_to_end(1 << 16).await;
                }
                Ok(())
            })
        },
        check: |siege| {
            let files = fs::read_dir(siege.server.folder()).map_or(0, Iterator::count);
            // 4 KiB each of 8 MiB, and the small file.
            (files > 2_049).then(|| format!("{files} files"))
        },
        // Each makes a file, renames it and waits for the disk.
        micros: 1_000.0,
        mebibytes: 32,
    },
    Form {
        name: "digests nobody waits for",
        arguments: SERVE,
        alpn: H3,
        prepare: |siege| Ok(fs::File::create(siege.server.folder().join("large"))?.set_len(40 << 30)?),
        attack: |siege| {
            Box::pin(async {
                let asked = request(HEAD, "/large", &[("te", "trailers")]);
                siege.ask_unread(4, 40, 1 << 16, &asked).await?;
                siege.clients.iter().for_each(|client| client.connection.close(0, b""));
                siege.answers.clear();
                tokio::time::sleep(Duration::from_secs(1)).await;
                Ok(())
            })
        },
        check: content,
        // Two threads hash as long as somebody waits.
        micros: 10_000.0,
        mebibytes: 32,
    },
    Form {
        name: "headers that do not end",
        arguments: SERVE,
        alpn: H3,
        prepare: nothing,
        attack: |siege| Box::pin(async { siege.leave_open(10, 90, |_| vec![1, 0x50, 0, 0]).await }),
        check: content,
        micros: HANDSHAKES,
        mebibytes: 32,
    },
    Form {
        name: "headers of a gigabyte",
        arguments: SERVE,
        alpn: H3,
        prepare: nothing,
        attack: |siege| {
            Box::pin(async {
                let announced =
                    [&[1][..], &((1_u64 << 30) | (3 << 62)).to_be_bytes(), &[0; 1 << 16]].concat();
                siege.leave_open(20, 1, |_| announced.clone()).await
            })
        },
        check: content,
        micros: HANDSHAKES,
        mebibytes: 16,
    },
    Form {
        name: "unknown frames without content",
        arguments: SERVE,
        alpn: H3,
        prepare: nothing,
        attack: |siege| Box::pin(async { siege.leave_open(4, 1, |_| [0x21, 0].repeat(500_000)).await }),
        check: content,
        micros: 100.0,
        mebibytes: 32,
    },
    Form {
        name: "requests for nothing",
        arguments: SERVE,
        alpn: H3,
        prepare: nothing,
        attack: |siege| {
            Box::pin(async {
                siege.connect(1 << 20, 16 << 20).await?;
                for _ in 0..100 {
                    let mut asked = Vec::new();
                    for _ in 0..80 {
                        asked.push(siege.clients[0].ask(&request(GET, "/none", &[])).await?);
                    }
                    for mut answer in asked {
                        let _ = answer.read_to_end(1 << 16).await;
                    }
                }
                Ok(())
            })
        },
        check: content,
        // A packet holds a dozen requests, and each is looked up and answered.
        micros: 2_000.0,
        mebibytes: 32,
    },
    Form {
        name: "requests that wait",
        arguments: SERVE,
        alpn: H3,
        prepare: large,
        attack: |siege| {
            Box::pin(async {
                let long = "x".repeat(120);
                let lines: Vec<(&str, &str)> = (0..40).map(|_| ("x-a", &long[..])).collect();
                siege.ask_unread(64, 90, 2_000, &request(GET, "/large", &lines)).await?;
                Ok(())
            })
        },
        check: content,
        micros: HANDSHAKES,
        mebibytes: REPLIES,
    },
    Form {
        name: "fields of a byte each",
        arguments: SERVE,
        alpn: H3,
        prepare: nothing,
        attack: |siege| {
            Box::pin(async {
                // `age: 0` of the static table, two thousand times.
                let section = [&b"\x00\x00\xd1\xd7\x50\x01l\xc1"[..], &[0xc2; 2_000]].concat();
                let asked =
                    [&[1], ((section.len() as u16) | 0x4000).to_be_bytes().as_slice(), &section].concat();
                siege.ask_unread(8, 90, 1 << 16, &asked).await?;
                Ok(())
            })
        },
        check: content,
        micros: HANDSHAKES,
        mebibytes: 32,
    },
    Form {
        name: "requests that are reset at once",
        arguments: SERVE,
        alpn: H3,
        prepare: large,
        attack: |siege| {
            Box::pin(async {
                siege.connect(1 << 16, 1 << 20).await?;
                // The server closes a connection that resets a thousand before they say what they want.
                for _ in 0..5_000 {
                    let opened = siege.clients[0].connection.open_bi().await;
                    let Ok((mut send, _answer)) = opened else { break };
                    if send.write_all(&request(GET, "/large", &[])).await.is_err() {
                        break;
                    }
                    let _ = send.reset(0x10c);
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
                Ok(())
            })
        },
        check: content,
        // A packet holds a dozen requests, and each is looked up.
        micros: 2_000.0,
        mebibytes: 32,
    },
];
