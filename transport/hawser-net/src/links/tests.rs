use super::*;

fn interface(index: u32, name: &str, addresses: &[&str]) -> Interface {
    Interface {
        index,
        name: name.to_owned(),
        kind: LinkKind::Unknown,
        is_loopback: name == "lo",
        is_internal: name.starts_with("br"),
        addresses: addresses.iter().map(|a| a.parse().unwrap()).collect(),
        networks: Vec::new(),
        leads_on: (true, true),
    }
}

/// An interface of a container: on a network of its own, and nothing beyond it.
fn container(index: u32) -> Interface {
    let address = format!("172.17.{index}.1");
    let network = Network { address: address.parse().unwrap(), prefix: 24 };
    Interface {
        networks: vec![network],
        leads_on: (false, false),
        ..interface(index, &format!("d{index}"), &[&address])
    }
}

#[test]
fn interfaces_that_lead_nowhere_take_no_place_from_those_that_lead_on() {
    let mut interfaces: Vec<Interface> = (1..13).map(container).collect();
    let server = "203.0.113.1:4433".parse().unwrap();
    let mut table = LinkTable::new(Links::All);
    table.update(&interfaces);
    assert_eq!(table.candidates(server).len(), 12, "nothing better is known");
    interfaces.extend([interface(20, "c0", &["10.1.0.2"]), interface(21, "c1", &["10.2.0.2"])]);
    table.update(&interfaces);
    assert_eq!(names(&table.candidates(server)), ["c0", "c1"]);
    let link = |address: &str| table.link_of(address.parse().unwrap()).unwrap();
    assert!(
        table.leads_to(link("10.1.0.2"), server.ip()) && !table.leads_to(link("172.17.3.1"), server.ip())
    );
    // A host on such a network is reached over it.
    let neighbour = "172.17.3.9:4433".parse().unwrap();
    assert_eq!(names(&table.candidates(neighbour)), ["d3", "c0", "c1"]);
    // A link that is named is used.
    let mut named = LinkTable::new(only(&[("d2", PathStatus::Available)]));
    named.update(&interfaces);
    assert_eq!(names(&named.candidates(server)), ["d2"]);
    // A route that comes later is news.
    let mut table = LinkTable::new(Links::All);
    table.update(&interfaces);
    interfaces[0].leads_on.0 = true;
    assert_eq!(table.update(&interfaces).len(), 1);
    assert_eq!(names(&table.candidates(server)), ["d1", "c0", "c1"]);
}

fn machine() -> Vec<Interface> {
    vec![
        interface(1, "lo", &["127.0.0.1", "::1"]),
        interface(2, "wlan0", &["192.0.2.5", "2001:db8::5", "fe80::5"]),
        interface(3, "wwan0", &["198.51.100.7"]),
        interface(4, "br0", &["10.0.0.1"]),
        interface(5, "eth1", &[]),
    ]
}

fn names(candidates: &[Candidate]) -> Vec<&str> {
    candidates.iter().map(|candidate| candidate.name.as_str()).collect()
}

fn only(specs: &[(&str, PathStatus)]) -> Links {
    Links::Only(
        specs
            .iter()
            .map(|(text, status)| PathSpec { selector: text.parse().unwrap(), status: *status })
            .collect(),
    )
}

#[test]
fn all_links_of_the_right_family_and_scope_are_candidates() {
    let mut table = LinkTable::new(Links::All);
    table.update(&machine());
    let v4 = table.candidates("203.0.113.1:4433".parse().unwrap());
    assert_eq!(names(&v4), ["wlan0", "wwan0"]);
    assert_eq!(v4[1].binding.device.as_deref(), Some("wwan0"));
    let v6 = table.candidates("[2001:db8::1]:4433".parse().unwrap());
    assert_eq!(v6[0].binding.address, "[2001:db8::5]:0".parse().unwrap());
    assert_eq!(v6.len(), 1);
    let loopback = table.candidates("127.0.0.1:4433".parse().unwrap());
    assert_eq!(names(&loopback), ["lo"]);
    assert_eq!(loopback[0].binding.device, None);
}

#[test]
fn chosen_links_keep_their_order_and_backups_come_last() {
    let links = only(&[
        ("wlan0", PathStatus::Backup),
        ("198.51.100.7", PathStatus::Available),
        ("usb0", PathStatus::Available),
    ]);
    let mut table = LinkTable::new(links);
    table.update(&machine());
    let candidates = table.candidates("203.0.113.1:4433".parse().unwrap());
    assert_eq!(names(&candidates), ["198.51.100.7", "wlan0"]);
    assert_eq!(candidates[0].binding.device.as_deref(), Some("wwan0"));
    assert_eq!(candidates[1].status, PathStatus::Backup);
}

#[test]
fn links_are_metered_by_name_or_address_however_they_were_selected() {
    for (metered, expected) in [("wwan0", "wwan0"), ("192.0.2.5", "wlan0")] {
        let mut table = LinkTable::new(Links::All);
        table.set_metered(&[metered.parse().unwrap()]);
        table.update(&machine());
        let of: Vec<&str> =
            table.present().filter(|link| link.metered).map(|link| link.name.as_str()).collect();
        assert_eq!(of, [expected], "{metered}");
    }
}

#[test]
fn all_links_but_some_as_backups() {
    let backups = ["wwan0", "192.0.2.5"].map(|text| text.parse().unwrap()).to_vec();
    let mut table = LinkTable::new(Links::AllWithBackups(backups));
    let mut machine = machine();
    machine.push(interface(6, "eth2", &["192.0.2.66"]));
    table.update(&machine);
    let statuses = |candidates: Vec<Candidate>| -> Vec<(String, PathStatus)> {
        candidates.into_iter().map(|candidate| (candidate.name, candidate.status)).collect()
    };
    use PathStatus::{Available, Backup};
    assert_eq!(
        statuses(table.candidates("203.0.113.1:4433".parse().unwrap())),
        [("eth2".into(), Available), ("wwan0".into(), Backup), ("192.0.2.5".into(), Backup)]
    );
    let v6 = statuses(table.candidates("[2001:db8::1]:4433".parse().unwrap()));
    assert_eq!(v6, [("wlan0".into(), Available)], "only one of wlan0's addresses is a backup");
}

#[test]
fn two_loopback_addresses_are_two_links() {
    let mut table =
        LinkTable::new(only(&[("127.0.0.1", PathStatus::Available), ("127.0.0.2", PathStatus::Available)]));
    table.update(&machine());
    let candidates = table.candidates("127.0.0.1:4433".parse().unwrap());
    assert_eq!(candidates.len(), 2);
    assert_ne!(candidates[0].binding.link, candidates[1].binding.link);
}

#[test]
fn a_link_keeps_its_number_over_absence_and_new_addresses() {
    let mut table = LinkTable::new(Links::All);
    let up = table.update(&machine());
    let wlan = up.iter().find_map(|change| match change {
        LinkChange::Up(info) if info.name == "wlan0" => Some(info.id),
        _ => None,
    });
    let wlan = wlan.expect("wlan0 came up");
    assert!(table.update(&machine()).is_empty());
    let mut without = machine();
    without.remove(1);
    assert_eq!(table.update(&without), [LinkChange::Down(wlan)]);
    let mut moved = machine();
    moved[1].addresses = vec!["192.0.2.99".parse().unwrap()];
    match &table.update(&moved)[..] {
        [LinkChange::Up(info)] => {
            assert_eq!(info.id, wlan);
            assert_eq!(info.addresses, moved[1].addresses);
        }
        other => panic!("expected wlan0 to return, got {other:?}"),
    }
}

#[test]
fn our_own_addresses_are_reached_without_binding_to_a_device() {
    let mut table = LinkTable::new(Links::All);
    table.update(&machine());
    let candidates = table.candidates("192.0.2.5:4433".parse().unwrap());
    assert!(candidates.iter().all(|candidate| candidate.binding.device.is_none()));
}

#[test]
fn nothing_suitable_falls_back_to_the_routing_table_only_when_all_are_allowed() {
    let remote = "[2001:db8::1]:4433".parse().unwrap();
    let v4_only = [interface(2, "wlan0", &["192.0.2.5"])];
    let mut all = LinkTable::new(Links::All);
    all.update(&v4_only);
    assert_eq!(names(&all.candidates(remote)), ["default route"]);
    let mut chosen = LinkTable::new(only(&[("wlan0", PathStatus::Available)]));
    chosen.update(&v4_only);
    assert!(chosen.candidates(remote).is_empty());
}

#[test]
fn selectors_are_told_apart() {
    assert_eq!("::1".parse(), Ok(LinkSelector::Address("::1".parse().unwrap())));
    assert_eq!("wlan0".parse(), Ok(LinkSelector::Interface("wlan0".into())));
    for wrong in ["", "a/b", "an-interface-name-too-long", "a b"] {
        assert!(wrong.parse::<LinkSelector>().is_err(), "{wrong}");
    }
}

#[test]
fn named_links_are_used_where_interfaces_cannot_be_listed() {
    let mut table = LinkTable::new(only(&[("10.1.0.2", PathStatus::Available), ("c1", PathStatus::Backup)]));
    let named = table.named_interfaces();
    table.update(&named);
    let candidates = table.candidates("203.0.113.1:4433".parse().unwrap());
    let bindings: Vec<_> = candidates
        .iter()
        .map(|found| (found.binding.address.to_string(), found.binding.device.clone()))
        .collect();
    assert_eq!(bindings, [("10.1.0.2:0".to_owned(), None), ("0.0.0.0:0".to_owned(), Some("c1".to_owned()))]);
    assert!(LinkTable::new(Links::All).named_interfaces().is_empty());
}

#[test]
fn a_paused_link_is_gone_until_it_is_resumed_and_the_last_one_stays() {
    let mut table = LinkTable::new(Links::All);
    assert_eq!(table.set_use("wlan0", LinkUse::Paused), Err(LinkUseError::NotChosen));
    table.update(&machine());
    let id =
        |table: &LinkTable, name: &str| table.present().find(|link| link.name == name).map(|link| link.id);
    let wlan = id(&table, "wlan0").unwrap();
    assert_eq!(table.set_use("wlan0", LinkUse::Paused), Ok(vec![LinkChange::Down(wlan)]));
    assert!(table.update(&machine()).is_empty(), "it stays paused when the system has news");
    assert_eq!(table.set_use("wwan0", LinkUse::Paused), Err(LinkUseError::Last("wwan0".to_owned())));
    assert!(
        matches!(table.set_use("wlan9", LinkUse::Paused), Err(LinkUseError::Unknown { known, .. }) if known.contains("wlan0"))
    );
    match table.set_use("wlan0", LinkUse::Backup).as_deref() {
        Ok([LinkChange::Up(info)]) => assert_eq!((info.id, info.preference), (wlan, PathStatus::Backup)),
        other => panic!("expected wlan0 as a backup, got {other:?}"),
    }
    assert_eq!(table.uses(), [("wlan0".to_owned(), LinkUse::Backup)]);
}

#[test]
fn links_that_do_not_exist_are_told_with_those_that_do() {
    let mut table = LinkTable::new(only(&[("eth9", PathStatus::Available), ("wlan0", PathStatus::Backup)]));
    table.update(&machine());
    let words = table.describe();
    assert_eq!(
        words,
        "eth9, wlan0; there is no eth9 that is up here; there are: lo, wlan0, wwan0, br0, eth1"
    );
    let mut table =
        LinkTable::new(only(&[("wlan0", PathStatus::Available), ("198.51.100.7", PathStatus::Backup)]));
    table.update(&machine());
    assert_eq!(table.describe(), "wlan0, 198.51.100.7");
}
