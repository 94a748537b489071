use super::stand_in::{Bus, StandIn, Temper};
use super::*;

const UPSTREAM: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

fn link(servers: &[&str], domains: &[&str]) -> LinkResolvers {
    LinkResolvers {
        device: Index::numbered(7),
        servers: servers.iter().map(|server| server.parse().unwrap()).collect(),
        domains: domains.iter().map(|domain| (*domain).to_owned()).collect(),
    }
}

#[test]
fn resolved_is_asked_where_a_file_names_its_stub_and_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for (name, text, expected) in [
        ("stub", "# of resolved\nnameserver 127.0.0.53\noptions edns0 trust-ad\nsearch .\n", true),
        ("proxy", "nameserver 127.0.0.54\n", true),
        ("both", "nameserver 127.0.0.53\nnameserver 192.0.2.1\n", false),
        ("list", "nameserver 192.0.2.1\n", false),
        ("nobody", "search example.org\n", false),
    ] {
        std::fs::write(path(name), text).unwrap();
        assert_eq!(is_asked(&path(name)), expected, "{name}");
    }
    std::os::unix::fs::symlink("stub", path("link")).unwrap();
    assert!(is_asked(&path("link")), "through a link, as resolved makes it");
    std::os::unix::fs::symlink("gone", path("dangling")).unwrap();
    assert!(!is_asked(&path("dangling")));
    assert!(!is_asked(&path("absent")));
}

#[tokio::test]
async fn resolvers_of_everything_are_asked_for_all_names() {
    let Some(bus) = Bus::start() else { return };
    let stand_in = StandIn::start(&bus, Temper::Willing, &[UPSTREAM]).await;
    let resolved = Resolved::connect(&bus.address).await.unwrap();
    assert_eq!(resolved.upstream().await.unwrap(), [UPSTREAM]);
    let everything = link(&["198.51.100.2", "2001:db8::2"], &[]);
    resolved.tell(&everything).await.unwrap();
    resolved.revert(&everything).await;
    let expected = ["7 for ~.", "7 for others: true", "7 asks 198.51.100.2 2001:db8::2", "7 reverted"];
    assert_eq!(stand_in.calls(), expected);
}

#[tokio::test]
async fn resolvers_of_a_lease_are_asked_next_to_those_of_other_links() {
    let Some(bus) = Bus::start() else { return };
    let stand_in = StandIn::start(&bus, Temper::Willing, &[UPSTREAM]).await;
    let resolved = Resolved::connect(&bus.address).await.unwrap();
    resolved.set_lease_resolvers(7, &[UPSTREAM]).await.unwrap();
    resolved.forget_lease_resolvers(7).await.unwrap();
    assert_eq!(stand_in.calls(), ["7 asks 192.0.2.1", "7 reverted"]);
}

#[tokio::test]
async fn resolvers_of_a_link_that_is_gone_are_forgotten() {
    let Some(bus) = Bus::start() else { return };
    let _stand_in = StandIn::start(&bus, Temper::Late(2), &[UPSTREAM]).await;
    let resolved = Resolved::connect(&bus.address).await.unwrap();
    assert!(resolved.set_lease_resolvers(7, &[UPSTREAM]).await.is_err());
    resolved.forget_lease_resolvers(7).await.unwrap();
}

#[tokio::test]
async fn resolvers_of_domains_are_asked_for_these_only() {
    let Some(bus) = Bus::start() else { return };
    let stand_in = StandIn::start(&bus, Temper::Willing, &[]).await;
    let resolved = Resolved::connect(&bus.address).await.unwrap();
    assert!(resolved.upstream().await.unwrap().is_empty());
    resolved.tell(&link(&["127.18.45.53"], &["chosen.test", "example.org"])).await.unwrap();
    let expected =
        ["7 for ~chosen.test ~example.org", "7 for others: false", "7 over TLS: no", "7 asks 127.18.45.53"];
    assert_eq!(stand_in.calls(), expected);
}

#[tokio::test]
async fn device_that_resolved_has_not_seen_yet_is_tried_again() {
    let Some(bus) = Bus::start() else { return };
    let stand_in = StandIn::start(&bus, Temper::Late(2), &[UPSTREAM]).await;
    let resolved = Resolved::connect(&bus.address).await.unwrap();
    resolved.tell(&link(&["198.51.100.2"], &[])).await.unwrap();
    assert_eq!(stand_in.calls(), ["7 for ~.", "7 for others: true", "7 asks 198.51.100.2"]);
}

#[tokio::test]
async fn errors_say_what_resolved_says() {
    let Some(bus) = Bus::start() else { return };
    let Err(error) = Resolved::connect(&bus.address).await else { panic!("nobody plays it yet") };
    assert!(error.to_string().contains("org.freedesktop.resolve1"), "{error}");
    let _stand_in = StandIn::start(&bus, Temper::Refusing, &[]).await;
    let resolved = Resolved::connect(&bus.address).await.unwrap();
    let error = resolved.tell(&link(&["198.51.100.2"], &[])).await.unwrap_err();
    assert_eq!(error.to_string(), "Link hawser0 is managed.");
    let nowhere: Address = "unix:path=/nonexistent/bus".parse().unwrap();
    assert!(Resolved::connect(&nowhere).await.is_err());
}

#[tokio::test]
async fn change_of_resolved_or_of_the_bus_is_noticed() {
    let Some(bus) = Bus::start() else { return };
    let stand_in = StandIn::start(&bus, Temper::Willing, &[]).await;
    let mut resolved = Resolved::connect(&bus.address).await.unwrap();
    stand_in.stop().await;
    assert_eq!(resolved.changed().await, Change::Gone);
    let _stand_in = StandIn::start(&bus, Temper::Willing, &[]).await;
    assert_eq!(resolved.changed().await, Change::Here);
    drop(bus);
    assert_eq!(resolved.changed().await, Change::Gone);
}
