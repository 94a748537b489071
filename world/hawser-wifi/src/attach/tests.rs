use std::net::Ipv4Addr;

use proptest::prelude::*;

use super::*;
use crate::dhcp::{Kind, Message};
use crate::{Choice, Profile};

const NETWORK: &str = "net";

fn attachment(profile: Profile) -> Attachment {
    let settings = Settings {
        profile,
        networks: vec![NETWORK.into()],
        choice: Choice::Strongest,
        channels: vec![2412, 2437, 5180],
        mac: [2, 0, 0, 0, 0, 7],
    };
    Attachment::new(Time::ZERO, settings, 1)
}

fn sighting(last: u8, ssid: &str, mhz: u16, dbm: f64) -> Sighting {
    Sighting { bssid: Bssid([2, 0, 0, 0, 1, last]), ssid: ssid.into(), mhz, dbm }
}

fn bssid(last: u8) -> Bssid {
    Bssid([2, 0, 0, 0, 1, last])
}

fn ms(milliseconds: u64) -> Time {
    Time::from_millis(milliseconds)
}

fn actions(attachment: &mut Attachment) -> Vec<Action> {
    std::iter::from_fn(|| attachment.poll_action()).collect()
}

/// Ends the running scan with these sightings.
fn scan(attachment: &mut Attachment, now: Time, heard: &[Sighting]) -> Vec<Action> {
    actions(attachment);
    for sighting in heard {
        attachment.handle(now, Event::Heard(sighting.clone()));
    }
    attachment.handle(now, Event::ScanDone);
    actions(attachment)
}

/// Lets timers expire until something is reported; everything that was done until then.
fn until_report(attachment: &mut Attachment) -> (Time, Vec<Action>) {
    let mut all = Vec::new();
    loop {
        let next = attachment.poll_timeout().unwrap();
        attachment.handle_timeout(next);
        all.extend(actions(attachment));
        if all.iter().any(|action| matches!(action, Action::Report(_))) {
            return (next, all);
        }
    }
}

#[test]
fn the_strongest_wanted_access_point_is_taken() {
    let mut attachment = attachment(Profile::FAST);
    let heard = [
        sighting(1, NETWORK, 2412, -70.0),
        sighting(2, NETWORK, 5180, -60.0),
        sighting(3, "other", 2437, -30.0),
    ];
    let done = scan(&mut attachment, ms(300), &heard);
    assert_eq!(done, [Action::Send { to: bssid(2), exchange: Exchange::Authenticate }]);
}

#[test]
fn after_six_transmissions_only_the_channels_of_the_others_are_scanned() {
    let mut attachment = attachment(Profile::FAST);
    let heard = [
        sighting(1, NETWORK, 2412, -70.0),
        sighting(2, NETWORK, 5180, -60.0),
        sighting(4, "other", 2437, -30.0),
    ];
    scan(&mut attachment, ms(300), &heard);
    let (when, done) = until_report(&mut attachment);
    assert_eq!(when, ms(900));
    let sent = done.iter().filter(|action| matches!(action, Action::Send { .. })).count();
    assert_eq!(sent, 5, "five re-sends");
    let scan_now =
        Action::Scan { kind: ScanKind::Active, channels: vec![2412], dwell: Duration::from_millis(20) };
    assert_eq!(done.last(), Some(&scan_now));

    let done = scan(&mut attachment, ms(920), &heard[..1]);
    assert_eq!(done, [Action::Send { to: bssid(1), exchange: Exchange::Authenticate }]);
    let (_, done) = until_report(&mut attachment);
    assert!(
        matches!(done.last(), Some(Action::Scan { kind: ScanKind::Passive, .. })),
        "nobody is left: {done:?}"
    );
}

#[test]
fn an_old_passive_scan_is_not_believed_and_a_stock_client_never_does() {
    let heard = [sighting(1, NETWORK, 2412, -70.0), sighting(2, NETWORK, 5180, -60.0)];
    let mut slow = attachment(Profile { authenticate: Profile::STOCK.eap, ..Profile::FAST });
    scan(&mut slow, ms(300), &heard);
    let (when, done) = until_report(&mut slow);
    assert!(when > ms(5300));
    assert!(matches!(done.last(), Some(Action::Scan { kind: ScanKind::Passive, .. })), "{done:?}");

    let mut stock = attachment(Profile::STOCK);
    scan(&mut stock, ms(300), &heard);
    let (when, done) = until_report(&mut stock);
    assert_eq!(when, ms(900), "three times 200 ms");
    assert!(matches!(done.last(), Some(Action::Scan { kind: ScanKind::Passive, .. })), "{done:?}");
}

/// Answers everything at once, each exchange `step` after the one before; the report of success and its time.
fn attach(attachment: &mut Attachment, mut now: Time, step: Duration, pairs: u8) -> (Time, Attached) {
    let mut todo: VecDeque<Action> = scan(attachment, now, &[sighting(1, NETWORK, 2412, -60.0)]).into();
    loop {
        let action = match todo.pop_front() {
            Some(action) => action,
            None => {
                now = attachment.poll_timeout().unwrap();
                attachment.handle_timeout(now);
                todo.extend(actions(attachment));
                continue;
            }
        };
        now += step;
        match action {
            Action::Send { to, exchange } => {
                let answer = match exchange {
                    Exchange::Authenticate => Answer::Authenticated,
                    Exchange::Associate => Answer::Associated { eap: pairs > 0 },
                    Exchange::Eap(number) => Answer::Eap { number, is_last: number + 1 == pairs },
                    Exchange::Handshake(number) => Answer::Handshake(number),
                };
                attachment.handle(now, Event::Answered { from: to, answer });
            }
            Action::Dhcp(bytes) => {
                let asked = Message::decode(&bytes).unwrap();
                let kind = if asked.kind == Kind::Discover { Kind::Offer } else { Kind::Ack };
                let answer = Message {
                    given: Some(Ipv4Addr::new(10, 0, 0, 9)),
                    server: Some(Ipv4Addr::new(10, 0, 0, 1)),
                    lease: Some(600),
                    ..Message::new(kind, asked.xid, asked.mac)
                };
                attachment.handle(now, Event::Dhcp(&answer.encode()));
            }
            Action::Report(Report::Up(attached)) => return (now - step, *attached),
            other => panic!("{other:?}"),
        }
        todo.extend(actions(attachment));
    }
}

#[test]
fn every_phase_has_its_time() {
    let step = Duration::from_millis(10);
    let (_, attached) = attach(&mut attachment(Profile::FAST), ms(300), step, 3);
    let times = Phase::ALL.map(|phase| attached.timeline.of(phase).map(|time| time.as_millis()));
    assert_eq!(times, [Some(300), Some(10), Some(10), Some(30), Some(20), Some(20), None]);
    assert_eq!(attached.timeline.to_address(), 9 * step);
    let (_, open) = attach(&mut attachment(Profile::FAST), ms(300), step, 0);
    assert_eq!(open.timeline.of(Phase::Eap), None, "a network without EAP");
}

#[test]
fn a_stock_client_spends_four_to_seven_seconds_on_probes() {
    let (_, attached) = attach(&mut attachment(Profile::STOCK), ms(300), Duration::from_millis(10), 3);
    let probes = attached.timeline.of(Phase::Probe).unwrap().as_secs_f64();
    assert!((4.0..=7.0).contains(&probes), "{probes}");
}

/// How long a client asks a silent DHCP server behind the first access point before it says that the attempt has failed.
fn time_at_a_silent_server(heard: &[Sighting]) -> Duration {
    let mut attachment = attachment(Profile::SUPPLICANT);
    scan(&mut attachment, ms(300), heard);
    attachment.handle(ms(310), Event::LinkUp);
    let (when, _) = until_report(&mut attachment);
    when - ms(310)
}

#[test]
fn silent_server_is_left_at_once_for_another_access_point_and_waited_for_without_one() {
    let heard = [
        sighting(1, NETWORK, 2412, -60.0),
        sighting(2, NETWORK, 5180, -70.0),
        sighting(3, "other", 2437, -50.0),
    ];
    assert_eq!(time_at_a_silent_server(&heard), Duration::from_millis(600));
    let alone = [heard[0].clone(), heard[2].clone()];
    assert_eq!(time_at_a_silent_server(&alone), Duration::from_millis(6200));
}

#[test]
fn dhcp_messages_name_the_hardware_address_that_the_link_has() {
    let mut attachment = attachment(Profile::SUPPLICANT);
    scan(&mut attachment, ms(300), &[sighting(1, NETWORK, 2412, -60.0)]);
    let drawn = [6, 0, 0, 0, 0, 99];
    attachment.set_mac(drawn);
    attachment.handle(ms(310), Event::LinkUp);
    let done = actions(&mut attachment);
    let Some(Action::Dhcp(message)) = done.first() else { panic!("{done:?}") };
    assert_eq!(Message::decode(message).unwrap().mac, drawn);
}

#[test]
fn an_attachment_that_is_lost_is_followed_by_a_scan_at_once() {
    let mut attachment = attachment(Profile::FAST);
    let (now, _) = attach(&mut attachment, ms(300), Duration::from_millis(10), 3);
    attachment.handle(now + Duration::from_secs(7), Event::LinkLost);
    let done = actions(&mut attachment);
    let down = Report::Down { bssid: bssid(1), up: Duration::from_secs(7) };
    assert_eq!(done[..2], [Action::Report(down), Action::Disconnect]);
    assert!(matches!(done[2], Action::Scan { kind: ScanKind::Passive, .. }));
}

#[test]
fn a_second_answer_to_an_exchange_is_none_to_the_next() {
    let mut attachment = attachment(Profile::FAST);
    scan(&mut attachment, ms(300), &[sighting(1, NETWORK, 2412, -60.0)]);
    let mut answer = |answer| {
        attachment.handle(ms(310), Event::Answered { from: bssid(1), answer });
        actions(&mut attachment)
    };
    answer(Answer::Authenticated);
    answer(Answer::Associated { eap: true });
    assert_eq!(answer(Answer::Eap { number: 0, is_last: false }).len(), 1);
    assert_eq!(answer(Answer::Eap { number: 0, is_last: true }), []);
    assert_eq!(answer(Answer::Handshake(0)), []);
}

#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    Heard(u8, i8),
    ScanDone,
    Answer(u8, u8, u8),
    LinkUp,
    Lost,
    Dhcp(Vec<u8>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0u64..3000).prop_map(Step::Wait),
        (0u8..4, any::<i8>()).prop_map(|(last, dbm)| Step::Heard(last, dbm)),
        Just(Step::ScanDone),
        (0u8..4, 0u8..5, 0u8..3).prop_map(|(last, kind, number)| Step::Answer(last, kind, number)),
        Just(Step::LinkUp),
        Just(Step::Lost),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Step::Dhcp),
    ]
}

proptest! {
    /// Whatever happens, the client waits for something, scans or sends, and each attempt has one end.
    #[test]
    fn no_events_leave_the_client_without_something_to_wait_for(steps in prop::collection::vec(step(), 0..80)) {
        let mut attachment = attachment(Profile::FAST);
        let mut now = Time::ZERO;
        let (mut attempts, mut ends) = (0, 0);
        for step in steps {
            match step {
                Step::Wait(time) => now += Duration::from_millis(time),
                Step::Heard(last, dbm) => {
                    attachment.handle(now, Event::Heard(sighting(last, NETWORK, 2412, f64::from(dbm))));
                }
                Step::ScanDone => attachment.handle(now, Event::ScanDone),
                Step::Answer(last, kind, number) => {
                    let answer = match kind {
                        0 => Answer::Authenticated,
                        1 => Answer::Associated { eap: number > 0 },
                        2 => Answer::Eap { number, is_last: last > 1 },
                        3 => Answer::Handshake(number),
                        _ => Answer::Refused,
                    };
                    attachment.handle(now, Event::Answered { from: bssid(last), answer });
                }
                Step::LinkUp => attachment.handle(now, Event::LinkUp),
                Step::Lost => attachment.handle(now, Event::LinkLost),
                Step::Dhcp(bytes) => attachment.handle(now, Event::Dhcp(&bytes)),
            }
            attachment.handle_timeout(now);
            prop_assert!(attachment.poll_timeout().is_some());
            let mut first_sends = 0;
            for action in actions(&mut attachment) {
                match action {
                    Action::Report(Report::Failed(_) | Report::Up(_)) => ends += 1,
                    Action::Send { exchange: Exchange::Authenticate, .. } => first_sends += 1,
                    _ => {}
                }
            }
            attempts += first_sends;
            prop_assert!(ends <= attempts);
        }
    }
}
