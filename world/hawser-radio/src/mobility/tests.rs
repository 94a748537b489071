use super::*;

#[test]
fn a_road_is_straight_and_even() {
    let way = StraightRoad { speed: 20.0, start: 100.0 }.trajectory(60.0);
    assert_eq!(way.at(0.0), [100.0, 0.0]);
    assert!((way.at(30.0)[0] - 700.0).abs() < 1e-9);
    assert!((way.speed(12.3) - 20.0).abs() < 1e-9);
    assert!((way.travelled(60.0) - 1200.0).abs() < 1e-6);
    assert_eq!(way.at(999.0), way.at(60.0), "it ends where it ends");
}

#[test]
fn a_city_drive_has_the_speed_and_the_turns_it_should_have() {
    let drive = CityDrive::default();
    let duration = 40_000.0;
    let way = drive.trajectory(duration, 3).expect("possible");
    let mean = way.travelled(duration) / duration;
    assert!((mean / drive.mean_speed - 1.0).abs() < 0.02, "mean speed {mean}");
    let (mut straight, mut turns) = (0, 0);
    let mut last: Option<[f64; 2]> = None;
    for step in 0..40_000 {
        let (from, to) = (way.at(f64::from(step)), way.at(f64::from(step) + 1.0));
        let moved = [to[0] - from[0], to[1] - from[1]];
        let along = moved.iter().filter(|x| x.abs() > 1e-6).count();
        if along != 1 {
            last = None;
            continue; // This second has a corner in it.
        }
        let speed = way.speed(f64::from(step));
        assert!(speed >= 0.5 * drive.mean_speed - 1e-6 && speed <= 1.5 * drive.mean_speed + 1e-6, "{speed}");
        let heading = moved.map(|x| if x.abs() > 1e-6 { x.signum() } else { 0.0 });
        match last {
            Some(before) if before == heading => straight += 1,
            Some(_) => turns += 1,
            None => {}
        }
        last = Some(heading);
    }
    assert!(straight > 20_000 && turns < 100, "turns happen at corners: {straight} {turns}");
}

#[test]
fn a_walk_stays_within_its_borders_and_keeps_its_speed() {
    let walk = RandomWalk {
        speed: 10.0,
        slot: 1.0,
        start: Some([0.0, 0.0]),
        area: Area { width: 180.0, height: 180.0 },
    };
    let way = walk.trajectory(5_000.0, 1).expect("possible");
    for tenth in 0..50_000 {
        let place = way.at(f64::from(tenth) / 10.0);
        assert!(place.iter().all(|x| (-1e-9..=180.0 + 1e-9).contains(x)), "{place:?}");
    }
    assert!(
        (way.travelled(5_000.0) - 50_000.0).abs() < 1.0,
        "reflection loses nothing: {}",
        way.travelled(5_000.0)
    );
    let outside = RandomWalk { start: Some([-1.0, 0.0]), ..walk };
    assert!(outside.trajectory(1.0, 1).is_err());
}

#[test]
fn recorded_tracks_are_read() {
    let text = "time,x,y\n10,0,0\n12,30,40\n20,30,40\n";
    let way = RecordedTrack::parse(text, TrackFormat::Metric).expect("well formed").trajectory();
    assert_eq!(way.at(1.0), [15.0, 20.0]);
    assert!((way.speed(1.0) - 25.0).abs() < 1e-9);
    assert_eq!(way.speed(5.0), 0.0);

    // One minute of latitude is a nautical mile; of longitude at 60 degrees half of it.
    let text = "0,60.0,10.0,12.3\n60,60.016666667,10.0,12.3\n120,60.016666667,10.016666667,12.3\n";
    let way = RecordedTrack::parse(text, TrackFormat::Geographic).expect("well formed").trajectory();
    assert!((way.travelled(60.0) - 1853.2).abs() < 1.0, "{}", way.travelled(60.0));
    assert!((way.travelled(120.0) - 1.5 * 1853.2).abs() < 2.0, "{}", way.travelled(120.0));
}

#[test]
fn bad_tracks_are_refused_with_line_and_reason() {
    let message = |text: &str, format| RecordedTrack::parse(text, format).expect_err("malformed").to_string();
    let metric = TrackFormat::Metric;
    assert_eq!(message("", metric), "track, line 1: no point: expected lines of time and two coordinates");
    assert_eq!(
        message("t,x,y\n1,2,3\n1,2,4\n", metric),
        "track, line 3: time 1 does not come after the line before"
    );
    assert!(message("1,2,3\n2,x,4\n", metric).starts_with("track, line 2: \"2,x,4\" has no three numbers"));
    assert!(message("1,95,3\n", TrackFormat::Geographic).contains("latitude 95, longitude 3"));
}
