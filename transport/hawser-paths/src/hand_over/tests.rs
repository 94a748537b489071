use hawser_policy::{LinkState, MessageDelivery, PathView, QueueView};
use proptest::prelude::*;

use super::*;

const MILLISECOND: Duration = Duration::from_millis(1);

#[test]
fn the_payload_is_as_documented() {
    let notice = HandOverNotice { starts_in: 3 * MILLISECOND, interruption: Some(90 * MILLISECOND) };
    assert_eq!(notice.encode(), [0, 0, 0x0b, 0xb8, 0, 1, 0x5f, 0x90]);
    let unknown = HandOverNotice { interruption: None, ..notice };
    assert_eq!(unknown.encode(), [0, 0, 0x0b, 0xb8, 0, 0, 0, 0]);
    let message = notice.message(PathId(3));
    assert_eq!((message.path, message.delivery), (Some(PathId(3)), MessageDelivery::WithAcks));
    assert_eq!(HandOverNotice::read(&message), Some((PathId(3), notice)));
    assert_eq!(
        HandOverNotice::read(&message.clone().with(|message| message.feature = FeatureId::LOSS_RATE)),
        None
    );
    assert_eq!(HandOverNotice::read(&message.with(|message| message.path = None)), None);
}

proptest! {
    #[test]
    fn what_is_read_is_what_was_written_and_nothing_else_is_read(payload in prop::collection::vec(any::<u8>(), 0..12)) {
        let read = HandOverNotice::decode(&payload);
        prop_assert_eq!(read.is_some(), payload.len() == 8);
        prop_assert!(read.is_none_or(|notice| notice.encode() == payload));
    }
}

/// Tells the reporter of a link at a time, and returns the notices that it sends.
fn told(reporter: &mut HandOverReporter, now: u64, at: Option<u64>) -> Vec<(PathId, HandOverNotice)> {
    let now = Time::from_millis(now);
    let next = at.map(|at| {
        HandOver::new(Time::from_millis(at)).with(|hand_over| hand_over.interruption = Some(MILLISECOND))
    });
    let state = LinkState::default().with(|state| state.hand_over = next);
    let update = LinkUpdate::new(now, LinkId(7), &state);
    let mut commands = Vec::new();
    reporter.on_event(&Event::Link(&update), &mut commands);
    if reporter.next_timeout().is_some_and(|at| at <= now) {
        let of = |id, link| {
            PathView::new(PathId(id)).with(|path| {
                path.link = Some(LinkId(link));
                path.has_rtt_sample = true;
            })
        };
        let paths = [of(0, 6), of(1, 7), of(2, 7)];
        let view = SendView::new(now, &paths, QueueView::default(), &());
        reporter.on_timeout(&view, &mut commands);
    }
    let read = |command| match command {
        Command::Send(message) => HandOverNotice::read(&message),
        _ => None,
    };
    commands.into_iter().filter_map(read).collect()
}

#[test]
fn the_next_hand_over_of_a_link_is_told_about_its_paths_until_it_begins() {
    let mut reporter = HandOverReporter::default();
    let notice =
        |starts_in| HandOverNotice { starts_in: starts_in * MILLISECOND, interruption: Some(MILLISECOND) };
    assert_eq!(told(&mut reporter, 1_000, None), []);
    assert_eq!(told(&mut reporter, 1_100, Some(1_900)), [1, 2].map(|id| (PathId(id), notice(800))));
    assert_eq!(told(&mut reporter, 1_200, Some(1_900)), []);
    assert_eq!(told(&mut reporter, 1_300, Some(1_880)), [1, 2].map(|id| (PathId(id), notice(580))));
    assert_eq!(told(&mut reporter, 1_900, Some(1_880)), []);
    assert_eq!(told(&mut reporter, 2_200, Some(60_000)), [], "too far away");
}
