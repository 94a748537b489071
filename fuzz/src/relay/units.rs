//! The stream of units from a publisher to a relay and from there to players, in which bodies of frames may have gaps.
//!
//! An input is a byte, and then pieces: bytes behind their length, a unit of the own format, or so many bytes that will not come.

use bytes::Bytes;
use hawser_media::broadcast::Unit;
use hawser_media::broadcast::wire::{self, Arrival, Delivery, Found, PREFACE, UnitReader, WireError};
use hawser_media::flv::{MAX_TAG, Tag, TagKind};
use hawser_policy::Time;
use hawser_wire::Reader;

use super::{BOUNDS, CUTS, piece};
use crate::memory::{Bounds, Meter};

const NOW: Time = Time::from_secs(3);
/// What does not come is zeros in its place: so much of it for an input.
const MOST_MISSING: usize = 512 << 10;

enum Piece {
    Bytes(Vec<u8>),
    Missing(u64),
}

/// What a reader finds, and how it ends: between two units, or why it cannot go on.
type Heard = (Vec<Found>, Result<bool, WireError>);

/// Reads these pieces, each cut further, and gives away what it finds; checks after each, and then whether the reader is between two units.
fn hear(
    pieces: &[Piece],
    cut: usize,
    mut found: impl FnMut(Found),
    mut check: impl FnMut(usize),
) -> Result<bool, WireError> {
    let (mut reader, mut came) = (UnitReader::default(), 0);
    for piece in pieces {
        match piece {
            Piece::Bytes(bytes) => {
                for bytes in bytes.chunks(cut) {
                    let mut data = Bytes::copy_from_slice(bytes);
                    while let Some(next) = reader.read(&mut data)? {
                        found(next);
                    }
                    assert!(data.is_empty(), "all is taken");
                    came += bytes.len();
                }
            }
            Piece::Missing(length) => {
                let (mut left, mut turns) = (*length, 0);
                while left > 0 {
                    if let Some(next) = reader.skip(&mut left)? {
                        found(next);
                    }
                    turns += 1;
                    assert!(turns <= *length, "a gap ends");
                }
            }
        }
        check(came);
    }
    Ok(reader.is_between())
}

/// A stream.
pub(super) fn stream(data: &[u8]) {
    let pieces = pieces(data);
    let heard = |cut: usize| -> Heard {
        let mut found = Vec::new();
        let end = hear(&pieces, cut, |next| found.push(next), |_| ());
        (found, end)
    };
    let whole = heard(usize::MAX);
    for cut in CUTS {
        assert_eq!(heard(cut), whole, "cut into pieces of {cut}");
    }
    let missing = |piece: &Piece| if let Piece::Missing(length) = piece { *length as usize } else { 0 };
    let missing: usize = pieces.iter().map(missing).sum();
    let bounds = Bounds {
        held: BOUNDS.held + 4 * missing.min(MAX_TAG) as isize,
        work: BOUNDS.work + 8 * missing as u64,
        ..BOUNDS
    };
    let meter = Meter::start();
    let _ = hear(&pieces, 64, drop, |came| meter.check(&bounds, came));
    for found in &whole.0 {
        if let Found::Unit(arrival) = found {
            again(arrival);
        }
    }
    if let Err(error) = whole.1 {
        assert!(!error.to_string().is_empty());
    }
}

/// A unit is the same when it is written and read again, with what it lacks.
fn again(arrival: &Arrival) {
    let Arrival { unit, received, lacking, .. } = arrival;
    assert!(unit.tag.data.len() <= MAX_TAG && received + lacking <= unit.tag.data.len() as u64);
    let mut reader = UnitReader::default();
    let mut bytes = PREFACE.to_vec();
    for part in wire::parts(NOW, unit, None, Delivery::Reliable).into_iter().chain([wire::end(NOW)]) {
        bytes.extend_from_slice(&part.bytes);
    }
    let mut bytes = Bytes::from(bytes);
    let Ok(Some(Found::Unit(found))) = reader.read(&mut bytes) else { panic!("a unit was written") };
    assert_eq!((&found.unit, found.written_at, found.lacking), (unit, NOW, 0));
    assert_eq!(reader.read(&mut bytes), Ok(Some(Found::End)));
    assert!(reader.is_between() && bytes.is_empty());
}

fn pieces(data: &[u8]) -> Vec<Piece> {
    let mut script = Reader::new(data);
    let (mut pieces, mut missing) = (Vec::new(), 0);
    while let Ok(operation) = script.read_u8() {
        match operation % 8 {
            0 => pieces.push(Piece::Bytes(PREFACE.to_vec())),
            1 | 2 => {
                let Some(bytes) = piece(&mut script) else { break };
                pieces.push(Piece::Bytes(bytes.to_vec()));
            }
            // A unit of the own format; of its body the end may be missing.
            3..=6 => {
                let (Ok(kind), Ok(number), Ok(short)) =
                    (script.read_u8(), script.read_u8(), script.read_u8())
                else {
                    break;
                };
                let Some(data) = piece(&mut script) else { break };
                let unit = unit(kind, number, data);
                let written = wire::parts(NOW, &unit, None, Delivery::Timely { deadline: None });
                let mut bytes = written.map(|part| part.bytes.to_vec()).concat();
                let short = usize::from(short).min(bytes.len()) * usize::from(operation & 1);
                bytes.truncate(bytes.len() - short);
                pieces.push(Piece::Bytes(bytes));
                pieces.push(Piece::Missing(short as u64));
                missing += short;
            }
            _ => {
                let Ok(length) = script.read_u16() else { break };
                pieces.push(Piece::Missing(length.into()));
                missing += usize::from(length);
            }
        }
        if missing > MOST_MISSING {
            break;
        }
    }
    pieces
}

fn unit(kind: u8, number: u8, data: &[u8]) -> Unit {
    let tag = Tag {
        kind: [TagKind::Video, TagKind::Video, TagKind::Audio, TagKind::Script][usize::from(kind % 4)],
        timestamp: 40 * u32::from(number),
        data: Bytes::copy_from_slice(data),
    };
    Unit {
        role: tag.role(),
        tag,
        origin: 7,
        number: number.into(),
        padded: u32::from(kind >> 4),
        restarts: kind & 8 != 0,
        age: 10,
        came_at: Time::ZERO,
        is_alone: false,
    }
}
