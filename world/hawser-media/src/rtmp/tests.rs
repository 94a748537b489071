use bytes::{BufMut, Bytes, BytesMut};
use proptest::prelude::*;

use super::amf::{self, Value};
use super::chunk::{self, ChunkReader, Message};
use super::*;
use crate::flv::{MAX_TAG, Tag, TagKind};

pub(super) fn message(kind: u8, timestamp: u32, payload: &[u8]) -> Message {
    Message { kind, stream: 1, timestamp, payload: Bytes::copy_from_slice(payload) }
}

pub(super) fn command(name: &str, transaction: f64, values: &[Value]) -> Message {
    let mut payload = BytesMut::new();
    amf::write(&mut payload, &Value::Text(name.to_owned()));
    amf::write(&mut payload, &Value::Number(transaction));
    values.iter().for_each(|value| amf::write(&mut payload, value));
    Message { kind: 20, stream: 0, timestamp: 0, payload: payload.freeze() }
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// All that an encoder sends until it publishes with this key.
fn hello(key: &str) -> Vec<u8> {
    let mut bytes = BytesMut::new();
    bytes.put_u8(3);
    bytes.put_bytes(7, 2 * 1536);
    let app = Value::Object(vec![("app".to_owned(), text("live"))]);
    for message in [
        command("connect", 1.0, &[app]),
        command("releaseStream", 2.0, &[Value::Null, text(key)]),
        command("createStream", 4.0, &[Value::Null]),
        command("publish", 5.0, &[Value::Null, text(key), text("live")]),
    ] {
        chunk::write(&mut bytes, 3, &message, 128);
    }
    bytes.to_vec()
}

/// What the server says in its commands: level or name, and code.
fn answers(mut output: &[u8]) -> Vec<String> {
    let mut reader = ChunkReader::new();
    output = &output[1 + 2 * 1536..];
    reader.push(output);
    let mut said = Vec::new();
    while let Some(message) = reader.next_message().unwrap() {
        if message.kind == 20 {
            let values = amf::read(&message.payload);
            let name = values[0].text().unwrap().to_owned();
            let code = values.iter().find_map(|value| value.property("code")?.text().map(str::to_owned));
            said.push(code.unwrap_or(name));
        }
    }
    said
}

#[test]
fn an_encoder_publishes_and_leaves() {
    let mut session = Session::new(5);
    session.push(&hello("secret"));
    let asked = Event::Publish { app: "live".to_owned(), key: "secret".to_owned() };
    assert_eq!(session.next_event(), Ok(Some(asked)));
    session.accept();
    let output = session.take_output();
    let said = answers(&output);
    assert_eq!(said, ["NetConnection.Connect.Success", "_result", "_result", "NetStream.Publish.Start"]);
    // S2 is C1.
    assert_eq!(output[1 + 1536..1 + 2 * 1536], [7; 1536]);
    let mut bytes = BytesMut::new();
    let metadata = [&b"\x02\0\x0d@setDataFrame"[..], b"\x02\0\x0aonMetaData"].concat();
    chunk::write(&mut bytes, 4, &message(18, 0, &metadata), 128);
    chunk::write(&mut bytes, 6, &message(9, 40, &[0x17; 500]), 128);
    chunk::write(&mut bytes, 3, &command("deleteStream", 6.0, &[Value::Null, Value::Number(1.0)]), 128);
    session.push(&bytes);
    let Ok(Some(Event::Tag(tag))) = session.next_event() else { panic!("no tag") };
    assert_eq!((tag.kind, &tag.data[..]), (TagKind::Script, &b"\x02\0\x0aonMetaData"[..]));
    let Ok(Some(Event::Tag(tag))) = session.next_event() else { panic!("no tag") };
    assert_eq!((tag.kind, tag.timestamp, tag.data.len()), (TagKind::Video, 40, 500));
    assert_eq!(session.next_event(), Ok(Some(Event::Unpublish)));
    assert_eq!(session.next_event(), Ok(None));
}

#[test]
fn one_that_is_refused_is_told_why_and_its_data_is_not_taken() {
    let mut session = Session::new(5);
    session.push(&hello("wrong"));
    assert!(matches!(session.next_event(), Ok(Some(Event::Publish { .. }))));
    session.refuse("no such key");
    assert_eq!(answers(&session.take_output()).last().unwrap(), "NetStream.Publish.BadName");
    let mut bytes = BytesMut::new();
    chunk::write(&mut bytes, 6, &message(9, 40, &[0x17; 500]), 128);
    session.push(&bytes);
    assert_eq!(session.next_event(), Ok(None));
    assert_eq!(Session::new(1).next_event(), Ok(None));
    let mut http = Session::new(1);
    http.push(b"GET / HTTP/1.1\r\n");
    assert_eq!(http.next_event(), Err(RtmpError::Version(b'G')));
}

/// A session in which an encoder publishes.
pub(super) fn publishing() -> Session {
    let mut session = Session::new(5);
    session.push(&hello("key"));
    assert!(matches!(session.next_event(), Ok(Some(Event::Publish { .. }))));
    session.accept();
    session.take_output();
    session
}

/// What comes of a message.
fn events(session: &mut Session, message: &Message) -> Vec<Event> {
    let mut bytes = BytesMut::new();
    chunk::write(&mut bytes, 6, message, 128);
    session.push(&bytes);
    std::iter::from_fn(|| session.next_event().unwrap()).collect()
}

#[test]
fn aggregates_are_taken_apart() {
    let mut session = publishing();
    let mut payload = Vec::new();
    // Their times have another origin than that of the message (section 7.1.6); something unknown lies between them.
    for (kind, at, data) in [(9, 1_000u32, &[0x17, 1, 5][..]), (15, 1_010, &[1]), (8, 1_020, &[0xaf, 1])] {
        payload.push(kind);
        payload.extend_from_slice(&(data.len() as u32).to_be_bytes()[1..]);
        payload.extend_from_slice(&at.to_be_bytes()[1..]);
        payload.extend_from_slice(&[0; 4]);
        payload.extend_from_slice(data);
        payload.extend_from_slice(&(11 + data.len() as u32).to_be_bytes());
    }
    let found = events(&mut session, &message(22, 40_000, &payload));
    let tag = |kind, timestamp, data: &'static [u8]| {
        Event::Tag(crate::flv::Tag { kind, timestamp, data: Bytes::from_static(data) })
    };
    let expected = [tag(TagKind::Video, 40_000, &[0x17, 1, 5]), tag(TagKind::Audio, 40_020, &[0xaf, 1])];
    assert_eq!(found, expected);
    // One that is cut short gives what is whole, and the session goes on.
    assert_eq!(events(&mut session, &message(22, 0, &payload[..13])).len(), 0);
    assert_eq!(events(&mut session, &message(9, 50_000, &[0x17, 1])).len(), 1);
}

#[test]
fn commands_that_nobody_needs_are_passed_over() {
    let mut session = publishing();
    let odd = |tail: &[u8]| {
        let mut payload = BytesMut::new();
        amf::write(&mut payload, &text("FCSubscribe"));
        amf::write(&mut payload, &Value::Number(4.0));
        payload.extend_from_slice(tail);
        message(20, 0, &payload)
    };
    // A typed object, one in AMF 3, a value of no type at all, and none.
    for tail in [&b"\x10\0\x03abc\0\0\x09"[..], &b"\x11\x0a\x0b\x01\x01"[..], &b"\x77"[..], &b""[..]] {
        assert_eq!(events(&mut session, &odd(tail)), []);
    }
    assert_eq!(events(&mut session, &message(20, 0, b"\x77")), [], "not even a name");
    // An object of a class is an object.
    assert_eq!(
        amf::read(b"\x10\0\x03abc\0\x01x\x05\0\0\x09"),
        [Value::Object(vec![("x".to_owned(), Value::Null)])]
    );
}

/// A chunk with this format and header fields.
fn raw(format: u8, stream: u8, fields: &[u8], payload: &[u8]) -> Vec<u8> {
    [&[format << 6 | stream], fields, payload].concat()
}

#[test]
fn chunks_of_two_streams_alternate_and_headers_leave_out_what_is_known() {
    let mut reader = ChunkReader::new();
    let video = [0, 0, 100, 0, 0, 200, 9, 1, 0, 0, 0];
    let audio = [0, 0, 90, 0, 0, 4, 8, 1, 0, 0, 0];
    reader.push(&raw(0, 6, &video, &[1; 128]));
    reader.push(&raw(0, 4, &audio, &[2; 4]));
    reader.push(&raw(3, 6, &[], &[3; 72]));
    // Type 2: only the step. Type 3: another message with the same step. Type 1: another length.
    reader.push(&raw(2, 4, &[0, 0, 23], &[4; 4]));
    reader.push(&raw(3, 4, &[], &[5; 4]));
    reader.push(&raw(1, 6, &[0, 0, 40, 0, 0, 2, 9], &[6; 2]));
    let mut seen = Vec::new();
    while let Some(message) = reader.next_message().unwrap() {
        seen.push((message.kind, message.timestamp, message.payload.len(), message.payload[0]));
    }
    assert_eq!(seen, [(8, 90, 4, 2), (9, 100, 200, 1), (8, 113, 4, 4), (8, 136, 4, 5), (9, 140, 2, 6)]);
}

#[test]
fn times_above_four_hours_and_a_half_are_extended_in_every_chunk() {
    let mut bytes = BytesMut::new();
    let sent = message(9, 0x0100_0005, &[9; 300]);
    chunk::write(&mut bytes, 6, &sent, 128);
    let mut reader = ChunkReader::new();
    reader.push(&bytes);
    assert_eq!(reader.next_message(), Ok(Some(sent)));
    assert_eq!(reader.next_message(), Ok(None));
}

#[test]
fn encoders_that_do_not_repeat_extended_times_are_understood() {
    let time = 0x0100_0005u32;
    let mut reader = ChunkReader::new();
    let mut seen = Vec::new();
    for number in 0..3u8 {
        // 300 bytes, the last four of them in a chunk of their own, then a step of the same size.
        let fields = match number {
            0 => [&[0xff, 0xff, 0xff, 0, 1, 4, 9, 1, 0, 0, 0][..], &time.to_be_bytes()].concat(),
            _ => vec![0, 0, 40, 0, 1, 4, 9],
        };
        reader.push(&raw(if number == 0 { 0 } else { 1 }, 6, &fields, &[number + 1; 128]));
        reader.push(&raw(3, 6, &[], &[number + 1; 128]));
        reader.push(&raw(3, 6, &[], &[number + 1; 4]));
        while let Some(message) = reader.next_message().unwrap() {
            seen.push((message.timestamp, message.payload));
        }
    }
    let expected = |number: u8| (time + 40 * u32::from(number), Bytes::from(vec![number + 1; 260]));
    assert_eq!(seen, [expected(0), expected(1), expected(2)]);
}

#[test]
fn what_a_peer_can_make_us_keep_has_caps() {
    let mut reader = ChunkReader::new();
    reader.push(&raw(0, 6, &[0, 0, 0, 0xff, 0xff, 0xff, 9, 1, 0, 0, 0], &[]));
    assert_eq!(reader.next_message(), Err(RtmpError::TooLarge(0xff_ffff)));
    let mut reader = ChunkReader::new();
    for stream in 2..40 {
        reader.push(&raw(0, stream, &[0, 0, 0, 0, 1, 0, 9, 1, 0, 0, 0], &[0; 128]));
    }
    assert_eq!(reader.next_message(), Err(RtmpError::TooManyStreams));
    let mut reader = ChunkReader::new();
    reader.set_chunk_size(MAX_TAG as u32 - 1).unwrap();
    for stream in 2..5 {
        let length = (MAX_TAG as u32).to_be_bytes();
        let fields = [&[0, 0, 0], &length[1..], &[9, 1, 0, 0, 0]].concat();
        reader.push(&raw(0, stream, &fields, &vec![0; MAX_TAG - 1]));
    }
    assert_eq!(reader.next_message(), Err(RtmpError::TooMuchPartial));
    assert_eq!(ChunkReader::new().set_chunk_size(0), Err(RtmpError::ChunkSize(0)));
    assert_eq!(ChunkReader::new().next_message(), Ok(None));
    let mut reader = ChunkReader::new();
    reader.push(&raw(3, 9, &[], &[]));
    assert_eq!(reader.next_message(), Err(RtmpError::NoPrevious(9)));
    // Objects within objects, and more values than any command has.
    assert_eq!(amf::read(&[3, 0, 1, b'a'].repeat(9)), []);
    assert_eq!(amf::read(&[5; 300]).len(), 256);
}

/// What a message or a part is kept for does not keep what came with it.
#[test]
fn small_messages_keep_nothing_but_themselves() {
    let mut session = publishing();
    let found = events(&mut session, &message(9, 0, &[0x17; 60_000]));
    let part = |size: usize| {
        let mut part = vec![8];
        part.extend_from_slice(&(size as u32).to_be_bytes()[1..]);
        part.extend_from_slice(&[0; 7]);
        part.resize(part.len() + size + 4, 0xaf);
        part
    };
    let aggregate = [part(10), part(50_000)].concat();
    let found = [found, events(&mut session, &message(22, 0, &aggregate))].concat();
    let found = [found, events(&mut session, &message(8, 0, &[0xaf; 10]))].concat();
    let lengths: Vec<usize> = found
        .iter()
        .map(|event| match event {
            Event::Tag(tag) => {
                assert!(tag.data.is_unique(), "{} bytes share what they came in", tag.data.len());
                tag.data.len()
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(lengths, [60_000, 10, 50_000, 10]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn messages_survive_chunks_of_any_size_in_pieces_of_any_size(
        list in prop::collection::vec((4..7u8, any::<u32>(), prop::collection::vec(any::<u8>(), 0..700)), 1..12),
        chunk_size in 1..400u32,
        piece in 1..300usize,
    ) {
        let mut bytes = BytesMut::new();
        let list: Vec<Message> =
            list.iter().map(|(kind, timestamp, payload)| message(kind + 4, *timestamp, payload)).collect();
        for (index, message) in list.iter().enumerate() {
            chunk::write(&mut bytes, 4 + (index % 3) as u8, message, chunk_size as usize);
        }
        let (mut reader, mut seen) = (ChunkReader::new(), Vec::new());
        reader.set_chunk_size(chunk_size).unwrap();
        for piece in bytes.chunks(piece) {
            reader.push(piece);
            while let Some(message) = reader.next_message().unwrap() {
                seen.push(message);
            }
        }
        prop_assert_eq!(seen, list);
    }

    #[test]
    fn a_hostile_encoder_does_no_harm(
        noise in prop::collection::vec(any::<u8>(), 0..600),
        piece in 1..100usize,
    ) {
        let mut session = Session::new(1);
        session.push(&hello("key"));
        while let Ok(Some(event)) = session.next_event() {
            if matches!(event, Event::Publish { .. }) {
                session.accept();
            }
        }
        for piece in noise.chunks(piece) {
            session.push(piece);
            while let Ok(Some(_)) = session.next_event() {}
        }
    }
}

/// Hands over what each end has to say, until neither has anything; what the server found.
fn converse(
    publisher: &mut Publisher,
    server: &mut Session,
    accepts: bool,
) -> (Vec<Event>, Vec<PublisherEvent>) {
    let (mut heard, mut said) = (Vec::new(), Vec::new());
    for _ in 0..20 {
        // In pieces that end anywhere.
        for piece in publisher.take_output().chunks(700) {
            server.push(piece);
            while let Some(event) = server.next_event().unwrap() {
                if let Event::Publish { .. } = event {
                    if accepts { server.accept() } else { server.refuse("no such key") }
                }
                heard.push(event);
            }
        }
        for piece in server.take_output().chunks(500) {
            publisher.push(piece);
            said.extend(std::iter::from_fn(|| publisher.next_event().unwrap()));
        }
    }
    (heard, said)
}

#[test]
fn a_publisher_brings_tags_to_a_service_and_leaves() {
    let mut publisher = Publisher::new("app", "key?x=y", "rtmp://service/app", 1);
    let mut server = Session::new(2);
    let (heard, said) = converse(&mut publisher, &mut server, true);
    assert_eq!(heard, [Event::Publish { app: "app".to_owned(), key: "key?x=y".to_owned() }]);
    assert_eq!((said, publisher.is_publishing()), (vec![PublisherEvent::Accepted], true));
    let tags = [
        Tag { kind: TagKind::Script, timestamp: 0, data: Bytes::from_static(b"\x02\0\x0aonMetaData") },
        Tag { kind: TagKind::Video, timestamp: 0, data: vec![0x17; 10_000].into() },
        Tag { kind: TagKind::Audio, timestamp: 0x0123_4567, data: vec![0xaf; 300].into() },
    ];
    tags.iter().for_each(|tag| publisher.push_tag(tag, tag.timestamp));
    publisher.finish();
    let (heard, _) = converse(&mut publisher, &mut server, true);
    let wanted: Vec<Event> = tags.into_iter().map(Event::Tag).chain([Event::Unpublish]).collect();
    assert_eq!(heard, wanted);
}

#[test]
fn a_publisher_hears_why_it_is_refused() {
    let mut publisher = Publisher::new("app", "key", "rtmp://service/app", 1);
    let mut server = Session::new(2);
    let (_, said) = converse(&mut publisher, &mut server, false);
    assert_eq!(said, [PublisherEvent::Refused("no such key".to_owned())]);
    let tag = Tag { kind: TagKind::Audio, timestamp: 0, data: Bytes::from_static(b"x") };
    publisher.push_tag(&tag, 0);
    assert!(publisher.take_output().is_empty());
    publisher.push(b"noise");
    let mut other = Publisher::new("app", "key", "rtmp://service/app", 1);
    other.push(b"HTTP/1.1 400");
    assert_eq!(other.next_event(), Err(RtmpError::Version(b'H')));
}
