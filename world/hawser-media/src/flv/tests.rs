use bytes::Bytes;
use proptest::prelude::*;

use super::*;

fn tag(kind: TagKind, timestamp: u32, data: &[u8]) -> Tag {
    Tag { kind, timestamp, data: Bytes::copy_from_slice(data) }
}

fn stream(tags: &[Tag]) -> Vec<u8> {
    let mut writer = FlvWriter::default();
    tags.iter().fold(file_header(true).to_vec(), |mut bytes, tag| {
        bytes.extend_from_slice(&writer.write(tag));
        bytes
    })
}

fn read(bytes: &[u8], pieces: usize) -> (Vec<Tag>, Result<(), FlvError>) {
    let (mut reader, mut tags) = (FlvReader::default(), Vec::new());
    for piece in bytes.chunks(pieces.max(1)) {
        reader.push(piece);
        loop {
            match reader.next_tag() {
                Ok(Some(tag)) => tags.push(tag),
                Ok(None) => break,
                Err(error) => return (tags, Err(error)),
            }
        }
    }
    (tags, reader.end())
}

fn any_tag() -> impl Strategy<Value = Tag> {
    let kind = prop_oneof![Just(TagKind::Audio), Just(TagKind::Video), Just(TagKind::Script)];
    (kind, 0u32..200, prop::collection::vec(any::<u8>(), 0..300)).prop_map(|(kind, step, data)| Tag {
        kind,
        timestamp: step,
        data: data.into(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Wherever the pieces end; times are those of the first tag, and never go back.
    #[test]
    fn what_is_written_is_read(
        mut tags in prop::collection::vec(any_tag(), 1..20),
        start: u32,
        pieces in 1..400usize,
    ) {
        let mut at = start;
        for tag in &mut tags {
            at = at.wrapping_add(tag.timestamp);
            tag.timestamp = at;
        }
        let origin = tags[0].timestamp;
        let (found, end) = read(&stream(&tags), pieces);
        prop_assert_eq!(end, Ok(()));
        for tag in &mut tags {
            tag.timestamp = tag.timestamp.wrapping_sub(origin);
        }
        prop_assert_eq!(found, tags);
    }

    #[test]
    fn noise_does_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..400), pieces in 1..50usize) {
        let mut whole = file_header(true).to_vec();
        whole.extend(&bytes);
        let _ = read(&bytes, pieces);
        let (tags, _) = read(&whole, pieces);
        for tag in tags {
            prop_assert!(tag.head_length() <= tag.data.len());
            let _ = tag.role();
        }
    }

    /// What is cut or flipped in framing is noticed, or is in a body.
    #[test]
    fn a_stream_that_is_cut_says_so(
        tags in prop::collection::vec(any_tag(), 1..5),
        cut in 0.0..1.0f64,
    ) {
        let bytes = stream(&tags);
        let cut = (cut * bytes.len() as f64) as usize;
        let (found, end) = read(&bytes[..cut], 64);
        prop_assert!(found.len() <= tags.len());
        let is_between = found.len() < tags.len() && end == Ok(());
        let ends_of_tags: Vec<usize> = (0..=tags.len()).map(|count| stream(&tags[..count]).len()).collect();
        prop_assert_eq!(is_between, ends_of_tags[..tags.len()].contains(&cut), "{:?}", end);
    }
}

#[test]
fn sizes_that_lie_are_refused_at_their_place() {
    let good =
        stream(&[tag(TagKind::Audio, 0, &[0xaf, 1, 2, 3]), tag(TagKind::Video, 5, &[0x27, 1, 0, 0, 0])]);
    // The first tag has 4 bytes and lies behind the file header of 13.
    let mut shorter = good.clone();
    shorter[16] = 3;
    assert!(matches!(read(&shorter, 7).1, Err(FlvError::WrongSize { offset: 13, size: 14, .. })));
    let mut huge = good.clone();
    huge[14] = 0xff;
    assert_eq!(read(&huge, 7).1, Err(FlvError::TooLarge { offset: 13, size: 0xff_0004 }));
    let mut unknown = good.clone();
    unknown[32] = 10;
    let (tags, end) = read(&unknown, 7);
    assert_eq!((tags.len(), end), (1, Err(FlvError::UnknownTag { offset: 32, found: 10 })));
    assert_eq!(read(b"RIFF....", 3).1, Err(FlvError::NoFlv));
    assert_eq!(read(b"", 3).1, Err(FlvError::NoFlv));
}

#[test]
fn times_of_a_writer_begin_at_zero_and_never_go_back() {
    let times = [1_000, 1_040, 1_010, 900, 1_080];
    let tags: Vec<Tag> = times.iter().map(|at| tag(TagKind::Audio, *at, &[0xaf, 1])).collect();
    let found: Vec<u32> = read(&stream(&tags), 100).0.iter().map(|tag| tag.timestamp).collect();
    assert_eq!(found, [0, 40, 40, 40, 80]);
}

#[test]
fn sound_behind_the_picture_keeps_its_times() {
    let mut writer = FlvWriter::default();
    let mut bytes = file_header(true).to_vec();
    let mut write = |kind, timestamp| {
        let first = if kind == TagKind::Audio { [0xaf, 1] } else { [0x17, 1] };
        bytes.extend_from_slice(&writer.write(&tag(kind, timestamp, &first)));
    };
    // A player begins with the picture of 5 s; the sound of 4 s comes with it.
    for frame in 0..100 {
        write(TagKind::Video, 5_000 + 40 * frame);
        write(TagKind::Audio, 4_000 + 40 * frame);
    }
    let tags = read(&bytes, 1_000).0;
    let of = |kind| tags.iter().filter(move |tag| tag.kind == kind).map(|tag| tag.timestamp);
    assert_eq!(of(TagKind::Video).collect::<Vec<_>>(), (0..100).map(|at| 40 * at).collect::<Vec<_>>());
    // What was to be heard before the first picture is left out.
    assert_eq!(of(TagKind::Audio).collect::<Vec<_>>(), (0..75).map(|at| 40 * at).collect::<Vec<_>>());
}

#[test]
fn times_of_a_writer_go_on_after_four_weeks() {
    let step = 1 << 30;
    let tags: Vec<Tag> = (0..6u32).map(|at| tag(TagKind::Video, at.wrapping_mul(step), &[0x17, 1])).collect();
    let found: Vec<u32> = read(&stream(&tags), 100).0.iter().map(|tag| tag.timestamp).collect();
    assert_eq!(found, [0, step, 2 * step, 3 * step, 0, step]);
}

#[test]
fn roles_and_heads_of_the_codecs_in_use() {
    let role = |kind, data: &[u8]| {
        let tag = tag(kind, 0, data);
        (tag.role(), tag.head_length())
    };
    let avc = |first: u8, packet: u8| role(TagKind::Video, &[first, packet, 0, 0, 0, 9, 9, 9, 9]);
    assert_eq!(avc(0x17, 0), (Role::VideoHeader, 5));
    assert_eq!(avc(0x17, 1), (Role::KeyFrame, 5));
    assert_eq!(avc(0x27, 1), (Role::DeltaFrame, 5));
    assert_eq!(avc(0x37, 1), (Role::DeltaFrame, 5));
    assert_eq!(avc(0x17, 2), (Role::Other, 5));
    assert_eq!(avc(0x57, 0), (Role::VideoHeader, 5));
    // Enhanced: hvc1 with and without composition time, its configuration, and HDR information.
    let enhanced = |first: u8| role(TagKind::Video, &[first, b'h', b'v', b'c', b'1', 0, 0, 0, 9]);
    assert_eq!(enhanced(0x90), (Role::VideoHeader, 5));
    assert_eq!(enhanced(0x91), (Role::KeyFrame, 8));
    assert_eq!(enhanced(0xa1), (Role::DeltaFrame, 8));
    assert_eq!(enhanced(0xa3), (Role::DeltaFrame, 5));
    assert_eq!(enhanced(0x94), (Role::Other, 5));
    assert_eq!(role(TagKind::Video, &[0x22, 1, 2]), (Role::DeltaFrame, 1));
    assert_eq!(role(TagKind::Video, &[]), (Role::Other, 0));
    // No composition time with AV1.
    assert_eq!(role(TagKind::Video, b"\x91av01\0\0\0\x09"), (Role::KeyFrame, 5));
    assert_eq!(role(TagKind::Audio, &[0xaf, 0, 1]).0, Role::AudioHeader);
    assert_eq!(role(TagKind::Audio, &[0xaf, 1, 1]).0, Role::Audio);
    assert_eq!(role(TagKind::Audio, &[0x2f, 0, 1]).0, Role::Audio, "MP3 has no configuration");
    assert_eq!(role(TagKind::Script, &[2]).0, Role::Script);
}

#[test]
fn tracks_and_modifiers_of_enhanced_rtmp_2_are_looked_through() {
    let of = |kind, data: &[u8]| {
        let tag = tag(kind, 0, data);
        (tag.role(), tag.track(), tag.head_length())
    };
    let video = |data: &[u8]| of(TagKind::Video, data);
    // One track: its packet type, codec and number.
    assert_eq!(video(b"\x96\x00hvc1\0....."), (Role::VideoHeader, 0, 7));
    assert_eq!(video(b"\x96\x01hvc1\0\0\0\0...."), (Role::KeyFrame, 0, 10));
    assert_eq!(video(b"\xa6\x03hvc1\0...."), (Role::DeltaFrame, 0, 7));
    // Of further tracks everything arrives, and no player begins with them.
    assert_eq!(video(b"\x96\x00hvc1\x01....."), (Role::VideoHeader, 1, 7));
    assert_eq!(video(b"\xa6\x01av01\x01...."), (Role::Other, 1, 7));
    // Several tracks of one codec, and of one each.
    assert_eq!(video(b"\xa6\x11av01\0\0\0\x04...."), (Role::DeltaFrame, 0, 10));
    assert_eq!(video(b"\xa6\x21\0av01\0\0\x04...."), (Role::DeltaFrame, 0, 10));
    // Nanoseconds before a frame, and modifiers of 300 bytes.
    assert_eq!(video(b"\xa7\x02\0\0\x01\x01hvc1\0\0\0...."), (Role::DeltaFrame, 0, 13));
    let long = [&b"\x97\xff\x01\x2b"[..], &[0; 300], b"\x03hvc1...."].concat();
    assert_eq!(video(&long), (Role::KeyFrame, 0, 255));
    assert_eq!(video(b"\x97\x02\0\0"), (Role::Other, 0, 1), "cut short");
    assert_eq!(video(&[0x97; 40]).0, Role::Other);
    let audio = |data: &[u8]| of(TagKind::Audio, data).0;
    assert_eq!(audio(b"\x90mp4a.."), Role::AudioHeader);
    assert_eq!(audio(b"\x91Opus.."), Role::Audio);
    assert_eq!(audio(b"\x94Opus\0\x02"), Role::Other);
    assert_eq!(audio(b"\x95\x00mp4a\x01.."), Role::AudioHeader);
    assert_eq!(audio(b"\x97\x02\0\0\x01\x01mp4a.."), Role::Audio);
}
