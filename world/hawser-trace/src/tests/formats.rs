//! Each format by example, and what is wrong with bad files.

use hawser_link::{Direction, MILLISECOND, OutagePolicy, SECOND};

use super::*;

const PAM: &str = "\
TIME_STAMP_x,DLtput_x,modified_tech_x,handover_status_x,TIME_STAMP_y,DLtput_y,modified_tech_y,handover_status_y,timediff
1683985206.4,20.5,LTE-A,,1683985206.5,3.892,LTE,,0.2
1683985206.6,31.0,LTE-A,,1683985206.7,,,Start,0.05
1683985206.65,31.0,LTE-A,,1683985206.75,,,End,0.025
1683985206.65,31.0,LTE-A,,1683985206.75,,,End,0.025
1683985206.7,31.0,LTE-A,,1683985206.8,4.392,5G-mid,newtput,0.2
1683985206.9,31.0,LTE-A,,1683985206.79,4.5,5G-mid,,0.5
1683985207.4,0.0,LTE-A,,,4.5,5G-mid,,0.5
";

#[test]
fn mahimahi() {
    let trace = parsed("drives/Verizon.down", "0\n5\n5\n\n10\n");
    assert_eq!((trace.name.as_str(), trace.duration), ("Verizon", 10 * MILLISECOND));
    assert_eq!(trace.links[0].down.rate, Some(RateTrace::Chances(vec![0, 5, 5, 10])));
    assert_eq!(trace.links[0].up, DirectionTrace::default());
    let both = parsed("walk.txt", "1\n2\n");
    assert_eq!(both.links[0].up, both.links[0].down);
    let gaps = parsed("a.up", "1\n400\n").links[0].up.gaps(800 * MILLISECOND, 100 * MILLISECOND);
    assert_eq!(gaps, [(MILLISECOND, 400 * MILLISECOND), (401 * MILLISECOND, 800 * MILLISECOND)]);
}

#[test]
fn leo_replayer_pairs_belong_together() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).unwrap();
        Input::new(folder.path().join(name).to_str().unwrap())
    };
    let inputs = [file("bw_orbit.txt", "1\n1\n20\n"), file("delay_orbit.txt", "12\n12\n16.5\n")];
    let trace = read(&inputs, &ReadOptions::default()).unwrap();
    assert_eq!(trace.links.len(), 1);
    assert_eq!((trace.links[0].name.as_str(), trace.duration), ("orbit", 30 * MILLISECOND));
    let delay = trace.links[0].down.delay.as_ref().unwrap();
    assert_eq!(delay.points()[2], (20 * MILLISECOND, 16_500_000));
    let twice = read(&[inputs[0].clone(), inputs[0].clone()], &ReadOptions::default()).unwrap_err();
    assert!(twice.to_string().contains("gives the rate of link `orbit`, and so does"), "{twice}");
    let named = Input::new(&format!("leo={}", folder.path().join("bw_orbit.txt").display()));
    assert_eq!(read(&[named], &ReadOptions::default()).unwrap().links[0].name, "leo");
}

#[test]
fn victoria() {
    let header = "ul_Mbps,dl_Mbps,ul_ms,dl_ms,ul_loss,dl_loss,t_ms\n";
    for header in [header, ""] {
        let trace = parsed("v.csv", &format!("{header}10,200,25.5,24,0,0.01,1000\n12,210,26,24,0,0,1100\n"));
        let link = &trace.links[0];
        assert_eq!(trace.duration, 200 * MILLISECOND);
        assert_eq!(link.down.rate.as_ref().unwrap().mean(trace.duration), 205e6);
        assert_eq!(link.up.delay.as_ref().unwrap().value_at(0), 25_500_000);
        assert_eq!(link.down.loss.as_ref().unwrap().value_at(0), 0.01);
    }
    assert!(refused("v.csv", "1,2,3,4,5,6,7\n").contains("ul_loss is 5; expected a probability"));
    assert!(refused("v.csv", "1,2,3,4,0,0,7\n1,2,3\n").starts_with("v.csv:2: expected 7 columns"));
    assert!(refused("v.csv", "1,2,3,4,0,0,7\n1,2,3,4,0,0,7\n").contains("v.csv:2: t_ms is 7, not later"));
}

#[test]
fn pensieve_rates_are_those_of_the_time_before() {
    let trace = parsed("bus.com", "10 99\n11 2\n13 4\n");
    assert_eq!(trace.duration, 3 * SECOND);
    let Some(RateTrace::Steps(series)) = &trace.links[0].down.rate else { panic!("steps") };
    assert_eq!(series.points(), [(0, 2_000_000), (SECOND, 4_000_000)]);
    assert_eq!(series.value_at(3 * SECOND), 2_000_000, "it starts again");
    assert!(refused("bus.com", "1 2\n").contains("one line makes no trace"));
}

#[test]
fn series_files_say_what_they_are() {
    let trace = parsed("dir/att.up.delay", "0 12.5\n2 30\n");
    assert_eq!((trace.links[0].name.as_str(), trace.duration), ("att", 4 * SECOND));
    assert_eq!(trace.links[0].up.delay.as_ref().unwrap().value_at(SECOND), 12_500_000);
    assert_eq!(trace.links[0].down, DirectionTrace::default());
    assert_eq!(parsed("x.loss", "0 0.5\n").links[0].up.loss.as_ref().unwrap().value_at(0), 0.5);
}

#[test]
fn scenario_strings_of_the_network_simulator() {
    let input =
        Input::new("blackhole --delay=15ms --bandwidth=10Mbps --queue=25 --on=5s --off=2s --repeat=2");
    let trace = read(&[input], &ReadOptions::default()).unwrap();
    let link = &trace.links[0].down;
    assert_eq!(link.outages, [(5 * SECOND, 7 * SECOND), (12 * SECOND, 14 * SECOND)]);
    assert_eq!((link.queue, link.outage_policy), (Some(37_500), OutagePolicy::Drop));
    assert_eq!(link.delay.as_ref().unwrap().value_at(0), 15 * MILLISECOND);
    let lossy = "drop-rate --delay 15ms --bandwidth=10Mbps --queue=25 --rate_to_client=10 --rate_to_server=0 --burst_to_client=3";
    let trace = parsed("s", lossy);
    assert_eq!(trace.links[0].down.loss.as_ref().unwrap().value_at(0), 0.1);
    assert_eq!(trace.links[0].up.loss, None);
    assert_eq!(trace.notes.len(), 1);
    for (text, expected) in [
        ("simple-p2p --delay=15ms", "--bandwidth is missing; write --bandwidth=10Mbps"),
        ("simple-p2p --delay=15 --bandwidth=1Mbps", "--delay is \"15\"; expected for example 15ms"),
        ("simple-p2p --speed=3", "unknown option --speed"),
        ("simple-p2p 15ms", "\"15ms\" is no option"),
    ] {
        assert!(refused("s", text).contains(expected), "{text}: {}", refused("s", text));
    }
}

#[test]
fn two_carriers_in_one_file() {
    let trace = parsed("DL_run.csv", PAM);
    let [att, verizon] = &trace.links[..] else { panic!("two links") };
    assert_eq!((att.name.as_str(), verizon.name.as_str()), ("atnt", "verizon"));
    let hand_overs: Vec<_> = verizon.hand_overs().map(|event| (event.from, event.to)).collect();
    assert_eq!(hand_overs, [(300 * MILLISECOND, 350 * MILLISECOND)], "marks that repeat count once");
    assert_eq!(verizon.up.outages, hand_overs, "neither direction works meanwhile");
    assert_eq!((&att.up.rate, att.hand_overs().count()), (&None, 0));
    assert_eq!(att.down.gaps(trace.duration, SECOND), [(SECOND, 3 * SECOND / 2)], "the rate of 0 at the end");
    let technologies = verizon.events.iter().filter_map(|event| match &event.kind {
        EventKind::Technology(name) => Some(name.as_str()),
        EventKind::HandOver => None,
    });
    assert_eq!(technologies.collect::<Vec<_>>(), ["LTE", "5G-mid"]);
    // The sample before the last goes back by 10 ms and is put where it belongs.
    let Some(RateTrace::Steps(rates)) = &verizon.down.rate else { panic!("steps") };
    let milliseconds: Vec<_> = rates.points().iter().map(|point| point.0 / MILLISECOND).collect();
    assert_eq!(milliseconds, [100, 390, 400]);
    assert!(parsed("UL_run.csv", &PAM.replace("DLtput", "ULtput")).links[0].up.rate.is_some());
}

#[test]
fn bad_drives_are_refused() {
    let replaced = |from: &str, to: &str| refused("d.csv", &PAM.replacen(from, to, 1));
    assert!(replaced(",timediff", "").contains("d.csv:2: expected 8 columns as in the first line, found 9"));
    assert!(replaced("DLtput_y", "DL_y").contains("d.csv:1: the column DLtput_y is missing"));
    assert!(
        replaced("20.5", "-1").contains("d.csv:2: the throughput in Mbit/s is -1; it cannot be negative")
    );
    assert!(replaced("20.5", "fast").contains("\"fast\"; expected a number"));
    assert!(replaced(",Start", ",Begin").contains("d.csv:3: the handover status \"Begin\""));
    assert!(replaced("1683985207.4", "1683985000.0").contains("d.csv:8: the time 1683985000.0 goes back"));
    let header = PAM.lines().next().unwrap();
    assert!(refused("d.csv", header).contains("d.csv is empty"));
}

#[test]
fn ping_logs() {
    let log = "\
PING 192.0.2.1 (192.0.2.1) 38(66) bytes of data.
[2024-02-28 23:59:59.900000] 46 bytes from 192.0.2.1: icmp_seq=1 ttl=50 time=100 ms
[2024-02-29 00:00:00.060000] 46 bytes from 192.0.2.1: icmp_seq=2 ttl=50 time=60.0 ms
[2024-02-29 00:00:00.060000] 46 bytes from 192.0.2.1: icmp_seq=2 ttl=50 time=60.0 ms (DUP!)
[2024-02-29 00:00:00.640000] 46 bytes from 192.0.2.1: icmp_seq=5 ttl=50 time=40.0 ms
6 packets transmitted, 3 received, +1 duplicates, 50% packet loss, time 1000ms
";
    let trace = parsed("atnt_ping_1.out", log);
    assert_eq!(trace.links[0].name, "atnt");
    let delay = trace.links[0].down.delay.as_ref().unwrap();
    let expected = [(0, 50), (200, 30), (800, 20)].map(|(at, delay)| (at * MILLISECOND, delay * MILLISECOND));
    assert_eq!(delay.points(), expected);
    // Numbers 3 and 4 lie between 200 and 800 ms, and the last one got no answer.
    let loss = trace.links[0].up.loss.as_ref().unwrap();
    let lost: Vec<bool> = (0..12).map(|at| loss.value_at(at * 100 * MILLISECOND) > 0.0).collect();
    let is_lost = |at: u64| (4..8).contains(&at) || (10..12).contains(&at);
    assert_eq!(lost, (0..12).map(is_lost).collect::<Vec<_>>());
    assert_eq!(
        parsed("p", "64 bytes: icmp_seq=1 time=1 ms\n64 bytes: icmp_seq=3 time=1 ms").duration,
        3 * SECOND
    );
    assert!(refused("p", "PING x\n").contains("no answer"), "nor how many were sent");
    // A summary of another run, which says nothing of this answer (found by the fuzz target `files`).
    let of_another = "64 bytes: icmp_seq=0 time=1 ms\n0 packets transmitted, 0 received, 0% packet loss\n";
    assert_eq!(parsed("p", of_another).duration, SECOND);
    assert!(refused("p", "[today] icmp_seq=1 time=1 ms").contains("p:1: [today] is no time stamp"));
}

/// Three of four requests were answered, after 14 to 34 ms; the last but one was not.
#[test]
fn ping_logs_of_every_dialect() {
    let iputils = |number: &str, time: &str, tail: &str| {
        let line =
            |at: u32, ms: &str| format!("64 bytes from 192.0.2.9: {number}={at} ttl=58 {time}={ms}{tail}\n");
        format!("PING x (192.0.2.9) 56(84) bytes.\n{}{}{}", line(1, "31,5"), line(2, "32.5"), line(4, "34.5"))
    };
    let windows = "\nPinging host [192.0.2.9] with 1000 bytes of data:\n\
        Reply from 192.0.2.9: bytes=1000 time=31ms TTL=115\nReply from 192.0.2.9: bytes=1000 time<1ms TTL=115\n\
        Request timed out.\nReply from 192.0.2.9: bytes=1000 time=34ms TTL=115\n\nPing statistics for 192.0.2.9:\n    \
        Packets: Sent = 4, Received = 3, Lost = 1 (25% loss),\n";
    let german = "Ping wird ausgef\u{fc}hrt f\u{fc}r host [192.0.2.9] mit 32 Bytes Daten:\n\
        Antwort von 192.0.2.9: Bytes=32 Zeit=31ms TTL=115\nAntwort von 192.0.2.9: Bytes=32 Zeit=2ms TTL=115\n\
        Zeit\u{fc}berschreitung der Anforderung.\nAntwort von 192.0.2.9: Bytes=32 Zeit=34ms TTL=115\n\n";
    for log in [
        iputils("icmp_seq", "time", " ms"),
        iputils("icmp_req", "time", " ms"),
        iputils("seq", "time", " ms"),
        iputils("icmp_seq", "Zeit", " ms"),
        windows.to_owned(),
        german.to_owned(),
    ] {
        let trace = parsed("log", &log);
        let down = &trace.links[0].down;
        let times: Vec<u64> =
            down.delay.as_ref().unwrap().points().iter().map(|point| point.0 / SECOND).collect();
        assert_eq!((times, trace.duration), (vec![0, 1, 3], 4 * SECOND), "{log}");
        let loss = down.loss.as_ref().unwrap();
        let lost: Vec<bool> = (0..8).map(|half| loss.value_at(half * SECOND / 2) > 0.0).collect();
        assert_eq!(lost.iter().filter(|is_lost| **is_lost).count(), 2, "{log}: {lost:?}");
    }
    for log in [
        "PING x (192.0.2.9) 56(84) bytes of data.\n\n--- x ping statistics ---\n150 packets transmitted, 0 received, \
         100% packet loss, time 150000ms\n",
        &format!("Pinging x with 32 bytes of data:\n{}", "Request timed out.\n".repeat(150)),
    ] {
        let trace = parsed("log", log);
        assert_eq!(
            (&trace.links[0].up.outages[..], trace.duration),
            (&[(0, 150 * SECOND)][..], 150 * SECOND)
        );
    }
}

#[test]
fn logs_of_phones_and_reports_of_iperf3() {
    let log = "Timestamp,Longitude,Latitude,CellID,NetworkMode,DL_bitrate,UL_bitrate,State,PINGMIN\n\
        2019.12.16_23.59.58,-1.0,50.0,2,5G,112,24,D,-\n2019.12.16_23.59.59,-1.0,50.0,2,5G,34012,240,D,-\n\
        2019.12.16_23.59.59,-1.0,50.0,2,5G,34012,240,D,-\n2019.12.17_00.00.02,-1.0,50.0,3,LTE,12500,900,I,18\n";
    let trace = parsed("drive.csv", log);
    let link = &trace.links[0];
    let rates = |direction: &DirectionTrace| match direction.rate.as_ref().unwrap() {
        RateTrace::Steps(series) => series.points().to_vec(),
        RateTrace::Chances(_) => panic!(),
    };
    assert_eq!(rates(&link.down), [(0, 112_000), (SECOND, 34_012_000), (4 * SECOND, 12_500_000)]);
    assert_eq!((rates(&link.up)[2].1, trace.duration), (900_000, 5 * SECOND));
    assert_eq!(
        link.down.delay.as_ref().unwrap().points(),
        [(0, 9 * MILLISECOND), (4 * SECOND, 9 * MILLISECOND)]
    );
    assert_eq!(link.events.len(), 3, "5G, another cell, LTE");
    assert!(trace.notes[1].contains("1 lines"), "{:?}", trace.notes);
    let with = |from: &str, to: &str| refused("drive.csv", &log.replace(from, to));
    assert!(with("2019.12.17_00.00.02", "2019.12.16_00.00.02").contains("drive.csv:5: the time goes back"));
    assert!(with("2019.12.17_00.00.02", "today").contains("is no time"));
    assert!(with(",12500,", ",-,").contains("there is no DL_bitrate"));

    let report = |head: &str| {
        let sum = |from: f64, to: f64, rate: f64| {
            format!(
                r#"{{"streams":[],"sum":{{"start":{from},"end":{to},"bits_per_second":{rate},"omitted":false}}}}"#
            )
        };
        format!(r#"{{{head}"intervals":[{},{}],"end":{{}}}}"#, sum(0.0, 1.0, 9_999_000.4), sum(1.0, 2.5, 2e7))
    };
    let trace = parsed("iperf", &report(""));
    assert_eq!(
        (rates(&trace.links[0].up), trace.duration),
        (vec![(0, 9_999_000), (SECOND, 20_000_000)], 5 * SECOND / 2)
    );
    assert_eq!(trace.links[0].down.rate, None);
    let trace = parsed("iperf", &report(r#""start":{"test_start":{"reverse":1}},"#));
    assert_eq!((trace.links[0].up.rate.as_ref(), rates(&trace.links[0].down).len()), (None, 2));
    let failed = r#"{"start":{},"intervals":[],"error":"unable to connect","x":{"bits_per_second":1}}"#;
    assert!(refused("iperf", failed).contains("unable to connect"));
    assert!(refused("iperf", &report("").replace("20000000", "-1")).contains("makes no sense"));
}

#[test]
fn bad_lists_of_chances_are_refused_with_their_line() {
    assert!(refused("a", "").contains("a is empty"));
    assert!(refused("a.up", "# nothing\n\n").contains("a.up is empty"));
    assert!(refused("a.up", "1\n3\n2\n").contains("a.up:3: 2 ms comes after 3 ms"));
    assert!(refused("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n9\n11\n").contains("a:11: 9 ms comes after 10 ms"));
    assert!(refused("a.up", "1\nx\n").contains("a.up:2: the time in ms is \"x\""));
    assert!(refused("a.up", "-1\n").contains("it cannot be negative"));
    assert!(refused("a.up", "0\n0\n").contains("the trace has no length"));
    assert!(refused("a.rate", "0 1\n1e9 2\n").contains("it covers"), "and is not counted for ages");
    let unknown = refused("a", "<?xml version='1.0'?>");
    assert!(unknown.contains("\"<?xml version='1.0'?>\"") && unknown.contains("ul_Mbps"), "{unknown}");
    let forced = ReadOptions { format: Some(Format::Victoria), ..ReadOptions::default() };
    let error = parse("a", "1\n", &forced).unwrap_err().to_string();
    assert!(error.contains("a:1: expected 7 columns") && error.contains("(read as victoria)"), "{error}");
}

#[test]
fn a_direction_can_be_chosen() {
    let options = ReadOptions { direction: Some(Direction::Up), ..ReadOptions::default() };
    let trace = parse("a", "1\n2\n", &options).unwrap();
    assert!(trace.links[0].up.rate.is_some() && trace.links[0].down.rate.is_none());
}

#[test]
fn points_and_chances_without_the_form_around_them() {
    assert_eq!(points("a", "# s\n0 10\n1.5, 2.5\n", None).unwrap(), [(0, 10.0), (1_500_000_000, 2.5)]);
    assert_eq!(points("a", "7\n8\n", Some(20)).unwrap(), [(0, 7.0), (20, 8.0)]);
    assert_eq!(chances("a", "0\n5\n5\n").unwrap(), [0, 5, 5]);
    for (text, interval, expected) in [
        ("0 1\n\n0 2\n", None, "a:3: 0 s is not later"),
        ("0 1 2\n", None, "a:1: expected 2 columns, seconds and a value; found 3"),
        ("0 -1\n", None, "a:1: the value is -1; it cannot be negative"),
        ("5\n0 1\n", Some(20), "a:2: expected 1 column, a value per interval; found 2"),
        ("#\n", Some(20), "a is empty"),
    ] {
        let message = points("a", text, interval).unwrap_err().to_string();
        assert!(message.starts_with(expected), "{text:?}: {message}");
    }
}

/// Two uploads and a download on one interface, a run with a hole of two seconds, and an address without transport.
const RECORDS: &str = r#"
{"kind":"run","id":"0000000000-00000000000000aa","run":"00000000000000aa","unix":1.7e9}
{"kind":"session","id":"0000000001-00000000000000aa","run":"00000000000000aa","interface":"wlan0","run_ms":5000,"address_down_ms":300,"stopped_ms":301,"configuration":{"controller":"cubic","direction":"up","flows":2},"flows":[{"index":0,"connected_ms":0,"min_rtt_ms":30,"samples":{"interval_ms":100,"bytes":[1000,2000,3000]}},{"index":1,"connected_ms":100,"min_rtt_ms":20,"samples":{"interval_ms":200,"bytes":[1000]}}]}
{"kind":"session","id":"0000000002-00000000000000aa","run":"00000000000000aa","interface":"wlan0","run_ms":7300,"stopped_ms":200,"configuration":{"controller":"bbr","direction":"down","flows":1},"flows":[{"index":0,"connected_ms":0,"samples":{"interval_ms":100,"bytes":[500,0]}}]}
{"kind":"session","id":"0000000003-00000000000000aa","run":"00000000000000aa","interface":"wlan0","run_ms":7500,"stopped_ms":500,"configuration":{"controller":"bbr","direction":"down","flows":1},"flows":[{"index":0,"samples":{"interval_ms":100,"bytes":[]}}]}
{"kind":"server_flow","id":"0000000001-00000000000000bb","session":"0000000002-00000000000000aa","index":0,"min_rtt_ms":10,"samples":{"interval_ms":100,"bytes":[]}}
"#;

#[test]
fn records_of_measurements() {
    let trace = parsed("drive.jsonl", RECORDS);
    assert_eq!((trace.name.as_str(), trace.duration), ("drive", 3 * SECOND));
    let [link] = &trace.links[..] else { panic!("one interface") };
    assert_eq!(link.name, "wlan0");
    let rates = |direction: Direction| match &link.direction(direction).rate {
        Some(RateTrace::Steps(series)) => series.points().to_vec(),
        other => panic!("{other:?}"),
    };
    let ms = MILLISECOND;
    // Both flows together, 100 ms each: 1000, 2000 + 500, 3000 + 500 bytes. While the download was measured their mean.
    let mean = (7000.0 * 8.0 / 0.3_f64).round() as u64;
    assert_eq!(rates(Direction::Up)[..3], [(0, 80_000), (100 * ms, 200_000), (200 * ms, 280_000)]);
    assert_eq!(rates(Direction::Up)[3], (2300 * ms, mean));
    assert_eq!(rates(Direction::Down)[1..], [(2300 * ms, 40_000), (2400 * ms, 0)]);
    assert_eq!(link.up.outages, [(300 * ms, 2300 * ms), (2500 * ms, 3 * SECOND)], "and without transport");
    let delay = link.down.delay.as_ref().unwrap();
    assert_eq!(
        (delay.value_at(0), delay.value_at(2300 * ms)),
        (10 * ms, 5 * ms),
        "the server's word counts as well"
    );
    assert!(
        refused("drive.jsonl", &RECORDS.replace("\"run_ms\":5000", "\"run_ms\":-1"))
            .contains(":3: a time is negative")
    );
    assert!(refused("drive.jsonl", &format!("{RECORDS}{{")).contains("drive.jsonl:7: this is no record"));
    let run = RECORDS.lines().nth(1).unwrap();
    assert!(refused("drive.jsonl", run).contains("no session has a length"));
}

/// Anyone who reaches a server can add records that say anything.
#[test]
fn forged_records_cost_no_more_than_their_bytes() {
    let session = |run: u64, interface: &str, stopped_ms: u64, samples: &str| {
        format!(
            r#"{{"kind":"session","run":"{run:016x}","interface":"{interface}","stopped_ms":{stopped_ms},"configuration":{{"direction":"up"}},"flows":[{{"connected_ms":0,"samples":{samples}}}]}}"#
        )
    };
    const MONTH: u64 = 31 * 86_400 * 1_000;
    let long = r#"{"interval_ms":4294967295,"bytes":[1000000000000]}"#;
    let trace = parsed("drive.jsonl", &session(1, "wlan0\\u001b[2J", MONTH, long));
    assert_eq!(trace.links[0].name, "wlan0\u{fffd}[2J", "a terminal may show it");
    let Some(RateTrace::Steps(series)) = &trace.links[0].up.rate else { panic!("{trace:?}") };
    // 26.8 million ticks of 100 ms with one rate: of 10^12 bytes in 49.7 days those of 31 days.
    assert_eq!(series.points().len(), 1);
    let rate = (1e12 * 8.0 / 4_294_967.2) as u64;
    assert!((rate - 1..=rate + 1).contains(&series.points()[0].1), "{:?}", series.points());
    let most = r#"{"interval_ms":0,"bytes":[18446744073709551615,18446744073709551615]}"#;
    assert!(parsed("drive.jsonl", &session(1, "a", 1_000, most)).links[0].up.rate.is_some());
    // Their lengths do not fit into 64 bits of nanoseconds.
    let many: Vec<String> = (0..7_000).map(|run| session(run, "a", MONTH, long)).collect();
    assert!(refused("drive.jsonl", &many.join("\n")).contains("it covers 62 days"));
    // As many runs, interfaces and sessions as records.
    let many: Vec<String> = (0..20_000).map(|run| session(run, &format!("a{run}"), 1, long)).collect();
    assert_eq!(parsed("drive.jsonl", &many.join("\n")).links.len(), 20_000);
}

#[test]
fn a_folder_of_records_is_read_as_one() {
    let folder = tempfile::tempdir().unwrap();
    for (number, line) in RECORDS.trim().lines().enumerate() {
        std::fs::write(folder.path().join(format!("{number}.jsonl")), line).unwrap();
    }
    std::fs::write(folder.path().join("state"), "{}").unwrap();
    let input = Input::new(folder.path().to_str().unwrap());
    let trace = read(&[input], &ReadOptions::default()).unwrap();
    assert_eq!(trace.links, parsed("drive.jsonl", RECORDS).links);
}
