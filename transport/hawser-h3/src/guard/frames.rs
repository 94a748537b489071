use bytes::{Buf, Bytes, BytesMut};
use h3::error::Code;

use super::fields::{self, Problem, Says, Section};
use super::{MAX_FIELD_SECTION_SIZE, MAX_SETTINGS_LENGTH, Violation};

/// RFC 9114 section 7.2.
const DATA: u64 = 0x0;
const HEADERS: u64 = 0x1;
const CANCEL_PUSH: u64 = 0x3;
const SETTINGS: u64 = 0x4;
const PUSH_PROMISE: u64 = 0x5;
const GOAWAY: u64 = 0x7;
const MAX_PUSH_ID: u64 = 0xd;
/// RFC 9114 section 7.2.8: types that HTTP/2 has and HTTP/3 has not.
//= rfc9114-7.2.8-2: frames of HTTP/2: H3_FRAME_UNEXPECTED
const RESERVED: [u64; 4] = [0x2, 0x6, 0x8, 0x9];

/// Most bytes of an identifier, the only content of some frames.
const MAX_ID_LENGTH: u64 = 8;

/// What a HEADERS frame becomes that makes its message malformed: one that `h3` refuses, too, for a field name that is
/// just a colon. It then resets the stream with H3_MESSAGE_ERROR (RFC 9114 section 4.1.2).
//= rfc9114-4.1.2-2: a malformed message: H3_MESSAGE_ERROR
const MALFORMED_HEADERS: &[u8] = b"\x01\x05\x00\x00\x21:\x00";

/// Which frames may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rules {
    /// Those of a request, which we receive as a server.
    Request,
    /// Those of a response, which we receive as a client.
    Response,
    /// Those of the control stream.
    Control,
}

/// One stream's bytes, cut into frames.
#[derive(Debug)]
pub(crate) struct Frames {
    rules: Rules,
    state: State,
    /// What came and was not looked at yet.
    input: Bytes,
    message: Message,
    /// Whether this is a control stream before its first frame.
    awaits_settings: bool,
    /// Of the last MAX_PUSH_ID frame.
    max_push_id: u64,
    /// The content of a SETTINGS frame that was passed on just now.
    settings: Option<Bytes>,
}

#[derive(Debug)]
enum State {
    /// Within type and length.
    Header(Header),
    /// Within a DATA frame.
    Data { left: u64 },
    /// Within a frame that is passed on whole; `frame` begins with its header.
    Gather { kind: u64, header: usize, left: usize, frame: BytesMut },
    /// Within a frame that means nothing to us.
    Skip { left: u64 },
}

/// How far the message of a request stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Message {
    /// Before the header; also after informational responses.
    Start,
    /// After the header.
    Headers,
    Body,
    Trailers,
}

/// Type and length of a frame, as far as they have come: two variable-length integers.
#[derive(Debug, Default)]
struct Header {
    bytes: [u8; 16],
    length: usize,
}

impl Header {
    /// Adds a byte. `Some(type, length)` when it was the last one.
    fn push(&mut self, byte: u8) -> Option<(u64, u64)> {
        *self.bytes.get_mut(self.length)? = byte;
        self.length += 1;
        let bytes = self.bytes.get(..self.length)?;
        let (kind, rest) = varint(bytes)?;
        let (length, _) = varint(rest)?;
        Some((kind, length))
    }

    fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// RFC 9000 section 16; `None` when more bytes belong to it.
pub(crate) fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (first, _) = bytes.split_first()?;
    let length = 1 << (first >> 6);
    let (integer, rest) = bytes.split_at_checked(length)?;
    let mut value = u64::from(first & 0x3f);
    for byte in integer.iter().skip(1) {
        value = value << 8 | u64::from(*byte);
    }
    Some((value, rest))
}

impl Frames {
    pub(crate) fn new(rules: Rules) -> Self {
        Frames {
            rules,
            state: State::Header(Header::default()),
            input: Bytes::new(),
            message: Message::Start,
            awaits_settings: rules == Rules::Control,
            max_push_id: 0,
            settings: None,
        }
    }

    /// Whether this is a request whose header has not come.
    pub(crate) fn is_before_request(&self) -> bool {
        self.rules == Rules::Request && self.message == Message::Start
    }

    /// The content of the SETTINGS frame, once, when it was passed on.
    pub(crate) fn take_settings(&mut self) -> Option<Bytes> {
        self.settings.take()
    }

    /// Takes what came, when [`next`](Self::next) has nothing left.
    pub(crate) fn push(&mut self, input: Bytes) {
        debug_assert!(self.input.is_empty(), "read before all was looked at");
        self.input = input;
    }

    /// The next bytes for `h3`; `None` when more must come first.
    ///
    /// # Errors
    /// When the peer broke a rule that costs the connection.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, Violation> {
        while !self.input.is_empty() {
            let piece = match &mut self.state {
                State::Header(header) => {
                    let Some((kind, length)) = header.push(self.input.get_u8()) else { continue };
                    let header = std::mem::take(header);
                    self.begin(kind, length, &header)?
                }
                State::Data { left } => {
                    let piece = take(&mut self.input, left);
                    if *left == 0 {
                        self.state = State::Header(Header::default());
                    }
                    Some(piece)
                }
                State::Gather { left, frame, .. } => {
                    let count = self.input.len().min(*left);
                    frame.extend_from_slice(&self.input[..count]);
                    self.input.advance(count);
                    *left -= count;
                    if *left == 0 { Some(self.gathered()?) } else { None }
                }
                State::Skip { left } => {
                    take(&mut self.input, left);
                    if *left == 0 {
                        self.state = State::Header(Header::default());
                    }
                    None
                }
            };
            if piece.is_some() {
                return Ok(piece);
            }
        }
        Ok(None)
    }

    /// The stream has ended.
    ///
    /// # Errors
    /// When it ended within a frame (RFC 9114 section 7.1).
    //= rfc9114-7.1-2: frames with more or less than their fields: H3_FRAME_ERROR
    //= rfc9114-7.1-4: a stream that ends within a frame: H3_FRAME_ERROR
    pub(crate) fn end(&self) -> Result<(), Violation> {
        match &self.state {
            State::Header(Header { length: 0, .. }) => Ok(()),
            _ => Err(Violation::new(Code::H3_FRAME_ERROR, "a stream ended within a frame")),
        }
    }

    /// A frame begins. DATA goes on at once, its header first; what is gathered goes on when it is whole.
    //= rfc9114-4.1-3: frames out of order: H3_FRAME_UNEXPECTED
    //= rfc9114-7.1-1: frames hold what they should
    //= rfc9114-7.1-3: lengths within a frame agree with its length
    //= rfc9114-10.8-1: lengths match contents
    fn begin(&mut self, kind: u64, length: u64, header: &Header) -> Result<Option<Bytes>, Violation> {
        // RFC 9114 sections 6.2.1 and 9: a frame of unknown type does not stand for it either, and `h3` never sees those.
        //= rfc9114-6.2.1-2: another first frame than SETTINGS: H3_MISSING_SETTINGS
        //= rfc9114-9-3: an unknown frame does not take the place of SETTINGS
        if std::mem::take(&mut self.awaits_settings) && kind != SETTINGS {
            let reason = "a control stream that does not begin with SETTINGS";
            return Err(Violation::new(Code::H3_MISSING_SETTINGS, reason));
        }
        let most = match (self.rules, kind) {
            (Rules::Request | Rules::Response, DATA) => return self.begin_data(length, header).map(Some),
            (Rules::Request | Rules::Response, HEADERS) => MAX_FIELD_SECTION_SIZE,
            // Nobody allowed the server to push (RFC 9114 section 7.2.5).
            //= rfc9114-4.6-2: a push that was not allowed: H3_ID_ERROR
            //= rfc9114-7.2.5-2: PUSH_PROMISE above the push ids allowed: H3_ID_ERROR
            (Rules::Response, PUSH_PROMISE) => {
                return Err(Violation::new(Code::H3_ID_ERROR, "a push that was not allowed"));
            }
            // Neither did we, nor did we promise any (RFC 9114 section 7.2.3).
            //= rfc9114-7.2.3-7: CANCEL_PUSH above the push ids allowed: H3_ID_ERROR
            //= rfc9114-7.2.3-8: CANCEL_PUSH of a push that was never promised: H3_ID_ERROR
            (Rules::Control, CANCEL_PUSH) => {
                return Err(Violation::new(Code::H3_ID_ERROR, "a push cancelled that was never promised"));
            }
            //= rfc9114-7.2.4-2: a second SETTINGS: H3_FRAME_UNEXPECTED
            (Rules::Control, SETTINGS) => MAX_SETTINGS_LENGTH,
            (Rules::Control, GOAWAY | MAX_PUSH_ID) if length > MAX_ID_LENGTH => {
                return Err(Violation::new(Code::H3_FRAME_ERROR, "an identifier of more than eight bytes"));
            }
            (Rules::Control, GOAWAY | MAX_PUSH_ID) => MAX_ID_LENGTH,
            //= rfc9114-7.2.1-2: DATA on the control stream: H3_FRAME_UNEXPECTED
            //= rfc9114-7.2.2-1: HEADERS on the control stream: H3_FRAME_UNEXPECTED
            //= rfc9114-7.2.3-6: CANCEL_PUSH elsewhere than on the control stream: H3_FRAME_UNEXPECTED
            //= rfc9114-7.2.4-4: SETTINGS on another stream: H3_FRAME_UNEXPECTED
            //= rfc9114-7.2.5-8: PUSH_PROMISE on the control stream: H3_FRAME_UNEXPECTED
            //= rfc9114-7.2.5-10: PUSH_PROMISE from a client: H3_FRAME_UNEXPECTED
            //= rfc9114-7.2.6-2: GOAWAY on another stream than the control stream: H3_FRAME_UNEXPECTED
            //= rfc9114-7.2.7-1: MAX_PUSH_ID elsewhere than on the control stream: H3_FRAME_UNEXPECTED
            //= rfc9114-7.2.7-3: MAX_PUSH_ID to a client: H3_FRAME_UNEXPECTED
            (_, DATA | HEADERS | CANCEL_PUSH | SETTINGS | PUSH_PROMISE | GOAWAY | MAX_PUSH_ID) => {
                return Err(Violation::new(
                    Code::H3_FRAME_UNEXPECTED,
                    "a frame that this stream can not carry",
                ));
            }
            (_, reserved) if RESERVED.contains(&reserved) => {
                return Err(Violation::new(Code::H3_FRAME_UNEXPECTED, "a frame of HTTP/2"));
            }
            //= rfc9114-7.2.8-1: reserved frames mean nothing
            //= rfc9114-9-1: unknown values are ignored
            _ => {
                self.state =
                    if length == 0 { State::Header(Header::default()) } else { State::Skip { left: length } };
                return Ok(None);
            }
        };
        if length > most {
            return Err(Violation::new(Code::H3_EXCESSIVE_LOAD, "a frame that is too long"));
        }
        // Bounded by the constants above.
        let left = usize::try_from(length).unwrap_or(usize::MAX);
        let frame = BytesMut::from(header.as_slice());
        self.state = State::Gather { kind, header: header.length, left, frame };
        if left == 0 { self.gathered().map(Some) } else { Ok(None) }
    }

    //= rfc9114-4.1-9: messages are processed as they come
    //= rfc9114-7.2.1-1: DATA belongs to a message
    fn begin_data(&mut self, length: u64, header: &Header) -> Result<Bytes, Violation> {
        if matches!(self.message, Message::Start | Message::Trailers) {
            return Err(Violation::new(
                Code::H3_FRAME_UNEXPECTED,
                "DATA before the header or after the trailers",
            ));
        }
        self.message = Message::Body;
        self.state =
            if length == 0 { State::Header(Header::default()) } else { State::Data { left: length } };
        Ok(Bytes::copy_from_slice(header.as_slice()))
    }

    /// The frame that is complete now.
    //= rfc9114-5.2-6: a GOAWAY whose id rises: H3_ID_ERROR
    //= rfc9114-7.2.4-5: each setting once
    //= rfc9114-7.2.4-6: unknown settings are ignored
    //= rfc9114-7.2.4.1-2: reserved settings mean nothing
    //= rfc9114-7.2.4.1-3: settings of HTTP/2: H3_SETTINGS_ERROR
    //= rfc9114-7.2.6-1: GOAWAY of a server names a request stream, else H3_ID_ERROR
    fn gathered(&mut self) -> Result<Bytes, Violation> {
        let state = std::mem::replace(&mut self.state, State::Header(Header::default()));
        let State::Gather { kind, header, frame, .. } = state else { return Ok(Bytes::new()) };
        if kind == MAX_PUSH_ID {
            self.raise_max_push_id(frame.get(header..).unwrap_or_default())?;
        }
        if kind != HEADERS {
            let frame = frame.freeze();
            self.settings = (kind == SETTINGS).then(|| frame.slice(header..));
            return Ok(frame);
        }
        let section = self.next_section()?;
        match fields::check(frame.get(header..).unwrap_or_default(), section) {
            Ok(Says::Informational) if section == Section::Response => {
                self.message = Message::Start;
                Ok(frame.freeze())
            }
            Ok(_) => Ok(frame.freeze()),
            Err(Problem::Malformed) => Ok(Bytes::from_static(MALFORMED_HEADERS)),
            Err(Problem::Fatal(violation)) => Err(violation),
        }
    }

    /// RFC 9114 section 7.2.7: the maximum never falls. `h3` does not remember it.
    //= rfc9114-7.2.7-4: MAX_PUSH_ID does not sink: H3_ID_ERROR
    fn raise_max_push_id(&mut self, payload: &[u8]) -> Result<(), Violation> {
        let Some((id, _)) = varint(payload) else { return Ok(()) };
        if id < self.max_push_id {
            return Err(Violation::new(Code::H3_ID_ERROR, "a MAX_PUSH_ID below the one before"));
        }
        self.max_push_id = id;
        Ok(())
    }

    /// What the field section is that has come (RFC 9114 section 4.1).
    //= rfc9114-4.1-2: a second request or final response on a stream is malformed
    fn next_section(&mut self) -> Result<Section, Violation> {
        let (section, after) = match (self.message, self.rules) {
            (Message::Start, Rules::Request) => (Section::Request, Message::Headers),
            (Message::Start, _) => (Section::Response, Message::Headers),
            (Message::Headers | Message::Body, _) => (Section::Trailers, Message::Trailers),
            (Message::Trailers, _) => {
                return Err(Violation::new(Code::H3_FRAME_UNEXPECTED, "a field section after the trailers"));
            }
        };
        self.message = after;
        Ok(section)
    }
}

/// The first bytes of `input`, `left` of them at most.
fn take(input: &mut Bytes, left: &mut u64) -> Bytes {
    let count = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
    *left -= count as u64;
    input.split_to(count)
}
