//! Parsers do not panic.

use hawser_link::{MILLISECOND, SECOND};
use proptest::prelude::*;

use super::*;

/// Lines that look like something.
fn texts() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "0",
        "1",
        "5.5",
        "-3",
        "1e9",
        "1e300",
        "nan",
        "99999999999999999999",
        "x",
        " ",
        ",",
        "\t",
        "#",
        "[",
        "]",
        "icmp_seq=",
        "icmp_seq=1",
        " time=",
        " time=5 ms",
        "PING",
        "4 packets transmitted,",
        "[2024-01-31 00:00:00.5]",
        "[2024-13-31 00:00:00.5]",
        "simple-p2p",
        "blackhole",
        "--delay=15ms",
        "--bandwidth=10Mbps",
        "--on=1s",
        "--off=86400s",
        "--repeat=100000",
        "--queue=0",
        "TIME_STAMP_x",
        "TIME_STAMP_y,DLtput_y",
        "Start",
        "End",
        "TIME_STAMP_x,DLtput_x,modified_tech_x,handover_status_x,TIME_STAMP_y,DLtput_y,modified_tech_y,handover_status_y\n",
        "1.5,3,LTE,Start,1.5,,LTE,End",
        "ä",
        "\u{feff}",
        "\n",
        "\n",
        "\n",
    ]);
    prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn no_text_makes_a_parser_panic(text in texts(), format in prop::sample::select(Format::ALL.to_vec())) {
        for format in [None, Some(format)] {
            let options = ReadOptions { format, ..ReadOptions::default() };
            // Over time only what is short enough; a day of ms is no test.
            let Ok(trace) = parse("a.csv", &text, &options) else { continue };
            if trace.duration >= 100 * SECOND {
                continue;
            }
            for direction in trace.links.iter().flat_map(|link| [&link.up, &link.down]) {
                let covered = |pieces: Vec<Piece>| pieces.iter().map(Piece::length).sum::<u64>();
                if let Some(pieces) = direction.service(trace.duration) {
                    prop_assert_eq!(covered(pieces), trace.duration);
                }
                for (from, to) in direction.gaps(trace.duration, 100 * MILLISECOND) {
                    prop_assert!(from < to && to <= trace.duration);
                }
            }
        }
    }

    #[test]
    fn nor_do_bytes(text in any::<String>(), format in prop::sample::select(Format::ALL.to_vec())) {
        let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
        let _ = parse("a", &text, &options);
    }
}
