//! Item 13: `hawser measure` itself, on a link that comes and goes. The program is run as its users run it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use hawser_link::Direction;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Pid, gettid};

use crate::data::measure::{Ending, Pool, Records, Report};
use crate::data::statistics::Spread;
use crate::experiments::process::{Running, hawser};
use crate::experiments::verify::{Measured, Request};

/// Times that the link has an address; every tenth time it is a new link.
const ASSOCIATIONS: u64 = 50;
/// 400 Mbit/s with a queue of half a millisecond: what waits in it when the address goes still leaves, and is received, but its
/// acknowledgements find nobody.
const SHAPER: &str = "root tbf rate 400mbit burst 16kb latency 200us";
const HOST: &str = "10.9.0.1";
const ADDRESS: &str = "10.1.0.2/24";
/// How long the address is there, and how long it is not.
const LIFE: Duration = Duration::from_millis(250);
const HOLE: Duration = Duration::from_millis(80);
/// The association in which the client is killed and started again.
const KILLED_IN: u64 = ASSOCIATIONS / 2;
/// Longest that anything may take to begin or to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Draws from the pool of the thesis, against chi square with 19 degrees of freedom at 1 %.
pub(super) fn draws(request: &Request<'_>) -> Result<Measured, String> {
    const DRAWS: u64 = 10_000;
    let pool = Pool {
        controllers: vec!["bbr".into(), "cubic".into()],
        directions: vec![Direction::Up, Direction::Down],
        flows: vec![1, 2, 4, 8, 16],
    };
    let mut cells: BTreeMap<(String, Direction, u32), u64> = BTreeMap::new();
    for number in 0..DRAWS {
        let drawn = pool.draw(request.seed, number);
        *cells.entry((drawn.controller, drawn.direction, drawn.flows)).or_default() += 1;
    }
    let expected = DRAWS as f64 / 20.0;
    let missing = (20 - cells.len()) as f64 * expected;
    let square: f64 = cells.values().map(|count| (*count as f64 - expected).powi(2) / expected).sum();
    Ok(Measured::new("").with("chi_square_over_critical", (square + missing) / 36.191))
}

/// Fifty short associations on a pair of virtual links between two network namespaces; the client is killed in one of them.
pub(super) fn links(_: &Request<'_>) -> Result<Measured, String> {
    let program = hawser()?;
    // Namespaces belong to threads.
    let run = std::thread::spawn(move || drive(&program));
    run.join().map_err(|_| "the drive broke off".to_owned())?
}

fn ip(arguments: &str) -> Result<String, String> {
    run_tool("ip", arguments)
}

fn run_tool(program: &str, arguments: &str) -> Result<String, String> {
    let output = Command::new(program).args(arguments.split_whitespace()).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{program} {arguments}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

fn new_namespace() -> Result<(), String> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(|error| format!("network namespaces need root: {error}"))?;
    ip("link set lo up").map(drop)
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) -> Result<(), String> {
    let began = Instant::now();
    while !is_so() {
        if began.elapsed() > PATIENCE {
            return Err(format!("waited in vain: {what}"));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// What the far end is asked to do: a program with its arguments, in its namespace.
type Order = (&'static str, String);
type Orders = (mpsc::Sender<Order>, mpsc::Receiver<Result<String, String>>);

struct Far {
    orders: Orders,
    thread: Pid,
    server: Running,
    port: String,
    pin: String,
}

impl Far {
    fn start(program: &Path, folder: &Path) -> Result<Far, String> {
        let (orders, wanted) = mpsc::channel::<Order>();
        let (reply, replies) = mpsc::channel();
        let (started, hello) = mpsc::channel();
        let (program, folder) = (program.to_owned(), folder.to_owned());
        std::thread::spawn(move || {
            let begin = || {
                new_namespace()?;
                ip(&format!("addr add {HOST}/32 dev lo"))?;
                start_server(&program, &folder)
            };
            let _ = started.send(begin().map(|found| (gettid(), found)));
            while let Ok((program, arguments)) = wanted.recv() {
                let _ = reply.send(run_tool(program, &arguments));
            }
        });
        let (thread, (server, port, pin)) = hello.recv().map_err(|error| error.to_string())??;
        Ok(Far { orders: (orders, replies), thread, server, port, pin })
    }

    fn tool(&self, program: &'static str, arguments: &str) -> Result<String, String> {
        self.orders.0.send((program, arguments.to_owned())).map_err(|error| error.to_string())?;
        self.orders.1.recv().map_err(|error| error.to_string())?
    }

    fn ip(&self, arguments: &str) -> Result<String, String> {
        self.tool("ip", arguments)
    }

    /// A new link between the two; ours has no address yet.
    fn connect(&self) -> Result<(), String> {
        ip(&format!("link add w0 type veth peer name p0 netns {}", self.thread))?;
        self.ip("addr add 10.1.0.1/24 dev p0")?;
        self.ip("link set p0 up")?;
        ip("link set w0 up")?;
        // Slow enough that both ends keep up: what waits in their sockets when the link goes would count at one only.
        run_tool("tc", &format!("qdisc add dev w0 {SHAPER}"))?;
        self.tool("tc", &format!("qdisc add dev p0 {SHAPER}"))?;
        // The kernel takes up to a second to call a new link running, each end for itself.
        wait_until("the link is up", || {
            let ends = [ip("-o link show w0"), self.ip("-o link show p0")];
            ends.iter().all(|end| end.as_ref().is_ok_and(|text| text.contains("state UP")))
        })
    }
}

fn start_server(program: &Path, folder: &Path) -> Result<(Running, String, String), String> {
    let mut command = Command::new(program);
    command.args(["measure", "server", "--listen", "0.0.0.0:0", "--json", "-q", "--timeout", "1", "--out"]);
    command.arg(folder.join("server")).arg("--state").arg(folder.join("state"));
    let child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
    let mut server = Running(child);
    let output = server.0.stdout.take().ok_or("no output")?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).map_err(|error| error.to_string())?;
    let hello: serde_json::Value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
    let pin = hello["pin"].as_str().ok_or("no pin")?.to_owned();
    Ok((server, hello["port"].to_string(), pin))
}

fn drive(program: &Path) -> Result<Measured, String> {
    let failed = |error: std::io::Error| error.to_string();
    new_namespace()?;
    let folder = tempfile::tempdir().map_err(failed)?;
    let mut far = Far::start(program, folder.path())?;
    far.connect()?;
    let out = folder.path().join("client");
    let mut client = start_client(program, &far, &out)?;
    for number in 0..ASSOCIATIONS {
        if number % 10 == 9 {
            ip("link del w0")?;
            far.connect()?;
        }
        ip(&format!("addr add {ADDRESS} dev w0"))?;
        std::thread::sleep(LIFE);
        if number == KILLED_IN {
            client.0.kill().and_then(|()| client.0.wait()).map_err(failed)?;
            client = start_client(program, &far, &out)?;
            std::thread::sleep(LIFE);
        }
        ip(&format!("addr del {ADDRESS} dev w0"))?;
        std::thread::sleep(HOLE);
    }
    client.stop()?;
    let before = Records::read(std::slice::from_ref(&out)).map_err(|error| error.to_string())?;
    ip(&format!("addr add {ADDRESS} dev w0"))?;
    upload(program, &far, &out)?;
    // The last flows fall silent, and what was seen of them reaches the disk.
    std::thread::sleep(Duration::from_millis(1500));
    far.server.stop()?;
    let after = Records::read(&[folder.path().join("server")]).map_err(|error| error.to_string())?;
    judge(&before, after)
}

/// Starts a client, and waits until the record of its run is there.
fn start_client(program: &Path, far: &Far, out: &Path) -> Result<Running, String> {
    let draft = out.join("run.draft");
    let before = std::fs::read(&draft).ok();
    let mut command = Command::new(program);
    command.args([
        "measure", "client", HOST, "-p", &far.port, "--pin", &far.pin, "-i", "w0", "-q", "--seed", "1",
    ]);
    command.args(["--flows", "1,2,4", "--timeout", "2", "--out"]).arg(out);
    let client = Running(command.stdin(Stdio::null()).spawn().map_err(|error| error.to_string())?);
    wait_until("the client runs", || {
        let now = std::fs::read(&draft).ok();
        now.is_some() && now != before
    })?;
    Ok(client)
}

/// Hands the records over to the server.
fn upload(program: &Path, far: &Far, out: &Path) -> Result<(), String> {
    let mut command = Command::new(program);
    command.args(["measure", "upload"]).arg(out);
    command.args([HOST, "-p", &far.port, "--pin", &far.pin, "-q"]).stdin(Stdio::null());
    let output = command.output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("the upload failed: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// `before`: what the client has written; `after`: what the server has, of both ends.
fn judge(before: &Records, mut after: Records) -> Result<Measured, String> {
    let written: BTreeSet<_> = before.sessions.iter().map(|session| session.id.clone()).collect();
    let uploaded: BTreeSet<_> = after.sessions.iter().map(|session| session.id.clone()).collect();
    let associations: BTreeSet<_> = before.sessions.iter().map(|it| (it.run, it.association)).collect();
    // The one in which the client was killed is two: the next client finds the address there.
    let expected = ASSOCIATIONS + 1;
    let firsts = before.sessions.iter().filter(|session| session.attempt == 0).count() as u64;
    let cut = before.sessions.iter().filter(|session| session.end == Ending::Interrupted).count();
    let addresses: BTreeSet<_> = before.sessions.iter().map(|session| session.address.as_str()).collect();
    // Its volume is known as of its last draft only.
    after.sessions.retain(|session| session.end != Ending::Interrupted);
    let report = Report::of(&after);
    let group = report.groups.first().ok_or("no session")?;
    let largest = |spread: &Option<Spread>| spread.as_ref().map_or(f64::NAN, |it| it.max);
    Ok(Measured::new("")
        .with("associations_without_record", expected.saturating_sub(associations.len() as u64) as f64)
        .with("associations_twice", firsts.saturating_sub(expected) as f64)
        .with("cut_by_the_kill", cut as f64)
        .with("not_uploaded", written.symmetric_difference(&uploaded).count() as f64)
        .with("addresses", addresses.len() as f64)
        .with("start_ms", largest(&group.start_ms))
        .with("stop_ms", largest(&group.stop_ms))
        .with("volumes_differ", group.volumes_differ.map_or(f64::NAN, f64::abs))
        .with("connected", group.connected as f64))
}
