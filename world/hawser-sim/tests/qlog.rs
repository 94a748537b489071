//! Traces of both ends of a download over two links, read back record by record.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hawser_core::{Code, FourTuple, QlogFactory};
use hawser_policy::{PathId, PathStatus, Side, Time};
use hawser_sim::testing::{SERVER, client, client_address, client_config, link, server, transport};
use hawser_sim::{Download, Host, Network, Serve};
use serde_json::Value;

use crate::common;

const LENGTH: u64 = 4_000_000;

type Scenario = Network<Host<Download>, Host<Serve>>;

/// A trace in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, data: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The records of a trace; the first is the header.
fn records(memory: &Memory) -> Vec<Value> {
    let bytes = memory.0.lock().unwrap();
    let text = std::str::from_utf8(&bytes).unwrap();
    assert!(text.starts_with('\x1e') && text.ends_with('\n'));
    text.split('\x1e')
        .skip(1)
        .map(|record| {
            assert_eq!(record.matches('\n').count(), 1, "one line per record");
            serde_json::from_str(record).unwrap_or_else(|error| panic!("{error}: {record}"))
        })
        .collect()
}

fn traced(traces: &[(Side, Memory); 2]) -> QlogFactory {
    let traces = traces.clone();
    Arc::new(move |connection| {
        let (_, memory) = traces.iter().find(|(side, _)| *side == connection.side)?;
        Some(Box::new(memory.clone()) as Box<dyn Write + Send>)
    })
}

/// Two links, of which the second loses packets; ends while the download still runs.
fn download(qlog: Option<QlogFactory>) -> Scenario {
    download_by("minrtt", qlog)
}

fn download_by(scheduler: &str, qlog: Option<QlogFactory>) -> Scenario {
    let mut transport = transport(&common::registry(), scheduler, "cubic");
    transport.qlog = qlog;
    let transport = Arc::new(transport);
    let mut host = client(Download::default(), 5);
    host.connect(Time::ZERO, client_config(transport.clone()), client_address(0), SERVER, "server.test")
        .unwrap();
    let mut network = Network::new(host, server(transport, Serve::new(LENGTH), 5), 5);
    network.add_link(client_address(0).ip(), &link(20, 10), &link(20, 10));
    network.add_link(client_address(1).ip(), &link(10, 20), &link(10, 20));
    let tuple = FourTuple { local: client_address(1), remote: SERVER };
    let opened = network.run_until(Time::from_secs(2), |n| {
        let now = n.now();
        let connection = n.client.first_connection();
        connection.is_some_and(|c| c.open_path(now, tuple, PathStatus::Available, None).is_ok())
    });
    assert!(opened);
    let received = network.run_until(Time::from_secs(20), |n| n.client.application.received > LENGTH / 2);
    assert!(received);
    network
}

fn traces() -> [(Side, Memory); 2] {
    [(Side::Client, Memory::default()), (Side::Server, Memory::default())]
}

fn name(record: &Value) -> &str {
    record["name"].as_str().unwrap()
}

fn named<'a>(records: &'a [Value], wanted: &'a str) -> impl Iterator<Item = &'a Value> {
    records[1..].iter().filter(move |record| name(record) == wanted).map(|record| &record["data"])
}

/// The id of a 1-RTT packet.
fn packet(header: &Value) -> Option<(u64, u64)> {
    let is_one_rtt = header["packet_type"] == "1RTT";
    is_one_rtt.then(|| (header["path_id"].as_u64().unwrap(), header["packet_number"].as_u64().unwrap()))
}

/// Packets in flight, by path, with their bytes.
type InFlight = BTreeMap<(u64, u64), u64>;

fn is_in_flight(data: &Value) -> bool {
    let frames = data["frames"].as_array().unwrap();
    frames.iter().any(|frame| {
        !matches!(frame["frame_type"].as_str().unwrap(), "ack" | "path_ack" | "connection_close")
    })
}

/// Follows every 1-RTT packet from its departure to its end: none may end twice or without having left.
fn follow(records: &[Value]) -> (InFlight, BTreeMap<u64, usize>, BTreeMap<u64, usize>) {
    let mut open = BTreeMap::new();
    let mut closed = BTreeSet::new();
    let (mut acked, mut lost) = (BTreeMap::new(), BTreeMap::new());
    for record in &records[1..] {
        let data = &record["data"];
        match name(record) {
            "quic:packet_sent" => {
                let Some(id) = packet(&data["header"]) else { continue };
                let bytes = if is_in_flight(data) { data["raw"]["length"].as_u64().unwrap() } else { 0 };
                assert_eq!(open.insert(id, bytes), None, "{id:?} was sent twice");
            }
            "quic:packets_acked" if data["packet_number_space"] == "application_data" => {
                let path = data["path_id"].as_u64().unwrap();
                for number in data["packet_numbers"].as_array().unwrap() {
                    let id = (path, number.as_u64().unwrap());
                    assert!(
                        open.remove(&id).is_some() && closed.insert(id),
                        "{id:?} acknowledged out of turn"
                    );
                    *acked.entry(path).or_default() += 1;
                }
            }
            "quic:packet_lost" => {
                let Some(id) = packet(&data["header"]) else { continue };
                assert!(open.remove(&id).is_some() && closed.insert(id), "{id:?} lost out of turn");
                *lost.entry(id.0).or_default() += 1;
            }
            _ => {}
        }
    }
    (open, acked, lost)
}

#[test]
fn a_trace_has_what_policies_note_and_the_run_is_the_same() {
    let traces = traces();
    let traced = download_by("mams", Some(traced(&traces))).trace_hash();
    assert_eq!(traced, download_by("mams", None).trace_hash());
    let records = records(&traces[1].1);
    let plans: Vec<&Value> = named(&records, "hawser:policy").collect();
    assert!(plans.len() > 20 && plans.iter().all(|plan| plan["note"] == "mams.plan"), "{}", plans.len());
    assert!(plans.iter().any(|plan| plan["path_id"] == 1 && plan["values"]["expected"].as_f64() > Some(1.0)));
    let times = records[1..].iter().map(|record| record["time"].as_f64().unwrap());
    assert!(times.is_sorted());
}

#[test]
fn a_trace_accounts_for_every_packet() {
    let traces = traces();
    let mut network = download(Some(traced(&traces)));
    let connection = network.server.first_connection().unwrap();
    assert_eq!(connection.qlog_error(), None);
    let (open, acked, lost) = follow(&records(&traces[1].1));
    for path in [0, 1] {
        let stats = connection.path_stats(PathId(path as u32)).unwrap();
        let in_flight: u64 = open.iter().filter(|((on, _), _)| *on == path).map(|(_, bytes)| bytes).sum();
        assert!(acked[&path] > 100, "both paths carry data: {acked:?}");
        assert_eq!(in_flight, stats.bytes_in_flight, "path {path}: sent = acknowledged + lost + in flight");
        assert_eq!(lost.get(&path).copied().unwrap_or(0) as u64, stats.packets_lost, "path {path}");
    }
    assert!(lost.values().sum::<usize>() > 0, "the queue overflowed at the end of slow start");
}

#[test]
fn metrics_add_up_to_the_state_of_the_path() {
    let traces = traces();
    let mut network = download(Some(traced(&traces)));
    let connection = network.server.first_connection().unwrap();
    let records = records(&traces[1].1);
    for path in [0u64, 1] {
        let mut metrics = BTreeMap::new();
        for data in named(&records, "quic:recovery_metrics_updated").filter(|data| data["path_id"] == path) {
            let mut changes = 0;
            for (key, value) in data.as_object().unwrap().iter().filter(|(key, _)| *key != "path_id") {
                let before = metrics.insert(key.clone(), value.clone());
                assert_ne!(before.as_ref(), Some(value), "{key} was written although it is as before");
                changes += 1;
            }
            assert!(changes > 0, "an update without a change");
        }
        let stats = connection.path_stats(PathId(path as u32)).unwrap();
        assert_eq!(metrics["congestion_window"], stats.congestion_window);
        assert_eq!(metrics["bytes_in_flight"], stats.bytes_in_flight);
        for (key, value) in [("smoothed_rtt", stats.smoothed_rtt), ("min_rtt", stats.min_rtt)] {
            let written = metrics[key].as_f64().unwrap();
            assert!((written - value.as_secs_f64() * 1e3).abs() < 0.002, "{key}: {written} for {value:?}");
        }
    }
    let states = [0, 1].map(|path| {
        let of_path = named(&records, "quic:congestion_state_updated").filter(|data| data["path_id"] == path);
        of_path.map(|data| data["new"].as_str().unwrap()).collect::<Vec<_>>()
    });
    // On one path slow start ends because the round-trip time grew, on the other because packets are lost.
    assert!(states.iter().all(|states| states[0] == "slow_start"), "{states:?}");
    let recovers = |states: &Vec<&str>| states[1..].starts_with(&["recovery", "congestion_avoidance"]);
    assert!(states.iter().any(recovers), "{states:?}");
    assert!(states.iter().any(|states| states[1] == "congestion_avoidance"), "{states:?}");
}

#[test]
fn records_have_the_members_that_the_drafts_require() {
    let traces = traces();
    drop(download(Some(traced(&traces))));
    let both = [records(&traces[0].1), records(&traces[1].1)];
    assert_eq!(both[0][0]["trace"]["common_fields"], both[1][0]["trace"]["common_fields"], "one group");
    for ((side, _), records) in traces.iter().zip(&both) {
        let header = &records[0];
        assert_eq!(header["file_schema"], "urn:ietf:params:qlog:file:sequential");
        assert_eq!(header["serialization_format"], "application/qlog+json-seq");
        assert_eq!((&header["qlog_version"], &header["qlog_format"]), (&"0.4".into(), &"JSON-SEQ".into()));
        let end = if side.is_client() { "client" } else { "server" };
        assert_eq!(header["trace"]["vantage_point"]["type"], end);
        assert_eq!(header["trace"]["event_schemas"][0], "urn:ietf:params:qlog:events:quic-13");
        assert_eq!(header["trace"]["common_fields"]["group_id"].as_str().unwrap().len(), 16);

        let mut latest = 0.0;
        for record in &records[1..] {
            let time = record["time"].as_f64().unwrap();
            assert!(time >= latest, "{time} after {latest}");
            latest = time;
            assert!(record["data"].is_object());
            let path = record["data"]["header"]["path_id"].as_u64().or(record["data"]["path_id"].as_u64());
            let tuple = path.filter(|&path| path > 0).map(|path| path.to_string());
            assert_eq!(record["tuple"].as_str(), tuple.as_deref(), "{record}");
        }
        assert_eq!(name(&records[1]), "quic:connection_started");
        assert_eq!(records[1]["time"], 0.0);
        let initiators: Vec<&Value> =
            named(records, "quic:parameters_set").map(|data| &data["initiator"]).collect();
        assert_eq!(initiators, ["local", "remote"]);
        check_packets(records);
    }
    let (of_client, of_server) = (parameters(&both[0], "local"), parameters(&both[1], "remote"));
    assert_eq!(of_client, of_server, "the server received what the client sent");
    assert_eq!(parameters(&both[0], "remote"), parameters(&both[1], "local"));
}

fn parameters(records: &[Value], initiator: &str) -> Value {
    let mut found =
        named(records, "quic:parameters_set").find(|data| data["initiator"] == initiator).unwrap().clone();
    found["initiator"] = Value::Null;
    found
}

fn check_packets(records: &[Value]) {
    let mut types = BTreeSet::new();
    for wanted in ["quic:packet_sent", "quic:packet_received"] {
        for data in named(records, wanted) {
            assert!(data["header"]["packet_number"].is_u64(), "{data}");
            assert!(data["raw"]["length"].as_u64() > data["raw"]["payload_length"].as_u64(), "{data}");
            let frames = data["frames"].as_array().unwrap();
            assert!(!frames.is_empty(), "{data}");
            types.extend(frames.iter().map(|frame| frame["frame_type"].as_str().unwrap().to_owned()));
        }
    }
    let expected = [
        "ack",
        "path_ack",
        "crypto",
        "stream",
        "padding",
        "handshake_done",
        "path_challenge",
        "path_response",
    ];
    for frame in expected {
        assert!(types.contains(frame), "no {frame} among {types:?}");
    }
}

/// What one end sends the other receives, frame by frame.
#[test]
fn both_ends_tell_the_same_story() {
    let traces = traces();
    drop(download(Some(traced(&traces))));
    let (sender, receiver) = (records(&traces[1].1), records(&traces[0].1));
    let sent: BTreeMap<_, _> = named(&sender, "quic:packet_sent")
        .filter_map(|data| Some((packet(&data["header"])?, (&data["frames"], &data["raw"]))))
        .collect();
    let mut seen = 0;
    for data in named(&receiver, "quic:packet_received") {
        let Some(id) = packet(&data["header"]) else { continue };
        assert_eq!(sent[&id], (&data["frames"], &data["raw"]), "{id:?}");
        seen += 1;
    }
    assert!(seen > 1_000, "{seen}");
}

#[test]
fn a_path_is_followed_from_birth_to_death_and_the_connection_to_its_close() {
    let traces = traces();
    let mut network = download(Some(traced(&traces)));
    let now = network.now();
    let connection = network.client.first_connection().unwrap();
    connection.abandon_path(now, PathId(1), Code::APPLICATION_ABANDON_PATH).unwrap();
    assert!(connection.initiate_key_update(now));
    // Three probe timeouts, with few round trips measured so far.
    let later = now + Duration::from_secs(3);
    network.run_until(later, |_| false);
    let now = network.now();
    network.client.first_connection().unwrap().close(now, 7, "that \"is\" all".into());
    network.run_until(now + Duration::from_secs(5), |n| n.client.connections() + n.server.connections() == 0);

    let (client, server) = (records(&traces[0].1), records(&traces[1].1));
    let life = |records: &[Value]| -> Vec<String> {
        named(records, "hawser:path_state_updated")
            .filter(|data| data["path_id"] == 1)
            .map(|data| data["new"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(life(&client), ["validating", "active", "abandoning", "draining", "closed"]);
    assert_eq!(life(&server), ["validating", "active", "draining", "closed"]);
    let tuples: Vec<&Value> =
        named(&client, "quic:tuple_assigned").filter(|data| data["tuple_id"] == "1").collect();
    assert_eq!(tuples[0]["tuple_local"]["ip_v4"], client_address(1).ip().to_string());
    assert_eq!(tuples[0]["tuple_remote"]["port_v4"], 443);
    assert!(tuples[1].get("tuple_local").is_none(), "abandoned");

    for (records, trigger) in [(&client, "local_update"), (&server, "remote_update")] {
        let updates: Vec<&Value> =
            named(records, "quic:key_updated").filter(|data| data["trigger"] == trigger).collect();
        assert_eq!(updates.len(), 2, "one key for each direction");
        assert_eq!(updates[0]["key_phase"], 1);
    }
    for (records, initiator) in [(&client, "local"), (&server, "remote")] {
        let closed: Vec<&Value> = named(records, "quic:connection_closed").collect();
        assert_eq!(closed.len(), 1);
        assert_eq!(closed[0]["initiator"], initiator);
        assert_eq!(closed[0]["error_code"], 7);
        assert_eq!(closed[0]["reason"], "that \"is\" all");
        let state = named(records, "quic:connection_state_updated").last().unwrap();
        assert_eq!(state["new"], "closed");
    }
    follow(&client);
    follow(&server);
}

/// A trace must not change what it shows.
#[test]
fn tracing_changes_nothing() {
    let traces = traces();
    let (mut with, mut without) = (download(Some(traced(&traces))), download(None));
    assert_eq!(with.now(), without.now());
    let stats = |network: &mut Scenario| {
        let connection = network.server.first_connection().unwrap();
        (connection.stats(), connection.path_stats(PathId(0)), connection.path_stats(PathId(1)))
    };
    assert_eq!(stats(&mut with), stats(&mut without));
    let again = self::traces();
    drop(download(Some(traced(&again))));
    assert!(
        *traces[1].1.0.lock().unwrap() == *again[1].1.0.lock().unwrap(),
        "the same run has the same trace"
    );
}
