use std::net::SocketAddr;
use std::time::Duration;

use hawser_policy::{
    AckDecision, AckOpportunity, LinkId, LinkInfo, LinkKind, PathAction, PathEvent, PathId, PathManagerInit,
    PolicyKind, Registry, Time,
};

fn registry() -> Registry {
    let mut registry = Registry::new();
    crate::register(&mut registry);
    registry
}

#[test]
fn every_policy_is_found_by_the_name_it_gives_and_there_are_defaults() {
    let registry = registry();
    assert_eq!(registry.names(PolicyKind::Paths).collect::<Vec<_>>(), ["full-mesh"]);
    assert_eq!(registry.names(PolicyKind::Acks).collect::<Vec<_>>(), ["fastest-return", "own-path"]);
    let default = |kind| registry.policy(kind, "default").unwrap().name.as_str();
    assert_eq!(default(PolicyKind::Paths), "full-mesh");
    assert_eq!(default(PolicyKind::Acks), "fastest-return");
}

//= rfc9000-13.2.2-1
#[test]
fn every_is_how_many_packets_an_acknowledgement_is_for() {
    let max_ack_delay = Duration::from_millis(25);
    let opportunity = |unacknowledged, out_of_order| {
        AckOpportunity::default().with(|opportunity| {
            opportunity.now = Time::ZERO;
            opportunity.path = PathId::ZERO;
            opportunity.unacknowledged = unacknowledged;
            opportunity.out_of_order = out_of_order;
            opportunity.congestion_marked = false;
            opportunity.max_ack_delay = max_ack_delay;
            opportunity.requested_threshold = None;
        })
    };
    for (spec, every) in [("own-path", 2), ("own-path,every=5", 5), ("default", 2), ("default,every=1", 1)] {
        let mut policy = registry().acks(spec).unwrap().build();
        let due = (1..10).find(|n| policy.decide(&opportunity(*n, false)) == AckDecision::Now);
        assert_eq!(due, Some(every), "{spec}");
        if every > 1 {
            assert_eq!(policy.decide(&opportunity(1, false)), AckDecision::Within(max_ack_delay));
        }
        assert_eq!(policy.decide(&opportunity(1, true)), AckDecision::Now, "{spec}: out of order");
    }
}

/// When a path to a link that answers nothing is tried, in ms.
fn attempts(spec: &str) -> Vec<u64> {
    let [local, remote] =
        ["192.0.2.1:4000", "198.51.100.1:443"].map(|text| text.parse::<SocketAddr>().unwrap());
    let init = PathManagerInit::new(local, remote).with(|init| init.link = Some(LinkId(0)));
    let mut manager = registry().paths(spec).unwrap().build(&init);
    let link = LinkInfo::new(LinkId(1), "lte0".to_owned(), vec!["192.0.2.9".parse().unwrap()])
        .with(|info| info.kind = LinkKind::Cellular);
    let mut actions = Vec::new();
    manager.on_event(Time::ZERO, &PathEvent::LinkUp(link), &[], &mut actions);
    manager.on_event(Time::ZERO, &PathEvent::MultipathReady, &[], &mut actions);
    let mut tried = Vec::new();
    for ms in 0..2_000 {
        let now = Time::from_millis(ms);
        if manager.next_timeout().is_some_and(|at| at <= now) {
            manager.on_timeout(now, &[], &mut actions);
        }
        let opened = actions.drain(..).filter(|action| matches!(action, PathAction::Open { .. })).count();
        tried.extend(std::iter::repeat_n(ms, opened));
    }
    tried
}

#[test]
fn first_and_last_retry_are_the_pauses_between_attempts() {
    assert_eq!(attempts("full-mesh"), [0, 50, 150, 350, 750, 1_550]);
    assert_eq!(attempts("full-mesh,first_retry=200ms,last_retry=500ms"), [0, 200, 600, 1_100, 1_600]);
}
