//! A program with a control socket, and those who look at it.

#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hawser_net::{ClientConfig, Connection, Endpoint, Identity, Links, PathSpec, ServerConfig, Trust};
use hawser_status::Hub;
use hawser_status::control::protocol::{Line, Order, Outcome};
use hawser_status::control::{Client, ClientError, ControlSocket};
use hawser_status::model::{EventKind, LimitedBy, LinkUsage, PathState, Status};

/// A client with two links that sends as much as it can to a server of the same process.
struct Program {
    hub: Hub,
    socket: ControlSocket,
    folder: tempfile::TempDir,
    drained: Arc<AtomicBool>,
    server_hub: Hub,
    _endpoints: [Endpoint; 2],
    _connection: Connection,
}

impl Program {
    async fn start() -> Self {
        let identity = Identity::self_signed(&["localhost"]).unwrap();
        let pin = identity.pin().unwrap();
        let config = ServerConfig::builder(identity).alpn(["test"]).build().unwrap();
        let server = Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
        let address = server.listening()[0];
        let accepting = server.clone();
        tokio::spawn(async move {
            let connection = accepting.accept().await.unwrap().await.unwrap();
            let mut receive = connection.accept_uni().await.unwrap();
            while let Ok(Some(_)) = receive.read_chunk(1 << 20).await {}
            connection.closed().await;
        });
        let drained = Arc::new(AtomicBool::new(false));
        let told = drained.clone();
        let hub = Hub::new("test", Box::new(move || told.store(true, Ordering::Relaxed)));
        let config = ClientConfig::builder().trust(Trust::Pins(vec![pin])).alpn(["test"]).build().unwrap();
        let links = ["127.0.0.1", "127.0.0.2"].map(|address| PathSpec::available(address.parse().unwrap()));
        let client = Endpoint::client(config, Links::Only(links.to_vec())).unwrap();
        let connection = client.connect(address, "localhost").await.unwrap();
        hub.attach(&client);
        let mut send = connection.open_uni().await.unwrap();
        tokio::spawn(async move {
            while send.write_all(&[7; 20_000]).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        let server_hub = Hub::new("server", Box::new(|| {}));
        server_hub.attach(&server);
        let folder = tempfile::tempdir().unwrap();
        let socket = ControlSocket::open(hub.clone(), &folder.path().join("test.sock")).unwrap();
        let program = Program {
            hub,
            socket,
            folder,
            drained,
            server_hub,
            _endpoints: [client, server],
            _connection: connection,
        };
        program
            .until(|status| {
                paths(status) == [("127.0.0.1", PathState::Active), ("127.0.0.2", PathState::Active)]
            })
            .await;
        program
    }

    async fn client(&self) -> Client {
        Client::connect(self.socket.path()).await.unwrap()
    }

    async fn until(&self, wanted: impl Fn(&Status) -> bool) -> Arc<Status> {
        let began = Instant::now();
        loop {
            let status = self.hub.look(Duration::ZERO);
            if wanted(&status) {
                return status;
            }
            assert!(began.elapsed() < Duration::from_secs(20), "{status:#?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn paths(status: &Status) -> Vec<(&str, PathState)> {
    let mut paths: Vec<_> = status
        .connections
        .iter()
        .flat_map(|connection| &connection.paths)
        .map(|path| (path.name.as_str(), path.state))
        .collect();
    paths.sort_unstable();
    paths
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_has_rates_paths_and_policies() {
    let program = Program::start().await;
    let is_busy = |status: &Status| status.connections.first().is_some_and(|it| it.rate_sent_bps > 1e6);
    program.until(is_busy).await;
    let mut client = program.client().await;
    assert_eq!(client.hello().program.command, "test");
    let Outcome::Status(status) = client.ask(Order::Status).await.unwrap() else { panic!("no status") };
    let connection = &status.connections[0];
    assert_eq!((connection.side.as_str(), connection.protocol.as_deref()), ("client", Some("test")));
    assert!(connection.multipath && connection.scheduler == "earliestarrival", "{connection:?}");
    assert!(connection.rate_sent_bps > 1e6, "{connection:?}");
    assert!(status.totals.bytes_sent > 20_000 && status.totals.connections_ever == 1, "{:?}", status.totals);
    let path = &connection.paths[0];
    assert!(path.smoothed_rtt_ms > 0.0 && path.window_bytes > 0 && !path.controller.is_empty(), "{path:?}");
    assert_ne!(path.limited_by, LimitedBy::Amplification);
    let names: Vec<&str> = status.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["127.0.0.1", "127.0.0.2"]);
    assert!(status.links.iter().any(|link| link.rate_sent_bps > 0.0 && link.bytes_sent > 0));
    // At the server paths are named after the peer.
    let seen = program.server_hub.settled().await;
    assert_eq!(seen.connections[0].side, "server");
    assert_eq!(seen.connections[0].paths[0].name, "127.0.0.1");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_attached_after_the_last_look_is_seen_at_once() {
    let program = Program::start().await;
    let hub = Hub::new("late", Box::new(|| {}));
    assert!(hub.look(Duration::ZERO).connections.is_empty());
    hub.attach(&program._endpoints[0]);
    hub.add(Arc::new(|status: &mut Status| status.connections_left_out = 7));
    let status = hub.look(Duration::from_secs(3600));
    assert_eq!((status.connections.len(), status.connections_left_out), (1, 7));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_link_carries_nothing_until_it_is_resumed() {
    let program = Program::start().await;
    let mut client = program.client().await;
    let link = |name: &str, usage| Order::Link { name: name.to_owned(), usage };
    client.send(Order::Watch { interval_ms: 50, after_event: Some(program.hub.last_event()) }).await.unwrap();
    client.ask(link("127.0.0.1", LinkUsage::Paused)).await.unwrap();
    program.until(|status| paths(status) == [("127.0.0.2", PathState::Active)]).await;
    let refused = client.ask(link("127.0.0.2", LinkUsage::Paused)).await.unwrap_err();
    assert!(refused.to_string().contains("only link in use"), "{refused}");
    let unknown = client.ask(link("wlan7", LinkUsage::Backup)).await.unwrap_err();
    assert!(unknown.to_string().contains("known are: 127.0.0.1"), "{unknown}");
    client.ask(link("127.0.0.1", LinkUsage::Available)).await.unwrap();
    program.until(|status| paths(status).len() == 2 && paths(status)[0].1 == PathState::Active).await;
    client.ask(link("127.0.0.2", LinkUsage::Backup)).await.unwrap();
    program
        .until(|status| {
            status.connections[0].paths.iter().any(|path| path.backup && path.name == "127.0.0.2")
        })
        .await;
    let mut kinds = Vec::new();
    while kinds.len() < 5 {
        if let Line::Event(event) = client.next().await.unwrap() {
            kinds.push(event.kind);
        }
    }
    for kind in [EventKind::LinkUse, EventKind::PathClosed, EventKind::PathOpened] {
        assert!(kinds.contains(&kind), "{kind:?} in {kinds:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn status_after_an_order_shows_what_it_changed() {
    let program = Program::start().await;
    let mut client = program.client().await;
    for spec in ["minrtt", "roundrobin", "minrtt", "roundrobin"] {
        // A look so young that it would do for the next one who asks.
        program.hub.look(Duration::ZERO);
        client.ask(Order::Scheduler { spec: spec.to_owned(), connection: None }).await.unwrap();
        let Outcome::Status(status) = client.ask(Order::Status).await.unwrap() else { panic!("no status") };
        assert_eq!(status.connections[0].scheduler, spec);
    }
    client.ask(Order::Link { name: "127.0.0.2".to_owned(), usage: LinkUsage::Backup }).await.unwrap();
    let Outcome::Status(status) = client.ask(Order::Status).await.unwrap() else { panic!("no status") };
    let link = status.links.iter().find(|link| link.name == "127.0.0.2").unwrap();
    assert_eq!(link.usage, LinkUsage::Backup);
}

#[tokio::test(flavor = "multi_thread")]
async fn policies_are_exchanged_and_wrong_names_are_explained() {
    let program = Program::start().await;
    let mut client = program.client().await;
    let scheduler = |spec: &str| Order::Scheduler { spec: spec.to_owned(), connection: None };
    client.ask(scheduler("minrtt")).await.unwrap();
    program.until(|status| status.connections[0].scheduler == "minrtt").await;
    let wrong = client.ask(scheduler("none-such")).await.unwrap_err();
    assert!(wrong.to_string().contains("known are"), "{wrong}");
    let controller =
        Order::Controller { spec: "bbr".to_owned(), name: Some("127.0.0.2".to_owned()), connection: None };
    client.ask(controller).await.unwrap();
    let status = program
        .until(|status| status.connections[0].paths.iter().any(|path| path.controller != "cubic"))
        .await;
    let path = status.connections[0].paths.iter().find(|path| path.name == "127.0.0.2").unwrap();
    assert!(path.figures.contains_key("phase"), "{path:?}");
    let mode = |mode: &str| Order::Mode { mode: mode.to_owned(), class: None, connection: None };
    client.ask(mode("redundant")).await.unwrap();
    let is_redundant =
        |status: &Status| format!("{:?}", status.connections[0].scheduler_figures).contains("redundant");
    program.until(is_redundant).await;
    assert!(client.ask(mode("fastest")).await.unwrap_err().to_string().contains("low-latency"));
    let other = Order::Scheduler { spec: "ecf".to_owned(), connection: Some("9.9".to_owned()) };
    assert!(client.ask(other).await.unwrap_err().to_string().contains("no connection `9.9`"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_begins_on_demand_and_is_bounded() {
    let program = Program::start().await;
    let mut client = program.client().await;
    let file = program.folder.path().join("trace.sqlog");
    let name = file.to_str().unwrap().to_owned();
    let order = || Order::Qlog { connection: "1.1".to_owned(), file: name.clone(), max_bytes: 100_000 };
    client.ask(order()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(800)).await;
    assert!(client.ask(order()).await.unwrap_err().to_string().contains("exists"));
    let length = std::fs::metadata(&file).unwrap().len();
    assert!((1_000..=100_000).contains(&length), "{length}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_watchers_see_the_same_program_at_their_own_rates() {
    let program = Program::start().await;
    let mut watchers = [program.client().await, program.client().await];
    for (watcher, interval_ms) in watchers.iter_mut().zip([50, 400]) {
        watcher.ask(Order::Watch { interval_ms, after_event: None }).await.unwrap();
    }
    let mut counts = [0; 2];
    let over = tokio::time::sleep(Duration::from_secs(2));
    tokio::pin!(over);
    let [fast, slow] = &mut watchers;
    loop {
        tokio::select! {
            line = fast.next() => counts[0] += usize::from(matches!(line.unwrap(), Line::Sample(_))),
            line = slow.next() => counts[1] += usize::from(matches!(line.unwrap(), Line::Sample(_))),
            () = &mut over => break,
        }
    }
    assert!(counts[0] > 2 * counts[1] && counts[1] >= 2, "{counts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_reader_is_dropped_and_others_are_served() {
    let program = Program::start().await;
    let path: PathBuf = program.socket.path().to_owned();
    let mut slow = UnixStream::connect(&path).unwrap();
    slow.write_all(b"{\"do\":\"watch\",\"interval_ms\":50}\n").unwrap();
    let began = Instant::now();
    let mut client = program.client().await;
    let gone = tokio::task::spawn_blocking(move || {
        // The socket's buffer takes a while to fill; then the program waits five seconds, and closes it.
        std::thread::sleep(Duration::from_secs(20));
        slow.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut all = Vec::new();
        slow.read_to_end(&mut all).map(|_| all.len())
    });
    while !gone.is_finished() {
        let asked = Instant::now();
        client.ask(Order::Status).await.unwrap();
        assert!(asked.elapsed() < Duration::from_secs(2), "the program waits for a slow reader");
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(began.elapsed() < Duration::from_secs(60));
    }
    let read = gone.await.unwrap().expect("the program closed the socket");
    assert!(read < 1 << 20, "{read} bytes were kept for it");
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_is_answered_and_its_sender_dropped() {
    let program = Program::start().await;
    let path = program.socket.path().to_owned();
    let say = |bytes: Vec<u8>| {
        let path = path.clone();
        tokio::task::spawn_blocking(move || {
            let mut stream = UnixStream::connect(path).unwrap();
            let _ = stream.write_all(&bytes);
            stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            let mut all = Vec::new();
            // A socket that is closed with unread data is reset.
            let _ = stream.read_to_end(&mut all);
            String::from_utf8(all).unwrap()
        })
    };
    let answer = say(b"GET / HTTP/1.1\r\n\r\n".to_vec()).await.unwrap();
    assert!(answer.contains("this is no request"), "{answer}");
    let answer = say(vec![b'x'; 1 << 20]).await.unwrap();
    assert!(answer.lines().count() <= 2, "{answer}");
    let answer = say([&b"\xff\xfe\x00\n"[..]].concat()).await.unwrap();
    assert!(answer.contains("error"), "{answer}");
    // The program goes on.
    program.client().await.ask(Order::Status).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_socket_goes_with_the_program_and_drain_is_told() {
    let program = Program::start().await;
    let path = program.socket.path().to_owned();
    let mut client = program.client().await;
    client.ask(Order::Drain).await.unwrap();
    assert!(program.drained.load(Ordering::Relaxed) && program.hub.look(Duration::ZERO).draining);
    drop(program);
    assert!(!path.exists());
    assert!(matches!(Client::connect(&path).await, Err(ClientError::Connect { .. })));
}
