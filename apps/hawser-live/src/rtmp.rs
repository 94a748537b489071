//! RTMP to a service: Twitch, YouTube, another relay.

use std::io::ErrorKind;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use hawser_media::flv::PlayerTimes;
use hawser_media::rtmp::{Publisher, PublisherEvent};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Address;
use super::hub::{Hub, Next, Subscription};
use super::sink::STALL;
use super::status::Status;
use super::tls::{Connector, Wire};
use hawser::Printable;
use hawser_command::output::Output;

/// The variable that may hold the address, key and all.
pub(super) const URL: &str = "HAWSER_RTMP_URL";
/// Port of RTMP where none is named.
const DEFAULT_PORT: u16 = 1935;
/// That of RTMP over TLS.
const DEFAULT_TLS_PORT: u16 = 443;
/// How long a service may take to accept the stream.
const SET_UP: Duration = Duration::from_secs(10);
/// Pauses between attempts: services take a second connection with a key for a mistake as long as they have the first.
const PAUSE: Duration = Duration::from_secs(3);
/// Headers that wait for what follows them.
const MAX_HELD: usize = 64;
/// Bytes read at a time.
const BLOCK: usize = 4096;

/// A service: `rtmp://HOST[:PORT]/APP/KEY`, or `rtmps://` for TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Service {
    address: Address,
    app: String,
    key: String,
    has_tls: bool,
}

impl Service {
    /// Whether it is reached over TLS.
    pub(super) fn has_tls(&self) -> bool {
        self.has_tls
    }
}

impl FromStr for Service {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const WANTED: &str = "expected rtmps://HOST/APP/KEY, or rtmp://HOST/APP/KEY without TLS";
        let (rest, has_tls, port) = match (text.strip_prefix("rtmps://"), text.strip_prefix("rtmp://")) {
            (Some(rest), _) => (rest, true, DEFAULT_TLS_PORT),
            (None, Some(rest)) => (rest, false, DEFAULT_PORT),
            (None, None) => return Err(WANTED.to_owned()),
        };
        let (address, path) = rest.split_once('/').ok_or(WANTED)?;
        // What stands behind a `?` may have slashes, and belongs to the key.
        let end = path.find('?').unwrap_or(path.len());
        let slash = path[..end].rfind('/').ok_or(WANTED)?;
        let (app, key) = (&path[..slash], &path[slash + 1..]);
        if app.is_empty() || key.is_empty() {
            return Err(WANTED.to_owned());
        }
        let address = Address::parser(port)(address)?;
        Ok(Service { address, app: app.to_owned(), key: key.to_owned(), has_tls })
    }
}

/// A stream to a service, over one connection after the other.
pub(super) struct Push {
    pub(super) service: Service,
    /// How a service with TLS is known; `None` of one without.
    pub(super) connector: Option<Connector>,
    pub(super) output: Output,
}

impl Push {
    /// Until it is dropped.
    pub(super) async fn run(self, hub: Arc<Hub>, status: Arc<Status>) {
        let mut said = None;
        loop {
            let problem = match self.publish(&hub, &status).await {
                Ok(()) => "it closed the connection".to_owned(),
                Err(problem) => problem,
            };
            if said.as_ref() != Some(&problem) {
                let (service, problem) = (&self.service.address, Printable::new(&problem));
                self.output.remark(format_args!("hawser: RTMP to {service}: {problem}; trying again"));
            }
            said = Some(problem);
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// One connection, until it ends.
    pub(super) async fn publish(&self, hub: &Arc<Hub>, status: &Status) -> Result<(), String> {
        let Service { address, app, key, .. } = &self.service;
        let words = |error: std::io::Error| error.to_string();
        let late = |_| format!("it did not take the stream within {} s", SET_UP.as_secs());
        let connecting = TcpStream::connect((address.host.as_str(), address.port));
        let stream = tokio::time::timeout(SET_UP, connecting).await.map_err(late)?.map_err(words)?;
        stream.set_nodelay(true).map_err(words)?;
        let (stream, scheme) = match &self.connector {
            Some(connector) => {
                let connecting = connector.connect(&address.host, stream);
                (tokio::time::timeout(SET_UP, connecting).await.map_err(late)??, "rtmps")
            }
            None => (Box::new(stream) as Box<dyn Wire>, "rtmp"),
        };
        let publisher = Publisher::new(app, key, &format!("{scheme}://{address}/{app}"), rand::random());
        let mut connection = Connection { stream, publisher };
        tokio::time::timeout(SET_UP, connection.set_up()).await.map_err(late)??;
        self.output.remark(format_args!("hawser: {address} takes the stream over RTMP"));
        let who = format!("the service at {address}");
        connection.send(hub.subscribe(), (status, &who)).await
    }
}

/// Bytes that came; none when the service has closed, be it without the farewell of TLS.
async fn read(stream: &mut Box<dyn Wire>, block: &mut [u8]) -> Result<usize, String> {
    match stream.read(block).await {
        Ok(count) => Ok(count),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(0),
        Err(error) => Err(error.to_string()),
    }
}

struct Connection {
    stream: Box<dyn Wire>,
    publisher: Publisher,
}

impl Connection {
    async fn set_up(&mut self) -> Result<(), String> {
        let mut block = [0; BLOCK];
        loop {
            self.flush().await?;
            let count = read(&mut self.stream, &mut block).await?;
            if count == 0 {
                return Err("it closed the connection before it took the stream".to_owned());
            }
            self.publisher.push(&block[..count]);
            match self.publisher.next_event().map_err(|error| error.to_string())? {
                Some(PublisherEvent::Accepted) => return Ok(()),
                Some(PublisherEvent::Refused(why)) => return Err(format!("refused: {why}")),
                None => {}
            }
        }
    }

    /// Sends units until the service closes.
    async fn send(
        &mut self,
        mut subscription: Subscription,
        (status, who): (&Status, &str),
    ) -> Result<(), String> {
        let (mut times, mut block) = (PlayerTimes::default(), [0; BLOCK]);
        // Headers may be as old as the source: those before the first picture get the time of that.
        let (mut held, mut has_begun) = (Vec::new(), false);
        loop {
            self.flush().await?;
            tokio::select! {
                next = subscription.next() => if let Next::Unit(unit) = next {
                    if let Some(skipped) = subscription.newly_skipped() {
                        status.note_skipped(who, skipped);
                    }
                    if !has_begun && unit.role.is_header() {
                        if held.len() < MAX_HELD {
                            held.push(unit.tag);
                        }
                        continue;
                    }
                    has_begun = true;
                    // Times wrap after 49 days, as those of RTMP do.
                    if let Some(time) = times.next(&unit.tag) {
                        held.drain(..).for_each(|header| self.publisher.push_tag(&header, time as u32));
                        self.publisher.push_tag(&unit.tag, time as u32);
                    }
                },
                count = read(&mut self.stream, &mut block) => match count? {
                    0 => return Ok(()),
                    count => {
                        self.publisher.push(&block[..count]);
                        while let Some(event) = self.publisher.next_event().map_err(|error| error.to_string())? {
                            if let PublisherEvent::Refused(why) = event {
                                return Err(format!("it takes the stream no longer: {why}"));
                            }
                        }
                    }
                },
            }
        }
    }

    async fn flush(&mut self) -> Result<(), String> {
        let output = self.publisher.take_output();
        let writing = async {
            self.stream.write_all(&output).await?;
            self.stream.flush().await
        };
        let written = tokio::time::timeout(STALL, writing).await;
        written
            .map_err(|_| format!("it took nothing for {} s", STALL.as_secs()))?
            .map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_named_by_a_url() {
        let read = |text: &str| {
            text.parse::<Service>().map(|service| (service.address.to_string(), service.app, service.key))
        };
        let found =
            |address: &str, app: &str, key: &str| Ok((address.to_owned(), app.to_owned(), key.to_owned()));
        assert_eq!(read("rtmp://live.example/app/key"), found("live.example:1935", "app", "key"));
        assert_eq!(
            read("rtmp://live.example:1936/a/b/key?x=/y"),
            found("live.example:1936", "a/b", "key?x=/y")
        );
        assert_eq!(read("rtmps://live.example/app/key"), found("live.example:443", "app", "key"));
        let has_tls = |text: &str| text.parse::<Service>().is_ok_and(|service| service.has_tls());
        assert!(has_tls("rtmps://h/a/k") && !has_tls("rtmp://h/a/k"));
        for text in [
            "http://host/a/b",
            "rtmps://host/a",
            "rtmp://host",
            "rtmp://host/app",
            "rtmp://host/app/",
            "rtmp:///a/b",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
