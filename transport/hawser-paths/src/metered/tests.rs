use hawser_policy::{LinkState, MessageDelivery, PathView, QueueView};
use proptest::prelude::*;

use super::*;

//= wire-extensions-1.1.4-1
#[test]
fn the_payload_is_as_documented() {
    let message = MeteredNotice(true).message(PathId(3));
    assert_eq!((message.path, message.delivery), (Some(PathId(3)), MessageDelivery::Reliable));
    assert_eq!(message.payload, [1]);
    assert_eq!(MeteredNotice(false).message(PathId(3)).payload, [0]);
    assert_eq!(MeteredNotice::read(&message), Some((PathId(3), MeteredNotice(true))));
    assert_eq!(
        MeteredNotice::read(&message.clone().with(|message| message.feature = FeatureId::LOSS_RATE)),
        None
    );
    assert_eq!(MeteredNotice::read(&message.with(|message| message.path = None)), None);
}

proptest! {
    //= wire-extensions-1.1.4-2
    #[test]
    fn what_is_read_is_what_was_written_and_nothing_else_is_read(payload in prop::collection::vec(0..4u8, 0..4)) {
        let message = Message::reliable(FeatureId::METERED, payload.clone()).about(PathId(1));
        let read = MeteredNotice::read(&message);
        prop_assert_eq!(read.is_some(), payload == [0] || payload == [1]);
        prop_assert!(read.is_none_or(|(path, notice)| notice.message(path) == message));
    }
}

fn update(reporter: &mut MeteredReporter, link: u32, metered: bool) {
    let state = LinkState::default();
    let update = LinkUpdate::new(Time::ZERO, LinkId(link), &state).with(|update| update.metered = metered);
    reporter.on_event(&Event::Link(&update), &mut Vec::new());
}

/// What it says of these paths, each with its link.
fn told(reporter: &mut MeteredReporter, paths: &[(u32, u32)]) -> Vec<(PathId, MeteredNotice)> {
    let Some(now) = reporter.next_timeout() else { return Vec::new() };
    let of = |&(id, link): &(u32, u32)| {
        PathView::new(PathId(id)).with(|path| {
            path.link = Some(LinkId(link));
            path.state = PathState::Active;
        })
    };
    let paths: Vec<PathView> = paths.iter().map(of).collect();
    let mut commands = Vec::new();
    reporter.on_timeout(&SendView::new(now, &paths, QueueView::default(), &()), &mut commands);
    let read = |command| match command {
        Command::Send(message) => MeteredNotice::read(&message),
        _ => None,
    };
    commands.into_iter().filter_map(read).collect()
}

//= wire-extensions-1.1.4-1
#[test]
fn the_paths_of_a_metered_link_are_told_once_and_when_that_changes() {
    let mut reporter = MeteredReporter::default();
    update(&mut reporter, 7, false);
    assert_eq!(told(&mut reporter, &[(0, 7)]), [], "nothing is said of what costs nothing");
    update(&mut reporter, 7, true);
    assert_eq!(told(&mut reporter, &[(0, 6), (1, 7)]), [(PathId(1), MeteredNotice(true))]);
    update(&mut reporter, 7, true);
    assert_eq!(told(&mut reporter, &[(0, 6), (1, 7)]), []);
    // Another path over the same link.
    let change = Event::Path { now: Time::ZERO, path: PathId(2), change: PathChange::Established };
    reporter.on_event(&change, &mut Vec::new());
    assert_eq!(told(&mut reporter, &[(0, 6), (1, 7), (2, 7)]), [(PathId(2), MeteredNotice(true))]);
    update(&mut reporter, 7, false);
    let both = [(PathId(1), MeteredNotice(false)), (PathId(2), MeteredNotice(false))];
    assert_eq!(told(&mut reporter, &[(0, 6), (1, 7), (2, 7)]), both);
}

#[test]
fn no_more_links_are_remembered_than_connections_have_paths() {
    let mut reporter = MeteredReporter::default();
    (0..100).for_each(|link| update(&mut reporter, link, true));
    let paths: Vec<(u32, u32)> = (0..100).map(|number| (number, number)).collect();
    assert_eq!(told(&mut reporter, &paths).len(), MAX_METERED);
}
