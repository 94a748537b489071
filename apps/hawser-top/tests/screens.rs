//! Screens of three sizes, as a person would see them.

#![allow(clippy::unwrap_used)]

use hawser_status::control::protocol::Line;
use hawser_status::model::{
    Connection, Event, EventKind, Figure, Link, LinkUsage, LiveStream, Path, PathState, Program, Status,
    Totals,
};
use hawser_top::{Key, Palette, View, draw, on_key};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;

fn path(id: u32, name: &str, rate: f64, state: PathState) -> Path {
    Path {
        id,
        name: name.to_owned(),
        state,
        rate_sent_bps: rate,
        rate_received_bps: rate / 50.0,
        smoothed_rtt_ms: 20.0 + f64::from(id) * 30.0,
        min_rtt_ms: 18.0 + f64::from(id) * 30.0,
        controller: "bbr".to_owned(),
        figures: [("phase".to_owned(), Figure::Word("Cruise".to_owned()))].into(),
        ..Path::default()
    }
}

/// Three links, of which the second falls silent after 40 samples.
fn view() -> View {
    let mut view = View::new(Program { command: "proxy".to_owned(), version: "0.1.0".to_owned(), pid: 4711 });
    for sample in 0..60_u64 {
        let is_sick = sample >= 40;
        let sick = if is_sick { PathState::Suspect } else { PathState::Active };
        let paths = vec![
            path(0, "wlan0", 12e6 + sample as f64 * 1e5, PathState::Active),
            path(1, "wwan0", if is_sick { 0.0 } else { 6e6 }, sick),
            path(2, "usb0", 3e6, PathState::Active),
        ];
        let rate = paths.iter().map(|path| path.rate_sent_bps).sum();
        let connection = Connection {
            id: "1.1".to_owned(),
            remote: "192.0.2.1:4435".to_owned(),
            scheduler: "earliestarrival".to_owned(),
            paths,
            ..Connection::default()
        };
        let link =
            |name: &str| Link { name: name.to_owned(), up: true, bytes_sent: 1 << 24, ..Link::default() };
        let paused = Link { name: "eth7".to_owned(), usage: LinkUsage::Paused, ..Link::default() };
        let status = Status {
            at_unix_ms: 1_000_000 + sample * 500,
            uptime_ms: 3_723_000,
            totals: Totals { connections: 1, rate_sent_bps: rate, ..Totals::default() },
            links: vec![link("wlan0"), link("wwan0"), link("usb0"), paused],
            connections: vec![connection],
            streams: vec![LiveStream {
                role: "publish".to_owned(),
                frames: 1234,
                delay_ms: Some(85.0),
                ..LiveStream::default()
            }],
            ..Status::default()
        };
        view.on_line(Line::Sample(Box::new(status)));
    }
    view.on_line(Line::Event(Event {
        seq: 1,
        at_unix_ms: 1_020_000,
        kind: EventKind::PathSuspect,
        connection: Some("1.1".to_owned()),
        path: Some(1),
        name: Some("wwan0".to_owned()),
        text: "wwan0 fell silent: others carry its data".to_owned(),
    }));
    view
}

fn screen(view: &View, width: u16, height: u16, colours: bool) -> (Vec<String>, bool) {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, view, Palette { colours })).unwrap();
    let buffer = terminal.backend().buffer();
    let is_coloured = buffer.content().iter().any(|cell| cell.fg != Color::Reset);
    let rows = buffer.content().chunks(usize::from(width).max(1));
    (rows.map(|row| row.iter().map(|cell| cell.symbol()).collect()).collect(), is_coloured)
}

#[test]
fn the_sick_link_of_three_is_seen_at_80_by_24_without_colours() {
    let (lines, is_coloured) = screen(&view(), 80, 24, false);
    let all = lines.join("\n");
    println!("{all}");
    assert!(!is_coloured);
    let sick: Vec<&String> = lines.iter().filter(|line| line.contains("SILENT")).collect();
    assert_eq!(sick.len(), 1, "{all}");
    assert!(sick[0].contains("wwan0") && sick[0].contains("no answer"), "{all}");
    assert!(lines[0].starts_with("hawser proxy  process 4711, up 1:02:03"), "{all}");
    assert!(lines[1].contains("scheduler earliestarrival"), "{all}");
    assert!(all.contains("00:17:00.0 wwan0 fell silent: others carry its data"), "{all}");
    assert!(all.contains("eth7") && all.contains("paused"), "{all}");
    assert!(all.contains("publish: 1234 frames") && all.contains("delay 85 ms"), "{all}");
    // Links are told apart by signs, in the table and in the picture.
    for sign in ["==", "++", "oo"] {
        assert!(all.contains(sign), "{sign} in\n{all}");
    }
    assert!(lines[23].contains("p pause") && lines[23].contains("q quit"), "{all}");
}

#[test]
fn a_large_terminal_has_more_of_the_past_and_colours() {
    let (lines, is_coloured) = screen(&view(), 160, 50, true);
    println!("{}", lines.join("\n"));
    assert!(is_coloured);
    let wlan = lines.iter().find(|line| line.contains("wlan0") && line.contains("active")).unwrap();
    assert!(wlan.chars().filter(|letter| "▁▂▃▄▅▆▇█".contains(*letter)).count() > 50, "{wlan}");
}

#[test]
fn a_terminal_that_shrinks_to_nothing_is_survived() {
    let view = view();
    let (lines, _) = screen(&view, 39, 3, false);
    assert!(lines[0].starts_with("out ") && lines[0].contains("wwan0"), "{lines:?}");
    for width in (0..=90).step_by(3) {
        for height in 0..=26 {
            screen(&view, width, height, true);
            screen(&View::default(), width, height, false);
        }
    }
}

#[test]
fn keys_and_policies_have_pages() {
    let mut view = view();
    on_key(&mut view, Key::Char('?'));
    let (lines, _) = screen(&view, 80, 24, false);
    assert!(lines.join("\n").contains("pause the link"), "{lines:?}");
    on_key(&mut view, Key::Char('s'));
    let (lines, _) = screen(&view, 80, 24, false);
    let all = lines.join("\n");
    assert!(all.contains("path 1 over wwan0") && all.contains("phase Cruise"), "{all}");
}
