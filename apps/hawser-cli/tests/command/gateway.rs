//! `hawser gateway` with `hawser proxy` and `hawser forward`: programs reach servers through it, and hear why not.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::*;

/// What tests of loopback allow; what lies next to it stays denied.
const ALLOW: [&str; 2] = ["--allow-egress", "127.0.0.1"];

/// A gateway on loopback with one user.
struct Gateway {
    process: Running,
    folder: TempDir,
    address: String,
    pin: String,
}

impl Gateway {
    fn start(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // A port of its own choice: only then has the gateway, started again, the key of its stateless resets.
        let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = format!("127.0.0.1:{port}");
        let key = run_json(Self::users(&folder, &["add", "alice"]))["key"].as_str().unwrap().to_owned();
        std::fs::write(folder.path().join("key"), key).unwrap();
        let (process, hello) = Self::spawn(&folder, &address, arguments);
        let pin = hello["pin"].as_str().unwrap().to_owned();
        Gateway { process, folder, address, pin }
    }

    fn spawn(folder: &TempDir, listen: &str, arguments: &[&str]) -> (Running, Value) {
        let mut command = hawser(["gateway", "--json", "--listen", listen, "--grace", "1", "--state"]);
        command.arg(folder.path()).args(arguments);
        command.stderr(std::fs::File::create(folder.path().join("log")).unwrap());
        let (process, hello) = spawn_and_read_line(command);
        (Running(process), serde_json::from_str(&hello).unwrap())
    }

    fn users(folder: &TempDir, arguments: &[&str]) -> Command {
        let mut command = hawser(["-q", "gateway", "user"]);
        command.args(arguments).arg("--state").arg(folder.path());
        command
    }

    fn kill(&mut self) {
        self.process.signal(Signal::SIGKILL);
        let _ = self.process.0.wait();
    }

    fn restart(&mut self) {
        self.process = Self::spawn(&self.folder, &self.address, &ALLOW).0;
    }

    /// `hawser proxy` or `hawser forward` over two links of loopback.
    fn client(&self, verb: &str, arguments: &[&str]) -> Command {
        let mut command = hawser([verb, "--json", "--pin", &self.pin, "--key-file"]);
        command.arg(self.folder.path().join("key")).arg(&self.address);
        command.args(["--path", "127.0.0.1", "--path", "127.0.0.2"]).args(arguments);
        command
    }

    fn proxy(&self) -> Client {
        Client::start(self.client("proxy", &["--listen", "127.0.0.1:0"]))
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }
}

/// `hawser proxy` or `hawser forward`, and what it says.
struct Client {
    _process: Running,
    hello: Value,
    lines: Mutex<mpsc::Receiver<String>>,
}

impl Client {
    fn start(mut command: Command) -> Self {
        command.stderr(Stdio::piped());
        let (mut process, hello) = spawn_and_read_line(command);
        let stderr = BufReader::new(process.stderr.take().unwrap());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            stderr.lines().map_while(Result::ok).try_for_each(|line| sender.send(line).ok())
        });
        Client {
            _process: Running(process),
            hello: serde_json::from_str(&hello).unwrap(),
            lines: Mutex::new(lines),
        }
    }

    fn address(&self) -> SocketAddr {
        self.hello["listening"].as_str().unwrap().parse().unwrap()
    }

    /// Waits for a line with this in it.
    fn says(&self, words: &str) -> String {
        let (lines, mut heard) = (self.lines.lock().unwrap(), Vec::new());
        let deadline = Instant::now() + Duration::from_secs(60);
        while let Ok(line) = lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            if line.contains(words) {
                return line;
            }
            heard.push(line);
        }
        panic!("{words:?} was not said, but: {heard:#?}");
    }

    /// A connection to this target by SOCKS, or the number of the reply that refuses it.
    fn socks(&self, host: &str, port: u16) -> Result<TcpStream, u8> {
        let mut stream = connect(self.address());
        let name = [&[5, 1, 0, 3, u8::try_from(host.len()).unwrap()][..], host.as_bytes()].concat();
        stream.write_all(&[&[5, 1, 0][..], &name, &port.to_be_bytes()].concat()).unwrap();
        let mut reply = [0; 12];
        stream.read_exact(&mut reply).unwrap();
        assert_eq!(reply[..2], [5, 0]);
        if reply[3] == 0 { Ok(stream) } else { Err(reply[3]) }
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

/// A TCP server of which each connection is served by `serve`.
fn server(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let serve = serve.clone();
            std::thread::spawn(move || serve(stream));
        }
    });
    port
}

fn echo(mut stream: TcpStream) {
    let mut copy = stream.try_clone().unwrap();
    let _ = std::io::copy(&mut copy, &mut stream);
    let _ = stream.shutdown(Shutdown::Write);
}

/// A port on which nobody listens.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn curl_gets_a_page_by_socks_and_by_connect() {
    let page = noise(3 << 20);
    let body = page.clone();
    let port = server(move |mut stream| {
        let mut request = [0; 4096];
        let _ = stream.read(&mut request);
        let header = format!("HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        let _ = stream.write_all(&[header.as_bytes(), &body].concat());
    });
    let gateway = Gateway::start(&ALLOW);
    let proxy = gateway.proxy();
    assert_eq!(proxy.hello["user"], "alice");
    let address = proxy.address();
    for options in [vec!["-x", "socks5h"], vec!["--proxytunnel", "-x", "http"]] {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--max-time", "60"]).args(&options[..options.len() - 1]);
        curl.arg(format!("{}://{address}", options.last().unwrap()));
        curl.arg(format!("http://127.0.0.1:{port}/"));
        match curl.output() {
            Ok(output) => {
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                assert!(output.stdout == page, "{} bytes", output.stdout.len());
            }
            Err(error) => eprintln!("skipped: no curl ({error})"),
        }
    }
}

#[test]
fn halves_are_closed_one_by_one() {
    // Answers when the other half has ended, and not before.
    let port = server(|mut stream| {
        let mut question = Vec::new();
        stream.read_to_end(&mut question).unwrap();
        stream.write_all(&question).unwrap();
    });
    let gateway = Gateway::start(&ALLOW);
    let proxy = gateway.proxy();
    let mut stream = proxy.socks("127.0.0.1", port).unwrap();
    let question = noise(300_000);
    stream.write_all(&question).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer == question);
}

/// Classes, and users with their links, for those who look at either end.
#[test]
fn the_status_of_both_ends_tells_what_tunnels_carry() {
    let places = tempfile::tempdir().unwrap();
    let place = |name: &str| places.path().join(name).to_str().unwrap().to_owned();
    let (at_gateway, at_proxy) = (place("gateway.sock"), place("proxy.sock"));
    let gateway = Gateway::start(&[&ALLOW[..], &["--control", &at_gateway]].concat());
    let proxy = Client::start(gateway.client("proxy", &["--listen", "127.0.0.1:0", "--control", &at_proxy]));
    let mut stream = proxy.socks("127.0.0.1", server(echo)).unwrap();
    let question = noise(50_000);
    stream.write_all(&question).unwrap();
    let mut answer = vec![0; question.len()];
    stream.read_exact(&mut answer).unwrap();
    let status = |socket: &str| run_json(hawser(["ctl", "--json", "--socket", socket, "status"]));
    // A look may be an eighth of a second old.
    for socket in [&at_proxy, &at_gateway] {
        wait_until("the flow is seen", || status(socket)["classes"][0]["flows"] == 1);
    }
    for (status, name) in [(status(&at_proxy), "proxy"), (status(&at_gateway), "gateway")] {
        let class = &status["classes"][0];
        assert_eq!((&class["name"], &class["flows"]), (&"tcp".into(), &1.into()), "{name}: {status}");
        let bytes = (&class["bytes_sent"], &class["bytes_received"]);
        assert_eq!(bytes, (&50_000.into(), &50_000.into()), "{name}: {status}");
    }
    let user = &status(&at_gateway)["users"][0];
    assert_eq!((&user["name"], &user["bytes_sent"]), (&"alice".into(), &50_000.into()), "{user}");
    let links: Vec<&Value> = user["links"].as_array().unwrap().iter().map(|link| &link["name"]).collect();
    assert_eq!(links, ["127.0.0.1", "127.0.0.2"]);
    drop(stream);
    wait_until("no flow is open", || status(&at_proxy)["classes"][0]["flows"] == 0);
}

/// A reset is no end: a program that reads a file must not take half of it for the whole.
#[test]
fn resets_travel_in_both_directions() {
    let (told, heard) = mpsc::channel();
    let port = server(move |mut stream| {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        if byte == *b"r" {
            socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
            return;
        }
        told.send(stream.read(&mut byte).map_err(|error| error.kind())).unwrap();
    });
    let gateway = Gateway::start(&ALLOW);
    let proxy = gateway.proxy();
    let mut stream = proxy.socks("127.0.0.1", port).unwrap();
    stream.write_all(b"r").unwrap();
    let read = stream.read(&mut [0]).map_err(|error| error.kind());
    assert_eq!(read, Err(std::io::ErrorKind::ConnectionReset), "of the server");
    let mut stream = proxy.socks("127.0.0.1", port).unwrap();
    stream.write_all(b"w").unwrap();
    std::thread::sleep(Duration::from_millis(100));
    socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    drop(stream);
    assert_eq!(heard.recv().unwrap(), Err(std::io::ErrorKind::ConnectionReset), "of the program");
}

#[test]
fn what_fails_is_answered_with_its_reason() {
    let gateway = Gateway::start(&ALLOW);
    let proxy = gateway.proxy();
    assert_eq!(proxy.socks("127.0.0.1", free_port()).unwrap_err(), 5);
    proxy.says("nobody listens on that port");
    assert_eq!(proxy.socks("no-such-name.invalid", 80).unwrap_err(), 4);
    proxy.says("finds no address of no-such-name.invalid");
    let mut http = connect(proxy.address());
    write!(http, "CONNECT 127.0.0.1:{} HTTP/1.1\r\n\r\n", free_port()).unwrap();
    let mut answer = String::new();
    http.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains("error=connection_refused"), "{answer}");
    assert!(answer.contains("nobody listens on that port\n"), "{answer}");
}

/// Neither the address, nor a name of it, nor another way to write it.
#[test]
fn what_is_not_public_is_denied_until_it_is_allowed() {
    let port = server(echo);
    let gateway = Gateway::start(&[]);
    let proxy = gateway.proxy();
    for host in ["127.0.0.1", "localhost", "127.1", "::ffff:127.0.0.1", "10.0.0.1", "169.254.169.254", "::1"]
    {
        assert_eq!(proxy.socks(host, port).unwrap_err(), 2, "{host}");
        let line = proxy.says("egress rules deny");
        assert!(line.contains("--allow-egress"), "{line}");
    }
    drop((proxy, gateway));
    let gateway = Gateway::start(&["--allow-egress", "127.0.0.0/8", "--allow-egress", "::1/128"]);
    let proxy = gateway.proxy();
    let mut stream = proxy.socks("localhost", port).unwrap();
    stream.write_all(b"hello").unwrap();
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"hello");
}

#[test]
fn a_wrong_key_and_a_wrong_pin_are_told() {
    let gateway = Gateway::start(&[]);
    let listen = ["--listen", "127.0.0.1:0"];
    let wrong = gateway.folder.path().join("wrong");
    std::fs::write(&wrong, "not-the-key\n").unwrap();
    let mut command = hawser(["proxy", "--pin", &gateway.pin, &gateway.address, "--key-file"]);
    command.arg(&wrong).args(listen);
    assert!(run_failing(command, 43).contains("does not know this key"));
    let other = Gateway::start(&[]);
    let mut command = hawser(["proxy", "--pin", &other.pin, &gateway.address, "--key-file"]);
    command.arg(gateway.folder.path().join("key")).args(listen);
    run_failing(command, 90);
    let mut command = hawser(["proxy", "--pin", &gateway.pin, &gateway.address]);
    command.env_remove("HAWSER_KEY").args(listen);
    assert!(run_failing(command, 2).contains("--key-file"));
}

/// Users come and go while the gateway runs, and those who are removed take their tunnels with them.
#[test]
fn a_removed_user_is_sent_away() {
    let port = server(echo);
    let gateway = Gateway::start(&ALLOW);
    let proxy = gateway.proxy();
    let mut stream = proxy.socks("127.0.0.1", port).unwrap();
    assert!(run(Gateway::users(&gateway.folder, &["remove", "alice"])).status.success());
    assert!(stream.read(&mut [0]).is_err(), "the tunnel is reset");
    assert!(gateway.log().contains("users: 0 added, 1 removed, 0 in all"), "{}", gateway.log());
    assert_eq!(proxy.socks("127.0.0.1", port).unwrap_err(), 2);
    proxy.says("does not know this key");
    assert!(run(Gateway::users(&gateway.folder, &["add", "bob"])).status.success());
    let listed = run(Gateway::users(&gateway.folder, &["list"]));
    assert_eq!(String::from_utf8_lossy(&listed.stdout), "bob\n");
}

/// Streams that are under way are reset, and new ones wait for the gateway.
#[test]
fn a_gateway_that_is_killed_and_started_again_is_found() {
    let port = server(echo);
    let mut gateway = Gateway::start(&ALLOW);
    let proxy = gateway.proxy();
    let mut stream = proxy.socks("127.0.0.1", port).unwrap();
    gateway.kill();
    let waiting = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| proxy.socks("127.0.0.1", port));
        std::thread::sleep(Duration::from_millis(300));
        gateway.restart();
        waiting.join().unwrap()
    });
    let read = stream.read(&mut [0]).map_err(|error| error.kind());
    assert_eq!(read, Err(std::io::ErrorKind::ConnectionReset));
    proxy.says("connected to the gateway again");
    let mut stream = waiting.or_else(|_| proxy.socks("127.0.0.1", port)).unwrap();
    stream.write_all(b"hello").unwrap();
    stream.read_exact(&mut [0; 5]).unwrap();
}

/// `-R` needs a permission, which is seen while the gateway runs, and lasts over a restart of the gateway.
#[test]
fn a_port_of_the_gateway_leads_to_a_host_of_the_user_who_may_have_it() {
    let port = server(echo);
    let mut gateway = Gateway::start(&ALLOW);
    let forward = format!("0:127.0.0.1:{port}");
    let refused = run(gateway.client("forward", &["-R", &forward]));
    assert!(!refused.status.success());
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("does not let alice listen") && said.contains("user set alice --listen"), "{said}");
    let free = free_port();
    let grants = ["set", "alice", "--listen", &free.to_string(), "--rate", "500M", "--volume", "2G"];
    assert!(run(Gateway::users(&gateway.folder, &grants)).status.success());
    let listed = run(Gateway::users(&gateway.folder, &["list"]));
    let expected = format!("alice --listen 127.0.0.1:{free} --rate 500.0Mbit/s --volume 2147483648\n");
    assert_eq!(String::from_utf8_lossy(&listed.stdout), expected);
    std::thread::sleep(Duration::from_secs(1));
    let client = Client::start(gateway.client("forward", &["-R", &forward]));
    let address: SocketAddr = client.hello["remote"][0].as_str().unwrap().parse().unwrap();
    assert_eq!(address.port(), free);
    let answers = || {
        let mut stream = connect(address);
        stream.write_all(b"hello").is_ok() && stream.read_exact(&mut [0; 5]).is_ok()
    };
    assert!(answers());
    gateway.kill();
    gateway.restart();
    client.says("the gateway no longer listens on");
    client.says("the gateway listens on");
    assert!(answers());
    assert!(!run(Gateway::users(&gateway.folder, &["set", "alice", "--rate", "0"])).status.success());
    assert!(!run(Gateway::users(&gateway.folder, &["set", "bob", "--rate", "1M"])).status.success());
}

/// Each holds its own window and nothing of the others': the 65th goes on until its end.
#[test]
fn downloads_that_nobody_reads_slow_no_other() {
    const UNREAD: usize = 64;
    const READ: usize = 8 << 20;
    let port = server(|mut stream| {
        let block = vec![7; 1 << 16];
        while stream.write_all(&block).is_ok() {}
    });
    let gateway = Gateway::start(&ALLOW);
    let proxy = gateway.proxy();
    let unread: Vec<TcpStream> = (0..UNREAD).map(|_| proxy.socks("127.0.0.1", port).unwrap()).collect();
    // Until their windows are full and nothing more arrives.
    std::thread::sleep(Duration::from_secs(3));
    let mut stream = proxy.socks("127.0.0.1", port).unwrap();
    let read = std::io::copy(&mut (&mut stream).take(READ as u64), &mut std::io::sink()).unwrap();
    assert_eq!(read, READ as u64, "a download next to {UNREAD} that nobody reads stood still");
    drop(unread);
}

fn udp_echo() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut buffer = vec![0; 65_535];
        while let Ok((read, from)) = socket.recv_from(&mut buffer) {
            let _ = socket.send_to(&buffer[..read], from);
        }
    });
    port
}

fn udp_socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    socket
}

#[test]
fn udp_goes_through_a_socks_association() {
    let port = udp_echo();
    let gateway = Gateway::start(&ALLOW);
    let proxy = gateway.proxy();
    let mut control = connect(proxy.address());
    control.write_all(b"\x05\x01\x00\x05\x03\x00\x01\0\0\0\0\0\0").unwrap();
    let mut reply = [0; 12];
    control.read_exact(&mut reply).unwrap();
    assert_eq!(reply[..6], [5, 0, 5, 0, 0, 1]);
    let relay = SocketAddr::from(([127, 0, 0, 1], u16::from_be_bytes([reply[10], reply[11]])));
    let socket = udp_socket();
    // Small ones as datagrams, large ones in capsules.
    for length in [0, 1, 100, 1_000, 1_400, 9_000, 60_000] {
        let payload = noise(length);
        let header = [&[0, 0, 0, 1, 127, 0, 0, 1][..], &port.to_be_bytes()].concat();
        let datagram = [header, payload].concat();
        socket.send_to(&datagram, relay).unwrap();
        let mut buffer = vec![0; 65_535];
        let read = socket.recv(&mut buffer).unwrap_or_else(|error| panic!("{length} bytes: {error}"));
        assert!(buffer[..read] == datagram, "{length} bytes came back as {read}");
    }
    // The program closes the association.
    drop(control);
    wait_until("the relay's socket is closed", || UdpSocket::bind(relay).is_ok());
}

#[test]
fn forwarded_ports_carry_tcp_and_udp() {
    let (tcp, udp) = (server(echo), udp_echo());
    let gateway = Gateway::start(&ALLOW);
    let ports = [format!("0:127.0.0.1:{tcp}"), format!("0:127.0.0.1:{udp}/udp"), "0:10.0.0.1:80".to_owned()];
    let arguments: Vec<&str> = ports.iter().flat_map(|port| ["-L", port]).collect();
    let client = Client::start(gateway.client("forward", &arguments));
    let port = |at: usize| client.hello["listening"][at].as_str().unwrap().parse::<SocketAddr>().unwrap();
    let mut stream = connect(port(0));
    stream.write_all(b"hello").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "hello");
    assert!(connect(port(2)).read(&mut [0]).is_err(), "what is denied is reset");
    client.says("egress rules deny 10.0.0.1");
    let socket = udp_socket();
    socket.connect(port(1)).unwrap();
    for length in [1, 1_200, 3_000] {
        let payload = noise(length);
        socket.send(&payload).unwrap();
        let mut buffer = vec![0; 65_535];
        let read = socket.recv(&mut buffer).unwrap();
        assert!(buffer[..read] == payload);
    }
}

/// SIGTERM: who has tunnels keeps them for the grace, and the gateway then ends.
#[test]
fn a_gateway_that_is_to_end_says_goodbye() {
    let port = server(echo);
    let mut gateway = Gateway::start(&ALLOW);
    let proxy = gateway.proxy();
    let mut stream = proxy.socks("127.0.0.1", port).unwrap();
    gateway.process.signal(Signal::SIGTERM);
    stream.write_all(b"hello").unwrap();
    stream.read_exact(&mut [0; 5]).unwrap();
    let started = Instant::now();
    assert!(gateway.process.0.wait().unwrap().success());
    assert!(started.elapsed() < Duration::from_secs(10));
    assert!(stream.read(&mut [0]).is_err());
    proxy.says("connecting again");
    gateway.restart();
    proxy.says("connected to the gateway again");
}

/// Keys of users, right ones and wrong ones, are in no log and no trace of either end.
#[test]
fn logs_and_traces_of_a_gateway_hold_no_keys() {
    const WRONG: &str = "wrong-key-of-nobody";
    let port = server(echo);
    let traces = tempfile::tempdir().unwrap();
    let more = ["-vvv", "--qlog", traces.path().to_str().unwrap()];
    let gateway = Gateway::start(&[&ALLOW[..], &more].concat());
    let at = |name: &str| gateway.folder.path().join(name);
    std::fs::write(at("wrong"), WRONG).unwrap();
    let client = |key: &str, log: &str| {
        let mut command = hawser(["proxy", "--json", "--pin", &gateway.pin, "--key-file"]);
        command.arg(at(key)).arg(&gateway.address).args(["--listen", "127.0.0.1:0"]).args(more);
        command.stderr(std::fs::File::create(at(log)).unwrap());
        command
    };
    let (proxy, hello) = spawn_and_read_line(client("key", "proxy.log"));
    let (proxy, hello) = (Running(proxy), serde_json::from_str::<Value>(&hello).unwrap());
    let mut stream = connect(hello["listening"].as_str().unwrap().parse().unwrap());
    let request = format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    let refused = run(client("wrong", "wrong.log"));
    assert!(!refused.status.success());
    std::fs::write(at("wrong.log"), refused.stderr).unwrap();
    drop((stream, proxy));
    gateway.process.signal(Signal::SIGTERM);
    let keys = [std::fs::read_to_string(at("key")).unwrap().trim().to_owned(), WRONG.to_owned()];
    let written: Vec<_> =
        std::fs::read_dir(traces.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(written.len() >= 4, "traces of both ends: {written:?}");
    for path in ["log", "proxy.log", "wrong.log"].map(at).into_iter().chain(written) {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.is_empty(), "{}", path.display());
        assert_eq!(key_in(&text, &keys.each_ref().map(String::as_str)), None, "{}: {text}", path.display());
    }
}
