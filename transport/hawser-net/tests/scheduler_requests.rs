//! Policies that are chosen by name while a connection runs, at this end and at the other.

use hawser_net::policy::{PathId, PolicySpec};
use hawser_net::{
    Endpoint, Identity, MAX_SCHEDULER_REQUESTS, SchedulerAnswer, ServerConfig, default_transport,
};

use crate::common::*;

/// A server whose clients may choose these schedulers, and a connection to it over two links.
async fn connected(allowed: &[&str]) -> (Endpoint, Endpoint, hawser_net::Connection) {
    init_tracing();
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let pin = identity.pin().unwrap();
    let config = ServerConfig::builder(identity).alpn([ALPN]).transport(default_transport()).build().unwrap();
    let builder = Endpoint::builder().server(config).listen("[::]:0".parse().unwrap());
    let server = builder.allow_schedulers(allowed.iter().copied()).bind().unwrap();
    serve(&server, |connection| async move {
        while let Ok((mut send, _receive)) = connection.accept_bi().await {
            let _ = send.write_all(&pattern(LENGTH)).await;
            let _ = send.finish();
            let _ = send.stopped().await;
        }
    });
    let client = client(pin, links(&["127.0.0.1", "127.0.0.2"]));
    let connection = client.connect(address_of(&server), "localhost").await.unwrap();
    eventually("a second path", || connection.paths().len() == 2).await;
    (server, client, connection)
}

const LENGTH: usize = 4 << 20;

fn spec(text: &str) -> PolicySpec {
    text.parse().unwrap()
}

/// Bytes that each path carried towards the client during a download.
async fn download(connection: &hawser_net::Connection) -> [u64; 2] {
    let received = || [PathId::ZERO, PathId(1)].map(|id| connection.path_stats(id).unwrap().bytes_received);
    let before = received();
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    send.write_all(b"request").await.unwrap();
    send.finish().unwrap();
    assert!(receive.read_to_end(LENGTH).await.unwrap() == pattern(LENGTH), "what came differs");
    let after = received();
    [after[0] - before[0], after[1] - before[1]]
}

/// All data on one path, and then on the other: that shows at the receiver whatever the machine is doing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_allows_it_uses_the_scheduler_of_the_client() {
    let (_server, _client, connection) = connected(&["fixed-split", "round-robin"]).await;
    for (share, wanted) in [(1, 0), (0, 1), (1, 0)] {
        let asked = format!("fixed-split,share={share},redirect=off");
        // What is asked for after the request is answered with it, without a round trip of waiting.
        let answer = connection.request_scheduler(&spec(&asked));
        let carried = download(&connection).await;
        assert_eq!(answer.await.unwrap(), SchedulerAnswer::Accepted(asked));
        // The other path carries acknowledgements and probes.
        assert!(carried[1 - wanted] < carried[wanted] / 8, "share {share}: {carried:?} bytes");
    }
    let answer = connection.request_scheduler(&spec("roundrobin,quantum=4")).await.unwrap();
    assert_eq!(answer, SchedulerAnswer::Accepted("roundrobin,quantum=4".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_says_why_and_changes_nothing() {
    let (_server, _client, connection) = connected(&["round-robin"]).await;
    let refused = async |text| match connection.request_scheduler(&spec(text)).await.unwrap() {
        SchedulerAnswer::Refused(reason) => reason,
        SchedulerAnswer::Accepted(_) => panic!("{text} was accepted"),
    };
    assert_eq!(refused("redundant").await, "\"redundant\" is not among round-robin");
    assert!(refused("round-robin,quantum=0").await.contains("expected 1 to 1000"), "out of range");
    let carried: u64 = download(&connection).await.iter().sum();
    assert!(carried < LENGTH as u64 * 3 / 2, "{carried} bytes: sent twice?");
    for _ in 2..MAX_SCHEDULER_REQUESTS {
        connection.request_scheduler(&spec("round-robin")).await.unwrap();
    }
    assert_eq!(refused("round-robin").await, format!("more than {MAX_SCHEDULER_REQUESTS} requests"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_permission_every_wish_is_refused() {
    let (_server, _client, connection) = connected(&[]).await;
    let answer = connection.request_scheduler(&spec("ecf")).await.unwrap();
    assert_eq!(answer, SchedulerAnswer::Refused("schedulers are not chosen by clients here".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn policies_of_this_end_are_chosen_by_the_same_texts() {
    let (_server, _client, connection) = connected(&[]).await;
    connection.set_scheduler("round-robin,quantum=4").unwrap();
    connection.set_controller(PathId(1), "cubic,beta=0.8").unwrap();
    let error = connection.set_scheduler("ecv").unwrap_err().to_string();
    assert!(error.contains("no scheduler named \"ecv\" (did you mean \"ecf\"?)"), "{error}");
    let wrong = |path, text: &str| connection.set_controller(PathId(path), text).unwrap_err().to_string();
    assert!(wrong(0, "cubik").contains("no congestion controller named \"cubik\" (did you mean \"cubic\"?)"));
    assert!(wrong(0, "cubic,gamma=1").contains("cubic has no parameter \"gamma\""));
    assert!(wrong(0, "cubic,beta=7").contains("found \"7\""));
    assert_eq!(wrong(9, "cubic"), "there is no path 9");
}
