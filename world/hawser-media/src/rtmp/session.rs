//! One connection of an encoder.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::RtmpError;
use super::amf::{self, Value};
use super::chunk::{self, ChunkReader, Message, OWN_CHUNK_SIZE};
use crate::flv::{Tag, TagKind};

/// Bytes of C1, C2, S1 and S2 (section 5.2).
const PACKET: usize = 1536;
/// The only version in use.
const VERSION: u8 = 3;
/// After so many bytes we acknowledge, and so many may be in flight as far as we are concerned.
const WINDOW: u32 = 2_500_000;
/// The id of the only stream that a connection gets.
const STREAM: u32 = 1;

const SET_CHUNK_SIZE: u8 = 1;
const ABORT: u8 = 2;
const ACKNOWLEDGEMENT: u8 = 3;
const USER_CONTROL: u8 = 4;
const WINDOW_SIZE: u8 = 5;
const PEER_BANDWIDTH: u8 = 6;
const COMMAND_AMF3: u8 = 17;
const COMMAND: u8 = 20;
const AGGREGATE: u8 = 22;
/// Bytes before, and behind, the body of a message in an aggregate (section 7.1.6), which are those of an FLV tag.
const PART_HEADER: usize = 11;
const PART_TRAILER: usize = 4;

/// What an encoder puts before `onMetaData`: an instruction for the server, which is not stored.
const SET_DATA_FRAME: &[u8] = b"\x02\0\x0d@setDataFrame";

/// What an encoder does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It asks to publish: answer with [`Session::accept`] or [`Session::refuse`] before the next event.
    Publish {
        /// First part of the path of its URL.
        app: String,
        /// The rest of it: the stream key.
        key: String,
    },
    /// The next tag.
    Tag(Tag),
    /// It is done, and says so.
    Unpublish,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    AwaitsHello,
    AwaitsEcho,
    Connected,
    /// It asked; nobody has answered.
    Asked,
    Publishing,
}

/// The server's end of a connection to which an encoder publishes.
#[derive(Debug)]
pub struct Session {
    state: State,
    seed: u64,
    handshake: BytesMut,
    chunks: ChunkReader,
    output: BytesMut,
    app: String,
    received: u32,
    acknowledged: u32,
    aggregate: Aggregate,
}

/// What is left of an aggregate message.
#[derive(Debug, Default)]
struct Aggregate {
    rest: Bytes,
    /// What is added to the times of its parts: only the first one's is that of the message.
    offset: Option<u32>,
    timestamp: u32,
}

impl Aggregate {
    fn new(timestamp: u32, payload: Bytes) -> Self {
        Aggregate { rest: payload, offset: None, timestamp }
    }

    /// The next part, without its framing; `None` at the end, and where it is broken.
    fn next(&mut self) -> Option<(u8, u32, Bytes)> {
        let header = self.rest.first_chunk::<PART_HEADER>()?;
        let kind = header[0];
        let size = u32::from_be_bytes([0, header[1], header[2], header[3]]) as usize;
        let time = u32::from_be_bytes([header[7], header[4], header[5], header[6]]);
        if self.rest.len() < PART_HEADER + size {
            self.rest.clear();
            return None;
        }
        let offset = *self.offset.get_or_insert(self.timestamp.wrapping_sub(time));
        self.rest.advance(PART_HEADER);
        // Copied, so that a small part that is kept does not keep the whole.
        let data = Bytes::copy_from_slice(&self.rest.split_to(size));
        self.rest.advance(PART_TRAILER.min(self.rest.len()));
        Some((kind, time.wrapping_add(offset), data))
    }
}

impl Session {
    /// A connection that was just accepted. `seed` fills the server's part of the handshake.
    pub fn new(seed: u64) -> Self {
        Session {
            state: State::AwaitsHello,
            seed,
            handshake: BytesMut::new(),
            chunks: ChunkReader::new(),
            output: BytesMut::new(),
            app: String::new(),
            received: 0,
            acknowledged: 0,
            aggregate: Aggregate::default(),
        }
    }

    /// Bytes came. Ask for [events](Self::next_event) before more are given: what was not read is kept.
    pub fn push(&mut self, bytes: &[u8]) {
        self.received = self.received.wrapping_add(bytes.len() as u32);
        match self.state {
            State::AwaitsHello | State::AwaitsEcho => self.handshake.extend_from_slice(bytes),
            _ => self.chunks.push(bytes),
        }
        if self.received.wrapping_sub(self.acknowledged) >= WINDOW / 2 {
            self.acknowledged = self.received;
            self.control(ACKNOWLEDGEMENT, &self.received.to_be_bytes());
        }
    }

    /// What is to be sent.
    pub fn take_output(&mut self) -> Bytes {
        self.output.split().freeze()
    }

    /// The next thing that the encoder does; `None` until more bytes come.
    ///
    /// # Errors
    /// [`RtmpError`]: the connection cannot go on.
    pub fn next_event(&mut self) -> Result<Option<Event>, RtmpError> {
        if !self.shake_hands()? {
            return Ok(None);
        }
        loop {
            while let Some((kind, timestamp, data)) = self.aggregate.next() {
                if let Some(tag) = self.tag(kind, timestamp, data) {
                    return Ok(Some(Event::Tag(tag)));
                }
            }
            let Some(message) = self.chunks.next_message()? else { return Ok(None) };
            if let Some(event) = self.handle(message)? {
                return Ok(Some(event));
            }
        }
    }

    /// It may publish.
    pub fn accept(&mut self) {
        self.state = State::Publishing;
        // Stream Begin.
        self.control(USER_CONTROL, &[0, 0, 0, 0, 0, STREAM as u8]);
        self.status("status", "NetStream.Publish.Start", "publishing");
    }

    /// It may not: `why` is for the person at the encoder. Close the connection when the output is sent.
    pub fn refuse(&mut self, why: &str) {
        self.state = State::Connected;
        self.status("error", "NetStream.Publish.BadName", why);
    }

    /// Returns whether it is done.
    fn shake_hands(&mut self) -> Result<bool, RtmpError> {
        if self.state == State::AwaitsHello {
            if let Some(version) = self.handshake.first().copied().filter(|version| *version != VERSION) {
                return Err(RtmpError::Version(version));
            }
            if self.handshake.len() <= PACKET {
                return Ok(false);
            }
            self.handshake.advance(1);
            let hello = self.handshake.split_to(PACKET);
            self.output.put_u8(VERSION);
            // Time and version 0, then bytes that are only to be told from those of others.
            self.output.put_u64(0);
            let mut state = self.seed;
            for _ in 0..(PACKET - 8) / 8 {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                self.output.put_u64(state);
            }
            self.output.put_slice(&hello);
            self.state = State::AwaitsEcho;
        }
        if self.state == State::AwaitsEcho {
            if self.handshake.len() < PACKET {
                return Ok(false);
            }
            self.handshake.advance(PACKET);
            let rest = std::mem::take(&mut self.handshake);
            self.chunks.push(&rest);
            self.state = State::Connected;
        }
        Ok(true)
    }

    fn handle(&mut self, message: Message) -> Result<Option<Event>, RtmpError> {
        let Message { kind, timestamp, payload, .. } = message;
        let number = payload.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
        match kind {
            SET_CHUNK_SIZE => self.chunks.set_chunk_size(number.unwrap_or(0) & 0x7fff_ffff)?,
            ABORT => number.into_iter().for_each(|stream| self.chunks.abort(stream)),
            // A ping request, which is answered with its own time.
            USER_CONTROL if payload.len() == 6 && payload[..2] == [0, 6] => {
                self.control(USER_CONTROL, &[&[0, 7], &payload[2..]].concat());
            }
            COMMAND => return Ok(self.command(&payload)),
            // AMF 3, which begins with a byte that switches to AMF 0.
            COMMAND_AMF3 if payload.first() == Some(&0) => return Ok(self.command(&payload[1..])),
            AGGREGATE => self.aggregate = Aggregate::new(timestamp, payload),
            _ => return Ok(self.tag(kind, timestamp, payload).map(Event::Tag)),
        }
        Ok(None)
    }

    /// A message as a tag, if it is one of what is published.
    fn tag(&self, kind: u8, timestamp: u32, mut payload: Bytes) -> Option<Tag> {
        let is_ours = self.state == State::Publishing;
        let kind = TagKind::from_byte(kind).filter(|_| is_ours)?;
        if kind == TagKind::Script && payload.starts_with(SET_DATA_FRAME) {
            payload.advance(SET_DATA_FRAME.len());
        }
        Some(Tag { kind, timestamp, data: payload })
    }

    /// What a command asks for. One that cannot be read is one that nobody needs: those that are needed are in AMF 0.
    fn command(&mut self, payload: &[u8]) -> Option<Event> {
        let mut values = amf::read(payload).into_iter();
        let name = values.next();
        let name = name.as_ref().and_then(Value::text)?;
        let transaction = values.next().unwrap_or(Value::Number(0.0));
        let mut arguments = values;
        match name {
            "connect" => {
                let object = arguments.next();
                let app = object.as_ref().and_then(|object| object.property("app")).and_then(Value::text);
                self.app = app.unwrap_or_default().trim_end_matches('/').to_owned();
                self.answer_connect(transaction);
            }
            "createStream" => {
                self.reply("_result", [transaction, Value::Null, Value::Number(f64::from(STREAM))], 0)
            }
            "releaseStream" | "FCPublish" => {
                self.reply("_result", [transaction, Value::Null, Value::Other], 0)
            }
            "publish" => {
                let key = arguments.find_map(|argument| argument.text().map(str::to_owned));
                self.state = State::Asked;
                return Some(Event::Publish { app: self.app.clone(), key: key.unwrap_or_default() });
            }
            "play" | "play2" => {
                self.status("error", "NetStream.Play.Failed", "this server takes streams, it plays none");
            }
            "FCUnpublish" | "deleteStream" | "closeStream" if self.state == State::Publishing => {
                self.state = State::Connected;
                return Some(Event::Unpublish);
            }
            // Encoders ask for what they can do without.
            _ => {}
        }
        None
    }

    fn answer_connect(&mut self, transaction: Value) {
        self.control(WINDOW_SIZE, &WINDOW.to_be_bytes());
        // The limit is dynamic (2).
        self.control(PEER_BANDWIDTH, &[&WINDOW.to_be_bytes()[..], &[2]].concat());
        let text = |text: &str| Value::Text(text.to_owned());
        let properties = Value::Object(vec![
            ("fmsVer".to_owned(), text("FMS/3,0,1,123")),
            ("capabilities".to_owned(), Value::Number(31.0)),
        ]);
        let information = Value::Object(vec![
            ("level".to_owned(), text("status")),
            ("code".to_owned(), text("NetConnection.Connect.Success")),
            ("description".to_owned(), text("connected")),
            ("objectEncoding".to_owned(), Value::Number(0.0)),
        ]);
        self.reply("_result", [transaction, properties, information], 0);
    }

    fn status(&mut self, level: &str, code: &str, description: &str) {
        let pair = |name: &str, text: &str| (name.to_owned(), Value::Text(text.to_owned()));
        let information =
            Value::Object(vec![pair("level", level), pair("code", code), pair("description", description)]);
        self.reply("onStatus", [Value::Number(0.0), Value::Null, information], STREAM);
    }

    fn reply(&mut self, name: &str, values: [Value; 3], stream: u32) {
        let mut payload = BytesMut::new();
        amf::write(&mut payload, &Value::Text(name.to_owned()));
        values.iter().for_each(|value| amf::write(&mut payload, value));
        let message = Message { kind: COMMAND, stream, timestamp: 0, payload: payload.freeze() };
        chunk::write(&mut self.output, 3, &message, OWN_CHUNK_SIZE);
    }

    fn control(&mut self, kind: u8, payload: &[u8]) {
        let payload = Bytes::copy_from_slice(payload);
        // Control messages travel on chunk stream 2 and message stream 0 (section 5.4).
        chunk::write(
            &mut self.output,
            2,
            &Message { kind, stream: 0, timestamp: 0, payload },
            OWN_CHUNK_SIZE,
        );
    }
}
