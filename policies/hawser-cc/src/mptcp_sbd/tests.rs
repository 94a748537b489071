use hawser_policy::{Composition, Siblings};

use super::*;
use crate::sscc::SsccParts;
use crate::sscc::tests::{Connection, RTT, congested, factory, idle, registry};
use crate::testing;

fn connection(spec: &str) -> Connection {
    Connection::new(&factory(SsccParts::default(), spec), "192.0.2.1")
}

fn groups(connection: &Connection) -> [u32; 2] {
    [0, 1].map(|path: usize| connection.controllers[path].bottleneck_group().0)
}

/// Datagrams that a window of path 0 gains when it is acknowledged once, in thousandths.
fn grown(connection: &mut Connection) -> u64 {
    let siblings = connection.siblings();
    let own = &mut connection.controllers[0];
    let before = own.window();
    let ack = testing::ack(connection.now, before, RTT);
    own.on_ack(&ack, &Siblings { own: PathId(0), paths: &siblings });
    own.window() - before
}

/// Ends slow start on both paths, at the same window.
fn congest(connection: &mut Connection) {
    for path in 0..2 {
        let loss = testing::loss(connection.now, hawser_policy::LossCause::Loss, true);
        let siblings = connection.siblings();
        let siblings = Siblings { own: PathId(path), paths: &siblings };
        connection.controllers[path as usize].on_loss(&loss, &siblings);
    }
}

#[test]
fn paths_that_share_a_bottleneck_are_coupled_and_let_go_again() {
    for spec in ["mptcp-sbd", "mptcp-sbd,coupled=lia"] {
        let mut connection = connection(spec);
        congest(&mut connection);
        assert_eq!(groups(&connection), [1, 2], "each alone");
        assert!((950..=1_010).contains(&grown(&mut connection)), "{spec}: Reno, a datagram per window");
        // Ten intervals of 350 ms, and nothing is acknowledged to the controllers meanwhile, so that windows stay alike.
        connection.observe(Duration::from_secs(10), congested([0, 0]));
        assert_eq!(groups(&connection), [1, 1]);
        congest(&mut connection);
        congest(&mut connection);
        let gain = grown(&mut connection);
        assert!((200..300).contains(&gain), "{spec}: a quarter for each of two equal paths: {gain}");
        // 17.5 s of history, and the vote; it keeps nobody longer.
        connection.observe(Duration::from_secs(23), idle);
        assert_eq!(groups(&connection), [1, 2]);
        assert!((950..=1_010).contains(&grown(&mut connection)), "{spec}");
    }
}

/// The same queues, but half a swing apart.
#[test]
fn paths_with_queues_of_their_own_grow_like_reno_each() {
    let mut connection = connection("mptcp-sbd");
    congest(&mut connection);
    connection.observe(Duration::from_secs(30), |path, now| {
        let swing = if path == 0 { 4_000 } else { 2_600 };
        let at = now.as_nanos() / 1_000_000 % swing;
        Duration::from_micros(if at < swing / 2 { 40_000 + at % 7 * 700 } else { (swing - at) * 10 })
    });
    assert_eq!(groups(&connection), [1, 2]);
    assert!((950..=1_010).contains(&grown(&mut connection)));
}

#[test]
fn a_path_that_moved_or_is_gone_shares_nothing() {
    let mut moved = connection("mptcp-sbd");
    moved.observe(Duration::from_secs(10), congested([0, 0]));
    assert_eq!(groups(&moved), [1, 1]);
    moved.controllers[0].on_path_reset(moved.now);
    assert_eq!(groups(&moved), [1, 2]);
    let mut closed = connection("mptcp-sbd");
    closed.observe(Duration::from_secs(10), congested([0, 0]));
    let gone = Event::Path { now: closed.now, path: PathId(1), change: PathChange::Abandoned };
    closed.set.agent.as_mut().expect("it has one").on_event(&gone, &mut Vec::new());
    assert_eq!(groups(&closed), [1, 2]);
}

#[test]
fn parameters_are_those_of_the_detection_as_published() {
    let registry = registry(SsccParts::default());
    let set = |spec: &str| registry.set(&Composition::of(spec.parse().expect("a spec")));
    assert!(set("mptcp-sbd,coupled=balia,vote=tumbling,detector=rfc8382,keep_coupled=10s").is_ok());
    let error = set("mptcp-sbd,coupled=cubic").err().expect("it is not coupled").to_string();
    assert!(error.contains("olia or lia or balia"), "{error}");
    let info = info();
    let spec = "mptcp-sbd".parse().expect("a spec");
    let parameters = hawser_policy::Parameters::read(&info.parameters, &spec).expect("defaults");
    assert_eq!(detection::read(&parameters), DetectorSettings::THESIS);
    assert!(set("mptcp-sbd").expect("registered").wants_receive_timestamps());
}
