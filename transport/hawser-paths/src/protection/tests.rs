use std::time::Duration;

use hawser_policy::{
    Command, Commands, ErasureCode, Event, FeatureId, Message, MessageOrigin, PacketReceived, PathId,
    PathView, Protection, ProtectionInit, ProtectionPolicy, ProtectionView, Registry, Segment, Side,
    StreamId, Time,
};

use super::adaptive::needed;
use super::advice::Advice;

fn policy(text: &str) -> Option<Box<dyn ProtectionPolicy>> {
    let mut registry = Registry::new();
    crate::register(&mut registry);
    registry.protection(text).unwrap().build(&ProtectionInit::new(Side::Client, 0))
}

fn paths(loss_ppm: u32) -> [PathView; 3] {
    let path = |id, rtt| {
        let smoothed_rtt = Duration::from_millis(rtt);
        PathView::new(PathId(id)).with(|path| {
            path.smoothed_rtt = smoothed_rtt;
            path.rtt_variance = Duration::ZERO;
            path.loss_ppm = loss_ppm;
        })
    };
    [path(0, 50), path(1, 80), path(2, 60)]
}

fn ask(policy: &mut dyn ProtectionPolicy, paths: &[PathView], segment: &Segment<'_>) -> Option<Protection> {
    let now = Time::from_secs(1);
    policy.protect(&ProtectionView::new(now, PathId::ZERO, paths, segment))
}

#[test]
fn nothing_is_protected_by_default() {
    assert!(policy("default").is_none() && policy("off").is_none());
}

#[test]
fn a_fixed_rate_is_kept_for_the_layers_that_are_named() {
    let mut fixed =
        policy("fixed,rate=0.2,block=32,code=random-linear,span=5ms,layers=2,path=other").unwrap();
    let mut segment = Segment::plain(StreamId(0), 0..1_000);
    segment.layer = 1;
    let expected = Protection::new(ErasureCode::RandomLinear, 32, 7, Duration::from_millis(5))
        .with(|protection| protection.path = Some(PathId(2)));
    assert_eq!(ask(&mut *fixed, &paths(0), &segment), Some(expected));
    let alone = ask(&mut *fixed, &paths(0)[..1], &segment).unwrap();
    assert_eq!(alone.path, Some(PathId(0)), "there is no other path");
    segment.layer = 2;
    assert_eq!(ask(&mut *fixed, &paths(0), &segment), None);
    let plain = Segment::plain(StreamId(0), 0..1_000);
    let answer = |text: &str| ask(&mut *policy(text).unwrap(), &paths(0), &plain).unwrap();
    assert_eq!(answer("fixed,rate=0.2").repair_symbols, 4, "a fifth of 20, and not one more");
    assert_eq!(answer("fixed,rate=0.01,block=5").repair_symbols, 1);
    assert_eq!((answer("fixed").path, answer("fixed,path=scheduled").path), (Some(PathId(0)), None));
    assert_eq!(answer("fixed,code=xor").code, ErasureCode::Xor);
}

/// 20 packets and 5 % of loss: the tables of the binomial distribution say that of 24 more than 4 get lost in 0.6 % of
/// cases, and of 23 more than 3 in 2.6 %.
#[test]
fn as_many_repair_symbols_as_the_loss_asks_for() {
    assert_eq!(needed(20, 0.05, 0.01, 32), 4);
    assert_eq!(needed(20, 0.05, 0.03, 32), 3);
    assert_eq!(needed(20, 0.0, 0.01, 32), 1);
    assert_eq!(needed(20, 0.5, 0.01, 10), 10, "as many as there may be");
    let plain = Segment::plain(StreamId(0), 0..1_000);
    let mut adaptive = policy("adaptive,most=0.25").unwrap();
    let symbols = |policy: &mut dyn ProtectionPolicy, loss| {
        ask(policy, &paths(loss), &plain).map(|answer| answer.repair_symbols)
    };
    assert_eq!(
        [0, 999, 1_000, 50_000, 300_000].map(|loss| symbols(&mut *adaptive, loss)),
        [None, None, Some(1), Some(4), Some(5)]
    );
    assert_eq!(symbols(&mut *policy("adaptive,always=off").unwrap(), 50_000), None);
}

#[test]
fn what_can_be_sent_again_in_time_is_not_protected() {
    let mut adaptive = policy("adaptive").unwrap();
    let mut answer = |left: u64| {
        let deadline = Some(Time::from_secs(1) + Duration::from_millis(left));
        let segment = Segment::plain(StreamId(0), 0..1_000).with(|segment| segment.deadline = deadline);
        ask(&mut *adaptive, &paths(50_000), &segment).is_some()
    };
    // The round trip takes 50 ms.
    assert_eq!([1, 99, 100, 500].map(&mut answer), [true, true, false, false]);
}

/// The receiver counts, and the sender goes by what it says.
#[test]
fn advice_travels_as_a_message() {
    let (mut sender, mut receiver) =
        (policy("adaptive,advice=on").unwrap(), policy("adaptive,advice=on").unwrap());
    let mut commands = Commands::new();
    for number in 0..200 {
        let gap = u64::from(number % 10 == 9);
        receiver.on_event(
            &Event::Received(&PacketReceived::default().with(|packet| {
                packet.now = Time::ZERO;
                packet.received_at = Time::ZERO;
                packet.path = PathId::ZERO;
                packet.packet_number = number;
                packet.bytes = 1_200;
                packet.gap = gap;
                packet.congestion_marked = false;
            })),
            &mut commands,
        );
    }
    let [Command::Send(message)] = &commands[..] else { panic!("{commands:?}") };
    // 20 of 220.
    assert_eq!(Advice::read(&message.payload), Ok(Advice { loss_ppm: 90_909 }));
    let plain = Segment::plain(StreamId(0), 0..1_000);
    assert_eq!(ask(&mut *sender, &paths(0), &plain), None);
    let mut tell = |message: &Message| {
        let event = Event::Message { now: Time::ZERO, origin: MessageOrigin::Peer, message };
        sender.on_event(&event, &mut Commands::new());
        ask(&mut *sender, &paths(0), &plain).map(|answer| answer.repair_symbols)
    };
    assert_eq!(tell(message), Some(6));
    for nonsense in [&[][..], &[0; 3], &[0xff; 4], &[0; 5]] {
        let nonsense = Message::latest(FeatureId::PROTECTION_ADVICE, nonsense.to_vec()).about(PathId::ZERO);
        assert_eq!(tell(&nonsense), Some(6), "ignored");
    }
    let mut registry = Registry::new();
    crate::register(&mut registry);
    let offered =
        |text: &str| registry.protection(text).unwrap().features().contains(FeatureId::PROTECTION_ADVICE);
    assert_eq!(["adaptive", "adaptive,advice=on", "fixed"].map(offered), [false, true, false]);
}
