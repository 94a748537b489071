use hawser_learn::{Random, TrainedMlp};
use hawser_policy::{
    Assignment, Commands, Decision, Event, PacketReport, PacketSent, PathId, PathView, QueueView, Scheduler,
    StreamId, StreamRange, Time,
};

use super::state::{PATHS, STATE};
use super::*;
use crate::testing::{next, path, view_at};

fn waiting() -> QueueView {
    QueueView::default().with(|queue| {
        queue.unsent = 1 << 20;
        queue.connection_window_left = 1 << 30;
    })
}

/// One layer that prefers the path with the larger share of its window free: by the newest samples of bytes in flight.
fn freer(full: DqnFull) -> DqnScheduler {
    let mut network = TrainedMlp::new(&[STATE, PATHS], &mut Random::new(0));
    let parameters = network.parameters_mut();
    parameters.fill(0.0);
    let newest = STATE - 10;
    parameters[(newest + 2) * PATHS] = -1.0;
    parameters[(newest + 7) * PATHS + 1] = -1.0;
    let model = DqnModel::read(&DqnModel::write(&network)).expect("it is whole");
    DqnScheduler::new(DqnParameters { full, random: false }, &model, 1)
}

fn ask(scheduler: &mut DqnScheduler, ms: u64, paths: &[PathView]) -> Decision {
    scheduler.schedule(&view_at(Time::from_millis(ms), paths, waiting()), &mut Commands::new())
}

/// The choice of 0 ms holds until 10 ms, whatever happens meanwhile.
#[test]
fn a_burst_lasts_ten_milliseconds() {
    let mut scheduler = freer(DqnFull::Wait);
    let mut paths = [path(1, 20, 90_000), path(2, 100, 50_000)];
    assert_eq!(ask(&mut scheduler, 0, &paths), next(1));
    paths[0].bytes_in_flight = 60_000;
    assert_eq!(ask(&mut scheduler, 9, &paths), next(1));
    assert_eq!(ask(&mut scheduler, 10, &paths), next(2));
    paths[1].bytes_in_flight = 99_000;
    assert_eq!(ask(&mut scheduler, 15, &paths), next(2));
    // The path is gone: others decide, and the next burst begins at once.
    assert_eq!(ask(&mut scheduler, 16, &paths[..1]), next(1));
    assert_eq!(ask(&mut scheduler, 17, &paths), next(1));
}

#[test]
fn a_burst_waits_for_the_window_of_its_path_but_not_for_its_pacer() {
    for (full, expected) in
        [(DqnFull::Wait, Decision::Wait(Some(Time::from_millis(10)))), (DqnFull::Other, next(2))]
    {
        let mut scheduler = freer(full);
        let mut paths = [path(1, 20, 90_000), path(2, 100, 50_000)];
        assert_eq!(ask(&mut scheduler, 0, &paths), next(1));
        paths[0].bytes_in_flight = paths[0].congestion_window - 500;
        assert_eq!(ask(&mut scheduler, 1, &paths), expected);
        paths[0].bytes_in_flight = 0;
        (paths[0].pacing_budget, paths[0].next_release) = (0, Some(Time::from_millis(3)));
        assert_eq!(ask(&mut scheduler, 2, &paths), next(2));
        paths[1].bytes_in_flight = paths[1].congestion_window;
        assert_eq!(ask(&mut scheduler, 2, &paths), Decision::Wait(Some(Time::from_millis(3))));
    }
}

/// What it was not trained for is done as MinRTT does it.
#[test]
fn one_path_or_three_are_those_of_min_rtt() {
    let mut scheduler = freer(DqnFull::Wait);
    let paths = [path(1, 20, 10_000), path(2, 100, 90_000), path(3, 50, 90_000)];
    assert_eq!(ask(&mut scheduler, 0, &paths), next(1));
    assert_eq!(ask(&mut scheduler, 1, &paths[1..2]), next(2));
    assert_eq!(ask(&mut scheduler, 2, &paths[..2]), next(2), "of two the freer one");
}

#[test]
fn a_network_without_numbers_is_not_followed() {
    let mut network = TrainedMlp::new(&[STATE, 1, PATHS], &mut Random::new(0));
    network.parameters_mut().fill(f32::MAX);
    let model = DqnModel::read(&DqnModel::write(&network)).expect("its weights are finite");
    let mut scheduler = DqnScheduler::new(DqnParameters::default(), &model, 1);
    let paths = [path(1, 100, 90_000), path(2, 20, 50_000)];
    assert_eq!(ask(&mut scheduler, 0, &paths), next(2));
}

#[test]
fn chance_chooses_both_paths() {
    let parameters = DqnParameters { random: true, ..DqnParameters::default() };
    let mut scheduler = DqnScheduler::new(parameters, &DqnModel::shipped(), 5);
    let paths = [path(1, 20, 90_000), path(2, 100, 90_000)];
    let first = (0..1_000).filter(|number| ask(&mut scheduler, 10 * number, &paths) == next(1)).count();
    assert!((420..580).contains(&first), "{first}");
}

/// A training's decisions are rewarded by what became of their packets; those that others took are not.
#[test]
fn decisions_of_a_training_are_rewarded() {
    let training = DqnTraining::new(1);
    let mut scheduler =
        DqnScheduler::new(DqnParameters::default(), &DqnModel::shipped(), 1).with_training(training.clone());
    let paths = [path(1, 100, 90_000), path(2, 20, 90_000)];
    training.choose_by(DqnChooser::Fastest);
    let tag = match ask(&mut scheduler, 0, &paths) {
        Decision::Send(Assignment { path: PathId(2), tag, .. }) => tag,
        other => panic!("{other:?}"),
    };
    let ranges = [StreamRange { stream: StreamId(0), range: 0..12_500, copy: false }];
    let sent = PacketSent::default().with(|sent| {
        sent.now = Time::ZERO;
        sent.path = PathId(2);
        sent.packet_number = 1;
        sent.bytes = 12_500;
        sent.bytes_in_flight = 12_500;
        sent.tag = tag;
        sent.ranges = &ranges;
    });
    let report = PacketReport::default().with(|report| {
        report.now = Time::from_millis(35);
        report.path = PathId(2);
        report.packet_number = 1;
        report.bytes = 12_500;
        report.sent_at = Time::ZERO;
        report.bytes_in_flight_at_send = 12_500;
        report.tag = tag;
        report.ranges = &ranges;
    });
    scheduler.on_event(&Event::Sent(&sent), &mut Commands::new());
    ask(&mut scheduler, 10, &paths);
    assert_eq!(ask(&mut scheduler, 15, &paths[..1]), next(1));
    ask(&mut scheduler, 30, &paths);
    assert!(training.take_rewards().is_empty());
    scheduler.on_event(&Event::Acked(&report), &mut Commands::new());
    ask(&mut scheduler, 40, &paths);
    // 12.5 kB in 10 ms are 10 Mbit/s; the decision of 10 ms was interrupted, that of 30 ms sent nothing.
    assert_eq!(training.take_rewards(), [0.2, 0.0]);
}
