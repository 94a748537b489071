//! `hawser measure --gpsd` with a real gpsd, whose receiver is gpsfake. Needs both, or says that it was skipped.

use std::fmt::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::measure::{MeasureServer, records, signal};
use crate::support::*;

/// Where the drive begins, and how far north it goes with each report: a thousandth of a degree is 111 m.
const START: (f64, f64) = (44.5, 11.3);
const STEP: f64 = 0.001;

/// A sentence of NMEA 0183 with its checksum, the exclusive or of all its characters.
fn sentence(body: &str) -> String {
    format!("${body}*{:02X}\r\n", body.bytes().fold(0, |sum, byte| sum ^ byte))
}

/// Degrees and minutes, of so many digits.
fn minutes(degrees: f64, width: usize) -> String {
    format!("{:0width$}{:07.4}", degrees.trunc(), degrees.fract() * 60.0)
}

/// A minute of a receiver that reports each second.
fn drive() -> String {
    (0..60).fold(String::new(), |mut log, second| {
        let place = (minutes(START.0 + STEP * f64::from(second), 2), minutes(START.1, 3));
        let (time, place) = (format!("1200{second:02}.00"), format!("{},N,{},E", place.0, place.1));
        let least = sentence(&format!("GPRMC,{time},A,{place},216.0,0.0,261126,,"));
        let fix = sentence(&format!("GPGGA,{time},{place},1,08,1.0,60.5,M,45.0,M,,"));
        _ = write!(log, "{least}{fix}");
        log
    })
}

#[test]
fn positions_of_a_real_gpsd() {
    if ["/usr/sbin/gpsd", "/usr/bin/gpsfake"].iter().any(|program| !Path::new(program).exists()) {
        eprintln!("skipped: gpsd or gpsfake is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("drive.nmea");
    std::fs::write(&log, drive()).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut fake = Command::new("gpsfake");
    fake.args(["-c", "0.05", "-P", &port.to_string()]).arg(&log);
    let mut fake = fake.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("gpsd answers", || TcpStream::connect(("127.0.0.1", port)).is_ok());

    let server = MeasureServer::start("127.0.0.1:0", &[]);
    let out = tempfile::tempdir().unwrap();
    let place = format!("localhost:{port}");
    let arguments = ["--time", "2", "--flows", "1", "-q", "--gpsd", &place];
    let output = run(server.client("127.0.0.1", "lo", out.path(), &arguments));
    // It ends its gpsd, too.
    signal(&fake, nix::sys::signal::Signal::SIGINT);
    fake.wait().unwrap();

    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let session = &records(out.path(), "session")[0];
    let [south, west, north, east] =
        [0, 1, 2, 3].map(|at| session["position"]["bounds"][at].as_f64().unwrap());
    assert!(START.0 <= south && south + STEP < north && north < START.0 + 60.0 * STEP, "{session}");
    assert!((west - START.1).abs() < 1e-6 && (east - START.1).abs() < 1e-6, "{session}");
    // Above the ellipsoid: 45 m more than above the sea.
    let track = &records(out.path(), "track")[0];
    assert_eq!(track["fixes"][0][3], 105.5, "{track}");
}
