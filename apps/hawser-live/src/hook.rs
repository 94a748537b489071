//! Web hooks: a server is asked who may publish and play, and told when they are done.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use super::Address;
use super::tls::{Connector, Wire};
use hawser::Trust;
use hawser_command::exit::Failure;
use hawser_command::output::Output;
use hawser_command::report::to_json;

/// How long a hook may take, with its wait for a place. A client waits for ten seconds.
const PATIENCE: Duration = Duration::from_secs(5);
/// Requests at the same time.
const MAX_REQUESTS: usize = 16;
/// Longest first line of an answer.
const MAX_LINE: usize = 1 << 10;
/// How long a player of HLS, which asks for many files, is not asked about again.
const GRANT: Duration = Duration::from_secs(60);
/// Addresses that are remembered for that.
const MAX_GRANTS: usize = 1024;

/// Where a hook is: `http://` or `https://`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HookUrl {
    address: Address,
    path: String,
    has_tls: bool,
}

impl FromStr for HookUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const WANTED: &str = "expected https://HOST[:PORT]/PATH, or http://";
        let (rest, has_tls, port) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
            (Some(rest), _) => (rest, true, 443),
            (None, Some(rest)) => (rest, false, 80),
            (None, None) => return Err(WANTED.to_owned()),
        };
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.contains('@') || !path.bytes().all(|byte| byte.is_ascii_graphic()) || path.contains('#')
        {
            return Err(format!("{WANTED}, without a user, blanks and `#`"));
        }
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(HookUrl { address: Address::parser(port)(authority)?, path, has_tls })
    }
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Event {
    Publish,
    PublishDone,
    Play,
    PlayDone,
}

impl Event {
    fn done(self) -> Self {
        match self {
            Event::Publish | Event::PublishDone => Event::PublishDone,
            Event::Play | Event::PlayDone => Event::PlayDone,
        }
    }
}

/// What a hook is told.
#[derive(Clone, Debug, Serialize)]
struct Said {
    event: Event,
    /// Number of the stream's key, in the order in which they were given: keys are secret.
    stream: usize,
    from: SocketAddr,
    over: &'static str,
}

/// A server that is asked.
pub(super) struct Hook {
    url: HookUrl,
    connector: Option<Connector>,
    places: Semaphore,
    /// Players of HLS that were let in, by address and stream.
    grants: Mutex<HashMap<(IpAddr, usize), Instant>>,
    output: Output,
}

impl Hook {
    pub(super) fn new(url: HookUrl, output: Output) -> Result<Arc<Self>, Failure> {
        let connector = url.has_tls.then(|| Connector::new(&Trust::System)).transpose()?;
        let (places, grants) = (Semaphore::new(MAX_REQUESTS), Mutex::default());
        Ok(Arc::new(Hook { url, connector, places, grants, output }))
    }

    /// Asks. The error says why not; anything but a status of 2xx is a refusal.
    async fn ask(&self, said: &Said) -> Result<(), String> {
        let asking = async {
            let _place = self.places.acquire().await.map_err(|error| error.to_string())?;
            self.post(&to_json(said)).await
        };
        let late = |_| format!("the hook did not answer within {} s", PATIENCE.as_secs());
        match tokio::time::timeout(PATIENCE, asking).await.map_err(late)?? {
            200..300 => Ok(()),
            status => Err(format!("the hook answered {status}")),
        }
    }

    /// Posts JSON and returns the status of the answer.
    async fn post(&self, body: &str) -> Result<u16, String> {
        let HookUrl { address, path, .. } = &self.url;
        let words = |error: std::io::Error| format!("the hook at {address} cannot be reached: {error}");
        let stream = TcpStream::connect((address.host.as_str(), address.port)).await.map_err(words)?;
        let mut stream: Box<dyn Wire> = match &self.connector {
            Some(connector) => connector.connect(&address.host, stream).await?,
            None => Box::new(stream),
        };
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nUser-Agent: hawser/{}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            env!("CARGO_PKG_VERSION"),
            body.len()
        );
        stream.write_all(request.as_bytes()).await.map_err(words)?;
        stream.flush().await.map_err(words)?;
        let (mut line, mut block) = (Vec::new(), [0; MAX_LINE]);
        while !line.contains(&b'\n') && line.len() < MAX_LINE {
            match stream.read(&mut block).await.map_err(words)? {
                0 => break,
                count => line.extend_from_slice(&block[..count]),
            }
        }
        status_of(&line).ok_or_else(|| format!("the hook at {address} does not answer in HTTP/1"))
    }

    /// Tells what needs no answer; if all places are taken, it is left out.
    fn tell(self: &Arc<Self>, said: Said) {
        let (hook, runtime) = (self.clone(), tokio::runtime::Handle::try_current());
        let Ok(runtime) = runtime else { return };
        runtime.spawn(async move {
            let Ok(_place) = hook.places.try_acquire() else {
                return hook.output.remark("hawser: the hook is too slow: an event was left out");
            };
            match tokio::time::timeout(PATIENCE, hook.post(&to_json(&said))).await {
                Ok(Ok(_)) => {}
                Ok(Err(problem)) => hook.output.remark(format_args!("hawser: {problem}")),
                Err(_) => hook.output.remark("hawser: the hook does not answer"),
            }
        });
    }

    /// Whether an address was let in to a stream not long ago.
    fn has_granted(&self, who: (IpAddr, usize), now: Instant) -> bool {
        let grants = self.grants.lock().unwrap_or_else(PoisonError::into_inner);
        grants.get(&who).is_some_and(|at| now.duration_since(*at) < GRANT)
    }

    fn grant(&self, who: (IpAddr, usize), now: Instant) {
        let mut grants = self.grants.lock().unwrap_or_else(PoisonError::into_inner);
        if grants.len() >= MAX_GRANTS {
            grants.retain(|_, at| now.duration_since(*at) < GRANT);
        }
        if grants.len() < MAX_GRANTS {
            grants.insert(who, now);
        }
    }
}

/// The status in the first line of an answer of HTTP/1.
pub(super) fn status_of(answer: &[u8]) -> Option<u16> {
    let line = answer.split(|byte| *byte == b'\n').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    words.next().filter(|version| version.starts_with("HTTP/1."))?;
    words.next()?.parse().ok().filter(|status| (100..1000).contains(status))
}

/// The way to a stream: past the hook, if there is one.
#[derive(Clone)]
pub(super) struct Door {
    hook: Option<Arc<Hook>>,
    /// Number of the stream.
    stream: usize,
}

/// Somebody who was let in. The hook is told when it is dropped.
pub(super) struct Pass {
    hook: Option<Arc<Hook>>,
    said: Said,
}

impl Door {
    pub(super) fn new(hook: Option<Arc<Hook>>, stream: usize) -> Self {
        Door { hook, stream }
    }

    /// Asks whether somebody may publish or play. The error says why not.
    pub(super) async fn admit(
        &self,
        event: Event,
        from: SocketAddr,
        over: &'static str,
    ) -> Result<Pass, String> {
        let said = Said { event, stream: self.stream, from, over };
        if let Some(hook) = &self.hook {
            hook.ask(&said).await?;
        }
        let hook = self.hook.clone();
        Ok(Pass { hook, said: Said { event: event.done(), ..said } })
    }

    /// The same for a player that asks for many files. The error says why not.
    pub(super) async fn admit_again(&self, from: SocketAddr) -> Result<(), String> {
        let Some(hook) = &self.hook else { return Ok(()) };
        let (who, now) = ((from.ip(), self.stream), Instant::now());
        if !hook.has_granted(who, now) {
            hook.ask(&Said { event: Event::Play, stream: self.stream, from, over: "hls" }).await?;
            hook.grant(who, now);
        }
        Ok(())
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if let Some(hook) = &self.hook {
            hook.tell(self.said.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_is_named_by_a_url() {
        let read =
            |text: &str| text.parse::<HookUrl>().map(|url| (url.address.to_string(), url.path, url.has_tls));
        assert_eq!(read("http://h:81/a?b=c"), Ok(("h:81".to_owned(), "/a?b=c".to_owned(), false)));
        assert_eq!(read("https://h"), Ok(("h:443".to_owned(), "/".to_owned(), true)));
        for text in ["h", "ftp://h/", "http://u:p@h/", "http://h/a b", "http://h/#a", "http:///"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn status_is_read_from_the_first_line() {
        assert_eq!(status_of(b"HTTP/1.1 204 No Content\r\n\r\n"), Some(204));
        assert_eq!(status_of(b"HTTP/1.0 403\r\n"), Some(403));
        for text in [&b""[..], b"SSH-2.0-x\r\n", b"HTTP/1.1\r\n", b"HTTP/1.1 x\r\n", b"\xff\xfe 200"] {
            assert_eq!(status_of(text), None);
        }
    }

    /// A hook that answers with this status and hands on what it is told.
    async fn hook(answer: &'static str) -> (Arc<Hook>, tokio::sync::mpsc::Receiver<String>) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/x", listener.local_addr().unwrap()).parse().unwrap();
        let (sender, receiver) = tokio::sync::mpsc::channel(64);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut text = Vec::new();
                let mut block = [0; 512];
                while !text.ends_with(b"}") {
                    let count = stream.read(&mut block).await.unwrap();
                    text.extend_from_slice(&block[..count]);
                }
                stream.write_all(answer.as_bytes()).await.unwrap();
                let text = String::from_utf8(text).unwrap();
                let _ = sender.send(text.rsplit("\r\n").next().unwrap().to_owned()).await;
            }
        });
        (Hook::new(url, Output::default()).unwrap(), receiver)
    }

    const FROM: SocketAddr = SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7)), 5);

    #[tokio::test]
    async fn hook_is_asked_and_told_the_end() {
        let (hook, mut said) = hook("HTTP/1.1 204 No Content\r\n\r\n").await;
        let door = Door::new(Some(hook), 3);
        let pass = door.admit(Event::Publish, FROM, "quic").await.ok().unwrap();
        assert_eq!(
            said.recv().await.unwrap(),
            r#"{"event":"publish","stream":3,"from":"192.0.2.7:5","over":"quic"}"#
        );
        drop(pass);
        assert!(said.recv().await.unwrap().contains("publish_done"));
        // A player of HLS is asked about once.
        door.admit_again(FROM).await.unwrap();
        door.admit_again(FROM).await.unwrap();
        assert!(said.recv().await.unwrap().contains("hls"));
        assert!(said.try_recv().is_err());
    }

    #[tokio::test]
    async fn hook_that_does_not_agree_refuses() {
        for answer in ["HTTP/1.1 403 Forbidden\r\n\r\n", "HTTP/1.1 500 x\r\n\r\n", "nonsense\n"] {
            let (hook, _said) = hook(answer).await;
            assert!(Door::new(Some(hook), 1).admit(Event::Play, FROM, "http").await.is_err(), "{answer}");
        }
        let gone: HookUrl = "http://127.0.0.1:1/".parse().unwrap();
        let door = Door::new(Some(Hook::new(gone, Output::default()).unwrap()), 1);
        assert!(door.admit(Event::Play, FROM, "http").await.is_err());
        assert!(Door::new(None, 1).admit(Event::Play, FROM, "http").await.is_ok());
    }

    #[tokio::test]
    async fn hook_that_is_silent_holds_nobody_for_long() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let door = Door::new(Some(Hook::new(url, Output::default()).unwrap()), 1);
        tokio::time::pause();
        // More than there are places for.
        let waiting = (0..2 * MAX_REQUESTS).map(|_| {
            let door = door.clone();
            tokio::spawn(async move { door.admit(Event::Play, FROM, "http").await.is_err() })
        });
        for waiting in waiting.collect::<Vec<_>>() {
            assert!(waiting.await.unwrap());
        }
    }
}
