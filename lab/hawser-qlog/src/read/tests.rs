use super::*;
use crate::trace::NEVER;

fn trace(text: &str) -> Trace {
    read(text.as_bytes(), "t").unwrap()
}

const SEQUENCE: &str = "\x1e{\"qlog_version\":\"0.4\",\"title\":\"hawser\",\"trace\":{\"common_fields\":{\"group_id\":\"ab\"},\"vantage_point\":{\"type\":\"server\"}}}\n\
    \x1e{\"time\":1.500,\"name\":\"quic:packet_sent\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"path_id\":1,\"packet_number\":7},\"raw\":{\"length\":1400},\"frames\":[{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":10,\"raw\":{\"length\":1380,\"payload_length\":1370}}]}}\n\
    \x1e{\"time\":2.0,\"name\":\"quic:packet_lost\",\"tuple\":\"1\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"path_id\":1,\"packet_number\":7},\"trigger\":\"time_threshold\"}}\n\
    \x1e{\"time\":9.25,\"name\":\"quic:packet_received\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"path_id\":0,\"packet_number\":3},\"raw\":{\"length\":50},\"frames\":[{\"frame_type\":\"path_ack\",\"path_id\":1,\"acked_ranges\":[[5,9]]}]}}\n";

#[test]
fn a_packet_that_was_lost_and_is_acknowledged_was_lost_by_mistake() {
    let trace = trace(SEQUENCE);
    let packet = trace.sent[0];
    assert_eq!((packet.at_us, packet.path, packet.number, packet.size), (1_500, 1, 7, 1_400));
    assert_eq!((packet.lost_us, packet.acked_us), (2_000, 9_250));
    assert!(packet.is_spuriously_lost());
    assert_eq!(trace.chunks[0].end(), 1_380);
    assert_eq!(trace.notices, Vec::<String>::new());
}

#[test]
fn a_file_that_is_cut_off_is_read_up_to_there() {
    for cut in [SEQUENCE.len() - 40, SEQUENCE.len() - 2] {
        let trace = trace(&SEQUENCE[..cut]);
        assert_eq!((trace.sent.len(), trace.received.len()), (1, 0));
        assert_eq!(trace.notices, ["the file is cut off; it is read up to there"]);
    }
}

const PICOQUIC: &str = r#"{ "qlog_version": "draft-00", "title": "picoquic", "traces": [
{ "vantage_point": { "name": "backend-67", "type": "server" }, "title": "picoquic", "description": "a1",
"event_fields": ["relative_time", "path_id", "category", "event", "data"],
"configuration": {"time_units": "us"},
"common_fields": { "protocol_type": "QUIC_HTTP3", "reference_time": "1700000000000000"},
"events": [
[0, 0, "transport", "datagram_received", { "byte_length": 1252, "addr_from" : {"ip_v4": "10.0.0.1", "port_v4" : 4433}}],
[2000, 1, "transport", "packet_sent", { "packet_type": "1RTT", "header": { "packet_size": 1400, "packet_number": "31"}, "frames": [{ "frame_type": "stream", "id": "4", "offset": "100", "length": 1300, "fin": true }, {"frame_type": "ping"}]}],
[2500, 1, "recovery", "metrics_updated", { "cwnd": 15360, "smoothed_rtt": 30000, "latest_rtt": 31000, "bytes_in_flight": 1400}],
[9000, 1, "recovery", "packet_lost", { "packet_type" : "1RTT", "trigger": "repeat", "header": {"packet_type" : "1RTT", "packet_number" : 31, "packet_size": 1400}}],
[9500, 0, "transport", "packet_received", { "packet_type": "1RTT", "header": { "packet_size": 60, "packet_number": "3"}, "frames": [{ "frame_type": "ack", "acked_ranges": [["0", "5"], [7]]}]}]
]}]}"#;

#[test]
fn picoquic_is_read_with_its_rows_and_microseconds() {
    let trace = trace(PICOQUIC);
    assert_eq!(trace.implementation, "picoquic");
    let packet = trace.sent[0];
    assert_eq!((packet.at_us, packet.path, packet.number, packet.size), (2_000, 1, 31, 1_400));
    assert_eq!((packet.lost_us, packet.acked_us), (9_000, NEVER));
    assert_eq!(trace.data_of(&packet)[0].end(), 1_400);
    assert_eq!(trace.paths[&1].rtt, [(2_500, 31_000.0)]);
    assert_eq!(trace.paths[&1].window, [(2_500, 15_360.0)]);
    assert_eq!(trace.notices, Vec::<String>::new());
}

#[test]
fn a_document_that_is_cut_off_is_read_up_to_there() {
    let cut = PICOQUIC.find("9500").unwrap();
    for end in [cut - 2, cut + 4, cut + 60] {
        let trace = trace(&PICOQUIC[..end]);
        assert_eq!(trace.sent[0].lost_us, 9_000, "{end}");
        assert_eq!(trace.notices, ["the file is cut off; it is read up to there"]);
    }
}

const QUIC_GO: &str = r#"{"qlog_format":"NDJSON","qlog_version":"draft-02","title":"quic-go qlog","trace":{"vantage_point":{"type":"client"},"common_fields":{"ODCID":"cafe","group_id":"cafe","reference_time":1700000000000.5,"time_format":"relative"}}}
{"time":0.05,"name":"transport:connection_started","data":{"ip_version":"ipv4","src_ip":"10.0.0.1","src_port":1,"dst_ip":"10.0.0.2","dst_port":2}}
{"time":1.25,"name":"transport:packet_sent","data":{"header":{"packet_type":"initial","packet_number":0},"raw":{"length":1252},"frames":[{"frame_type":"crypto","offset":0,"length":300}]}}
{"time":20.5,"name":"transport:packet_received","data":{"header":{"packet_type":"1RTT","packet_number":12,"key_phase_bit":"0"},"raw":{"length":1300},"frames":[{"frame_type":"stream","stream_id":0,"offset":0,"length":1270}]}}
{"time":21,"name":"recovery:metrics_updated","data":{"min_rtt":19.1,"smoothed_rtt":20,"latest_rtt":20.5,"rtt_variance":2,"congestion_window":40960,"bytes_in_flight":0}}
"#;

#[test]
fn quic_go_is_read_with_its_lines_and_milliseconds() {
    let trace = trace(QUIC_GO);
    assert_eq!((trace.group.as_deref(), trace.side), (Some("cafe"), crate::trace::Side::Client));
    assert_eq!(trace.sent.len(), 0, "the handshake has other numbers");
    assert_eq!((trace.received[0].at_us, trace.received[0].number), (20_500, 12));
    assert_eq!(trace.paths[&0].rtt, [(21_000, 20_500.0)]);
}

#[test]
fn other_files_are_refused_with_what_they_are() {
    let refused = |bytes: &[u8]| read(bytes, "t").unwrap_err().to_string();
    assert!(
        refused(b"PAR1\x15\x04").starts_with("this is no qlog: it begins with \"PAR1"),
        "{}",
        refused(b"PAR1")
    );
    assert!(refused(b"").contains("no event"));
    assert!(refused(b"{}").contains("no event"));
    assert!(refused(b"{\"a\":[1,2,{\"events\":[}").contains("no event"));
    assert!(refused(b"[[[[[[[").starts_with("this is no qlog"));
    let deep = format!("{{\"traces\":{}", "[".repeat(100_000));
    assert!(refused(deep.as_bytes()).contains("no event"));
}

#[test]
fn records_that_are_no_events_are_counted_and_left_out() {
    let (head, events) = SEQUENCE.split_at(SEQUENCE.find('\n').unwrap() + 1);
    let text = format!("{head}\x1e{{\"time\":-4,\"name\":\"a\"}}\n\x1enonsense\n{events}");
    let trace = trace(&text);
    assert_eq!(trace.sent.len(), 1);
    assert!(trace.notices[0].starts_with("2 records are left out"), "{:?}", trace.notices);
}

/// Whatever stands in a file: it is read or refused, and a page can be made of what was read.
#[test]
fn files_that_are_damaged_anywhere_do_no_harm() {
    for text in [SEQUENCE, PICOQUIC, QUIC_GO] {
        for at in 0..text.len() {
            let mut bytes = text.as_bytes().to_vec();
            for with in [b'9', b'"', b'}', b'['] {
                bytes[at] = with;
                if let Ok(trace) = read(bytes.as_slice(), "t") {
                    let study = crate::Study::new(trace, None, crate::Options::default());
                    assert!(crate::page::page(&study).len() > 1_000);
                }
            }
            let _ = read(&text.as_bytes()[..at], "t");
        }
    }
}

#[test]
fn absurd_numbers_are_bounded() {
    let events = "{\"time\":1e300,\"name\":\"packet_sent\",\"data\":{\"header\":{\"packet_number\":1e19,\"path_id\":1e19},\
        \"frames\":[{\"frame_type\":\"stream\",\"stream_id\":1e19,\"offset\":1.8e19,\"length\":1e18}]}}\n\
        {\"time\":2,\"name\":\"packet_received\",\"data\":{\"header\":{\"packet_number\":1},\
        \"frames\":[{\"frame_type\":\"ack\",\"acked_ranges\":[[0,1e19]],\"path_id\":1e19},\
        {\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":0,\"length\":1e18}]}}\n";
    let text = format!("{}{events}", &QUIC_GO[..QUIC_GO.find('\n').unwrap() + 1]);
    let study = crate::Study::new(trace(&text), Some(trace(&text)), crate::Options::default());
    assert!(study.summary().bytes <= 65_535, "{:?}", study.summary());
    assert!(crate::page::page(&study).len() > 1_000);
}
