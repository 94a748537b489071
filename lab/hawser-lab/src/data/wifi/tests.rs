use std::collections::BTreeMap;

use hawser_wifi::Phase;
use hawser_wifi::air::Encounter;

use super::*;

fn encounter(client: &str, phases: &[(Phase, f64)], failed_in: Option<Phase>) -> Encounter {
    Encounter {
        client: client.to_owned(),
        at_s: 1.0,
        ssid: "net <1>".to_owned(),
        bssid: "02:00:00:00:00:01".to_owned(),
        mhz: 2412,
        dbm: -60.0,
        failed_in,
        phases_ms: phases.iter().copied().collect::<BTreeMap<_, _>>(),
        resent: 0,
        address: None,
        is_known_address: false,
        up_s: 3.0,
    }
}

#[test]
fn failed_attempts_count_and_have_no_part_in_the_times() {
    let all = [
        encounter("a", &[(Phase::Scan, 900.0), (Phase::Authenticate, 10.0), (Phase::Dhcp, 30.0)], None),
        encounter("a", &[(Phase::Scan, 900.0), (Phase::Authenticate, 30.0), (Phase::Dhcp, 50.0)], None),
        encounter("a", &[(Phase::Authenticate, 600.0)], Some(Phase::Authenticate)),
        encounter("b", &[(Phase::Authenticate, 600.0)], Some(Phase::Authenticate)),
    ];
    let report = WifiReport::of(&all);
    let a = report.client("a").unwrap();
    assert_eq!((a.attempts, a.attached, a.usable_s), (3, 2, 6.0));
    let times = a.to_address_s.as_ref().unwrap();
    assert!(
        (times.mean - 0.060).abs() < 1e-9 && (times.max - 0.080).abs() < 1e-9,
        "without scans: {times:?}"
    );
    assert_eq!(a.phase(Phase::Authenticate).unwrap().failed, 1);
    assert_eq!(report.client("b").unwrap().to_address_s, None);
    let html = report.html();
    assert!(html.contains("authenticate: 0.020 s") && !html.contains("NaN"));
}
