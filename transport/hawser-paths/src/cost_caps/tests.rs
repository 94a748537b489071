use std::sync::Arc;

use hawser_policy::{
    LinkId, LinkTraffic, PathAction, PathEvent, PathId, PathManager, PathManagerInit, PathState, PathView,
};
use proptest::prelude::*;

use super::*;
use crate::FullMesh;

fn at(millis: u64) -> Time {
    Time::from_millis(millis)
}

fn caps(of: &[(&str, &str)]) -> Arc<CostCaps> {
    let cap = |(link, cap): &(&str, &str)| ((*link).to_owned(), cap.parse().unwrap());
    Arc::new(CostCaps::new(of.iter().map(cap)))
}

fn link(id: u32) -> LinkInfo {
    LinkInfo::new(LinkId(id), format!("link{id}"), vec![format!("192.0.2.{id}").parse().unwrap()])
}

fn path(id: u32, link: u32) -> PathView {
    PathView::new(PathId(id)).with(|path| {
        path.link = Some(LinkId(link));
        path.state = PathState::Active;
    })
}

/// A connection whose handshake ran over link 0, with link 1 up as well; what its manager wants first.
fn connection(caps: &Arc<CostCaps>) -> (Capped, Vec<PathAction>) {
    let remote = "203.0.113.1:443".parse().unwrap();
    let init = PathManagerInit::new("192.0.2.0:5000".parse().unwrap(), remote)
        .with(|init| init.link = Some(LinkId(0)));
    let mut manager = Capped::new(Box::new(FullMesh::new(&init)), caps.clone());
    let mut actions = Vec::new();
    for event in [PathEvent::LinkUp(link(0)), PathEvent::LinkUp(link(1)), PathEvent::MultipathReady] {
        manager.on_event(at(0), &event, &[path(0, 0)], &mut actions);
    }
    (manager, actions)
}

fn carry(manager: &mut Capped, now: Time, link: u32, bytes: u64, paths: &[PathView]) -> Vec<PathAction> {
    let mut actions = Vec::new();
    manager.on_traffic(now, &[LinkTraffic::new(LinkId(link), bytes)], paths, &mut actions);
    actions
}

fn opens(actions: &[PathAction], of: u32) -> bool {
    actions.iter().any(|action| matches!(action, PathAction::Open { link, .. } if *link == Some(LinkId(of))))
}

#[test]
fn a_link_rests_for_the_rest_of_its_period_and_returns() {
    let caps = caps(&[("192.0.2.1", "1MB/10s")]);
    let (mut manager, actions) = connection(&caps);
    assert!(opens(&actions, 1), "{actions:?}");
    let both = [path(0, 0), path(1, 1)];
    assert_eq!(carry(&mut manager, at(500), 1, 300_000, &both), []);
    assert_eq!(carry(&mut manager, at(600), 0, 900_000_000, &both), [], "that link has no cap");
    let actions = carry(&mut manager, at(2_000), 1, 700_000, &both);
    assert_eq!(actions, [PathAction::Abandon(PathId(1))]);
    let reached = caps.take_reached();
    assert_eq!((reached.len(), reached[0].used), (1, 1_000_000));
    assert_eq!(reached[0].rests, Duration::from_millis(8_500), "the period began with the first packet");
    // What was on its way still arrives, and is said once only.
    assert_eq!(carry(&mut manager, at(2_050), 1, 40_000, &[path(0, 0)]), []);
    assert_eq!((caps.uses(at(2_050))[0].used, caps.take_reached().len()), (1_040_000, 0));
    assert!(caps.is_used_up(&link(1), at(10_499)) && !caps.is_used_up(&link(1), at(10_500)));
    assert_eq!(manager.next_timeout(), Some(at(10_500)));
    let mut actions = Vec::new();
    manager.on_timeout(at(10_500), &[path(0, 0)], &mut actions);
    assert!(opens(&actions, 1), "{actions:?}");
    assert_eq!(caps.uses(at(10_500))[0].used, 0);
}

#[test]
fn a_connection_without_another_link_is_closed() {
    let caps = caps(&[("link0", "1MB/10s"), ("link1", "0/1h")]);
    let (mut manager, actions) = connection(&caps);
    assert_eq!(actions, [], "a link without a budget gets no path");
    assert_eq!(carry(&mut manager, at(100), 0, 1_000_000, &[path(0, 0)]), [PathAction::Close]);
    assert_eq!(caps.missing(&[link(0)]), ["link1"]);
}

proptest! {
    /// A ledger that stops at once when it says so has spent at most the budget and what came with the last call.
    #[test]
    fn what_is_used_stays_within_the_budget(
        budget in 0_u64..1_000_000,
        calls in prop::collection::vec((0_u64..3_000, 0_u64..100_000, 0_u64..200), 1..200),
    ) {
        let cap = CostCap { bytes: budget, period: Duration::from_secs(5) };
        let mut ledger = Ledger::new(cap);
        let (mut now, mut periods) = (Time::ZERO, std::collections::BTreeMap::<u64, u64>::new());
        let mut began = None;
        for (pause, bytes, round_trip) in calls {
            now += Duration::from_millis(pause);
            if let Some(rests) = ledger.rests(now) {
                let again = rests == Duration::MAX || ledger.clone().rests(now + rests).is_none();
                prop_assert!(again, "it begins again when it said");
                continue;
            }
            ledger.count(now, bytes, Duration::from_millis(round_trip));
            let origin = *began.get_or_insert(now);
            *periods.entry(now.since(origin).as_secs() / 5).or_default() += bytes;
        }
        for used in periods.values() {
            prop_assert!(*used <= budget + 100_000, "{used} of {budget}");
            prop_assert!(budget > 0);
        }
    }
}
