//! REPAIR frames: their ranges, and what cannot be.

use super::strategies::sources;
use super::*;

fn list(sources: &[SourceRange]) -> SourceRangeList {
    let mut list = SourceRangeList::default();
    for range in sources {
        let length = list.encoded_len_with(range);
        assert!(list.push(*range));
        assert_eq!(list.encoded_len(), length, "{range:?}");
    }
    list
}

proptest! {
    #[test]
    fn ranges_come_back_as_they_were(sources in sources()) {
        let list = list(&sources);
        prop_assert_eq!(list.len(), sources.len());
        let encoded = list.encode();
        prop_assert_eq!(encoded.as_ranges().len(), sources.len());
        prop_assert_eq!(encoded.as_ranges().iter().collect::<Vec<_>>(), sources);
    }
}

/// What a steady stream needs: one run, whatever the number of symbols.
#[test]
fn equal_ranges_in_a_row_take_a_few_bytes() {
    let range =
        |at: u64| SourceRange { stream_id: 4, offset: (1 << 20) + at * 1_150, length: 1_150, fin: at == 63 };
    let ranges: Vec<SourceRange> = (0..64).map(range).collect();
    let mut all = list(&ranges[..0]);
    assert!(all.is_empty());
    for range in &ranges {
        assert!(all.push(*range));
    }
    assert_eq!(all.encoded_len(), 2 + 2 + 1 + 4);
    assert!(!all.push(ranges[0]), "64 are the most");
    assert!(!SourceRangeList::default().push(SourceRange { length: 0, ..ranges[0] }));
}

/// The frame from its drawing, and each way in which it can contradict itself.
#[test]
fn known_bytes_and_impossible_ones() {
    let range = |offset, fin| SourceRange { stream_id: 4, offset, length: 3, fin };
    let encoded = list(&[range(5, false), range(8, true)]).encode();
    let expected = Repair {
        block: 9,
        code: RepairCode::ReedSolomon,
        first: 10,
        index: 2,
        sources: encoded.as_ranges(),
        symbol: b"abc",
    };
    // Two symbols of three bytes from offset 5 of stream 4 on, the second of which ends it.
    let known = ["a8a75e41", "09010a02", "01", "0a030405", "03616263"].concat();
    assert_eq!(encoded_hex(&Frame::Repair(expected)), known);
    assert_eq!(single(known.leak()), Ok(Frame::Repair(expected)));
    let with = |runs: &str| single(["a8a75e41", "09010a02", runs, "03616263"].concat().leak()).unwrap_err();
    let cases = [
        ("no run", "00", FrameErrorKind::SourceRanges),
        ("a run of nothing", "0100030405", FrameErrorKind::SourceRanges),
        ("no bytes", "010a000405", FrameErrorKind::SourceRanges),
        ("longer than the symbol", "010a040405", FrameErrorKind::SourceRanges),
        ("65 symbols", "014104010405", FrameErrorKind::SourceRanges),
        ("33 and 32 symbols", "024084010405408101", FrameErrorKind::SourceRanges),
        ("follows nothing", "010b03", FrameErrorKind::SourceRanges),
        ("follows the end of its stream", "020a0304050903", FrameErrorKind::SourceRanges),
        (
            "beyond 2^62",
            "01080304ffffffffffffffff",
            FrameErrorKind::DataTooFar { offset: (1 << 62) - 1, length: 3 },
        ),
    ];
    for (name, runs, error) in cases {
        assert_eq!(with(runs), error, "{name}");
    }
    let code = single("a8a75e4109030a02010a03040503616263").unwrap_err();
    assert_eq!(code, FrameErrorKind::RepairCode(3));
    let nothing = single("a8a75e42090a0000000000000000").unwrap_err();
    assert_eq!(nothing, FrameErrorKind::NothingRecovered);
}

fn encoded_hex(frame: &Frame<'_>) -> String {
    hex::encode(encoded(frame))
}
