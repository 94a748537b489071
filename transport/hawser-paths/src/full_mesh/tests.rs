use super::*;

fn at(millis: u64) -> Time {
    Time::from_millis(millis)
}

fn link(id: u32, address: &str) -> LinkInfo {
    LinkInfo::new(LinkId(id), format!("link{id}"), vec![address.parse().unwrap()])
}

fn path(id: u32, link: u32, state: PathState) -> PathView {
    PathView::new(PathId(id)).with(|path| {
        path.link = Some(LinkId(link));
        path.state = state;
    })
}

/// A manager whose handshake ran on link 0, with links 0 and 1 up.
fn two_links() -> FullMesh {
    let init = PathManagerInit::new("192.0.2.1:5000".parse().unwrap(), "203.0.113.1:443".parse().unwrap())
        .with(|init| init.link = Some(LinkId(0)));
    let mut manager = FullMesh::new(&init);
    let mut actions = Vec::new();
    let paths = [path(0, 0, PathState::Active)];
    manager.on_event(at(0), &PathEvent::LinkUp(link(0, "192.0.2.1")), &paths, &mut actions);
    manager.on_event(at(0), &PathEvent::LinkUp(link(1, "198.51.100.1")), &paths, &mut actions);
    assert!(actions.is_empty(), "nothing may be opened before the peer allows it: {actions:?}");
    assert_eq!(manager.next_timeout(), None);
    manager
}

fn event(manager: &mut FullMesh, now: Time, event: PathEvent, paths: &[PathView]) -> Vec<PathAction> {
    let mut actions = Vec::new();
    manager.on_event(now, &event, paths, &mut actions);
    actions
}

fn timeout(manager: &mut FullMesh, paths: &[PathView]) -> (Time, Vec<PathAction>) {
    let now = manager.next_timeout().expect("a timer is set");
    let mut actions = Vec::new();
    manager.on_timeout(now, paths, &mut actions);
    (now, actions)
}

fn open_on(link: u32, address: &str) -> PathAction {
    PathAction::Open {
        local: SocketAddr::new(address.parse().unwrap(), 0),
        remote: "203.0.113.1:443".parse().unwrap(),
        link: Some(LinkId(link)),
        status: PathStatus::Available,
    }
}

#[test]
fn every_link_gets_one_path() {
    let mut manager = two_links();
    let first = [path(0, 0, PathState::Active)];
    let actions = event(&mut manager, at(100), PathEvent::MultipathReady, &first);
    assert_eq!(actions, [open_on(1, "198.51.100.1")]);
    let both = [path(0, 0, PathState::Active), path(1, 1, PathState::Validating)];
    assert_eq!(event(&mut manager, at(110), PathEvent::MorePathsAllowed, &both), []);
    assert_eq!(manager.next_timeout(), None);
}

#[test]
fn an_attempt_that_found_no_connection_id_is_repeated_when_ids_arrive() {
    let mut manager = two_links();
    let only_first = [path(0, 0, PathState::Active)];
    event(&mut manager, at(100), PathEvent::MultipathReady, &only_first);
    let actions = event(&mut manager, at(101), PathEvent::MorePathsAllowed, &only_first);
    assert_eq!(actions, [open_on(1, "198.51.100.1")]);
}

#[test]
fn a_failing_link_is_tried_with_growing_pauses() {
    let mut manager = two_links();
    let first = [path(0, 0, PathState::Active)];
    event(&mut manager, at(100), PathEvent::MultipathReady, &first);
    let mut pauses = Vec::new();
    for id in 1..12 {
        let opened = [path(0, 0, PathState::Active), path(id, 1, PathState::Validating)];
        event(&mut manager, at(100), PathEvent::Recovered(PathId(0)), &opened);
        let closed_at = manager.next_timeout().unwrap_or(at(100)) + Duration::from_secs(20 * u64::from(id));
        assert_eq!(event(&mut manager, closed_at, PathEvent::Closed(PathId(id)), &first), []);
        // New ids from the peer do not shorten the pause of a link that does not work.
        assert_eq!(event(&mut manager, closed_at, PathEvent::MorePathsAllowed, &first), []);
        let (now, actions) = timeout(&mut manager, &first);
        assert_eq!(actions, [open_on(1, "198.51.100.1")]);
        pauses.push(now - closed_at);
    }
    assert!(pauses.is_sorted(), "{pauses:?}");
    assert_eq!(pauses.last(), Some(&FullMeshParameters::default().last_retry));
}

#[test]
fn a_vanished_link_loses_its_path_but_not_the_last_one() {
    let mut manager = two_links();
    let both = [path(0, 0, PathState::Active), path(1, 1, PathState::Active)];
    event(&mut manager, at(100), PathEvent::MultipathReady, &both);
    let actions = event(&mut manager, at(200), PathEvent::LinkDown(LinkId(0)), &both);
    assert_eq!(actions, [PathAction::Abandon(PathId(0))]);
    let last = [path(1, 1, PathState::Suspect)];
    event(&mut manager, at(201), PathEvent::Closed(PathId(0)), &last);
    assert_eq!(event(&mut manager, at(300), PathEvent::LinkDown(LinkId(1)), &last), []);
    // The same link returns: the old path stays until the new one works.
    let actions = event(&mut manager, at(400), PathEvent::LinkUp(link(1, "198.51.100.1")), &last);
    assert_eq!(actions, [open_on(1, "198.51.100.1")]);
    let replaced = [path(1, 1, PathState::Suspect), path(2, 1, PathState::Active)];
    let actions = event(&mut manager, at(500), PathEvent::Established(PathId(2)), &replaced);
    assert_eq!(actions, [PathAction::Abandon(PathId(1))]);
}

#[test]
fn a_new_address_of_a_link_moves_its_path() {
    let mut manager = two_links();
    let both = [path(0, 0, PathState::Active), path(1, 1, PathState::Active)];
    event(&mut manager, at(100), PathEvent::MultipathReady, &both);
    let actions = event(&mut manager, at(200), PathEvent::LinkUp(link(0, "192.0.2.77")), &both);
    assert_eq!(actions, [PathAction::Abandon(PathId(0)), open_on(0, "192.0.2.77")]);
}

#[test]
fn a_backup_link_that_carried_the_handshake_becomes_backup() {
    let mut manager = two_links();
    let mut backup = link(0, "192.0.2.1");
    backup.preference = PathStatus::Backup;
    let paths = [path(0, 0, PathState::Active), path(1, 1, PathState::Active)];
    event(&mut manager, at(100), PathEvent::MultipathReady, &paths);
    let actions = event(&mut manager, at(150), PathEvent::LinkUp(backup), &paths);
    assert_eq!(actions, [PathAction::SetStatus(PathId(0), PathStatus::Backup)]);
}

/// The server's address of the other family.
const OVER_IPV6: &str = "[2001:db8:f::1]:443";

/// A manager whose handshake ran over IPv4 on link 0, and whose server is reached over IPv6 as well.
fn both_families(other: &LinkInfo) -> (FullMesh, Vec<PathAction>) {
    let init = PathManagerInit::new("192.0.2.1:5000".parse().unwrap(), "203.0.113.1:443".parse().unwrap())
        .with(|init| {
            init.other_remote = Some(OVER_IPV6.parse().unwrap());
            init.link = Some(LinkId(0));
        });
    let mut manager = FullMesh::new(&init);
    let paths = [path(0, 0, PathState::Active)];
    for info in [&link(0, "192.0.2.1"), other] {
        event(&mut manager, at(0), PathEvent::LinkUp(info.clone()), &paths);
    }
    let actions = event(&mut manager, at(0), PathEvent::MultipathReady, &paths);
    (manager, actions)
}

fn open_over_ipv6(address: &str) -> PathAction {
    PathAction::Open {
        local: SocketAddr::new(address.parse().unwrap(), 0),
        remote: OVER_IPV6.parse().unwrap(),
        link: Some(LinkId(1)),
        status: PathStatus::Available,
    }
}

#[test]
fn a_link_without_the_family_of_the_handshake_gets_a_path_of_the_other() {
    let (_, actions) = both_families(&link(1, "2001:db8:1::1"));
    assert_eq!(actions, [open_over_ipv6("2001:db8:1::1")]);
    // Without an address of the server there is nothing to open.
    let mut manager = two_links();
    let paths = [path(0, 0, PathState::Active)];
    event(&mut manager, at(0), PathEvent::LinkUp(link(1, "2001:db8:1::1")), &paths);
    assert_eq!(event(&mut manager, at(0), PathEvent::MultipathReady, &paths), []);
    assert_eq!(manager.next_timeout(), None);
}

#[test]
fn a_link_with_both_families_takes_turns_until_one_is_answered() {
    let mut other = link(1, "198.51.100.1");
    other.addresses.push("2001:db8:1::1".parse().unwrap());
    let (mut manager, actions) = both_families(&other);
    assert_eq!(actions, [open_on(1, "198.51.100.1")], "that of the handshake first");
    let first = [path(0, 0, PathState::Active)];
    let with = |id| [first[0].clone(), path(id, 1, PathState::Validating)];
    event(&mut manager, at(1), PathEvent::MorePathsAllowed, &with(1));
    event(&mut manager, at(2), PathEvent::Closed(PathId(1)), &first);
    let (now, actions) = timeout(&mut manager, &first);
    assert_eq!(actions, [open_over_ipv6("2001:db8:1::1")]);
    event(&mut manager, now, PathEvent::Established(PathId(2)), &with(2));
    // What has worked is tried again.
    event(&mut manager, now, PathEvent::Closed(PathId(2)), &first);
    assert_eq!(timeout(&mut manager, &first).1, [open_over_ipv6("2001:db8:1::1")]);
}

/// A link that was not tried yet goes before one that failed, whatever their numbers: there may be one place for both.
#[test]
fn links_that_have_not_failed_are_tried_first() {
    let mut manager = two_links();
    let first = [path(0, 0, PathState::Active)];
    event(&mut manager, at(100), PathEvent::MultipathReady, &first);
    let both = [path(0, 0, PathState::Active), path(1, 1, PathState::Validating)];
    event(&mut manager, at(110), PathEvent::MorePathsAllowed, &both);
    event(&mut manager, at(120), PathEvent::Closed(PathId(1)), &first);
    let mut actions = Vec::new();
    let (_, retried) = timeout(&mut manager, &first);
    assert_eq!(retried, [open_on(1, "198.51.100.1")]);
    manager.on_event(at(20_000), &PathEvent::LinkUp(link(7, "192.0.2.77")), &first, &mut actions);
    assert_eq!(actions, [open_on(7, "192.0.2.77"), open_on(1, "198.51.100.1")]);
}
