use super::*;
use crate::RadioError;

/// 2022-09-14 12:00:00 UTC.
const NOON: f64 = 1_663_156_800.0;

const STATION: &str = "ISS (ZARYA)
1 25544U 98067A   20194.88612269 -.00002218  00000-0 -31515-4 0  9992
2 25544  51.6461 221.2784 0001413  89.1723 280.4612 15.49507896236008
";

#[test]
fn places_are_where_they_are() {
    let close = |got: [f64; 3], wanted: [f64; 3]| {
        assert!(range(got, wanted) < 1.0, "{got:?} is not {wanted:?}");
    };
    close(Place::new(0.0, 0.0).earth_fixed(), [6_378_137.0, 0.0, 0.0]);
    close(Place::new(90.0, 0.0).earth_fixed(), [0.0, 0.0, 6_356_752.3]);
    close(Place { altitude: 1000.0, ..Place::new(0.0, 90.0) }.earth_fixed(), [0.0, 6_379_137.0, 0.0]);
}

#[test]
fn elevation_is_90_overhead_and_0_at_the_horizon() {
    let ground = [6_371_000.0, 0.0, 0.0];
    assert!((elevation(ground, [7_000_000.0, 0.0, 0.0]) - 90.0).abs() < 1e-6);
    assert!(elevation(ground, [6_371_000.0, 1_000_000.0, 0.0]).abs() < 1e-6);
    assert!(elevation(ground, [-7_000_000.0, 0.0, 0.0]) < -89.0);
}

#[test]
fn a_walker_orbit_has_the_speed_and_period_of_kepler() {
    let shell = Walker::default();
    assert!((shell.speed() - 7589.0).abs() < 5.0, "{}", shell.speed());
    assert!((shell.period() / 60.0 - 95.5).abs() < 0.2, "{}", shell.period());
    for satellite in [0, 100, 1583] {
        let here = shell.position(satellite, NOON).expect("known");
        assert!((range([0.0; 3], here) - 6_921_000.0).abs() < 1.0);
        // Never beyond the inclination.
        let latitude = (here[2] / 6_921_000.0).asin().to_degrees();
        assert!(latitude.abs() <= 53.0 + 1e-6, "{latitude}");
    }
    assert_eq!(shell.position(1584, NOON), None);
}

#[test]
fn neighbours_in_the_grid_are_mutual_and_near() {
    for constellation in [Walker::default(), Walker::oneweb()] {
        let positions = constellation.positions(NOON);
        let mut links = 0;
        for satellite in 0..constellation.count() {
            let here = positions[satellite].expect("known");
            for other in constellation.neighbours(satellite, &positions) {
                let back = constellation.neighbours(other, &positions);
                assert!(back.contains(&satellite), "{satellite} and {other}");
                let far = range(here, positions[other].expect("known"));
                assert!(far < 5_000e3, "{satellite} and {other} are {far} m apart");
                links += 1;
            }
        }
        let seam = if constellation.spread >= 360.0 { 0 } else { 2 * constellation.per_plane as usize };
        assert_eq!(links, 4 * constellation.count() - seam);
    }
}

/// From a place in view of a dense shell the highest satellite is well above the mask.
#[test]
fn a_dense_shell_is_always_in_view() {
    let shell = Walker::default();
    let victoria = Place::new(48.43, -123.37);
    for minute in 0..20 {
        let seen = visible(&victoria, &shell.positions(NOON + 60.0 * f64::from(minute)), 25.0);
        assert!(seen.len() >= 3, "{} satellites", seen.len());
        assert!(seen.windows(2).all(|pair| pair[0].1 >= pair[1].1), "highest first");
    }
    assert!(visible(&Place::new(-80.0, 0.0), &shell.positions(NOON), 25.0).is_empty());
}

#[test]
fn the_shortest_route_is_the_shortest() {
    let small = Walker { planes: 12, per_plane: 12, phasing: 1, ..Walker::default() };
    let positions = small.positions(NOON);
    let gateways = [Place::new(-26.2, 28.0), Place::new(40.0, -75.0)];
    let user = Place::new(47.0, 8.0);
    let serving = visible(&user, &positions, 5.0)[0].0;
    let route = inter_satellite(&small, serving, &gateways, &positions, 5.0).expect("a way exists");
    assert_eq!(route.satellites[0], serving);
    for pair in route.satellites.windows(2) {
        assert!(small.neighbours(pair[0], &positions).contains(&pair[1]), "{pair:?} are linked");
    }
    // Bellman and Ford find the same length.
    let count = small.count();
    let mut best = vec![f64::INFINITY; count];
    best[serving] = 0.0;
    let at = |index: usize| positions[index].expect("known");
    for _ in 0..count {
        for here in 0..count {
            for next in small.neighbours(here, &positions) {
                best[next] = best[next].min(best[here] + range(at(here), at(next)));
            }
        }
    }
    let down = |satellite: usize| {
        let seen =
            gateways.iter().map(Place::earth_fixed).filter(|ground| elevation(*ground, at(satellite)) >= 5.0);
        seen.map(|ground| range(ground, at(satellite))).fold(f64::INFINITY, f64::min)
    };
    let shortest =
        (0..count).map(|satellite| best[satellite] + down(satellite)).fold(f64::INFINITY, f64::min);
    let length = route.length(&user, &gateways, &small, NOON).expect("known");
    assert!((length - range(user.earth_fixed(), at(serving)) - shortest).abs() < 1e-3, "{length} {shortest}");
    // Straight up and down cannot reach the other continent.
    assert_eq!(bent_pipe(serving, &gateways, &positions, 5.0), None);
}

#[test]
fn reconfiguration_comes_at_12_27_42_57() {
    let seconds = |start: f64| -> Vec<u64> {
        slot_edges(start, 61_000_000_000).into_iter().map(|at| at / 1_000_000_000).collect()
    };
    assert_eq!(seconds(0.0), [12, 27, 42, 57]);
    assert_eq!(seconds(10.0), [2, 17, 32, 47]);
    assert_eq!(seconds(12.0), [15, 30, 45, 60]);
    assert_eq!(seconds(59.0), [13, 28, 43, 58]);
    assert_eq!(slot_edges(11.75, 1_000_000_000), [250_000_000]);
}

#[test]
fn two_line_elements_fly_where_their_numbers_say() {
    let set = TleSet::parse(STATION).expect("well formed");
    assert_eq!((set.count(), set.name(0)), (1, Some("ISS (ZARYA)")));
    // Day 194.88612269 of 2020.
    assert!((set.latest_epoch() - 1_594_502_561.0).abs() < 86_400.0 * 1.01, "{}", set.latest_epoch());
    let epoch = set.latest_epoch();
    for minute in 0..93 {
        let here = set.position(0, epoch + 60.0 * f64::from(minute)).expect("propagates");
        let altitude = range([0.0; 3], here) - 6_371_000.0;
        assert!((400e3..440e3).contains(&altitude), "{altitude}");
        let latitude = (here[2] / range([0.0; 3], here)).asin().to_degrees();
        assert!(latitude.abs() < 51.8, "{latitude}");
    }
    // Without names, and with a Windows line end.
    let bare: String = STATION.lines().skip(1).flat_map(|line| [line, "\r\n"]).collect();
    assert_eq!(TleSet::parse(&bare).expect("well formed").name(0), Some("25544"));
}

#[test]
fn malformed_elements_are_refused_with_their_line() {
    let refused = |text: &str| match TleSet::parse(text) {
        Err(RadioError::Text { line, reason, .. }) => (line, reason),
        _ => panic!("accepted"),
    };
    assert_eq!(refused("").0, 1);
    let damaged = STATION.replace("9992", "9993");
    assert_eq!(refused(&damaged).0, 3, "the checksum is wrong");
    let cut: String = STATION.lines().take(2).flat_map(|line| [line, "\n"]).collect();
    assert!(refused(&cut).1.contains("without a whole set"));
}

/// The same station in OMM is where its two lines say it is; catalogue numbers of six digits are read.
#[test]
fn mean_elements_in_json_are_read() {
    let omm = r#"[{"OBJECT_NAME":"ISS (ZARYA)","OBJECT_ID":"1998-067A","EPOCH":"2026-11-20T10:00:00.000000",
        "MEAN_MOTION":15.5,"ECCENTRICITY":0.0001,"INCLINATION":51.6,"RA_OF_ASC_NODE":120.0,"ARG_OF_PERICENTER":90.0,
        "MEAN_ANOMALY":10.0,"EPHEMERIS_TYPE":0,"CLASSIFICATION_TYPE":"U","NORAD_CAT_ID":100123,"ELEMENT_SET_NO":999,
        "REV_AT_EPOCH":100,"BSTAR":0.0001,"MEAN_MOTION_DOT":0.00001,"MEAN_MOTION_DDOT":0}]"#;
    let set = TleSet::parse(omm).expect("well formed");
    assert_eq!((set.count(), set.name(0)), (1, Some("ISS (ZARYA)")));
    let here = set.position(0, set.latest_epoch() + 60.0).expect("propagates");
    let altitude = range([0.0; 3], here) - 6_371_000.0;
    assert!((380e3..460e3).contains(&altitude), "{altitude}");
    let one = omm.trim_start_matches('[').trim_end_matches(']');
    let unnamed = one.replace("\"ISS (ZARYA)\"", "null");
    assert_eq!(TleSet::parse(&unnamed).expect("one object").name(0), Some("100123"));
    for wrong in ["[]", "[{}]", &omm.replace("0.0001,\"INCL", "7.0,\"INCL"), &omm[..200]] {
        assert!(matches!(TleSet::parse(wrong), Err(RadioError::Text { what: "OMM", .. })), "{wrong}");
    }
}
