use std::net::Ipv4Addr;
use std::time::Duration;

use hawser_policy::Time;
use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::Profile;

const MAC: [u8; 6] = [2, 0, 0, 0, 0, 7];
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

fn random() -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(1)
}

fn client(profile: &Profile, known: Option<&Lease>) -> Client {
    Client::new(Time::ZERO, MAC, profile, known, random())
}

fn sent(client: &mut Client) -> Message {
    Message::decode(&client.poll_message().expect("a message")).expect("a valid one")
}

/// The server's answer to a message.
fn answer(kind: Kind, to: &Message, given: Ipv4Addr) -> Message {
    Message {
        given: Some(given),
        server: Some(SERVER),
        mask: Some(Ipv4Addr::new(255, 255, 252, 0)),
        routers: vec![SERVER],
        lease: Some(600),
        ..Message::new(kind, to.xid, to.mac)
    }
}

fn ms(milliseconds: u64) -> Time {
    Time::from_millis(milliseconds)
}

/// Runs until the client gives up; the times of its messages in ms.
fn times_without_answers(mut client: Client) -> Vec<u64> {
    let mut times = Vec::new();
    let mut now = Time::ZERO;
    loop {
        if client.poll_message().is_some() {
            times.push(now.as_nanos() / 1_000_000);
        }
        match client.poll_timeout() {
            Some(next) => now = next,
            None => break,
        }
        client.handle_timeout(now);
    }
    assert_eq!(client.poll_outcome(), Some(Outcome::Failed));
    times
}

#[test]
fn four_messages_make_a_lease() {
    let mut client = client(&Profile::FAST, None);
    let discover = sent(&mut client);
    assert_eq!((discover.kind, discover.broadcast, discover.requested), (Kind::Discover, true, None));
    let given = Ipv4Addr::new(10, 0, 1, 9);
    client.handle(ms(20), &answer(Kind::Offer, &discover, given).encode());
    let request = sent(&mut client);
    assert_eq!((request.kind, request.requested, request.server), (Kind::Request, Some(given), Some(SERVER)));
    client.handle(ms(40), &answer(Kind::Ack, &request, given).encode());
    let Some(Outcome::Bound(lease)) = client.poll_outcome() else { panic!("no lease") };
    assert_eq!((lease.address, lease.prefix, lease.router, lease.seconds), (given, 22, Some(SERVER), 600));
    assert_eq!(client.poll_timeout(), Some(ms(300_040)), "half of the lease");
}

#[test]
fn the_fast_client_sends_six_times_at_100_ms_and_the_stock_one_doubles() {
    assert_eq!(times_without_answers(client(&Profile::FAST, None)), [0, 100, 200, 300, 400, 500]);
    let stock = times_without_answers(client(&Profile::STOCK, None));
    let gaps: Vec<u64> = stock.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(gaps.len(), 3);
    for (gap, middle) in gaps.iter().zip([4000, 8000, 16_000]) {
        assert!(gap.abs_diff(middle) <= 1000, "{gaps:?}");
    }
}

#[test]
fn patient_client_binds_to_an_offer_that_comes_after_three_seconds() {
    let mut client = client(&Profile::FAST, None).with_patience(Profile::SUPPLICANT.dhcp_patience);
    let discover = sent(&mut client);
    while let Some(next) = client.poll_timeout().filter(|next| *next < ms(3000)) {
        client.handle_timeout(next);
        let again = client.poll_message().map(|bytes| Message::decode(&bytes).unwrap().xid);
        assert_eq!(again, Some(discover.xid), "the exchange stays the same");
    }
    let given = Ipv4Addr::new(10, 0, 1, 9);
    client.handle(ms(3000), &answer(Kind::Offer, &discover, given).encode());
    let request = sent(&mut client);
    client.handle(ms(3010), &answer(Kind::Ack, &request, given).encode());
    assert!(matches!(client.poll_outcome(), Some(Outcome::Bound(_))));
}

#[test]
fn patience_ends() {
    let patient = client(&Profile::FAST, None).with_patience(Profile::SUPPLICANT.dhcp_patience);
    let times = times_without_answers(patient);
    assert_eq!((times[..6].to_vec(), times[6], times[7]), (vec![0, 100, 200, 300, 400, 500], 600, 1000));
    assert_eq!((times.len(), times.last()), (20, Some(&5800)));
}

#[test]
fn a_known_lease_is_asked_for_first_and_costs_two_messages_at_most() {
    let mut first = client(&Profile::FAST, None);
    let discover = sent(&mut first);
    first.handle(ms(1), &answer(Kind::Offer, &discover, SERVER).encode());
    let request = sent(&mut first);
    first.handle(ms(2), &answer(Kind::Ack, &request, SERVER).encode());
    let Some(Outcome::Bound(known)) = first.poll_outcome() else { panic!("no lease") };

    let mut again = client(&Profile::FAST_RESUMING, Some(&known));
    let reboot = sent(&mut again);
    // RFC 2131 section 4.3.2: INIT-REBOOT names the address and no server.
    assert_eq!((reboot.kind, reboot.requested, reboot.server), (Kind::Request, Some(SERVER), None));
    again.handle(ms(5), &answer(Kind::Ack, &reboot, SERVER).encode());
    assert!(matches!(again.poll_outcome(), Some(Outcome::Bound(_))) && again.is_known_address());

    let silent = times_without_answers(client(&Profile::FAST_RESUMING, Some(&known)));
    assert_eq!(silent, [0, 100, 200, 300, 400, 500, 600, 700], "then six times DISCOVER");

    let mut refused = client(&Profile::FAST_RESUMING, Some(&known));
    let reboot = sent(&mut refused);
    refused.handle(ms(5), &Message { given: None, ..answer(Kind::Nak, &reboot, SERVER) }.encode());
    assert_eq!(sent(&mut refused).kind, Kind::Discover);
}

#[test]
fn drawn_hardware_address_does_not_ask_for_the_lease_of_another() {
    let kind_for = |mac| {
        let known = Lease { mac, ..lease() };
        sent(&mut client(&Profile::FAST_RESUMING, Some(&known))).kind
    };
    assert_eq!(kind_for(Some([2, 0, 0, 0, 0, 8])), Kind::Discover);
    assert_eq!(kind_for(Some(MAC)), Kind::Request);
    assert_eq!(kind_for(None), Kind::Request, "of a file that does not say");
}

#[test]
fn answers_to_others_and_addresses_that_nobody_can_use_are_ignored() {
    let mut client = client(&Profile::FAST, None);
    let discover = sent(&mut client);
    let good = answer(Kind::Offer, &discover, Ipv4Addr::new(10, 0, 1, 9));
    let wrong = [
        Message { xid: good.xid ^ 1, ..good.clone() },
        Message { mac: [2, 0, 0, 0, 0, 8], ..good.clone() },
        Message { given: Some(Ipv4Addr::BROADCAST), ..good.clone() },
        Message { given: Some(Ipv4Addr::LOCALHOST), ..good.clone() },
        Message { mask: Some(Ipv4Addr::new(255, 0, 255, 0)), ..good.clone() },
        Message { mask: Some(Ipv4Addr::new(128, 0, 0, 0)), ..good.clone() },
        Message { mask: Some(Ipv4Addr::new(254, 0, 0, 0)), ..good.clone() },
        Message { lease: None, ..good.clone() },
        Message { kind: Kind::Ack, ..good.clone() },
    ];
    for message in wrong {
        client.handle(ms(1), &message.encode());
        assert_eq!(client.poll_message(), None, "{message:?}");
    }
    client.handle(ms(2), &good.encode());
    assert_eq!(sent(&mut client).kind, Kind::Request);
}

#[test]
fn a_lease_is_renewed_and_expires_without_an_answer() {
    let mut client = client(&Profile::FAST, None);
    let discover = sent(&mut client);
    client.handle(ms(0), &answer(Kind::Offer, &discover, SERVER).encode());
    let request = sent(&mut client);
    client.handle(ms(0), &answer(Kind::Ack, &request, SERVER).encode());
    assert!(matches!(client.poll_outcome(), Some(Outcome::Bound(_))));
    let mut asked = Vec::new();
    while let Some(next) = client.poll_timeout() {
        client.handle_timeout(next);
        if client.poll_message().is_some() {
            asked.push(next.as_nanos() / 1_000_000_000);
        }
    }
    assert_eq!(asked, [300, 450, 525, 585], "half of what is left, at least a minute");
    assert_eq!(client.poll_outcome(), Some(Outcome::Expired));
}

#[test]
fn options_may_go_on_in_the_fields_of_names() {
    let mut bytes = answer(Kind::Offer, &Message::new(Kind::Discover, 1, MAC), SERVER).encode();
    let end = bytes.iter().rposition(|byte| *byte == 255).unwrap();
    // Overload: `file` has the name servers.
    bytes.splice(end..end, [52, 1, 1]);
    bytes[108..115].copy_from_slice(&[6, 4, 9, 9, 9, 9, 255]);
    assert_eq!(Message::decode(&bytes).unwrap().name_servers, [Ipv4Addr::new(9, 9, 9, 9)]);
}

fn lease() -> Lease {
    Lease {
        address: Ipv4Addr::new(10, 0, 0, 9),
        prefix: 24,
        router: Some(SERVER),
        name_servers: vec![SERVER],
        mtu: Some(1400),
        routes: vec![Route { network: Ipv4Addr::new(10, 8, 0, 0), prefix: 16, router: Some(SERVER) }],
        server: Some(SERVER),
        mac: Some(MAC),
        seconds: 600,
        renew_seconds: 300,
    }
}

#[test]
fn leases_survive_a_file_expire_and_mistrust_a_clock_that_went_back() {
    let mut leases = Leases::default();
    leases.put("net", lease(), 1000);
    let read = Leases::from_json(&leases.to_json()).unwrap();
    assert_eq!(read, leases);
    assert_eq!(read.get("net", 1599), Some(&lease()));
    assert_eq!(read.get("net", 1600), None, "expired");
    assert_eq!(read.get("net", 999), None, "begins in the future");
    assert_eq!(read.get("other", 1000), None);
    assert!(Leases::from_json("[]").is_err());
    assert!(
        Leases::from_json(&leases.to_json().replace("\"prefix\": 24", "\"prefix\": 99")).unwrap().is_empty()
    );
    for number in 0..2 * MAX_LEASES {
        leases.put(&number.to_string(), lease(), 2000 + number as u64);
    }
    assert_eq!(leases.len(), MAX_LEASES);
    assert_eq!(leases.get("net", 1001), None, "the oldest went");
}

fn any_address() -> impl Strategy<Value = Option<Ipv4Addr>> {
    prop::option::of((1u32..).prop_map(Ipv4Addr::from))
}

/// The lease that a client makes of an answer with these changes.
fn lease_of(change: impl Fn(&mut Message)) -> Lease {
    let mut client = client(&Profile::FAST, None);
    let discover = sent(&mut client);
    let mut offer = answer(Kind::Offer, &discover, Ipv4Addr::new(10, 0, 1, 9));
    change(&mut offer);
    client.handle(ms(1), &offer.encode());
    let request = sent(&mut client);
    client.handle(ms(2), &Message { kind: Kind::Ack, xid: request.xid, ..offer }.encode());
    match client.poll_outcome() {
        Some(Outcome::Bound(lease)) => lease,
        other => panic!("{other:?}"),
    }
}

fn route(network: [u8; 4], prefix: u8, router: Option<Ipv4Addr>) -> Route {
    Route { network: network.into(), prefix, router }
}

#[test]
fn lease_has_the_mtu_unless_it_would_end_quic() {
    assert_eq!(lease_of(|_| {}).mtu, None);
    assert_eq!(lease_of(|message| message.mtu = Some(1400)).mtu, Some(1400));
    assert_eq!(lease_of(|message| message.mtu = Some(576)).mtu, None);
}

#[test]
fn name_servers_are_hosts_and_not_this_one() {
    let own = Ipv4Addr::new(127, 0, 0, 53);
    let lease = lease_of(|message| {
        message.name_servers = vec![own, Ipv4Addr::BROADCAST, Ipv4Addr::new(224, 0, 0, 251), SERVER];
    });
    assert_eq!(lease.name_servers, [SERVER]);
}

#[test]
fn routes_replace_the_router_and_lead_to_private_networks_only() {
    let other = Ipv4Addr::new(10, 0, 0, 2);
    let lease = lease_of(|message| {
        message.routes = vec![
            route([0, 0, 0, 0], 0, Some(other)),
            route([10, 8, 0, 0], 16, Some(SERVER)),
            route([192, 168, 7, 0], 24, None),
            // A half of the Internet, and somebody's resolver.
            route([128, 0, 0, 0], 1, Some(SERVER)),
            route([9, 9, 9, 9], 32, Some(SERVER)),
            route([10, 0, 0, 0], 7, Some(SERVER)),
        ];
    });
    assert_eq!(lease.router, Some(other));
    assert_eq!(lease.routes, [route([10, 8, 0, 0], 16, Some(SERVER)), route([192, 168, 7, 0], 24, None)]);
    let without = lease_of(|message| message.routes = vec![route([10, 8, 0, 0], 16, Some(SERVER))]);
    assert_eq!(without.router, None, "option 3 does not count next to option 121");
}

#[test]
fn routes_in_two_parts_are_one_list() {
    let mut message = answer(Kind::Ack, &Message::new(Kind::Discover, 1, MAC), SERVER);
    message.routes = vec![route([10, 8, 0, 0], 16, Some(SERVER)), route([10, 9, 0, 0], 16, Some(SERVER))];
    let mut bytes = message.encode();
    let at = bytes.windows(3).position(|head| head == [121, 14, 16]).unwrap();
    // Cut within the second route.
    bytes[at + 1] = 9;
    bytes.splice(at + 11..at + 11, [121, 5]);
    assert_eq!(Message::decode(&bytes).unwrap().routes, message.routes);
}

#[test]
fn leases_of_a_file_without_mtu_routes_and_hardware_address_are_read() {
    let mut leases = Leases::default();
    leases.put("net", Lease { mtu: None, routes: Vec::new(), mac: None, ..lease() }, 1000);
    let mut json: serde_json::Value = serde_json::from_str(&leases.to_json()).unwrap();
    let inner = json["net"]["lease"].as_object_mut().unwrap();
    inner.remove("mtu");
    inner.remove("routes");
    inner.remove("mac");
    assert_eq!(Leases::from_json(&json.to_string()).unwrap(), leases);
}

fn any_route() -> impl Strategy<Value = Route> {
    (any::<u32>(), 0u8..=32, any_address()).prop_map(|(bits, prefix, router)| {
        let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
        Route { network: Ipv4Addr::from_bits(bits & mask), prefix, router }
    })
}

prop_compose! {
    fn any_message()(
        kind in prop::sample::select(vec![Kind::Discover, Kind::Offer, Kind::Request, Kind::Ack, Kind::Nak]),
        (xid, seconds, broadcast, mac) in any::<(u32, u16, bool, [u8; 6])>(),
        (current, given, requested, server, mask) in
            (any_address(), any_address(), any_address(), any_address(), any_address()),
        routers in prop::collection::vec((1u32..).prop_map(Ipv4Addr::from), 0..=MAX_ADDRESSES),
        name_servers in prop::collection::vec((1u32..).prop_map(Ipv4Addr::from), 0..=MAX_ADDRESSES),
        (lease, renew, mtu) in any::<(Option<u32>, Option<u32>, Option<u16>)>(),
        routes in prop::collection::vec(any_route(), 0..=MAX_ROUTES),
    ) -> Message {
        Message {
            kind, xid, seconds, broadcast, mac, current, given, requested, server, mask, routers, name_servers, mtu, routes, lease, renew,
        }
    }
}

proptest! {
    #[test]
    fn messages_are_read_as_they_were_written(message in any_message()) {
        let bytes = message.encode();
        prop_assert!((300..=576).contains(&bytes.len()));
        prop_assert_eq!(Message::decode(&bytes), Some(message));
    }

    #[test]
    fn cut_and_changed_messages_are_read_or_refused(message in any_message(), cut in 0usize..400, at in 0usize..400, value: u8) {
        let mut bytes = message.encode();
        if let Some(byte) = bytes.get_mut(at) {
            *byte = value;
        }
        bytes.truncate(bytes.len().saturating_sub(cut));
        if let Some(read) = Message::decode(&bytes) {
            prop_assert!(read.routers.len() <= MAX_ADDRESSES && read.name_servers.len() <= MAX_ADDRESSES);
        }
    }

    /// Whatever a server says, the client sends a bounded number of messages, and binds only to what a host can use.
    #[test]
    fn no_server_makes_the_client_talk_without_end(
        answers in prop::collection::vec((any_message(), 0u64..150, any::<bool>()), 0..60),
    ) {
        let mut client = client(&Profile::FAST_RESUMING, Some(&lease()));
        let (mut now, mut messages, mut asked) = (Time::ZERO, 0, None);
        for (answer, pause, is_for_us) in answers {
            while let Some(bytes) = client.poll_message() {
                messages += 1;
                asked = Message::decode(&bytes);
            }
            let answer = match &asked {
                Some(asked) if is_for_us => Message { xid: asked.xid, mac: MAC, ..answer },
                _ => answer,
            };
            client.handle(now, &answer.encode());
            if let Some(Outcome::Bound(lease)) = client.poll_outcome() {
                prop_assert!((1..=32).contains(&lease.prefix) && !lease.address.is_multicast());
                prop_assert!(lease.routes.iter().all(|route| route.prefix >= 8));
            }
            now += Duration::from_millis(pause);
            client.handle_timeout(now);
        }
        // An earlier lease twice; then at most four times DISCOVER and REQUEST, six transmissions each.
        prop_assert!(messages <= 2 + 2 * 6 * 4, "{} messages", messages);
    }
}
