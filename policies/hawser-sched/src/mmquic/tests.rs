use hawser_policy::{LinkDirection, PathId, PathView, QueueView, Rate};

use super::*;

fn reporter() -> Reporter {
    Reporter { interval: Duration::from_millis(250), links: Vec::new(), due: None }
}

/// What is reported after news of a link with this rate.
fn reports(reporter: &mut Reporter, ms: u64, megabits: u64, forecast: u64) -> Vec<(PathId, Vec<u32>)> {
    let state = |megabits| {
        LinkState::default().with(|state| {
            state.downlink = LinkDirection::default()
                .with(|direction| direction.capacity = Some(Rate::from_megabits_per_second(megabits)))
        })
    };
    let now = Time::from_millis(ms);
    let later = Forecast::new(now + Duration::from_millis(500), state(forecast));
    let present = state(megabits);
    let update = LinkUpdate::new(now, LinkId(3), &present)
        .with(|update| update.forecasts = std::slice::from_ref(&later));
    let mut commands = Commands::new();
    reporter.on_event(&Event::Link(&update), &mut commands);
    let rtt = Duration::from_millis(40);
    let on = |id, link| {
        PathView::new(PathId(id)).with(|path| {
            path.link = Some(LinkId(link));
            path.smoothed_rtt = rtt;
            path.has_rtt_sample = true;
        })
    };
    let paths = [on(0, 2), on(1, 3), on(2, 3).with(|path| path.has_rtt_sample = false)];
    if reporter.next_timeout().is_some_and(|due| due <= now) {
        let view = SendView::new(now, &paths, QueueView::default(), &());
        reporter.on_timeout(&view, &mut commands);
    }
    let read = |command: &Command| {
        let Command::Send(message) = command else { panic!("{command:?}") };
        let report = MobilityReport::read(message).expect("it is one");
        let products = report.entries.iter().map(|entry| entry.bandwidth_delay_product).collect();
        (message.path.expect("it is about a path"), products)
    };
    commands.iter().map(read).collect()
}

/// 8 Mbit/s for 40 ms are 40 kB.
#[test]
fn paths_over_a_link_are_reported_with_its_forecast() {
    let mut reporter = reporter();
    assert_eq!(reports(&mut reporter, 0, 8, 2), [(PathId(1), vec![40_000, 10_000])]);
}

#[test]
fn what_hardly_changes_is_reported_now_and_then() {
    let mut reporter = reporter();
    let mut count = |ms, megabits| reports(&mut reporter, ms, megabits, 1).len();
    assert_eq!([count(0, 8), count(100, 8), count(200, 9), count(300, 8)], [1, 0, 0, 1]);
    assert_eq!([count(400, 5), count(500, 5)], [1, 0], "a change of more than a quarter is told at once");
}

#[test]
fn the_set_has_the_parameters_of_its_scheduler() {
    let names = |info: PolicyInfo| info.parameters.into_iter().map(|it| it.name).collect::<Vec<_>>();
    let set = names(Mmquic::info());
    assert!(names(Mams::info()).iter().all(|name| set.contains(name)) && set[0] == "report_interval");
}

/// Without controllers there is nothing to make a set of.
#[test]
fn a_set_without_its_parts_is_left_out() {
    let mut registry = Registry::new();
    crate::register_sets(&mut registry);
    assert_eq!(registry.names(hawser_policy::PolicyKind::Set).count(), 0);
}
