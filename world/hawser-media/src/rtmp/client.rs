//! The end of a connection that publishes to a service.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::RtmpError;
use super::amf::{self, Value};
use super::chunk::{self, ChunkReader, Message, OWN_CHUNK_SIZE};
use crate::flv::{Tag, TagKind};

/// Bytes of C1, C2, S1 and S2.
const PACKET: usize = 1536;
const VERSION: u8 = 3;
/// Bytes of our chunks, from when the service has been told.
const CHUNK_SIZE: usize = 4096;
/// Services want to know how much has come, long before so much has.
const ACKNOWLEDGED_AFTER: u32 = 500_000;
/// Numbers of the commands whose answers are waited for.
const CONNECT: f64 = 1.0;
const CREATE_STREAM: f64 = 4.0;

const SET_CHUNK_SIZE: u8 = 1;
const ACKNOWLEDGEMENT: u8 = 3;
const USER_CONTROL: u8 = 4;
const COMMAND: u8 = 20;
/// Before `onMetaData`: the service is to keep it for those who come.
const SET_DATA_FRAME: &[u8] = b"\x02\0\x0d@setDataFrame";

/// What the service says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublisherEvent {
    /// It takes the stream: tags may be pushed.
    Accepted,
    /// It does not, and why.
    Refused(String),
}

/// Where in its life a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    AwaitsHello,
    Connecting,
    Asked,
    Publishing,
    Over,
}

/// The publishing end of a connection, without I/O.
#[derive(Debug)]
pub struct Publisher {
    state: State,
    app: String,
    key: String,
    url: String,
    handshake: BytesMut,
    chunks: ChunkReader,
    output: BytesMut,
    chunk_size: usize,
    /// The id that the service gave our stream.
    stream: u32,
    received: u32,
    acknowledged: u32,
}

impl Publisher {
    /// One that publishes under this key of an application; `url` is the address without the key, `seed` fills the handshake.
    pub fn new(app: &str, key: &str, url: &str, seed: u64) -> Self {
        let mut output = BytesMut::with_capacity(PACKET + 1);
        output.put_u8(VERSION);
        output.put_u64(0);
        let mut state = seed;
        for _ in 0..(PACKET - 8) / 8 {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            output.put_u64(state);
        }
        Publisher {
            state: State::AwaitsHello,
            app: app.to_owned(),
            key: key.to_owned(),
            url: url.to_owned(),
            handshake: BytesMut::new(),
            chunks: ChunkReader::new(),
            output,
            chunk_size: OWN_CHUNK_SIZE,
            stream: 1,
            received: 0,
            acknowledged: 0,
        }
    }

    /// Bytes came. Ask for [events](Self::next_event) before more are given.
    pub fn push(&mut self, bytes: &[u8]) {
        self.received = self.received.wrapping_add(bytes.len() as u32);
        match self.state {
            State::AwaitsHello => self.handshake.extend_from_slice(bytes),
            _ => self.chunks.push(bytes),
        }
        if self.received.wrapping_sub(self.acknowledged) >= ACKNOWLEDGED_AFTER {
            self.acknowledged = self.received;
            self.control(ACKNOWLEDGEMENT, &self.received.to_be_bytes());
        }
    }

    /// What is to be sent.
    pub fn take_output(&mut self) -> Bytes {
        self.output.split().freeze()
    }

    /// Whether tags may be pushed.
    pub fn is_publishing(&self) -> bool {
        self.state == State::Publishing
    }

    /// What the service says next; `None` until more bytes come.
    ///
    /// # Errors
    /// [`RtmpError`]: the connection cannot go on.
    pub fn next_event(&mut self) -> Result<Option<PublisherEvent>, RtmpError> {
        if self.state == State::AwaitsHello && !self.shake_hands()? {
            return Ok(None);
        }
        while let Some(message) = self.chunks.next_message()? {
            let number = message.payload.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
            match message.kind {
                SET_CHUNK_SIZE => self.chunks.set_chunk_size(number.unwrap_or(0) & 0x7fff_ffff)?,
                // A ping request, which is answered with its own time.
                USER_CONTROL if message.payload.len() == 6 && message.payload[..2] == [0, 6] => {
                    self.control(USER_CONTROL, &[&[0, 7], &message.payload[2..]].concat());
                }
                COMMAND => {
                    if let Some(event) = self.answer(&message.payload) {
                        return Ok(Some(event));
                    }
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// Sends a tag at this time, in milliseconds since the beginning. Nothing before the service takes it.
    pub fn push_tag(&mut self, tag: &Tag, time: u32) {
        if self.state != State::Publishing {
            return;
        }
        let payload = match tag.kind {
            TagKind::Script => Bytes::from([SET_DATA_FRAME, &tag.data[..]].concat()),
            TagKind::Audio | TagKind::Video => tag.data.clone(),
        };
        let message = Message { kind: tag.kind.to_byte(), stream: self.stream, timestamp: time, payload };
        // Each kind has a chunk stream of its own, as encoders do it.
        let chunk_stream = if tag.kind == TagKind::Audio { 4 } else { 6 };
        chunk::write(&mut self.output, chunk_stream, &message, self.chunk_size);
    }

    /// Says that nothing follows.
    pub fn finish(&mut self) {
        if self.state == State::Publishing {
            let key = Value::Text(self.key.clone());
            self.command("FCUnpublish", 6.0, &[Value::Null, key], 0);
            let stream = Value::Number(f64::from(self.stream));
            self.command("deleteStream", 7.0, &[Value::Null, stream], 0);
            self.state = State::Over;
        }
    }

    fn shake_hands(&mut self) -> Result<bool, RtmpError> {
        if let Some(version) = self.handshake.first().copied().filter(|version| *version != VERSION) {
            return Err(RtmpError::Version(version));
        }
        if self.handshake.len() < 1 + 2 * PACKET {
            return Ok(false);
        }
        self.handshake.advance(1);
        let hello = self.handshake.split_to(PACKET);
        self.handshake.advance(PACKET);
        let rest = std::mem::take(&mut self.handshake);
        self.output.put_slice(&hello);
        self.chunks.push(&rest);
        self.state = State::Connecting;
        let text = |text: &str| Value::Text(text.to_owned());
        let object = Value::Object(vec![
            ("app".to_owned(), text(&self.app)),
            ("type".to_owned(), text("nonprivate")),
            ("flashVer".to_owned(), text("FMLE/3.0 (compatible; Hawser)")),
            ("tcUrl".to_owned(), text(&self.url)),
        ]);
        self.command("connect", CONNECT, &[object], 0);
        Ok(true)
    }

    /// Reads an answer, and goes on with the next question.
    fn answer(&mut self, payload: &[u8]) -> Option<PublisherEvent> {
        let values = amf::read(payload);
        let name = values.first().and_then(Value::text)?.to_owned();
        let number = values.get(1).and_then(Value::number);
        let information = values.iter().find(|value| value.property("code").is_some());
        let of = |field: &str| information.and_then(|found| found.property(field)?.text().map(str::to_owned));
        let refused = || {
            let words = of("description").or_else(|| of("code")).unwrap_or_else(|| name.clone());
            PublisherEvent::Refused(words)
        };
        match (self.state, name.as_str()) {
            (State::Connecting, "_result") if number == Some(CONNECT) => {
                self.control(SET_CHUNK_SIZE, &(CHUNK_SIZE as u32).to_be_bytes());
                self.chunk_size = CHUNK_SIZE;
                let key = Value::Text(self.key.clone());
                self.command("releaseStream", 2.0, &[Value::Null, key.clone()], 0);
                self.command("FCPublish", 3.0, &[Value::Null, key], 0);
                self.command("createStream", CREATE_STREAM, &[Value::Null], 0);
                None
            }
            (State::Connecting, "_result") if number == Some(CREATE_STREAM) => {
                let stream = values.get(3).and_then(Value::number).unwrap_or(1.0);
                // An invalid number becomes 0, and the service says what it thinks of that.
                self.stream = stream as u32;
                self.state = State::Asked;
                let key = Value::Text(self.key.clone());
                let live = Value::Text("live".to_owned());
                self.command("publish", 5.0, &[Value::Null, key, live], self.stream);
                None
            }
            // Answers to what was asked out of courtesy have other numbers.
            (State::Connecting, "_error") if matches!(number, Some(CONNECT | CREATE_STREAM)) => {
                Some(refused())
            }
            (State::Asked, "onStatus") if of("code").as_deref() == Some("NetStream.Publish.Start") => {
                self.state = State::Publishing;
                Some(PublisherEvent::Accepted)
            }
            (_, "onStatus") if of("level").as_deref() == Some("error") => {
                self.state = State::Over;
                Some(refused())
            }
            _ => None,
        }
    }

    fn command(&mut self, name: &str, number: f64, values: &[Value], stream: u32) {
        let mut payload = BytesMut::new();
        amf::write(&mut payload, &Value::Text(name.to_owned()));
        amf::write(&mut payload, &Value::Number(number));
        values.iter().for_each(|value| amf::write(&mut payload, value));
        let message = Message { kind: COMMAND, stream, timestamp: 0, payload: payload.freeze() };
        chunk::write(&mut self.output, 3, &message, self.chunk_size);
    }

    fn control(&mut self, kind: u8, payload: &[u8]) {
        let payload = Bytes::copy_from_slice(payload);
        chunk::write(
            &mut self.output,
            2,
            &Message { kind, stream: 0, timestamp: 0, payload },
            self.chunk_size,
        );
    }
}
