//! Encoders: over RTMP, or FLV or a transport stream from a file or a pipe.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hawser_media::flv::{FlvError, FlvReader, Tag, TagKind};
use hawser_media::rtmp::{Event, Session};
use hawser_media::ts::{SYNC, TsReader};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

use super::hub::Hub;
use super::key_digest;
use super::tls::{self, Wire};
use hawser::{LoggedAddress, Printable};
use hawser_command::exit::Failure;
use hawser_command::output::Output;
use hawser_command::sources::Pool;

/// How long an encoder may take from connecting to publishing.
const SET_UP: Duration = Duration::from_secs(10);
/// How long an encoder may be silent: one that hangs must not keep its place indefinitely.
const SILENCE: Duration = Duration::from_secs(30);
/// How long one that is done may take to close its connection.
const FAREWELL: Duration = Duration::from_secs(1);
/// Connections at the same time, most of them of programs that are no encoders. A source has four of them, programs of this
/// machine have as many of their own.
const MAX_CONNECTIONS: usize = 16;
/// Bytes read at a time.
const BLOCK: usize = 64 << 10;

/// Where encoders publish.
pub(super) struct Encoders {
    pub(super) hub: Arc<Hub>,
    pub(super) key: String,
    pub(super) output: Output,
    /// Told when an encoder is done (true), or has gone without a word.
    pub(super) done: mpsc::Sender<bool>,
    /// With what TLS is accepted; `None`: encoders speak plain RTMP.
    pub(super) tls: Option<TlsAcceptor>,
    /// The task of the one that publishes.
    current: Mutex<Option<AbortHandle>>,
}

impl Encoders {
    pub(super) fn new(hub: Arc<Hub>, key: String, output: Output, done: mpsc::Sender<bool>) -> Self {
        Encoders { hub, key, output, done, tls: None, current: Mutex::new(None) }
    }

    /// The same for encoders that speak RTMP over TLS.
    pub(super) fn with_tls(self, acceptor: TlsAcceptor) -> Self {
        Encoders { tls: Some(acceptor), ..self }
    }

    /// Takes encoders, the newest in place of the one before.
    pub(super) async fn listen(self: Arc<Self>, listener: TcpListener) {
        let (near, far) =
            (Pool::with_share(MAX_CONNECTIONS, MAX_CONNECTIONS), Pool::with_share(MAX_CONNECTIONS, 4));
        loop {
            let (stream, remote) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of descriptors, perhaps: that passes.
                    tracing::warn!(%error, "cannot accept an encoder");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let places = if remote.ip().to_canonical().is_loopback() { &near } else { &far };
            let Some(place) = places.try_take(remote.ip(), 1) else { continue };
            let encoders = self.clone();
            let (hand_over, handle) = tokio::sync::oneshot::channel::<AbortHandle>();
            let task = tokio::spawn(async move {
                let _place = place;
                let Ok(own) = handle.await else { return };
                let accepting = tls::accept(encoders.tls.as_ref(), stream);
                let late = |_| format!("it did not begin TLS within {} s", SET_UP.as_secs());
                let accepted = tokio::time::timeout(SET_UP, accepting).await.map_err(late);
                let ended = match accepted.and_then(|accepted| accepted) {
                    Ok(stream) => {
                        let session = Session::new(rand::random());
                        Encoder { encoders: &encoders, session, stream, block: vec![0; BLOCK] }.run(own).await
                    }
                    Err(problem) => Err(problem),
                };
                if let Err(problem) = &ended {
                    encoders.output.remark(format_args!(
                        "hawser: encoder at {remote}: {problem}",
                        remote = LoggedAddress(remote)
                    ));
                }
            });
            let _ = hand_over.send(task.abort_handle());
        }
    }

    /// Puts an encoder in the place of the one before.
    fn take_over(&self, own: AbortHandle) {
        let before = self.current.lock().unwrap_or_else(PoisonError::into_inner).replace(own);
        if let Some(before) = before.filter(|before| !before.is_finished()) {
            self.output.remark("hawser: another encoder takes over");
            before.abort();
        }
        self.hub.begin_encoder();
    }
}

/// One connection of an encoder.
struct Encoder<'a> {
    encoders: &'a Encoders,
    session: Session,
    stream: Box<dyn Wire>,
    block: Vec<u8>,
}

impl Encoder<'_> {
    /// Until it is done. The error is what to tell.
    async fn run(&mut self, own: AbortHandle) -> Result<(), String> {
        let (app, key) = match tokio::time::timeout(SET_UP, self.set_up()).await {
            Ok(Ok(Some(asked))) => asked,
            // It looked whether somebody listens.
            Ok(Ok(None)) => return Ok(()),
            Ok(Err(problem)) => return Err(problem),
            Err(_) => return Err(format!("it did not publish within {} s", SET_UP.as_secs())),
        };
        // Encoders may put parameters behind the key.
        let named = key.split('?').next().unwrap_or_default();
        if key_digest(named) != key_digest(&self.encoders.key) {
            self.session.refuse("wrong stream key");
            self.flush().await?;
            let _ = self.stream.shutdown().await;
            // The key may be that of another stream: it belongs on no screen.
            return Err("refused: its stream key is not the one of --key".to_owned());
        }
        self.session.accept();
        self.flush().await?;
        self.encoders.take_over(own);
        let app = Printable::new(&app).to_string();
        self.encoders.output.remark(format_args!("hawser: an encoder publishes to /{app}"));
        let ended = self.publish().await;
        if ended == Ok(true) {
            // It closes the connection itself; one that is closed first complains.
            let closing = async { while self.read().await == Ok(true) {} };
            let _ = tokio::time::timeout(FAREWELL, closing).await;
        }
        let _ = self.encoders.done.try_send(ended == Ok(true));
        self.encoders.output.remark(match ended? {
            true => "hawser: the encoder is done",
            false => "hawser: the encoder has gone without a word; another may follow",
        });
        Ok(())
    }

    /// Until it asks to publish; `None` if it goes before.
    async fn set_up(&mut self) -> Result<Option<(String, String)>, String> {
        loop {
            let event = self.session.next_event().map_err(|error| error.to_string())?;
            if let Some(Event::Publish { app, key }) = event {
                return Ok(Some((app, key)));
            }
            self.flush().await?;
            if !self.read().await? {
                return Ok(None);
            }
        }
    }

    /// Returns whether it said that it is done.
    async fn publish(&mut self) -> Result<bool, String> {
        loop {
            while let Some(event) = self.session.next_event().map_err(|error| error.to_string())? {
                match event {
                    Event::Tag(tag) => self.encoders.hub.push_tag(tag),
                    Event::Unpublish => return Ok(true),
                    Event::Publish { .. } => self.session.refuse("one stream per connection"),
                }
            }
            self.flush().await?;
            let silent = || format!("silent for {} s", SILENCE.as_secs());
            if !tokio::time::timeout(SILENCE, self.read()).await.map_err(|_| silent())?? {
                return Ok(false);
            }
        }
    }

    /// Returns whether there was something.
    async fn read(&mut self) -> Result<bool, String> {
        match self.stream.read(&mut self.block).await {
            Ok(0) => Ok(false),
            Ok(count) => {
                self.session.push(&self.block[..count]);
                Ok(true)
            }
            // With TLS, an end without a word is one in the middle of the stream.
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof) => {
                Ok(false)
            }
            Err(error) => Err(error.to_string()),
        }
    }

    async fn flush(&mut self) -> Result<(), String> {
        let output = self.session.take_output();
        let written = async {
            self.stream.write_all(&output).await?;
            self.stream.flush().await
        };
        written.await.map_err(|error| error.to_string())
    }
}

/// What is in a file, told by its first byte.
enum FileReader {
    /// Nothing has been read.
    Unknown,
    Flv(FlvReader),
    Ts(TsReader),
}

impl FileReader {
    fn push(&mut self, bytes: &[u8]) {
        if let (FileReader::Unknown, Some(first)) = (&self, bytes.first()) {
            *self = if *first == SYNC {
                FileReader::Ts(TsReader::default())
            } else {
                FileReader::Flv(FlvReader::default())
            };
        }
        match self {
            FileReader::Unknown => {}
            FileReader::Flv(reader) => reader.push(bytes),
            FileReader::Ts(reader) => reader.push(bytes),
        }
    }

    fn next_tag(&mut self) -> Result<Option<Tag>, FlvError> {
        match self {
            FileReader::Unknown => Ok(None),
            FileReader::Flv(reader) => reader.next_tag(),
            FileReader::Ts(reader) => Ok(reader.next_tag()),
        }
    }

    fn end(&mut self) -> Result<(), FlvError> {
        match self {
            // A file without a byte is no FLV.
            FileReader::Unknown => FlvReader::default().end(),
            FileReader::Flv(reader) => reader.end(),
            FileReader::Ts(reader) => {
                reader.end();
                Ok(())
            }
        }
    }
}

/// Reads FLV or a transport stream at the pace of its timestamps. Ends with the input.
pub(super) async fn read_file(path: &Path, hub: &Hub) -> Result<(), Failure> {
    let mut input: Box<dyn AsyncRead + Send + Unpin> = if path.as_os_str() == "-" {
        Box::new(tokio::io::stdin())
    } else {
        Box::new(tokio::fs::File::open(path).await.map_err(|error| Failure::read(path, &error))?)
    };
    let wrong =
        |error: FlvError| Failure::read(path, &std::io::Error::new(std::io::ErrorKind::InvalidData, error));
    hub.begin_encoder();
    let (mut reader, mut pace) = (FileReader::Unknown, Pace::default());
    let mut block = vec![0; BLOCK];
    loop {
        let count = match input.read(&mut block).await {
            Ok(count) => count,
            Err(error) => return Err(Failure::read(path, &error)),
        };
        let ended = if count == 0 { reader.end() } else { Ok(()) };
        reader.push(&block[..count]);
        while let Some(tag) = reader.next_tag().map_err(wrong)? {
            pace.wait(&tag).await;
            hub.push_tag(tag);
        }
        if count == 0 {
            return ended.map_err(wrong);
        }
    }
}

/// Lets tags through no earlier than their time, counted from the first one.
#[derive(Debug, Default)]
struct Pace {
    began: Option<(Instant, u32)>,
    /// The last timestamps of video and audio: each is a line of its own, one of which may lie behind the other.
    last: [Option<u32>; 2],
}

/// A tag that lies further before the last one of its kind than this, in milliseconds, has another origin,
const DISORDER: i32 = 1_000;
/// and so has one that lies further ahead.
const JUMP: i32 = 10_000;

impl Pace {
    async fn wait(&mut self, tag: &Tag) {
        if tag.role().is_header() {
            return;
        }
        let now = Instant::now();
        let kind = usize::from(tag.kind == TagKind::Audio);
        let step = self.last[kind].map_or(0, |last| tag.timestamp.wrapping_sub(last).cast_signed());
        if !(-DISORDER..=JUMP).contains(&step) {
            self.began = None;
        }
        self.last[kind] = Some(tag.timestamp);
        let (began, origin) = *self.began.get_or_insert((now, tag.timestamp));
        // One before the first, or of a clock that has not jumped yet, waits for nothing.
        let since = tag.timestamp.wrapping_sub(origin).cast_signed();
        let due = began + Duration::from_millis(u64::try_from(since).unwrap_or(0));
        tokio::time::sleep_until(due).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits for tags of these kinds and times; how long all of that took, in milliseconds.
    async fn paced(tags: &[(TagKind, u32)]) -> u64 {
        let mut pace = Pace::default();
        let began = tokio::time::Instant::now();
        for (kind, timestamp) in tags {
            let data = bytes::Bytes::from_static(&[0xaf, 1]);
            pace.wait(&Tag { kind: *kind, timestamp: *timestamp, data }).await;
        }
        u64::try_from(began.elapsed().as_millis()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn sound_that_begins_before_the_picture_does_not_change_the_pace() {
        let tags: Vec<_> = (0..50)
            .flat_map(|at| [(TagKind::Video, 5_000 + 40 * at), (TagKind::Audio, 3_000 + 40 * at)])
            .collect();
        assert!((1_950..=2_010).contains(&paced(&tags).await));
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_jumps_back_is_paced_from_there() {
        let second = |from: u32| (0..25).map(move |at| (TagKind::Video, from + 40 * at));
        let tags: Vec<_> = second(50_000).chain(second(0)).chain(second(90_000)).collect();
        assert!((2_870..=2_900).contains(&paced(&tags).await));
    }
}
