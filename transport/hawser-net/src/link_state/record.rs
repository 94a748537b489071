//! One line of a source of link states (`docs/links.md`).

use std::time::Duration;

use hawser_policy::{
    AttachmentPoint, Forecast, HandOver, LinkCandidate, LinkDirection, LinkState, MAX_LINK_CANDIDATES, Rate,
    Signal, Time,
};
use serde::Deserialize;

/// How long a line holds that does not say so itself.
pub(super) const DEFAULT_VALIDITY: Duration = Duration::from_secs(10);
/// The longest that a line may hold.
const MAX_VALIDITY: Duration = Duration::from_secs(3_600);
/// The most forecasts of a line.
const MAX_FORECASTS: usize = 16;
/// The longest time that a line may name, in milliseconds: a day.
const MAX_MILLIS: f64 = 86_400_000.0;

/// Why a line is ignored.
#[derive(Debug, thiserror::Error)]
pub(super) enum LineError {
    #[error("{0}")]
    Json(String),
    #[error("expected {expected} for `{field}`, found {found}")]
    Range { field: &'static str, expected: &'static str, found: f64 },
    #[error("{count} {what}, at most {most} are possible")]
    TooMany { what: &'static str, count: usize, most: usize },
    #[error("`{0}` is no access point: expected six bytes such as 02:00:5e:10:00:01")]
    AccessPoint(String),
}

impl From<serde_json::Error> for LineError {
    fn from(error: serde_json::Error) -> Self {
        // The text ends in "at line 1 column C": each line is parsed for itself.
        let text = error.to_string();
        let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
        LineError::Json(format!("{reason} (column {})", error.column()))
    }
}

/// When a line was read, and how old it was then unless it says so itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) now: Time,
    /// The machine's clock at `now`, since 1970.
    pub(super) unix: Duration,
    pub(super) age: Duration,
}

/// What a line says of a link.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record {
    /// As the line names it.
    pub(super) link: String,
    pub(super) expires: Time,
    pub(super) state: LinkState,
    pub(super) forecasts: Vec<Forecast>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    link: String,
    #[serde(default = "is_up")]
    up: bool,
    #[serde(default)]
    uplink: DirectionText,
    #[serde(default)]
    downlink: DirectionText,
    #[serde(default)]
    signal: SignalText,
    attached_to: Option<PointText>,
    channel: Option<u32>,
    hand_over: Option<HandOverText>,
    #[serde(default)]
    candidates: Vec<CandidateText>,
    position: Option<[f64; 3]>,
    #[serde(default)]
    forecasts: Vec<ForecastText>,
    time: Option<f64>,
    valid_ms: Option<f64>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct DirectionText {
    bps: Option<f64>,
    loss: Option<f64>,
    delay_ms: Option<f64>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct SignalText {
    dbm: Option<f64>,
    snr_db: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum PointText {
    Cell(u64),
    AccessPoint(String),
    Satellite(u64),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HandOverText {
    in_ms: f64,
    to: Option<PointText>,
    interruption_ms: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CandidateText {
    point: PointText,
    #[serde(default)]
    signal: SignalText,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ForecastText {
    in_ms: f64,
    #[serde(default = "is_up")]
    up: bool,
    #[serde(default)]
    uplink: DirectionText,
    #[serde(default)]
    downlink: DirectionText,
    attached_to: Option<PointText>,
    deviation_bps: Option<f64>,
}

fn is_up() -> bool {
    true
}

impl Record {
    /// Reads a line. `None`: it no longer holds.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn read(text: &[u8], reading: Reading) -> Result<Option<Record>, LineError> {
        let line: Line = serde_json::from_slice(text)?;
        if line.candidates.len() > MAX_LINK_CANDIDATES {
            let count = line.candidates.len();
            return Err(LineError::TooMany { what: "candidates", count, most: MAX_LINK_CANDIDATES });
        }
        if line.forecasts.len() > MAX_FORECASTS {
            let count = line.forecasts.len();
            return Err(LineError::TooMany { what: "forecasts", count, most: MAX_FORECASTS });
        }
        let age = match line.time {
            Some(time) => reading.unix.saturating_sub(unix_time(time)?),
            None => reading.age,
        };
        let validity = match line.valid_ms {
            Some(valid) => millis("valid_ms", valid)?.min(MAX_VALIDITY),
            None => DEFAULT_VALIDITY,
        };
        // Times in the line count from when it was written.
        let after = |duration: Duration| reading.now + duration.saturating_sub(age);
        let mut state = LinkState::default();
        state.is_up = line.up;
        state.uplink = line.uplink.read()?;
        state.downlink = line.downlink.read()?;
        state.signal = line.signal.read()?;
        state.attached_to = line.attached_to.map(PointText::read).transpose()?;
        state.channel = line.channel;
        state.hand_over = line.hand_over.map(|text| text.read(after)).transpose()?;
        state.candidates = line.candidates.into_iter().map(CandidateText::read).collect::<Result<_, _>>()?;
        state.position = line.position;
        let forecasts = line.forecasts.into_iter().map(|text| text.read(after));
        let mut forecasts = forecasts.collect::<Result<Vec<_>, _>>()?;
        forecasts.sort_by_key(|forecast| forecast.at);
        let record = Record { link: line.link, expires: after(validity), state, forecasts };
        Ok((age < validity).then_some(record))
    }
}

impl DirectionText {
    fn read(self) -> Result<LinkDirection, LineError> {
        let rate = |bps| {
            let bps = within("bps", bps, 0.0, 1e15, "0 to 10^15 bit/s")?;
            Ok::<_, LineError>(Rate::from_bits_per_second(bps as u64))
        };
        let mut direction = LinkDirection::default();
        direction.capacity = self.bps.map(rate).transpose()?;
        direction.loss = self.loss.map(|loss| within("loss", loss, 0.0, 1.0, "0 to 1")).transpose()?;
        direction.delay = self.delay_ms.map(|delay| millis("delay_ms", delay)).transpose()?;
        Ok(direction)
    }
}

impl SignalText {
    fn read(self) -> Result<Signal, LineError> {
        let decibels = |field| move |value| within(field, value, -300.0, 300.0, "-300 to 300");
        let mut signal = Signal::default();
        signal.strength_dbm = self.dbm.map(decibels("dbm")).transpose()?;
        signal.snr_db = self.snr_db.map(decibels("snr_db")).transpose()?;
        Ok(signal)
    }
}

impl PointText {
    fn read(self) -> Result<AttachmentPoint, LineError> {
        match self {
            PointText::Cell(number) => Ok(AttachmentPoint::Cell(number)),
            PointText::Satellite(number) => Ok(AttachmentPoint::Satellite(number)),
            PointText::AccessPoint(text) => match bssid(&text) {
                Some(bssid) => Ok(AttachmentPoint::AccessPoint(bssid)),
                None => Err(LineError::AccessPoint(text)),
            },
        }
    }
}

impl HandOverText {
    fn read(self, after: impl Fn(Duration) -> Time) -> Result<HandOver, LineError> {
        let interruption = self.interruption_ms.map(|length| millis("interruption_ms", length));
        let mut hand_over = HandOver::new(after(millis("in_ms", self.in_ms)?));
        hand_over.to = self.to.map(PointText::read).transpose()?;
        hand_over.interruption = interruption.transpose()?;
        Ok(hand_over)
    }
}

impl CandidateText {
    fn read(self) -> Result<LinkCandidate, LineError> {
        Ok(LinkCandidate { point: self.point.read()?, signal: self.signal.read()? })
    }
}

impl ForecastText {
    fn read(self, after: impl Fn(Duration) -> Time) -> Result<Forecast, LineError> {
        let deviation = self
            .deviation_bps
            .map(|bps| within("deviation_bps", bps, 0.0, 1e15, "0 to 10^15 bit/s"))
            .transpose()?;
        let mut state = LinkState::default();
        state.is_up = self.up;
        state.uplink = self.uplink.read()?;
        state.downlink = self.downlink.read()?;
        state.attached_to = self.attached_to.map(PointText::read).transpose()?;
        let forecast = Forecast::new(after(millis("in_ms", self.in_ms)?), state);
        Ok(forecast.with(|forecast| forecast.capacity_deviation = deviation))
    }
}

fn within(
    field: &'static str,
    value: f64,
    low: f64,
    high: f64,
    expected: &'static str,
) -> Result<f64, LineError> {
    if (low..=high).contains(&value) {
        Ok(value)
    } else {
        Err(LineError::Range { field, expected, found: value })
    }
}

fn millis(field: &'static str, value: f64) -> Result<Duration, LineError> {
    let value = within(field, value, 0.0, MAX_MILLIS, "0 to 86,400,000 ms (a day)")?;
    Ok(Duration::from_secs_f64(value / 1e3))
}

fn unix_time(seconds: f64) -> Result<Duration, LineError> {
    within("time", seconds, 0.0, 1e11, "seconds since 1970").map(Duration::from_secs_f64)
}

fn bssid(text: &str) -> Option<[u8; 6]> {
    let mut bytes = [0; 6];
    let mut parts = text.split([':', '-']);
    for byte in &mut bytes {
        let part = parts.next().filter(|part| part.len() == 2)?;
        *byte = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(bytes)
}
