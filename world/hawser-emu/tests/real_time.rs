//! The emulator in real time: rate, delay, topology, clean-up. Needs root; skips with a message otherwise.

mod common;

use std::fs;
use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{scenario, uplink};
use hawser_emu::mptcp::{FetchOptions, Server, Transport, fetch};
use hawser_emu::{DropCause, EmuError, Emulation, Host, RunOptions, SERVER_ADDRESS, load_scenario, run};

const TWO_LINKS: &str = r#"
version = 1
mptcp = true
[[link]]
name = "a0"
rate = "50 Mbit/s"
delay = "20 ms"
[[link]]
name = "b0"
rate = "50 Mbit/s"
delay = "10 ms"
"#;

const ONE_LINK: &str = "version = 1\n[[link]]\nname = \"a0\"\nrate = \"50 Mbit/s\"\ndelay = \"20 ms\"\n";

/// Starts an emulation, or returns `None` with a message on a machine where none can be started.
fn start_or_skip(text: &str) -> Option<Emulation> {
    match Emulation::start(&scenario(text)) {
        Ok(emulation) => Some(emulation),
        Err(error @ (EmuError::NotRoot | EmuError::NoTun(_) | EmuError::NoIp)) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Host stalls happen on shared machines: a measurement during which the emulator was late is repeated.
fn measure_undisturbed(text: &str, rate_bps: u64) -> Option<Vec<common::FlowResult>> {
    for _ in 0..8 {
        let emulation = start_or_skip(text)?;
        let flows = uplink(&emulation, rate_bps, Duration::from_secs(2)).expect("the flows run");
        let lateness = emulation.stats().lateness;
        if lateness.max_ms < 5.0 {
            return Some(flows);
        }
        eprintln!("repeated: the emulator was late by {:.1} ms", lateness.max_ms);
    }
    eprintln!("skipped: this machine stalls too often to measure");
    None
}

#[test]
fn a_link_holds_its_rate_under_overload() {
    let Some(flows) = measure_undisturbed(ONE_LINK, 55_000_000) else { return };
    let error = flows[0].rate_bps / 50e6 - 1.0;
    assert!(error.abs() < 0.02, "{:.3} Mbit/s", flows[0].rate_bps / 1e6);
}

#[test]
fn a_link_holds_its_delay_under_light_load() {
    let Some(flows) = measure_undisturbed(ONE_LINK, 10_000_000) else { return };
    // 20 ms and 0.24 ms for 1500 bytes at 50 Mbit/s.
    let median = flows[0].delay_ms(0.5);
    assert!((median - 20.24).abs() < 1.0, "{median:.3} ms");
    assert_eq!(flows[0].sent, flows[0].delays_ms.len() as u64);
}

#[test]
fn the_server_has_one_address_over_every_link_and_answers_the_same_way() {
    let Some(emulation) = start_or_skip(TWO_LINKS) else { return };
    let server = emulation.run_on(Host::Server, || UdpSocket::bind("0.0.0.0:4433").unwrap()).unwrap();
    let target = SocketAddr::from((SERVER_ADDRESS, 4433));
    for link in ["a0", "b0"] {
        let own = emulation.addresses(link).unwrap().client();
        let by_device = emulation.run_on(Host::Client, || {
            let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::DGRAM, None).unwrap();
            socket.bind_device(Some(link.as_bytes())).unwrap();
            UdpSocket::from(socket)
        });
        let by_address = emulation.run_on(Host::Client, || UdpSocket::bind((own, 0)).unwrap());
        for socket in [by_device.unwrap(), by_address.unwrap()] {
            let before = delivered(&emulation, link);
            socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
            socket.connect(target).unwrap();
            socket.send(b"question").unwrap();
            let (length, from) = server.recv_from(&mut [0; 64]).unwrap();
            assert_eq!((length, from.ip()), (8, own.into()), "{link}");
            server.send_to(b"answer", from).unwrap();
            // The socket is connected to 10.99.0.1: an answer from any other address would not arrive.
            assert_eq!(socket.recv(&mut [0; 64]).unwrap(), 6);
            assert_eq!(
                delivered(&emulation, link).map(|count| count - 1),
                before,
                "{link}: both ways over it"
            );
        }
    }
}

/// `ip` takes abbreviations: unless it is told, `up` and `a` are its own words for it.
#[test]
fn links_may_be_called_like_words_of_ip() {
    let text = ["up", "a"]
        .map(|name| format!("[[link]]\nname = \"{name}\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n"));
    let Some(emulation) = start_or_skip(&format!("version = 1\n{}", text.concat())) else { return };
    for link in ["up", "a"] {
        emulation.set_interface_up(link, false).unwrap();
        emulation.set_interface_up(link, true).unwrap();
    }
}

/// Packets delivered up and down.
fn delivered(emulation: &Emulation, link: &str) -> [u64; 2] {
    let stats = emulation.stats();
    let mut of_link = stats.links.iter().filter(|entry| entry.link == link);
    [(); 2].map(|()| of_link.next().expect("two directions").counters.delivered_packets)
}

#[test]
fn a_link_taken_down_is_silent_until_it_is_up_again() {
    let Some(emulation) = start_or_skip(ONE_LINK) else { return };
    let server = emulation.run_on(Host::Server, || UdpSocket::bind("0.0.0.0:4433").unwrap()).unwrap();
    server.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let client = emulation.run_on(Host::Client, || UdpSocket::bind("0.0.0.0:0").unwrap()).unwrap();
    let arrives = || {
        client.send_to(b"x", (SERVER_ADDRESS, 4433)).unwrap();
        server.recv(&mut [0; 8]).is_ok()
    };
    assert!(arrives());
    emulation.set_link_up("a0", false).unwrap();
    assert!(!arrives());
    assert_eq!(emulation.stats().links[0].counters.dropped_down, 1);
    emulation.follow_schedule("a0").unwrap();
    assert!(arrives());
    emulation.set_interface_up("a0", false).unwrap();
    assert!(
        client.send_to(b"x", (SERVER_ADDRESS, 4433)).is_err(),
        "the kernel knows that the interface is down"
    );
    emulation.set_interface_up("a0", true).unwrap();
    assert!(arrives());
    assert!(matches!(emulation.set_link_up("c0", true), Err(EmuError::NoSuchLink { .. })));
}

#[test]
fn every_packet_is_recorded_with_its_bytes_and_what_became_of_it() {
    const ONE_SEGMENT: &str = "version = 1\n[[link]]\nname = \"a0\"\nrate = \"50 Mbit/s\"\ndelay = \"5 ms\"\nvia = [\"core\"]\n\
                               [[segment]]\nname = \"core\"\nrate = \"1 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"3000 B\"\n";
    let Some(emulation) = start_or_skip(ONE_SEGMENT) else { return };
    let server = emulation.run_on(Host::Server, || UdpSocket::bind("0.0.0.0:4433").unwrap()).unwrap();
    server.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let client = emulation.run_on(Host::Client, || UdpSocket::bind("0.0.0.0:0").unwrap()).unwrap();
    let recording = emulation.record(AllBytes(Vec::new())).unwrap();
    for _ in 0..10 {
        client.send_to(&[7; 972], (SERVER_ADDRESS, 4433)).unwrap();
    }
    let arrived = std::iter::from_fn(|| server.recv(&mut [0; 2048]).ok()).count();
    let (AllBytes(records), lost) = recording.finish();
    assert_eq!((records.len(), lost), (10, 0));
    let dropped = |record: &&hawser_emu::PacketRecord| record.dropped.is_some();
    assert_eq!(records.iter().filter(|record| !dropped(record)).count(), arrived);
    assert!((3..10).contains(&arrived), "three of 8 ms each fit into the queue: {arrived}");
    let port = client.local_addr().unwrap().port();
    for record in &records {
        assert_eq!((record.length, record.port, record.route_name(emulation.scenario())), (1000, port, "a0"));
        let packet = record.packet().expect("bytes were asked for");
        assert_eq!((packet.len(), packet[0] >> 4, packet[28]), (1000, 4, 7));
        let cause = record.drop_name(emulation.scenario());
        assert!([None, Some(("core", DropCause::Queue))].contains(&cause), "{cause:?}");
        // 5 ms, 0.16 ms, 8 ms and 5 ms.
        assert!(cause.is_some() || record.at - record.sent >= 18_160_000);
    }
}

/// Keeps all records, with the packets.
struct AllBytes(Vec<hawser_emu::PacketRecord>);

impl hawser_emu::PacketRecorder for AllBytes {
    fn wants_bytes(&self) -> bool {
        true
    }

    fn packets(&mut self, records: &[hawser_emu::PacketRecord]) {
        self.0.extend_from_slice(records);
    }
}

#[test]
fn kernel_mptcp_uses_both_links() {
    let Some(emulation) = start_or_skip(TWO_LINKS) else { return };
    let server = match emulation.run_on(Host::Server, || Server::bind(5001, Transport::Mptcp)).unwrap() {
        Ok(server) => server,
        Err(error) => return eprintln!("skipped: {error}"),
    };
    let content: Arc<[u8]> = vec![7; 4 << 20].into();
    let report = std::thread::scope(|scope| {
        scope.spawn(|| emulation.run_on(Host::Server, || server.serve(&content, 1)));
        let options =
            FetchOptions { server: (SERVER_ADDRESS, 5001).into(), transport: Transport::Mptcp, device: None };
        emulation.run_on(Host::Client, || fetch(&options, &mut std::io::sink())).unwrap().unwrap()
    });
    assert_eq!((report.bytes, report.fallback, report.subflows), (4 << 20, false, 2));
    assert_eq!(report.bins.iter().sum::<u64>(), report.bytes);
    assert!(delivered(&emulation, "a0")[1] > 100 && delivered(&emulation, "b0")[1] > 100);
}

#[test]
fn run_sets_the_environment_waits_for_the_server_and_reports() {
    if start_or_skip(ONE_LINK).is_none() {
        return;
    }
    let words = |line: &str| vec!["/bin/sh".into(), "-c".into(), line.into()];
    let check = "test \"$HAWSER_SERVER_ADDR $HAWSER_LINKS\" = \"10.99.0.1 a0\" && exit 7";
    let report = run(RunOptions::new(scenario(ONE_LINK), words(check))).unwrap();
    assert_eq!((report.exit_code, report.timed_out), (7, false));
    let json = serde_json::to_value(&report).unwrap();
    assert!(
        json["stats"]["links"][1]["dropped_queue"].is_u64() && json["stats"]["lateness"]["max_ms"].is_f64()
    );

    let bounded = format!("duration = \"300 ms\"\n{ONE_LINK}");
    let report = run(RunOptions::new(scenario(&bounded), words("sleep 20"))).unwrap();
    assert!(report.timed_out && report.exit_code == 128 + 15 && report.wall_seconds < 3.0, "{report:?}");

    let options =
        RunOptions { server: Some(words("exit 3")), ..RunOptions::new(scenario(ONE_LINK), words("true")) };
    assert!(matches!(run(options), Err(EmuError::ServerEnded { .. })));
    let silent = RunOptions {
        server: Some(words("sleep 20")),
        server_wait: Duration::from_millis(200),
        ..RunOptions::new(scenario(ONE_LINK), words("true"))
    };
    assert!(matches!(run(silent), Err(EmuError::ServerSilent { .. })));
}

#[test]
fn dropping_the_emulation_kills_what_runs_inside() {
    let Some(emulation) = start_or_skip(ONE_LINK) else { return };
    let mut shell = emulation.command(Host::Client, "/bin/sh");
    // A grandchild in a session of its own, deaf to hang-ups.
    shell.args(["-c", "sleep 987 & echo $!; wait"]).stdout(Stdio::piped());
    let mut child = shell.spawn().unwrap();
    let grandchild = read_number(child.stdout.take().unwrap());
    assert!(fs::exists(format!("/proc/{grandchild}")).unwrap());
    drop(emulation);
    child.wait().unwrap();
    assert!(vanishes(grandchild), "process {grandchild} still runs");
}

/// Set for the process that is to be killed.
const VICTIM: &str = "HAWSER_EMU_VICTIM";

/// The test binary starts itself as the victim: see [`victim`].
#[test]
fn a_killed_emulator_leaves_nothing_behind() {
    if start_or_skip(ONE_LINK).is_none() {
        return;
    }
    let mut emulator = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "victim", "--nocapture", "--ignored"])
        .env(VICTIM, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let grandchild = read_number(emulator.stdout.take().unwrap());
    let namespace = fs::read_link(format!("/proc/{grandchild}/ns/net")).unwrap();
    emulator.kill().unwrap();
    emulator.wait().unwrap();
    assert!(vanishes(grandchild), "process {grandchild} still runs");
    let inside = fs::read_dir("/proc")
        .unwrap()
        .filter_map(Result::ok)
        .filter(|entry| fs::read_link(entry.path().join("ns/net")).is_ok_and(|other| other == namespace));
    assert_eq!(inside.count(), 0, "somebody still holds the namespace");
}

/// Not a test: an emulator with a process inside, which waits to be killed.
#[test]
#[ignore = "started by a_killed_emulator_leaves_nothing_behind"]
fn victim() {
    if std::env::var_os(VICTIM).is_none() {
        return;
    }
    let emulation = Emulation::start(&scenario(ONE_LINK)).unwrap();
    let mut shell = emulation.command(Host::Client, "/bin/sh");
    shell.args(["-c", "sleep 986 > /dev/null & echo; echo $!; wait"]);
    shell.status().unwrap();
}

/// The first line that is a number.
fn read_number(mut output: impl Read) -> u32 {
    let (mut text, mut byte) = (String::new(), [0]);
    while output.read(&mut byte).is_ok_and(|length| length == 1) {
        if byte[0] != b'\n' {
            text.push(byte[0] as char);
        } else if let Ok(number) = text.trim().parse() {
            return number;
        } else {
            text.clear();
        }
    }
    panic!("no number in the output");
}

fn vanishes(process: u32) -> bool {
    let deadline = Instant::now() + Duration::from_secs(5);
    while Instant::now() < deadline {
        // A zombie waiting for its parent has been killed, too.
        match fs::read_to_string(format!("/proc/{process}/stat")) {
            Ok(stat) if !stat.contains(") Z ") => std::thread::sleep(Duration::from_millis(20)),
            _ => return true,
        }
    }
    false
}

#[test]
fn tcp_gets_through_with_a_plain_socket() {
    let Some(emulation) = start_or_skip(ONE_LINK) else { return };
    let listener = emulation.run_on(Host::Server, || TcpListener::bind("0.0.0.0:80").unwrap()).unwrap();
    let began = Instant::now();
    let stream =
        emulation.run_on(Host::Client, || TcpStream::connect((SERVER_ADDRESS, 80)).unwrap()).unwrap();
    // SYN and SYN-ACK: twice 20 ms.
    assert!(began.elapsed() >= Duration::from_millis(40));
    drop((listener.accept().unwrap(), stream));
}

#[test]
fn every_scenario_that_comes_with_the_project_is_correct() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let scenarios = files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    for path in scenarios {
        let scenario = load_scenario(path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(Some(scenario.name.as_str()), path.file_stem().and_then(|stem| stem.to_str()));
    }
    assert!(files.len() >= 4);
}
