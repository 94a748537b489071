//! `hawser wifi`: a drive in the fake air, and the client at a real wpa_supplicant over a cable (802.1X) with a real DHCP server.
//! The latter needs root, wpa_supplicant, hostapd and dnsmasq, or says that it was skipped.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::*;

pub(crate) fn lines(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_fake_drive_makes_records_and_the_page_compares_the_clients() {
    let folder = tempfile::tempdir().unwrap();
    let [records, page] = ["drive.jsonl", "wifi.html"].map(|name| folder.path().join(name));
    let [records, page] = [records, page].map(|path| path.to_str().unwrap().to_owned());
    let fake = ["wifi", "fake", "--hours", "0.5", "--client", "xfi,stock", "-q", "-o", &records];
    assert!(run(hawser(fake)).status.success());
    let report = run_json(hawser(["wifi", "report", &records, "-o", &page]));
    let client = |name: &str| {
        let all = report["clients"].as_array().unwrap();
        all.iter().find(|client| client["client"] == name).unwrap().clone()
    };
    let p90 = |name: &str| client(name)["to_address_s"]["p90"].as_f64().unwrap();
    assert!(p90("xfi") < 2.0 && p90("stock") > 6.0, "{report}");
    assert!(client("xfi")["usable_s"].as_f64() > client("stock")["usable_s"].as_f64());
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("<svg") && !html.contains("<script") && !html.contains("src="), "one file");

    std::fs::write(&records, "{\"client\":1}\n").unwrap();
    let words = run_failing(hawser(["wifi", "report", &records]), 26);
    assert!(words.contains("line 1: no attempt"), "{words}");
    let words = run_failing(hawser(["wifi", "fake", "--client", "fast"]), 2);
    assert!(words.contains("there are xfi, xfi-resuming, stock"), "{words}");
}

#[test]
fn an_interface_that_does_not_exist_is_a_mistake_and_the_others_are_named() {
    for command in ["attach", "watch"] {
        let words = run_failing(hawser(["wifi", command, "nowif0"]), 1);
        assert!(words.contains("nowif0: there is no such interface; there"), "{words}");
    }
    // The loopback exists, and has no radio; most machines of tests have none at all.
    let words = run_failing(hawser(["wifi", "watch", "lo"]), 1);
    assert!(words.contains("no nl80211") || words.contains("no wireless interface"), "{words}");
}

/// What systemd says about the unit, with the command that was built here.
#[test]
fn the_unit_is_one_that_systemd_accepts() {
    let Some(analyze) = found("systemd-analyze") else {
        eprintln!("skipped: there is no systemd-analyze");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/systemd/hawser-wifi@.service");
    let unit = std::fs::read_to_string(unit).unwrap();
    let of = |text: String| {
        let place = folder.path().join("hawser-wifi@wlan0.service");
        std::fs::write(&place, text).unwrap();
        let output = Command::new(&analyze).args(["verify", "--man=no"]).arg(&place).output().unwrap();
        // It reads what the unit refers to as well, and may have something to say of that.
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        words.lines().filter(|line| line.contains("hawser")).map(str::to_owned).collect::<Vec<_>>()
    };
    let built = unit.replace("/usr/bin/hawser", env!("CARGO_BIN_EXE_hawser"));
    assert_eq!(of(built.clone()), Vec::<String>::new());
    let words = of(built.replace("RestartSec=1", "RestartSec=soon")).concat();
    assert!(words.contains("soon"), "systemd-analyze accepts anything: {words}");

    // The arguments are ones that the command takes: it comes as far as the interface.
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/bin/hawser ")).unwrap();
    let start =
        start.replace("%i", "nowif0").replace("/var/lib/hawser-wifi", folder.path().to_str().unwrap());
    let words = run_failing(hawser(start.split(' ')), 1);
    assert!(words.contains("nowif0: there is no such interface"), "{words}");
}

/// A program that is ended with the test.
pub(crate) struct Running(Child);

impl Running {
    fn start(mut command: Command) -> Running {
        Running(command.spawn().unwrap())
    }

    pub(crate) fn signal(&mut self, signal: Signal) {
        kill(Pid::from_raw(self.0.id() as i32), signal).unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn ip(arguments: &str) -> String {
    let output = Command::new("ip").args(arguments.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn found(program: &str) -> Option<PathBuf> {
    let folders = ["/usr/sbin", "/usr/bin", "/sbin", "/usr/local/sbin", "/usr/local/bin"];
    folders.map(|folder| Path::new(folder).join(program)).into_iter().find(|path| path.exists())
}

pub(crate) struct Programs {
    supplicant: PathBuf,
    authenticator: PathBuf,
    dhcp: PathBuf,
}

impl Programs {
    /// They, if they are all here.
    pub(crate) fn find() -> Result<Programs, String> {
        let find = |name: &str| found(name).ok_or_else(|| format!("there is no {name}"));
        Ok(Programs {
            supplicant: find("wpa_supplicant")?,
            authenticator: find("hostapd")?,
            dhcp: find("dnsmasq")?,
        })
    }
}

/// The other end of the cable: an authenticator with PEAP, and a DHCP server.
fn far_end(programs: &Programs, folder: &Path) -> [Running; 2] {
    let certified = rcgen::generate_simple_self_signed(["radius".to_owned()]).unwrap();
    let write = |name: &str, text: String| std::fs::write(folder.join(name), text).unwrap();
    write("cert.pem", certified.cert.pem());
    write("key.pem", certified.signing_key.serialize_pem());
    write("users", "\"car\" PEAP\n\"car\" MSCHAPV2 \"secret\" [2]\n".to_owned());
    let place = folder.display();
    write(
        "hostapd.conf",
        format!(
            "interface=p0\ndriver=wired\nieee8021x=1\nuse_pae_group_addr=1\neap_server=1\neap_user_file={place}/users\n\
             ca_cert={place}/cert.pem\nserver_cert={place}/cert.pem\nprivate_key={place}/key.pem\n"
        ),
    );
    let log = |name: &str| std::fs::File::create(folder.join(name)).unwrap();
    let mut authenticator = Command::new(&programs.authenticator);
    authenticator.arg(folder.join("hostapd.conf")).stdout(log("hostapd.log")).stderr(Stdio::null());
    let mut dhcp = Command::new(&programs.dhcp);
    dhcp.args([
        "-k",
        "--port=0",
        "--interface=p0",
        "--bind-interfaces",
        "--no-ping",
        "--conf-file=/dev/null",
        "--user=root",
    ])
    .args(["--dhcp-range=10.7.0.50,10.7.0.60,255.255.255.0,1h", "--log-dhcp", "--log-facility=-"])
    .args(["--dhcp-option=option:mtu,1400", "--dhcp-option=option:dns-server,10.7.0.53"])
    .arg("--dhcp-option=option:classless-static-route,0.0.0.0/0,10.7.0.1,10.20.0.0/16,10.7.0.2")
    .arg(format!("--dhcp-leasefile={place}/dnsmasq.leases"))
    .arg(format!("--pid-file={place}/dnsmasq.pid"))
    .stdout(Stdio::null())
    .stderr(log("dnsmasq.log"));
    [Running::start(authenticator), Running::start(dhcp)]
}

pub(crate) fn supplicant(programs: &Programs, folder: &Path) -> Running {
    let place = folder.display();
    let configuration = format!(
        "ctrl_interface={place}/control\nap_scan=0\nnetwork={{\n key_mgmt=IEEE8021X\n eap=PEAP\n identity=\"car\"\n \
         password=\"secret\"\n phase2=\"auth=MSCHAPV2\"\n eapol_flags=0\n}}\n"
    );
    std::fs::write(folder.join("supplicant.conf"), configuration).unwrap();
    let mut command = Command::new(&programs.supplicant);
    command.args(["-D", "wired", "-i", "w0", "-c"]).arg(folder.join("supplicant.conf"));
    command.stdout(std::fs::File::create(folder.join("supplicant.log")).unwrap()).stderr(Stdio::null());
    let running = Running::start(command);
    wait_until("wpa_supplicant listens", || folder.join("control/w0").exists());
    running
}

fn attach_command(folder: &Path) -> Command {
    let [control, leases, records] =
        ["control", "leases.json", "records.jsonl"].map(|name| folder.join(name));
    let mut command = hawser(["wifi", "attach", "w0", "--cable"]);
    command.arg("--control").arg(control).arg("--leases").arg(leases).arg("-o").arg(records);
    command.arg("--resolv-conf").arg(folder.join("resolv.conf"));
    command
}

pub(crate) fn attach(folder: &Path, log: &str) -> Running {
    let mut command = attach_command(folder);
    command.stdout(Stdio::null()).stderr(std::fs::File::create(folder.join(log)).unwrap());
    Running::start(command)
}

pub(crate) fn has_address() -> bool {
    ip("-4 -o addr show w0").contains("inet 10.7.0.")
}

#[test]
fn a_real_supplicant_authenticates_a_real_server_gives_an_address_and_a_death_is_survived() {
    let programs = match Programs::find() {
        Ok(programs) => programs,
        Err(reason) => return eprintln!("skipped: {reason}"),
    };
    if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
        return eprintln!("skipped: network namespaces need root ({error})");
    }
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    ip("link set lo up");
    let far = Far::start();
    ip(&format!("link add w0 type veth peer name p0 netns {}", far.thread));
    ip("link set w0 up");
    let far = far.serve(programs, &folder);
    let mut supplicant_now = supplicant(&far.programs, place);

    let mut first = attach(place, "first.log");
    wait_until("there is an address", has_address);
    wait_until("there is a way out", || ip("route show default").contains("via 10.7.0.1 dev w0"));

    supplicant_now.signal(Signal::SIGKILL);
    let said =
        |log: &str, words: &str| std::fs::read_to_string(place.join(log)).unwrap().matches(words).count();
    wait_until("the death is noticed", || said("first.log", "waiting for it") > 0);
    assert!(!has_address(), "nobody vouches for it any more");
    let _ = std::fs::remove_file(place.join("control/w0"));
    supplicant_now = supplicant(&far.programs, place);
    wait_until("there is an address again", has_address);
    assert_eq!(said("first.log", "waiting for it"), 1, "said once");
    assert_eq!(said("first.log", "is back"), 1);

    first.signal(Signal::SIGINT);
    assert!(!has_address(), "it leaves the interface as it was");
    assert!(!place.join("resolv.conf").exists(), "as before");
    let records = lines(&place.join("records.jsonl"));
    let up: Vec<&Value> = records.iter().filter(|record| record.get("failed_in").is_none()).collect();
    assert_eq!(up.len(), 2, "{records:?}");
    for (record, is_known) in up.iter().zip([false, true]) {
        for phase in ["eap", "dhcp"] {
            assert!(record["phases_ms"][phase].as_f64().is_some(), "{record}");
        }
        assert_eq!(record["is_known_address"], is_known, "{record}");
    }
    assert_eq!(up[0]["address"], up[1]["address"]);
    drop(supplicant_now);
}

/// Returns true if everything that the lease names is set.
fn has_lease(folder: &Path) -> bool {
    has_address()
        && ip("link show w0").contains("mtu 1400")
        && ip("route show default").contains("via 10.7.0.1 dev w0")
        && ip("route show 10.20.0.0/16").contains("via 10.7.0.2 dev w0")
        && std::fs::read_to_string(folder.join("resolv.conf")).unwrap().contains("nameserver 10.7.0.53\n")
}

#[test]
fn what_a_lease_names_is_set_and_undone_even_after_a_kill() {
    let programs = match Programs::find() {
        Ok(programs) => programs,
        Err(reason) => return eprintln!("skipped: {reason}"),
    };
    if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
        return eprintln!("skipped: network namespaces need root ({error})");
    }
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let before = "nameserver 192.0.2.1\n";
    std::fs::write(place.join("resolv.conf"), before).unwrap();
    let names = || std::fs::read_to_string(place.join("resolv.conf")).unwrap();
    ip("link set lo up");
    let far = Far::start();
    ip(&format!("link add w0 type veth peer name p0 netns {}", far.thread));
    ip("link set w0 up");
    // Another way out, with the same metric.
    ip("link add other type veth peer name end");
    ip("addr add 10.9.0.2/24 dev other");
    ip("link set other up");
    ip("route add default via 10.9.0.1 dev other metric 600");
    let others = || ip("route show default").contains("via 10.9.0.1 dev other metric 600");
    let far = far.serve(programs, &folder);
    let _supplicant = supplicant(&far.programs, place);

    let mut killed = attach(place, "killed.log");
    wait_until("everything of the lease is set", || has_lease(place));
    assert!(others(), "{}", ip("route"));
    let words = run_failing(attach_command(place), 1);
    assert!(words.contains("w0: another `hawser wifi attach` runs as process"), "{words}");
    assert!(has_lease(place), "the refused one has changed nothing");

    killed.signal(Signal::SIGKILL);
    assert!(has_lease(place), "nobody has undone it");
    let mut next = attach(place, "next.log");
    let said = |log: &str, words: &str| std::fs::read_to_string(place.join(log)).unwrap().contains(words);
    wait_until("the next one is there", || said("next.log", "choice and DHCP are hawser's"));
    next.signal(Signal::SIGINT);
    assert!(!has_address() && others(), "{}", ip("route"));
    assert!(ip("link show w0").contains("mtu 1500"), "{}", ip("link show w0"));
    assert_eq!(names(), before);

    let mut last = attach(place, "last.log");
    wait_until("everything of the lease is set again", || has_lease(place));
    ip("link delete w0");
    wait_until("it is noticed", || said("last.log", "w0: the interface is gone; waiting for it"));
    wait_until("names are asked where they were", || names() == before);
    last.signal(Signal::SIGINT);
}

/// A namespace of its own, held by a thread that is in it.
pub(crate) struct Far {
    pub(crate) thread: Pid,
    orders: mpsc::Sender<(Programs, PathBuf)>,
    done: mpsc::Receiver<(Programs, [Running; 2])>,
}

/// With its programs running.
pub(crate) struct Serving {
    pub(crate) programs: Programs,
    _running: [Running; 2],
}

impl Far {
    pub(crate) fn start() -> Far {
        let (orders, wanted) = mpsc::channel::<(Programs, PathBuf)>();
        let (reply, done) = mpsc::channel();
        let (started, hello) = mpsc::channel();
        std::thread::spawn(move || {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            ip("link set lo up");
            started.send(nix::unistd::gettid()).unwrap();
            while let Ok((programs, folder)) = wanted.recv() {
                ip("addr add 10.7.0.1/24 dev p0");
                ip("link set p0 up");
                let running = far_end(&programs, &folder);
                if reply.send((programs, running)).is_err() {
                    return;
                }
            }
        });
        Far { thread: hello.recv().unwrap(), orders, done }
    }

    pub(crate) fn serve(self, programs: Programs, folder: &TempDir) -> Serving {
        self.orders.send((programs, folder.path().to_owned())).unwrap();
        let (programs, running) = self.done.recv().unwrap();
        Serving { programs, _running: running }
    }
}
