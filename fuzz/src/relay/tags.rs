//! FLV, which comes from files and pipes and goes to players.

use hawser_media::flv::{FlvError, FlvReader, FlvWriter, MAX_TAG, Tag, file_header};

use super::{BOUNDS, CUTS};
use crate::memory::Meter;

/// Tags, and how the stream ends.
fn read(bytes: &[u8], cut: usize) -> (Vec<Tag>, Result<(), FlvError>) {
    let (mut reader, mut tags) = (FlvReader::default(), Vec::new());
    for piece in bytes.chunks(cut) {
        reader.push(piece);
        loop {
            match reader.next_tag() {
                Ok(Some(tag)) => tags.push(tag),
                Ok(None) => break,
                Err(error) => return (tags, Err(error)),
            }
        }
    }
    let end = reader.end();
    (tags, end)
}

/// A file.
pub(super) fn flv(bytes: &[u8]) {
    let whole = read(bytes, usize::MAX);
    for cut in CUTS {
        assert_eq!(read(bytes, cut), whole, "cut into pieces of {cut}");
    }
    assert!(whole.1.as_ref().err().is_none_or(|error| !error.to_string().is_empty()));
    let meter = Meter::start();
    let (mut reader, mut came) = (FlvReader::default(), 0);
    for piece in bytes.chunks(64) {
        reader.push(piece);
        came += piece.len();
        while let Ok(Some(tag)) = reader.next_tag() {
            assert!(tag.data.len() <= MAX_TAG && tag.head_length() <= tag.data.len());
        }
        meter.check(&BOUNDS, came);
    }
    drop(reader);
    written(&whole.0);
}

/// Written and read again they are the same but for their times, which begin at 0 and do not go back.
fn written(tags: &[Tag]) {
    let (mut writer, mut bytes, mut kept) = (FlvWriter::default(), file_header(true).to_vec(), Vec::new());
    for tag in tags {
        let written = writer.write(tag);
        if !written.is_empty() {
            bytes.extend_from_slice(&written);
            kept.push(tag);
        }
    }
    let (again, end) = read(&bytes, usize::MAX);
    assert_eq!((again.len(), end), (kept.len(), Ok(())));
    for (again, tag) in again.iter().zip(kept) {
        assert_eq!((again.kind, &again.data), (tag.kind, &tag.data));
        assert_eq!((again.role(), again.track(), again.media()), (tag.role(), tag.track(), tag.media()));
    }
    assert!(again.first().is_none_or(|first| first.timestamp == 0), "times begin at 0");
}
