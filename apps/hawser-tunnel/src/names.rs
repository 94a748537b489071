//! Look-ups of names, some of which choose the tunnel: this process is the machine's resolver, asks others, and has what chosen names stand
//! for led through the tunnel before the program that asked hears of it.
//!
//! Answers are handed on as they came. Chosen names are asked for through the tunnel where it has resolvers of its own; all others
//! where the machine asked before.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use simple_dns::Packet;
use simple_dns::rdata::RData;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::Semaphore;

use crate::links::Host;

/// Where this machine's programs ask; of its loopback, so that nobody else can.
pub(crate) const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 18, 45, 53));
const PORT: u16 = 53;
/// Questions at the same time; further ones are not heard, as at any busy resolver.
const MAX_QUESTIONS: usize = 256;
/// How long a resolver may take before the next one is asked.
const PATIENCE: Duration = Duration::from_secs(2);
/// Resolvers that are asked, one after the other.
const MAX_RESOLVERS: usize = 3;
/// Addresses that are led through the tunnel for their names; beyond them the oldest go their own way again.
const MAX_ADDRESSES: usize = 4_096;
/// Most bytes of a message over UDP.
const MAX_DATAGRAM: usize = 4_096;
/// How long to wait when there is no descriptor left, or a socket reports what became of an answer.
const PAUSE: Duration = Duration::from_millis(20);

/// Where questions wait until there is a resolver for them.
pub(crate) struct Listener {
    udp: Arc<UdpSocket>,
    tcp: TcpListener,
}

impl Listener {
    /// At [`ADDRESS`].
    ///
    /// # Errors
    /// When another program listens there.
    pub(crate) async fn bind() -> io::Result<Self> {
        let udp = Arc::new(UdpSocket::bind((ADDRESS, PORT)).await?);
        Ok(Listener { udp, tcp: TcpListener::bind((ADDRESS, PORT)).await? })
    }
}

/// A resolver for this machine.
pub(crate) struct Names {
    listener: Listener,
    inner: Arc<Inner>,
}

struct Inner {
    domains: Vec<String>,
    /// Who is asked for chosen names, and for others.
    chosen: Vec<IpAddr>,
    others: Vec<IpAddr>,
    host: Host,
    /// What is led through the tunnel, the oldest first.
    led: Mutex<VecDeque<IpAddr>>,
    turns: Arc<Semaphore>,
}

impl Names {
    /// For these domains, with resolvers that are asked through the tunnel, and those of the machine.
    ///
    /// # Errors
    /// When there is nobody to ask.
    pub(crate) async fn start(
        listener: Listener,
        domains: Vec<String>,
        inside: Vec<IpAddr>,
        outside: Vec<IpAddr>,
        host: Host,
    ) -> io::Result<Self> {
        let or = |first: &[IpAddr], second: &[IpAddr]| {
            let some = if first.is_empty() { second } else { first };
            some.iter().copied().take(MAX_RESOLVERS).collect::<Vec<IpAddr>>()
        };
        let (chosen, others) = (or(&inside, &outside), or(&outside, &inside));
        if chosen.is_empty() {
            return Err(io::Error::other("this machine has no resolver: name one with --dns"));
        }
        for resolver in inside {
            host.lead_to(resolver).await.map_err(io::Error::other)?;
        }
        let turns = Arc::new(Semaphore::new(MAX_QUESTIONS));
        let inner = Inner { domains, chosen, others, host, led: Mutex::default(), turns };
        Ok(Names { listener, inner: Arc::new(inner) })
    }

    /// Answers until it is dropped.
    pub(crate) async fn run(self) {
        let Names { listener: Listener { udp, tcp }, inner } = self;
        let mut buffer = vec![0; MAX_DATAGRAM];
        loop {
            tokio::select! {
                received = udp.recv_from(&mut buffer) => match received {
                    Ok((length, peer)) => inner.asked_by_udp(&udp, buffer.get(..length).unwrap_or_default(), peer),
                    Err(_) => tokio::time::sleep(PAUSE).await,
                },
                accepted = tcp.accept() => match accepted {
                    Ok((stream, _)) => inner.asked_by_tcp(stream),
                    Err(_) => tokio::time::sleep(PAUSE).await,
                },
            }
        }
    }
}

impl Inner {
    fn asked_by_udp(self: &Arc<Self>, socket: &Arc<UdpSocket>, question: &[u8], peer: SocketAddr) {
        let Ok(turn) = self.turns.clone().try_acquire_owned() else { return };
        let (inner, socket, question) = (self.clone(), socket.clone(), question.to_vec());
        tokio::spawn(async move {
            if let Some(answer) = inner.answer(&question, false).await {
                let _ = socket.send_to(&answer, peer).await;
            }
            drop(turn);
        });
    }

    /// One question; who has more connects again.
    fn asked_by_tcp(self: &Arc<Self>, mut stream: TcpStream) {
        let Ok(turn) = self.turns.clone().try_acquire_owned() else { return };
        let inner = self.clone();
        tokio::spawn(async move {
            let asked = tokio::time::timeout(PATIENCE, read(&mut stream)).await;
            if let Ok(Ok(question)) = asked
                && let Some(answer) = inner.answer(&question, true).await
            {
                let _ = tokio::time::timeout(PATIENCE, write(&mut stream, &answer)).await;
            }
            drop(turn);
        });
    }

    /// What a resolver says; `None` if none says anything.
    async fn answer(&self, question: &[u8], over_tcp: bool) -> Option<Vec<u8>> {
        let (id, is_chosen) = understand(question, &self.domains)?;
        for resolver in if is_chosen { &self.chosen } else { &self.others } {
            let to = SocketAddr::new(*resolver, PORT);
            let asked = async {
                if over_tcp { ask_tcp(to, question).await } else { ask_udp(to, question, id).await }
            };
            match tokio::time::timeout(PATIENCE, asked).await {
                Ok(Ok(answer)) => {
                    if is_chosen {
                        self.lead(&answer).await;
                    }
                    return Some(answer);
                }
                Ok(Err(error)) => tracing::debug!(%resolver, %error, "a resolver cannot be asked"),
                Err(_) => tracing::debug!(%resolver, "a resolver does not answer"),
            }
        }
        None
    }

    /// Has what an answer names led through the tunnel.
    async fn lead(&self, answer: &[u8]) {
        for address in addresses(answer) {
            let (is_new, oldest) = {
                let mut led = self.led.lock().unwrap_or_else(PoisonError::into_inner);
                let is_new = !led.contains(&address);
                if is_new {
                    led.push_back(address);
                }
                (is_new, if led.len() > MAX_ADDRESSES { led.pop_front() } else { None })
            };
            if is_new && let Err(error) = self.host.lead_to(address).await {
                tracing::warn!(%address, %error, "an address of a chosen name is not led through the tunnel");
            }
            if let Some(oldest) = oldest {
                let _ = self.host.lead_no_more_to(oldest).await;
            }
        }
    }
}

/// The number of a question, and whether it is for a name of these domains.
pub(crate) fn understand(question: &[u8], domains: &[String]) -> Option<(u16, bool)> {
    let packet = Packet::parse(question).ok()?;
    let is_chosen = |name: String| domains.iter().any(|domain| is_below(&name.to_ascii_lowercase(), domain));
    Some((packet.id(), packet.questions.iter().any(|question| is_chosen(question.qname.to_string()))))
}

/// Whether a name is this domain, or below it.
fn is_below(name: &str, domain: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// The addresses of hosts elsewhere in an answer.
pub(crate) fn addresses(answer: &[u8]) -> Vec<IpAddr> {
    let Ok(packet) = Packet::parse(answer) else { return Vec::new() };
    let found = packet.answers.iter().filter_map(|record| match &record.rdata {
        RData::A(a) => Some(IpAddr::from(Ipv4Addr::from(a.address))),
        RData::AAAA(aaaa) => Some(IpAddr::from(Ipv6Addr::from(aaaa.address))),
        _ => None,
    });
    found
        .filter(|address| !address.is_loopback() && !address.is_unspecified() && !address.is_multicast())
        .collect()
}

async fn ask_udp(resolver: SocketAddr, question: &[u8], id: u16) -> io::Result<Vec<u8>> {
    let any: IpAddr =
        if resolver.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    // One for each question: its port is as hard to guess as the number.
    let socket = UdpSocket::bind((any, 0)).await?;
    socket.connect(resolver).await?;
    socket.send(question).await?;
    let mut buffer = vec![0; MAX_DATAGRAM];
    loop {
        let length = socket.recv(&mut buffer).await?;
        let answer = buffer.get(..length).unwrap_or_default();
        if answer.first_chunk::<2>().is_some_and(|own| u16::from_be_bytes(*own) == id) {
            return Ok(answer.to_vec());
        }
    }
}

async fn ask_tcp(resolver: SocketAddr, question: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(resolver).await?;
    write(&mut stream, question).await?;
    read(&mut stream).await
}

/// A message behind its length (RFC 1035 section 4.2.2).
async fn read(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut message = vec![0; stream.read_u16().await?.into()];
    stream.read_exact(&mut message).await?;
    Ok(message)
}

async fn write(stream: &mut TcpStream, message: &[u8]) -> io::Result<()> {
    let length = u16::try_from(message.len()).map_err(io::Error::other)?;
    stream.write_all(&[&length.to_be_bytes(), message].concat()).await
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_domain_is_itself_and_what_is_below_it() {
        for (name, expected) in [
            ("example.org", true),
            ("www.example.org.", true),
            ("a.b.example.org", true),
            ("notexample.org", false),
            ("example.org.evil.test", false),
            ("org", false),
            ("", false),
        ] {
            assert_eq!(is_below(name, "example.org"), expected, "{name}");
        }
    }

    #[test]
    fn addresses_of_an_answer_are_those_of_hosts_elsewhere() {
        use simple_dns::rdata::A;
        use simple_dns::{CLASS, Name, ResourceRecord};
        let mut packet = Packet::new_reply(7);
        for address in [[198, 51, 100, 2], [127, 0, 0, 1], [224, 0, 0, 1], [0, 0, 0, 0]] {
            let data = RData::A(A { address: u32::from_be_bytes(address) });
            packet.answers.push(ResourceRecord::new(Name::new("a.test").unwrap(), CLASS::IN, 60, data));
        }
        let answer = packet.build_bytes_vec().unwrap();
        assert_eq!(addresses(&answer), [IpAddr::from([198, 51, 100, 2])]);
        for cut in 0..answer.len() {
            let _ = addresses(&answer[..cut]);
        }
    }

    proptest! {
        #[test]
        fn any_answer_can_be_read(bytes: Vec<u8>) {
            let _ = addresses(&bytes);
        }
    }
}
