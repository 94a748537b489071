//! Positions from gpsd: its JSON protocol over TCP or a Unix socket (gpsd_json(5)).

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hawser_lab::data::measure::{Position, RecordId, RunId, Track};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpStream, UnixStream};

use hawser_command::paths::milliseconds;

/// Asks for reports of positions.
const WATCH: &[u8] = b"?WATCH={\"enable\":true,\"json\":true};\n";
/// Longest report; those of the sky have some kilobytes.
const MAX_REPORT: u64 = 64 << 10;
/// Between attempts to reach it, and how long it may be silent: it reports each second.
const RETRY: Duration = Duration::from_secs(1);
const SILENCE: Duration = Duration::from_secs(10);
/// Fixes of a record.
const TRACK: usize = 60;
/// Mean radius of the Earth (IUGG), in metres.
const EARTH: f64 = 6_371_008.8;

/// Where gpsd is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum GpsPlace {
    /// `HOST:PORT`.
    Tcp(String),
    /// A path with a slash.
    Unix(PathBuf),
}

impl FromStr for GpsPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.rsplit_once(':') {
            _ if text.contains('/') => Ok(GpsPlace::Unix(text.into())),
            Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
                Ok(GpsPlace::Tcp(text.to_owned()))
            }
            _ => Err(format!(
                "`{text}`: expected HOST:PORT, such as localhost:2947, or the path of a Unix socket"
            )),
        }
    }
}

/// A report of gpsd; of its classes only TPV (time, position, velocity) counts.
#[derive(Deserialize)]
struct Report {
    class: String,
    /// 2 and 3: there is a position.
    #[serde(default)]
    mode: u8,
    lat: Option<f64>,
    lon: Option<f64>,
    /// Above the ellipsoid; `alt` is what old releases say, and new ones repeat.
    #[serde(rename = "altHAE")]
    alt_hae: Option<f64>,
    alt: Option<f64>,
}

/// A position at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Fix {
    at: Instant,
    latitude: f64,
    longitude: f64,
    altitude: Option<f64>,
}

/// The fixes of a session so far.
struct Span {
    first: Fix,
    last: Fix,
    position: Position,
}

#[derive(Default)]
struct Seen {
    last: Option<Fix>,
    track: Vec<Fix>,
    track_distance: f64,
    spans: HashMap<u64, Option<Span>>,
    next_span: u64,
}

/// gpsd, and what it said.
pub(super) struct Gps {
    place: GpsPlace,
    began: Instant,
    seen: Mutex<Seen>,
}

impl Gps {
    /// Times of tracks count from `began`.
    pub(super) fn new(place: GpsPlace, began: Instant) -> Self {
        Gps { place, began, seen: Mutex::default() }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a session; the number is for [`end`](Gps::end).
    pub(super) fn begin(&self) -> u64 {
        let mut seen = self.seen();
        seen.next_span += 1;
        let number = seen.next_span;
        // A fix is good for a few seconds: one that has just come says where the session begins.
        let recent = seen.last.filter(|fix| fix.at.elapsed() < 2 * RETRY);
        seen.spans.insert(number, recent.map(Span::new));
        number
    }

    /// Where the session was; `None` without a fix.
    pub(super) fn end(&self, number: u64) -> Option<Position> {
        self.seen().spans.remove(&number).flatten().map(|span| span.position)
    }

    /// The fixes since the last time, as a record.
    pub(super) fn take_track(&self, run: RunId, id: impl FnOnce() -> RecordId) -> Option<Track> {
        let mut seen = self.seen();
        let fixes = std::mem::take(&mut seen.track);
        let distance_m = std::mem::take(&mut seen.track_distance);
        if fixes.is_empty() {
            return None;
        }
        let entry = |fix: &Fix| {
            (
                milliseconds(fix.at.saturating_duration_since(self.began)),
                fix.latitude,
                fix.longitude,
                fix.altitude,
            )
        };
        Some(Track { id: id(), run, fixes: fixes.iter().map(entry).collect(), distance_m })
    }

    /// Reads reports until it is dropped; `full` is called when there are enough for a track.
    pub(super) async fn follow(&self, full: impl Fn()) {
        let mut told = false;
        loop {
            let result = match &self.place {
                GpsPlace::Tcp(address) => match TcpStream::connect(address).await {
                    Ok(stream) => self.read(stream, &full, &mut told).await,
                    Err(error) => Err(error),
                },
                GpsPlace::Unix(path) => match UnixStream::connect(path).await {
                    Ok(stream) => self.read(stream, &full, &mut told).await,
                    Err(error) => Err(error),
                },
            };
            if let Err(error) = result
                && !std::mem::replace(&mut told, true)
            {
                tracing::warn!(%error, place = ?self.place, "no positions from gpsd; trying again each second");
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    async fn read(
        &self,
        mut stream: impl AsyncRead + AsyncWrite + Unpin,
        full: &impl Fn(),
        told: &mut bool,
    ) -> io::Result<()> {
        stream.write_all(WATCH).await?;
        let mut reader = BufReader::new(stream);
        let mut line = Vec::new();
        loop {
            line.clear();
            let mut bounded = (&mut reader).take(MAX_REPORT);
            let count = tokio::time::timeout(SILENCE, bounded.read_until(b'\n', &mut line)).await??;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if line.last() != Some(&b'\n') {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a report of more than 64 KiB"));
            }
            if let Some(fix) = fix(&line) {
                *told = false;
                if self.add(fix) {
                    full();
                }
            }
        }
    }

    /// Takes in a fix. Returns whether a track is full.
    fn add(&self, fix: Fix) -> bool {
        let mut seen = self.seen();
        let step = seen.last.map_or(0.0, |last| distance(&last, &fix));
        seen.track_distance += step;
        seen.last = Some(fix);
        seen.track.push(fix);
        for span in seen.spans.values_mut() {
            match span {
                Some(span) => span.add(fix),
                None => *span = Some(Span::new(fix)),
            }
        }
        seen.track.len() >= TRACK
    }
}

impl Span {
    fn new(fix: Fix) -> Self {
        let Fix { latitude, longitude, .. } = fix;
        let bounds = [latitude, longitude, latitude, longitude];
        let position = Position { fixes: 1, latitude, longitude, distance_m: 0.0, speed_mps: None, bounds };
        Span { first: fix, last: fix, position }
    }

    fn add(&mut self, fix: Fix) {
        let position = &mut self.position;
        position.fixes += 1;
        position.distance_m += distance(&self.last, &fix);
        let seconds = fix.at.saturating_duration_since(self.first.at).as_secs_f64();
        position.speed_mps = (seconds > 0.0).then(|| position.distance_m / seconds);
        let [south, west, north, east] = position.bounds;
        position.bounds = [
            south.min(fix.latitude),
            west.min(fix.longitude),
            north.max(fix.latitude),
            east.max(fix.longitude),
        ];
        self.last = fix;
    }
}

/// Where a session was along these reports, for fuzzing (feature `fuzzing`).
#[cfg(feature = "fuzzing")]
pub(super) fn position<'a>(reports: impl IntoIterator<Item = &'a [u8]>) -> Option<Position> {
    let mut fixes = reports.into_iter().filter_map(fix);
    let mut span = Span::new(fixes.next()?);
    fixes.for_each(|fix| span.add(fix));
    Some(span.position)
}

/// The fix that a report has, if it has one.
fn fix(line: &[u8]) -> Option<Fix> {
    let report: Report = serde_json::from_slice(line).ok()?;
    let (latitude, longitude) = (report.lat?, report.lon?);
    let is_one = report.class == "TPV" && report.mode >= 2;
    let is_possible = latitude.abs() <= 90.0 && longitude.abs() <= 180.0;
    let altitude = report.alt_hae.or(report.alt);
    (is_one && is_possible).then(|| Fix { at: Instant::now(), latitude, longitude, altitude })
}

/// Along a great circle (haversine formula), in metres.
fn distance(from: &Fix, to: &Fix) -> f64 {
    let half = |difference: f64| (difference.to_radians() / 2.0).sin().powi(2);
    let across = from.latitude.to_radians().cos() * to.latitude.to_radians().cos();
    let chord = half(to.latitude - from.latitude) + across * half(to.longitude - from.longitude);
    2.0 * EARTH * chord.sqrt().min(1.0).asin()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64, latitude: f64, longitude: f64) -> Fix {
        let at = Instant::now() + Duration::from_secs(seconds);
        Fix { at, latitude, longitude, altitude: None }
    }

    #[test]
    fn only_positions_count() {
        // Release 3.22 gives all three altitudes.
        let good = br#"{"class":"TPV","device":"/dev/pts/1","mode":3,"lat":44.5,"lon":11.25,"altHAE":50.1,"altMSL":5.1,"alt":5.1}"#;
        let found = fix(good).unwrap();
        assert_eq!((found.latitude, found.longitude, found.altitude), (44.5, 11.25, Some(50.1)));
        for bad in [
            r#"{"class":"SKY","mode":3,"lat":44.5,"lon":11.25}"#,
            r#"{"class":"TPV","mode":1}"#,
            r#"{"class":"TPV","mode":3,"lat":144.5,"lon":11.25}"#,
            "{",
        ] {
            assert_eq!(fix(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn a_session_has_distance_speed_and_bounds() {
        let gps = Gps::new(GpsPlace::Tcp("localhost:2947".into()), Instant::now());
        gps.add(at(0, 10.0, 20.0));
        let session = gps.begin();
        // A hundredth of a degree along a meridian: 1112 m in 100 s.
        gps.add(at(100, 10.01, 20.0));
        let position = gps.end(session).unwrap();
        assert!((position.distance_m - 1111.95).abs() < 0.1, "{position:?}");
        assert!((position.speed_mps.unwrap() - 11.12).abs() < 0.01, "{position:?}");
        assert_eq!((position.bounds, position.fixes), ([10.0, 20.0, 10.01, 20.0], 2));
        assert_eq!(gps.end(session), None);
        let track = gps.take_track(RunId(1), || RecordId::new(0, RunId(1))).unwrap();
        assert_eq!(track.fixes.len(), 2);
        assert!(gps.take_track(RunId(1), || RecordId::new(1, RunId(1))).is_none());
    }

    #[test]
    fn places() {
        assert_eq!("/run/gpsd.sock".parse(), Ok(GpsPlace::Unix("/run/gpsd.sock".into())));
        assert!("localhost:2947".parse::<GpsPlace>().is_ok() && "localhost".parse::<GpsPlace>().is_err());
    }
}
