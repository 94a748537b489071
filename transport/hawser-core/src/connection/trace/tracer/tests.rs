use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hawser_policy::{Trace, TraceSink};
use hawser_wire::frame::{Crypto, Frame, FrameIter, NewConnectionId, ObservedAddress, Stream};
use hawser_wire::{StatelessResetToken, Writer};

use hawser_wire::ConnectionId;

use super::frames::{FrameContext, write_frame};
use super::header::DateTime;
use super::json::Json;
use super::*;
use crate::connection::qlog::QlogAddresses;
use crate::connection::recovery::PacketKind;

fn text_of(write: impl FnOnce(&mut Json)) -> String {
    let mut json = Json::default();
    write(&mut json);
    json.as_str().to_owned()
}

fn frame_text(frame: &Frame<'_>) -> String {
    let mut buffer = [0; 200];
    let mut w = Writer::new(&mut buffer);
    frame.encode(&mut w).unwrap();
    let length = w.position();
    // Through the wire: what is traced is what was decoded.
    let decoded = FrameIter::new(&buffer[..length]).next().unwrap().unwrap();
    let mut addresses = Addresses::new(QlogAddresses::Redacted, Side::Server);
    let mut context = FrameContext { exponent: 3, is_sent: true, addresses: &mut addresses };
    text_of(|json| write_frame(json, &decoded, &mut context))
}

/// Keeps what is written, and fails after so many records.
#[derive(Clone, Default)]
struct Disk {
    written: Arc<Mutex<Vec<u8>>>,
    room: usize,
}

impl Write for Disk {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let mut written = self.written.lock().unwrap();
        if written.len() + data.len() > self.room {
            return Err(io::ErrorKind::StorageFull.into());
        }
        written.extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn tracer(disk: &Disk, now: Time) -> Tracer {
    let header = Header {
        title: "a \"test\"",
        side: Side::Server,
        original_destination: ConnectionId::new(&[0xab, 1]).unwrap(),
        began: Some(Duration::new(951_827_696, 7_000_000)),
        addresses: QlogAddresses::Redacted,
    };
    Tracer::new(Box::new(disk.clone()), now, &header)
}

#[test]
fn json_separates_members_and_escapes_text() {
    let text = text_of(|json| {
        json.object(|json| {
            json.text("a", "quote \" backslash \\ line\n bell\u{7} ü");
            json.array("b", |json| {
                json.element(1);
                json.nested(|json| {
                    json.element(2);
                    json.element(u64::MAX);
                });
                json.object(|json| json.bool("c", true));
            });
            json.member("d", |_| {});
            json.hex("e", &[0, 0xff]);
            json.millis("f", Duration::from_nanos(1_234_567_999));
            json.number("g", 0);
        });
    });
    let expected = r#"{"a":"quote \" backslash \\ line\u000a bell\u0007 ü","b":[1,[2,18446744073709551615],{"c":true}],"d":{},"e":"00ff","f":1234.567,"g":0}"#;
    assert_eq!(text, expected);
}

#[test]
fn dates_are_gregorian() {
    let show = |seconds: u64| DateTime(Duration::from_millis(seconds * 1000 + 7)).to_string();
    assert_eq!(show(0), "1970-01-01T00:00:00.007Z");
    assert_eq!(show(951_782_399), "2000-02-28T23:59:59.007Z");
    assert_eq!(show(951_827_696), "2000-02-29T12:34:56.007Z");
    assert_eq!(show(1_709_251_200), "2024-03-01T00:00:00.007Z");
    assert_eq!(show(4_107_542_400), "2100-03-01T00:00:00.007Z", "2100 has no leap day");
}

#[test]
fn frames_are_written_as_the_draft_has_them() {
    let stream = Frame::Stream(Stream { stream_id: 4, offset: 9, fin: true, data: b"abc" });
    let text = frame_text(&stream);
    assert!(
        text.starts_with(r#"{"frame_type":"stream","stream_id":4,"offset":9,"fin":true,"raw":{"#),
        "{text}"
    );
    assert!(text.contains(r#""payload_length":3"#), "{text}");
    let crypto = frame_text(&Frame::Crypto(Crypto { offset: 7, data: b"xy" }));
    assert_eq!(crypto, r#"{"frame_type":"crypto","offset":7,"raw":{"length":5,"payload_length":2}}"#);
    assert_eq!(frame_text(&Frame::Ping), r#"{"frame_type":"ping"}"#);
    let abandon = frame_text(&Frame::PathAbandon { path_id: 3, error_code: 0x3e76 });
    assert_eq!(abandon, r#"{"frame_type":"path_abandon","path_id":3,"error":"path_unstable_or_poor"}"#);
    let abandon = frame_text(&Frame::PathAbandon { path_id: 3, error_code: 0x12345 });
    assert!(abandon.ends_with(r#""error":"unknown","error_code":74565}"#), "{abandon}");
}

#[test]
fn secrets_are_not_written() {
    let new = NewConnectionId {
        path_id: Some(2),
        sequence_number: 1,
        retire_prior_to: 0,
        connection_id: ConnectionId::new(&[1, 2, 3, 4]).unwrap(),
        reset_token: StatelessResetToken([0x5e; 16]),
    };
    let text = frame_text(&Frame::NewConnectionId(new));
    assert!(text.contains(r#""frame_type":"path_new_connection_id","path_id":2"#), "{text}");
    assert!(!text.contains("5e5e"), "{text}");
    let token = frame_text(&Frame::NewToken(&[0x5e; 9]));
    assert_eq!(token, r#"{"frame_type":"new_token","token":{"raw":{"length":9}}}"#);
}

#[test]
fn addresses_are_written_by_their_names_only() {
    let disk = Disk { room: usize::MAX, ..Disk::default() };
    let mut tracer = tracer(&disk, Time::ZERO);
    let tuple =
        FourTuple { local: "203.0.113.9:443".parse().unwrap(), remote: "10.1.0.7:5000".parse().unwrap() };
    tracer.started(Time::ZERO, tuple, &TransportParameters::default());
    let observed = ObservedAddress { sequence_number: 0, address: tuple.remote };
    let mut payload = [0; 100];
    let mut w = Writer::new(&mut payload);
    Frame::ObservedAddress(observed).encode(&mut w).unwrap();
    let length = w.position();
    let packet = TracedPacket {
        space: SpaceId::Path(PathId(0)),
        number: 1,
        destination: ConnectionId::new(&[0xcd, 2]).unwrap(),
        long: None,
        length: 40,
        payload: &payload[..length],
    };
    tracer.packet_sent(Time::ZERO, &packet, PacketKind::Normal);
    drop(tracer);
    let written = String::from_utf8(disk.written.lock().unwrap().clone()).unwrap();
    assert!(!written.contains("203.0.113.9") && !written.contains("10.1.0.7"), "{written}");
    assert!(written.contains("networks for documentation"), "{written}");
    let client = r#""ip_v4":"192.0.2.1","port_v4":5000"#;
    assert_eq!(written.matches(client).count(), 2, "as it was and as it was observed: {written}");
    assert!(written.contains(r#""ip_v4":"198.51.100.1","port_v4":443"#), "{written}");
}

#[test]
fn records_are_framed_and_in_order_of_time() {
    let disk = Disk { room: usize::MAX, ..Disk::default() };
    let mut tracer = tracer(&disk, Time::from_millis(1000));
    let packet = TracedPacket {
        space: SpaceId::Path(PathId(1)),
        number: 5,
        destination: ConnectionId::new(&[0xcd, 2]).unwrap(),
        long: None,
        length: 20,
        payload: &[1],
    };
    tracer.packet_sent(Time::from_micros(1_002_500), &packet, PacketKind::MtuProbe);
    // Older than the last record: it had waited for its keys.
    tracer.packet_received(Time::from_millis(1001), &packet, 3);
    drop(tracer);
    let written = String::from_utf8(disk.written.lock().unwrap().clone()).unwrap();
    let records: Vec<&str> = written.split_terminator('\n').collect();
    assert_eq!(records.len(), 3);
    assert!(records.iter().all(|record| record.starts_with('\x1e')));
    assert!(records[0].contains(r#""title":"a \"test\"""#), "{}", records[0]);
    assert!(records[0].contains(r#""group_id":"ab01""#), "{}", records[0]);
    assert!(records[0].contains(r#""wall_clock_time":"2000-02-29T12:34:56.007Z""#), "{}", records[0]);
    let sent = r#"{"time":2.500,"name":"quic:packet_sent","tuple":"1","data":{"header":{"packet_type":"1RTT","path_id":1,"packet_number":5,"dcid":"cd02"},"raw":{"length":20,"payload_length":1},"frames":[{"frame_type":"ping"}],"is_mtu_probe_packet":true}}"#;
    assert_eq!(&records[1][1..], sent);
    assert!(records[2][1..].starts_with(r#"{"time":2.500,"name":"quic:packet_received""#), "{}", records[2]);
}

#[test]
fn notes_of_policies_come_before_what_follows_them() {
    let disk = Disk { room: usize::MAX, ..Disk::default() };
    let mut tracer = tracer(&disk, Time::ZERO);
    let sink: Arc<dyn TraceSink> = tracer.records.notes();
    let trace = Trace::new(Side::Server, vec![sink]);
    trace.note(Time::from_millis(3), "mams.plan", Some(PathId(2)), || {
        [("budget_s", 0.25.into()), ("by", "late".into()), ("rtt", 2.0.into()), ("rtt", f64::NAN.into())]
    });
    trace.note(Time::from_millis(4), "controller.ack", None, || [("window_bytes", 12_000.0.into())]);
    tracer.state(Time::from_millis(5), "closing");
    drop(tracer);
    let written = String::from_utf8(disk.written.lock().unwrap().clone()).unwrap();
    let records: Vec<&str> = written.split_terminator('\n').collect();
    let noted = r#"{"time":3.000,"name":"hawser:policy","tuple":"2","data":{"note":"mams.plan","path_id":2,"values":{"budget_s":0.25,"by":"late","rtt":[2,null]}}}"#;
    assert_eq!((records.len(), &records[1][1..]), (3, noted), "windows are recorded otherwise");
    assert!(records[2].contains("connection_state_updated"), "{}", records[2]);
}

#[test]
fn a_full_disk_ends_the_trace_and_nothing_else() {
    let disk = Disk { room: 1_000, ..Disk::default() };
    let mut tracer = tracer(&disk, Time::ZERO);
    assert_eq!(tracer.error(), None);
    for n in 0..100 {
        tracer.keys(Time::from_millis(n), "1rtt", Some(n), "local_update");
    }
    assert_eq!(tracer.error(), Some(io::ErrorKind::StorageFull));
    let written = disk.written.lock().unwrap();
    assert!(written.ends_with(b"\n"), "no half record");
    assert_eq!(Arc::strong_count(&disk.written), 1, "the writer is gone");
}
