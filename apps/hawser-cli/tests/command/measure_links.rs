//! `hawser measure` on a link that comes and goes, in network namespaces. Needs root, or says that it was skipped.

use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc;
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};
use serde_json::Value;

use crate::measure::{MeasureServer, records, report};
use crate::support::*;

const ASSOCIATIONS: usize = 50;
/// Every twentieth time the link itself goes, not only its address.
const WHOLE_LINK: usize = 20;
/// 400 Mbit/s with a queue of half a millisecond: what waits in it when the address goes still leaves, and is received, but its
/// acknowledgements find nobody.
const SHAPER: &str = "root tbf rate 400mbit burst 16kb latency 200us";
const HOST: &str = "10.9.0.1";

fn run_tool(program: &str, arguments: &str) -> String {
    let output = Command::new(program).args(arguments.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "{program} {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn ip(arguments: &str) -> String {
    run_tool("ip", arguments)
}

/// A program with its arguments.
type Order = (&'static str, String);

/// A server in a namespace of its own, held by a thread that is in it.
struct Far {
    orders: mpsc::Sender<Option<Order>>,
    done: mpsc::Receiver<String>,
    thread: nix::unistd::Pid,
    server: MeasureServer,
}

impl Far {
    fn start() -> Far {
        let (orders, wanted) = mpsc::channel::<Option<Order>>();
        let (reply, done) = mpsc::channel();
        let (started, hello) = mpsc::channel();
        std::thread::spawn(move || {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            ip("link set lo up");
            ip(&format!("addr add {HOST}/32 dev lo"));
            let server = MeasureServer::start("0.0.0.0:0", &["--timeout", "1"]);
            started.send((nix::unistd::gettid(), server)).unwrap();
            while let Ok(Some((program, arguments))) = wanted.recv() {
                reply.send(run_tool(program, &arguments)).unwrap();
            }
        });
        let (thread, server) = hello.recv().unwrap();
        Far { orders, done, thread, server }
    }

    fn tool(&self, program: &'static str, arguments: &str) -> String {
        self.orders.send(Some((program, arguments.to_owned()))).unwrap();
        self.done.recv().unwrap()
    }

    fn ip(&self, arguments: &str) -> String {
        self.tool("ip", arguments)
    }

    /// A new link between the two; the local end has no address yet.
    fn connect(&self) {
        ip(&format!("link add w0 type veth peer name p0 netns {}", self.thread));
        self.ip("addr add 10.1.0.1/24 dev p0");
        self.ip("link set p0 up");
        ip("link set w0 up");
        // Slow enough that both ends keep up: what waits in their sockets when the link goes would count at one of them only.
        run_tool("tc", &format!("qdisc add dev w0 {SHAPER}"));
        self.tool("tc", &format!("qdisc add dev p0 {SHAPER}"));
        // The kernel takes up to a second to call a new link running, each end for itself.
        wait_until("the link is up", || {
            [ip("-o link show w0"), self.ip("-o link show p0")].iter().all(|text| text.contains("state UP"))
        });
    }
}

fn start_client(far: &Far, out: &Path) -> Child {
    let arguments = ["--flows", "1,2,4", "--seed", "5", "-q", "--timeout", "2"];
    let mut command = far.server.client(HOST, "w0", out, &arguments);
    let client = command.spawn().unwrap();
    // It has begun when the record of its run is there.
    wait_until("the client runs", || out.join("run.draft").exists());
    client
}

#[test]
fn every_short_association_has_a_record_that_begins_and_ends_with_its_address() {
    if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
        eprintln!("skipped: network namespaces need root ({error})");
        return;
    }
    ip("link set lo up");
    let mut far = Far::start();
    let out = tempfile::tempdir().unwrap();
    far.connect();
    let mut client = start_client(&far, out.path());
    for number in 0..ASSOCIATIONS {
        if number % WHOLE_LINK == WHOLE_LINK - 1 {
            ip("link del w0");
            far.connect();
        }
        ip("addr add 10.1.0.2/24 dev w0");
        std::thread::sleep(Duration::from_millis(150));
        if number == ASSOCIATIONS / 2 {
            client.kill().unwrap();
            client.wait().unwrap();
            std::fs::remove_file(out.path().join("run.draft")).unwrap();
            client = start_client(&far, out.path());
            std::thread::sleep(Duration::from_millis(300));
        }
        ip("addr del 10.1.0.2/24 dev w0");
        std::thread::sleep(Duration::from_millis(50));
    }
    crate::measure::signal(&client, nix::sys::signal::Signal::SIGINT);
    assert!(client.wait().unwrap().success());
    judge(&records(out.path(), "session"));

    ip("addr add 10.1.0.2/24 dev w0");
    let count = std::fs::read_dir(out.path()).unwrap();
    let count =
        count.filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|it| it == "jsonl"));
    let count = count.count();
    assert_eq!(far.server.upload(HOST, out.path()), serde_json::json!({ "uploaded": count, "left": 0 }));
    // What the server saw is on its disk a second after the last flow fell silent.
    far.server.stop();
    let report = report(&[far.server.folder.path()]);
    let group = &report["groups"][0];
    let differ = group["volumes_differ"].as_f64().unwrap();
    eprintln!("{}", serde_json::to_string_pretty(&report).unwrap());
    // A tenth of a second carries little next to what waits unread at its end.
    assert!(differ.abs() < 0.05, "received by applications and acknowledged differ by {differ}");
    let _ = far.orders.send(None);
}

/// The record of the association in which the client was killed is `interrupted`, and the next run finds the address there.
fn judge(sessions: &[Value]) {
    let firsts: Vec<&Value> = sessions.iter().filter(|session| session["attempt"] == 0).collect();
    assert_eq!(firsts.len(), ASSOCIATIONS + 1, "one for each, and one more for that which was cut in two");
    let count = |key: &str, value: Value| sessions.iter().filter(|session| session[key] == value).count();
    assert_eq!((count("end", "interrupted".into()), count("present_at_start", true.into())), (1, 1));
    let number = |session: &Value, key: &str| session[key].as_f64().unwrap();
    let whole = || firsts.iter().filter(|session| session["end"] != "interrupted");
    for session in whole() {
        assert_eq!(session["end"], "address_gone", "{session}");
    }
    // A busy machine delays single ones: the list `xfi` judges the largest on a quiet one.
    let median = |what: &dyn Fn(&Value) -> f64| {
        let mut values: Vec<f64> = whole().map(|session| what(session)).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let after_down = |key| move |session: &Value| number(session, key) - number(session, "address_down_ms");
    assert!(median(&|session| f64::from(u8::from(session["ok"] == true))) > 0.5, "most of them connect");
    assert!(median(&|session| number(session, "first_packet_ms")) <= 20.0, "they begin within 20 ms");
    assert!(median(&after_down("last_packet_ms")) <= 20.0, "their last packets leave within 20 ms");
    assert!(median(&after_down("stopped_ms")) <= 20.0, "they are stopped within 20 ms");
}
