//! What the two ends of `hawser measure` say to each other: requests, records, answers, receipts; pools that are drawn from; reports of gpsd;
//! and what a report makes of records, which anybody may have uploaded.
//!
//! The first byte chooses one of these. What must hold: no panic, an end; how a stream is cut changes nothing; no more lines than their bytes
//! pay for; records and messages mean the same when they are written and read again; a page has no markup of a record in it.

use std::path::Path;

use hawser_command::lines::Cutter;
use hawser_lab::data::measure::{Pool, Record, RecordId, Records, Report};
use hawser_measure::fuzzing::{self, Heard, Server};
use hawser_wire::Reader;

use crate::json;
use crate::memory::{Bounds, Meter};

/// A record has vectors that grow by doubling, and sixteen bytes or more for two of its text.
const BOUNDS: Bounds = Bounds { held: 64 << 10, held_per_byte: 64, work: 64 << 10, work_per_byte: 512 };
/// What a text would have to be for its characters to be markup.
const MARKUP: &str = "<i>&\"'";

/// One of the readers.
pub fn measure(data: &[u8]) {
    let Some((&which, rest)) = data.split_first() else { return };
    match which % 7 {
        0 => server(rest),
        1 => {
            json::means_the_same(rest, fuzzing::answer);
            json::means_the_same(rest, fuzzing::receipt);
        }
        2 => json::means_the_same(rest, |line| {
            Record::read(line).ok().map(|record| String::from_utf8(record.line()).expect("a record is text"))
        }),
        3 => report(rest),
        4 => pool(rest),
        5 => id(rest),
        _ => gps(rest),
    }
}

/// What a client writes, as it comes.
fn server(bytes: &[u8]) {
    let hear = |cut: usize| {
        let (mut server, mut found) = (Server::default(), Vec::new());
        let error = bytes.chunks(cut).find_map(|piece| server.hear(piece, |heard| found.push(heard)).err());
        (found, error)
    };
    let whole = hear(usize::MAX);
    for cut in [1, 7, 100] {
        assert_eq!(hear(cut), whole, "cut into pieces of {cut}");
    }
    let (found, error) = whole;
    assert!(found.len() <= Cutter::most_lines(bytes.len()), "{} lines", found.len());
    assert!(error.is_none_or(|error| !error.is_empty()));
    for (at, heard) in found.iter().enumerate() {
        match heard {
            Heard::Flow(..) | Heard::Upload(_) => assert_eq!(at, 0, "a stream has one request"),
            Heard::Record(record) => {
                assert_eq!(record.id().to_string().parse::<RecordId>().as_ref(), Ok(record.id()))
            }
            Heard::NoRecord => {}
        }
    }
    drop(found);
    let meter = Meter::start();
    let mut server = Server::default();
    for (at, piece) in bytes.chunks(64).enumerate() {
        let is_over = server.hear(piece, drop).is_err();
        meter.check(&BOUNDS, 64 * (at + 1));
        if is_over {
            break;
        }
    }
}

/// What a report makes of lines: as many runs, sessions and so on as there are, and no markup but its own.
fn report(lines: &[u8]) {
    let file = Path::new("fuzz.jsonl");
    let records = Records::of_lines(file, lines);
    let report = Report::of(&records);
    let page = report.html();
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    assert!(serde_json::to_string(&report).is_ok());
    // The same with names that could be markup has as many tags: all of theirs is escaped.
    let marks = |page: &str| page.matches('<').count();
    let mut marked = Records::of_lines(file, lines);
    for session in &mut marked.sessions {
        session.interface.push_str(MARKUP);
        session.configuration.controller.push_str(MARKUP);
    }
    assert_eq!(marks(&Report::of(&marked).html()), marks(&page), "markup of a record");
    let again: Vec<u8> = records.into_records().iter().flat_map(Record::line).collect();
    assert!(Records::of_lines(file, &again).unreadable.is_empty());
}

/// A pool, a seed and a number behind it: what is drawn is in the pool.
fn pool(bytes: &[u8]) {
    let Some((numbers, text)) = bytes.split_at_checked(2) else { return };
    let Ok(pool) = serde_json::from_slice::<Pool>(text) else { return };
    let drawn = pool.draw(numbers[0].into(), numbers[1].into());
    assert_eq!(
        drawn,
        pool.draw(numbers[0].into(), numbers[1].into()),
        "the same for the same seed and number"
    );
    assert!(pool.controllers.contains(&drawn.controller) || pool.controllers.is_empty());
    assert!(pool.directions.contains(&drawn.direction) || pool.directions.is_empty());
    assert!(pool.flows.contains(&drawn.flows) || pool.flows.is_empty());
}

/// An id, which is the name of a file: nothing else can be one.
fn id(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match text.parse::<RecordId>() {
        Ok(id) => {
            assert_eq!(id.to_string(), text);
            assert!(text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-') && text.len() == 27);
            let run = id.run().expect("an id has a run");
            assert_eq!(RecordId::new(id.number(), run), id);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Reports of gpsd, each behind its length.
fn gps(bytes: &[u8]) {
    let (mut script, mut reports) = (Reader::new(bytes), Vec::new());
    while let Ok(length) = script.read_u8() {
        let Ok(report) = script.read_bytes(usize::from(length).min(script.remaining())) else { break };
        reports.push(report);
    }
    if let Some((fixes, metres, [south, west, north, east])) = fuzzing::position(reports.iter().copied()) {
        assert!((1..=reports.len() as u64).contains(&fixes) && metres >= 0.0);
        assert!(south <= north && west <= east && south >= -90.0 && north <= 90.0);
    }
}
