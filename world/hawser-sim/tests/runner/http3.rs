//! The case http3: the `h3` crate on simulated connections. Its futures are polled whenever something happened to their
//! connection, and need no runtime.

mod transport;

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};

use bytes::{Buf, Bytes};
use hawser_core::{
    ClientConfig, Connection, ConnectionHandle, Endpoint, EndpointConfig, Event, ServerConfig,
};
use hawser_policy::Time;
use hawser_sim::testing::{SERVER, client_address, transport};
use hawser_sim::{Application, Host, Network, first_mismatch, pattern_bytes, tls};
use hawser_wire::packet::PacketType;

use crate::bed::{KB, SIMPLE, registry};
use crate::link::Link;
use crate::wire::Edge;
use transport::Transport;

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// An end of an HTTP/3 connection: what runs on it once it is connected.
struct Http {
    start: fn(Transport, Results) -> Vec<Task>,
    transport: Transport,
    tasks: Vec<Task>,
    results: Results,
    finished_at: Option<Time>,
}

/// How often a connection and its tasks have their turns at one event, each after the other.
const MAX_ROUNDS: usize = 64;

/// Lengths of the files that came whole, in the order of their ends.
type Results = Rc<RefCell<Vec<u64>>>;

const FILES: [u64; 3] = [5 * KB, 10 * KB, 500 * KB];

impl Http {
    fn new(start: fn(Transport, Results) -> Vec<Task>) -> Self {
        let transport = Transport::default();
        Http { start, transport, tasks: Vec::new(), results: Results::default(), finished_at: None }
    }
}

impl Application for Http {
    fn on_event(&mut self, now: Time, _: ConnectionHandle, connection: &mut Connection, event: &Event) {
        if *event == Event::Connected {
            self.tasks = (self.start)(self.transport.clone(), self.results.clone());
        }
        for _ in 0..MAX_ROUNDS {
            let moved = self.transport.exchange(connection);
            self.tasks
                .retain_mut(|task| task.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            if !moved && !self.transport.has_work() {
                break;
            }
        }
        if self.finished_at.is_none() && self.results.borrow().len() == FILES.len() {
            self.finished_at = Some(now);
            connection.close(now, h3::error::Code::H3_NO_ERROR.value(), Bytes::new());
        }
    }
}

/// Asks for all files at once.
fn client(transport: Transport, results: Results) -> Vec<Task> {
    vec![Box::pin(async move {
        let (mut driver, requests) = h3::client::new(transport).await.unwrap();
        let fetches = FILES.map(|length| Box::pin(fetch(requests.clone(), length, results.clone())) as Task);
        let mut tasks: Vec<Task> = fetches.into();
        tasks.push(Box::pin(async move {
            driver.wait_idle().await;
        }));
        std::future::poll_fn(move |context| {
            tasks.retain_mut(|task| task.as_mut().poll(context).is_pending());
            if tasks.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
    })]
}

async fn fetch(mut requests: h3::client::SendRequest<Transport, Bytes>, length: u64, results: Results) {
    let request = http::Request::get(format!("https://{}/{length}", tls::SERVER_NAME)).body(()).unwrap();
    let mut stream = requests.send_request(request).await.unwrap();
    stream.finish().await.unwrap();
    assert_eq!(stream.recv_response().await.unwrap().status(), 200);
    let mut received = 0;
    while let Some(mut data) = stream.recv_data().await.unwrap() {
        let data = data.copy_to_bytes(data.remaining());
        assert_eq!(first_mismatch(received, &data), None);
        received += data.len() as u64;
    }
    assert_eq!(received, length);
    results.borrow_mut().push(length);
}

/// Answers one request after the other; what it sends waits in the transport.
fn server(transport: Transport, _: Results) -> Vec<Task> {
    vec![Box::pin(async move {
        let mut requests = h3::server::Connection::<_, Bytes>::new(transport).await.unwrap();
        while let Ok(Some(resolver)) = requests.accept().await {
            let (request, mut stream) = resolver.resolve_request().await.unwrap();
            let length: u64 = request.uri().path().trim_start_matches('/').parse().unwrap();
            let response = http::Response::builder().status(200).body(()).unwrap();
            stream.send_response(response).await.unwrap();
            let mut sent = 0;
            while sent < length {
                let piece = pattern_bytes(sent, length - sent);
                sent += piece.len() as u64;
                stream.send_data(piece).await.unwrap();
            }
            stream.finish().await.unwrap();
        }
    })]
}

fn endpoint(part: u8, server: Option<Arc<ServerConfig>>) -> Endpoint {
    Endpoint::new(Arc::new(EndpointConfig::new([part; 32])), server, [part; 32])
}

#[test]
fn http3() {
    let link = Link::parse(SIMPLE, 1);
    let transport = Arc::new(transport(&registry(), "default", "cubic"));
    let (mut client_tls, mut server_tls) = (tls::client_config().unwrap(), tls::server_config().unwrap());
    client_tls.alpn_protocols = vec![b"h3".to_vec()];
    server_tls.alpn_protocols = vec![b"h3".to_vec()];
    let (client_crypto, server_crypto) = tls::sessions_with(client_tls, server_tls, 1).unwrap();
    let mut host = Host::new(endpoint(7, None), Http::new(client));
    let config = ClientConfig::new(client_crypto, transport.clone());
    host.connect(Time::ZERO, config, client_address(0), SERVER, tls::SERVER_NAME).unwrap();
    let server_config = ServerConfig::new(server_crypto, transport, [9; 32]);
    let server = Host::new(endpoint(8, Some(Arc::new(server_config))), Http::new(server));
    let (client, server) = (Edge::new(host, link.to_client), Edge::new(server, link.to_server));
    let mut network = Network::new(client, server, 1);
    network.add_link(client_address(0).ip(), &link.direction, &link.direction);

    let done = network
        .run_until(Time::from_secs(10), |network| network.client.node.application.finished_at.is_some());
    let mut came = network.client.node.application.results.borrow().clone();
    came.sort_unstable();
    assert!(done && came == FILES, "{came:?}");
    let took = network.client.node.application.finished_at.unwrap().as_secs_f64();
    println!("finished after {took:.3} s (at most 0.6 s)");
    assert!(took <= 0.6, "{took:.3} s");
    let sources: std::collections::BTreeSet<_> =
        network.server.of_kind(PacketType::Initial).map(|(_, header)| header.source.clone()).collect();
    assert_eq!(sources.len(), 1, "one handshake");
}
