//! A form of attack, and the server under it with what the attackers keep open.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;
use std::{fs, io};

use hawser::{Endpoint, Links, RecvStream, SendStream};

use super::Error;
use super::client::{Client, address, config, windows};
use super::flood::{Flood, Sources, initials, send_from};
use super::program::Program;
use super::server::Server;

pub(crate) type Running<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + 'a>>;

/// A form of attack, and what it may cost.
pub(crate) struct Form {
    pub(crate) name: &'static str,
    /// The attacks that it carries out, by their numbers in `list::ATTACKS`.
    pub(crate) attacks: &'static [u8],
    /// Of the command.
    pub(crate) arguments: &'static [&'static str],
    /// File descriptors that the server may have, if fewer than usual.
    pub(crate) descriptors: Option<u32>,
    pub(crate) alpn: &'static [u8],
    pub(crate) prepare: fn(&mut Siege<'_>) -> Result<(), Error>,
    pub(crate) attack: for<'a> fn(&'a mut Siege<'_>) -> Running<'a>,
    /// What is wrong afterwards, besides figures and what the attack itself has found.
    pub(crate) check: fn(&Siege<'_>) -> Option<String>,
    /// CPU for each packet, in microseconds.
    pub(crate) micros: f64,
    /// What may be held, in MiB, where it is more than 100 bytes for each byte.
    pub(crate) mebibytes: u64,
}

pub(crate) const H3: &[u8] = hawser_h3::ALPN;
pub(crate) const SERVE: &[&str] = &["serve", "FOLDER"];

/// A handshake costs about a millisecond of CPU and takes a client some ten packets.
pub(crate) const HANDSHAKES: f64 = 600.0;
/// The server's flight is signed, for a packet of the client.
pub(crate) const SIGNATURES: f64 = 1_500.0;

/// A form that does nothing to `hawser serve`. Others say what they have instead.
pub(crate) const FORM: Form = Form {
    name: "nothing",
    attacks: &[],
    arguments: SERVE,
    descriptors: None,
    alpn: H3,
    prepare: |_| Ok(()),
    attack: |_| Box::pin(async { Ok(()) }),
    check: |_| None,
    micros: 100.0,
    mebibytes: 32,
};

/// A server under attack, and what the attackers keep open.
pub(crate) struct Siege<'a> {
    pub(crate) server: &'a Server,
    pub(crate) clients: Vec<Client>,
    pub(crate) streams: Vec<SendStream>,
    pub(crate) answers: Vec<RecvStream>,
    /// What goes on while victims ask.
    pub(crate) floods: Vec<Flood>,
    /// Processes besides the server.
    pub(crate) programs: Vec<Program>,
    /// Packets and bytes that no connection counts.
    pub(crate) raw: (u64, u64),
    /// Of a user of the gateway, where the form has one.
    pub(crate) key: String,
    /// What the attack has found wrong, besides figures.
    pub(crate) wrong: Option<String>,
    /// What the attack has found otherwise.
    pub(crate) found: Option<String>,
}

impl<'a> Siege<'a> {
    pub(crate) fn new(server: &'a Server) -> io::Result<Self> {
        fs::write(server.folder().join("small"), b"content")?;
        Ok(Siege {
            server,
            clients: Vec::new(),
            streams: Vec::new(),
            answers: Vec::new(),
            floods: Vec::new(),
            programs: Vec::new(),
            raw: (0, 0),
            key: String::new(),
            wrong: None,
            found: None,
        })
    }

    /// Packets and bytes of all attackers.
    pub(crate) fn sent(&self) -> (u64, u64) {
        let clients = self.clients.iter().map(|client| {
            let stats = client.connection.stats();
            (stats.datagrams_sent, stats.bytes_sent)
        });
        let floods = self.floods.iter().map(Flood::sent);
        clients.chain(floods).fold(self.raw, |sum, sent| (sum.0 + sent.0, sum.1 + sent.1))
    }

    /// Counts a packet that no connection counts.
    pub(crate) fn count(&mut self, bytes: usize) {
        self.raw = (self.raw.0 + 1, self.raw.1 + bytes as u64);
    }

    /// Unless this holds, the form has found something wrong.
    pub(crate) fn expect(&mut self, holds: bool, problem: impl FnOnce() -> String) {
        if !holds {
            self.wrong.get_or_insert_with(problem);
        }
    }

    pub(crate) async fn connect(&mut self, stream: u64, connection: u64) -> Result<&Client, Error> {
        let client = Client::with(self.server, H3, windows(stream, connection)).await?;
        self.clients.push(client);
        Ok(self.clients.last().expect("it was pushed just now"))
    }

    /// So many connections of one endpoint, with windows of so many bytes.
    pub(crate) async fn crowd(&mut self, count: usize, stream: u64, connection: u64) -> Result<(), Error> {
        let transport = windows(stream, connection);
        let endpoint = Endpoint::client(config(self.server, H3, transport)?, Links::All)?;
        for _ in 0..count {
            self.clients.push(Client::of(&endpoint, address(self.server), H3).await?);
        }
        Ok(())
    }

    /// Asks for something on each of so many streams of so many connections, and reads no answer.
    pub(crate) async fn ask_unread(
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

    /// First packets of so many clients that hear no answer.
    pub(crate) fn half_open(
        &mut self,
        alpn: &'static [u8],
        count: usize,
        sources: Sources,
    ) -> Result<(), Error> {
        let made = initials(self.server, alpn, count)?;
        send_from(sources, &made, address(self.server))?;
        made.iter().for_each(|datagram| self.count(datagram.len()));
        Ok(())
    }
}
