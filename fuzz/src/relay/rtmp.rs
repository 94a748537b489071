//! RTMP: an encoder that may say anything, a service that may, and an encoder and a server that are honest.
//!
//! Of the first two an input is a byte that says whether both have shaken hands and agreed already, and what comes then.

use hawser_media::flv::{Tag, TagKind};
use hawser_media::rtmp::{Event, Publisher, PublisherEvent, RtmpError, Session};
use hawser_wire::Reader;

use super::{BOUNDS, CUTS, piece};
use crate::memory::Meter;

/// Bytes that a peer may have us send, besides those for each byte of its own: our part of the handshake, and answers.
const MOST_SENT: usize = 4_096;
/// Answers to the shortest commands are some 25 times as long as these.
const SENT_PER_BYTE: usize = 32;

/// What comes of a stream.
#[derive(Debug, PartialEq)]
struct Heard<E> {
    events: Vec<E>,
    sent: Vec<u8>,
    error: Option<RtmpError>,
}

/// One end of a connection.
trait End {
    type Event;
    fn push(&mut self, bytes: &[u8]);
    /// The next event, answered.
    fn next(&mut self) -> Result<Option<Self::Event>, RtmpError>;
    fn sent(&mut self) -> Vec<u8>;
}

struct Server {
    session: Session,
    is_taken: bool,
}

impl End for Server {
    type Event = Event;

    fn push(&mut self, bytes: &[u8]) {
        self.session.push(bytes);
    }

    fn next(&mut self) -> Result<Option<Event>, RtmpError> {
        let event = self.session.next_event()?;
        // As the relay does: one stream for each connection.
        match &event {
            Some(Event::Publish { .. }) if self.is_taken => self.session.refuse("one stream per connection"),
            Some(Event::Publish { .. }) => {
                self.session.accept();
                self.is_taken = true;
            }
            _ => {}
        }
        Ok(event)
    }

    fn sent(&mut self) -> Vec<u8> {
        self.session.take_output().to_vec()
    }
}

impl End for Publisher {
    type Event = PublisherEvent;

    fn push(&mut self, bytes: &[u8]) {
        Publisher::push(self, bytes);
    }

    fn next(&mut self) -> Result<Option<PublisherEvent>, RtmpError> {
        let event = self.next_event()?;
        if event == Some(PublisherEvent::Accepted) {
            self.push_tag(&tag(TagKind::Audio, 7, &[0xaf, 1, 2]), 7);
        }
        Ok(event)
    }

    fn sent(&mut self) -> Vec<u8> {
        self.take_output().to_vec()
    }
}

fn tag(kind: TagKind, timestamp: u32, data: &[u8]) -> Tag {
    Tag { kind, timestamp, data: bytes::Bytes::copy_from_slice(data) }
}

fn publisher() -> Publisher {
    Publisher::new("live", "key", "rtmp://service/live", 7)
}

fn server() -> Server {
    Server { session: Session::new(5), is_taken: false }
}

/// Both ends, which have agreed that one publishes to the other.
fn agreed() -> (Publisher, Server) {
    let (mut publisher, mut server) = (publisher(), server());
    while !publisher.is_publishing() {
        let (sent, answered) = (End::sent(&mut publisher), server.sent());
        assert!(!sent.is_empty() || !answered.is_empty(), "honest ends agree");
        server.push(&sent);
        while server.next().expect("an honest publisher").is_some() {}
        publisher.push(&answered);
        while publisher.next_event().expect("an honest server").is_some() {}
    }
    drop((End::sent(&mut publisher), server.sent()));
    (publisher, server)
}

/// Hears a stream in pieces, and gives away what came of it.
fn hear<T: End>(
    end: &mut T,
    bytes: &[u8],
    cut: usize,
    mut event: impl FnMut(T::Event),
    mut sent: impl FnMut(Vec<u8>),
) -> Option<RtmpError> {
    for piece in bytes.chunks(cut) {
        end.push(piece);
        loop {
            match end.next() {
                Ok(Some(next)) => event(next),
                Ok(None) => break,
                Err(error) => {
                    sent(end.sent());
                    return Some(error);
                }
            }
        }
        sent(end.sent());
    }
    None
}

fn check<T: End<Event: std::fmt::Debug + PartialEq>>(make: impl Fn() -> T, bytes: &[u8]) {
    let heard = |cut: usize| {
        let (mut events, mut sent) = (Vec::new(), Vec::new());
        let mut end = make();
        let error = hear(&mut end, bytes, cut, |event| events.push(event), |bytes| sent.extend(bytes));
        Heard { events, sent, error }
    };
    let whole = heard(usize::MAX);
    for cut in CUTS {
        assert_eq!(heard(cut), whole, "cut into pieces of {cut}");
    }
    assert!(whole.events.len() <= bytes.len(), "a byte is one event at most");
    let most = MOST_SENT + SENT_PER_BYTE * bytes.len();
    assert!(whole.sent.len() <= most, "{} bytes sent for {}", whole.sent.len(), bytes.len());
    assert!(whole.error.is_none_or(|error| !error.to_string().is_empty()));
    let mut end = make();
    let meter = Meter::start();
    let mut came = 0;
    for piece in bytes.chunks(64) {
        came += piece.len();
        let error = hear(&mut end, piece, piece.len(), drop, drop);
        meter.check(&BOUNDS, came);
        if error.is_some() {
            break;
        }
    }
}

/// An encoder that may say anything.
pub(super) fn encoder(data: &[u8]) {
    let Some((&how, bytes)) = data.split_first() else { return };
    if how & 1 == 0 {
        check(server, bytes);
    } else {
        check(|| agreed().1, bytes);
    }
}

/// A service to which we publish, and that may say anything.
pub(super) fn service(data: &[u8]) {
    let Some((&how, bytes)) = data.split_first() else { return };
    match how % 3 {
        0 => check(publisher, bytes),
        1 => check(|| agreed().0, bytes),
        // Behind the handshake.
        _ => check(
            || {
                let mut publisher = publisher();
                publisher.push(&[&[3][..], &[0; 2 * 1_536]].concat());
                assert_eq!(publisher.next_event(), Ok(None));
                publisher
            },
            bytes,
        ),
    }
}

/// Tags from one end to the other: each a kind, a time and its bytes behind their length. They arrive as they are, however the
/// stream is cut, and so does the end.
pub(super) fn honest(data: &[u8]) {
    let mut script = Reader::new(data);
    let Ok(cut) = script.read_u8() else { return };
    let (mut publisher, mut server) = agreed();
    let mut tags = Vec::new();
    while let (Ok(kind), Ok(time)) = (script.read_u8(), script.read_u32()) {
        let Some(bytes) = piece(&mut script) else { break };
        let kind = [TagKind::Audio, TagKind::Video, TagKind::Script][usize::from(kind % 3)];
        tags.push(tag(kind, time, bytes));
        publisher.push_tag(tags.last().expect("just pushed"), time);
    }
    publisher.finish();
    let bytes = End::sent(&mut publisher);
    let mut events = Vec::new();
    let error = hear(&mut server, &bytes, usize::from(cut) + 1, |event| events.push(event), drop);
    let expected: Vec<Event> = tags.into_iter().map(Event::Tag).chain([Event::Unpublish]).collect();
    assert_eq!((events, error), (expected, None));
}
