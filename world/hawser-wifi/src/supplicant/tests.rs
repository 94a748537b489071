use proptest::prelude::*;

use super::*;
use crate::{Bssid, ScanKind};

#[test]
fn events_are_read_as_wpa_supplicant_2_10_prints_them() {
    let bssid = Some(Bssid([2, 0, 0x5e, 0, 0, 1]));
    let lines = [
        ("<3>CTRL-EVENT-SCAN-RESULTS ", Event::ScanResults),
        ("<3>CTRL-EVENT-SCAN-FAILED ret=-16 retry=1", Event::ScanFailed),
        (
            "<3>SME: Trying to authenticate with 02:00:5e:00:00:01 (SSID='net' freq=2437 MHz)",
            Event::Authenticating,
        ),
        ("<3>Trying to associate with 02:00:5e:00:00:01 (SSID='net' freq=2437 MHz)", Event::Associating),
        ("<3>Associated with 02:00:5e:00:00:01", Event::Associated(bssid)),
        ("<3>CTRL-EVENT-EAP-STARTED EAP authentication started", Event::EapStarted),
        ("<3>CTRL-EVENT-EAP-SUCCESS EAP authentication completed successfully", Event::EapSuccess),
        ("<3>CTRL-EVENT-EAP-FAILURE EAP authentication failed", Event::EapFailure),
        (
            "<3>CTRL-EVENT-CONNECTED - Connection to 02:00:5e:00:00:01 completed [id=0 id_str=]",
            Event::Connected(bssid),
        ),
        (
            "<3>CTRL-EVENT-DISCONNECTED bssid=02:00:5e:00:00:01 reason=3 locally_generated=1",
            Event::Disconnected,
        ),
        ("<3>CTRL-EVENT-ASSOC-REJECT bssid=02:00:5e:00:00:01 status_code=17", Event::Rejected),
        ("<3>CTRL-EVENT-TERMINATING ", Event::Terminating),
    ];
    for (line, event) in lines {
        assert_eq!(Event::parse(line), Some(event), "{line}");
    }
    for other in [
        "OK\n",
        "",
        "<>CTRL-EVENT-CONNECTED",
        "<3>",
        "<x>CTRL-EVENT-CONNECTED",
        "<3>CTRL-EVENT-BSS-ADDED 1 02:00:5e:00:00:01",
    ] {
        assert_eq!(Event::parse(other), None, "{other}");
    }
}

#[test]
fn scan_results_have_names_with_anything_in_them() {
    let text = "bssid / frequency / signal level / flags / ssid\n\
        02:00:5e:00:00:01\t2437\t-63\t[WPA2-EAP-CCMP][ESS]\tcaf\\xc3\\xa9 \\\"1\\\"\n\
        02:00:5e:00:00:02\t5180\t-71\t[ESS]\t\n\
        not a line\n\
        02:00:5e:00:00:03\t5180\tloud\t[ESS]\tnet\n";
    let seen = scan_results(text);
    assert_eq!(seen.len(), 2);
    let (first, has_eap) = &seen[0];
    assert_eq!((first.ssid.as_str(), first.mhz, first.dbm, *has_eap), ("café \"1\"", 2437, -63.0, true));
    assert_eq!((seen[1].0.ssid.as_str(), seen[1].1), ("", false), "hidden, and open");
    let many = "02:00:5e:00:00:01\t2437\t-63\t[ESS]\tnet\n".repeat(1000);
    assert_eq!(scan_results(&many).len(), crate::MAX_SIGHTINGS);
}

#[test]
fn networks_and_status_are_read() {
    let text = "network id / ssid / bssid / flags\n0\tnet\tany\t[CURRENT]\n7\tother\tany\t\n";
    assert_eq!(networks(text), [(0, "net".to_owned()), (7, "other".to_owned())]);
    let status =
        Status::parse("bssid=02:00:5e:00:00:01\nssid=net\nwpa_state=COMPLETED\naddress=02:00:00:00:00:07\n");
    assert!(status.is_completed());
    assert_eq!(status.bssid(), Some(Bssid([2, 0, 0x5e, 0, 0, 1])));
    assert_eq!(status.ssid().as_deref(), Some("net"));
    assert!(!Status::parse("wpa_state=SCANNING\n").is_completed());
}

#[test]
fn scans_forget_access_points_of_earlier_ones() {
    let all = scan_commands(ScanKind::Passive, &[]);
    assert_eq!(all, ["BSS_FLUSH 0", "SCAN only_new=1 passive=1"]);
    let some = scan_commands(ScanKind::Active, &[2412, 5180]);
    assert_eq!(some, ["BSS_FLUSH 0", "SCAN only_new=1 freq=2412,5180"]);
}

proptest! {
    #[test]
    fn no_text_panics(text in "(<[0-9]>)?[A-Za-z:\\\\x\\-\t\n0-9= ]{0,200}") {
        let _ = Event::parse(&text);
        let _ = scan_results(&text);
        let _ = networks(&text);
        let _ = Status::parse(&text);
        let _ = unescape(&text);
    }
}
