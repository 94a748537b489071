//! The first record of a trace (draft-ietf-quic-qlog-main-schema-14 section 5).

use std::fmt;
use std::time::Duration;

use hawser_policy::Side;
use hawser_wire::ConnectionId;

use super::json::Json;
use crate::connection::qlog::QlogAddresses;

/// What a trace may contain. The second is of our own making: the states of paths, and `path_id` as a member of events
/// about packets, recovery and tuples.
const EVENT_SCHEMAS: [&str; 2] =
    ["urn:ietf:params:qlog:events:quic-13", "urn:x-hawser:qlog:events:multipath"];

/// Facts about the trace as a whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header<'a> {
    pub(super) title: &'a str,
    pub(super) side: Side,
    /// What the client's first Initial was sent to: the same in the traces of both ends.
    pub(super) original_destination: ConnectionId,
    /// The time of day when the trace began, since 1970, if it is known.
    pub(super) began: Option<Duration>,
    /// How addresses are written.
    pub(super) addresses: QlogAddresses,
}

impl Header<'_> {
    pub(super) fn write(&self, json: &mut Json) {
        json.object(|json| {
            json.text("file_schema", "urn:ietf:params:qlog:file:sequential");
            json.text("serialization_format", "application/qlog+json-seq");
            // Earlier drafts' names for the same, which qvis still asks for.
            json.text("qlog_version", "0.4");
            json.text("qlog_format", "JSON-SEQ");
            json.text("title", self.title);
            json.member("trace", |json| self.write_trace(json));
        });
    }

    fn write_trace(&self, json: &mut Json) {
        if self.addresses == QlogAddresses::Redacted {
            json.text("description", "addresses are replaced by those of networks for documentation");
        }
        json.member("common_fields", |json| {
            json.hex("group_id", self.original_destination.as_bytes());
            json.text("time_format", "relative_to_epoch");
            json.member("reference_time", |json| {
                json.text("clock_type", "monotonic");
                json.text("epoch", "unknown");
                if let Some(began) = self.began {
                    json.plain("wall_clock_time", format_args!("{}", DateTime(began)));
                }
            });
        });
        json.member("vantage_point", |json| {
            json.text("name", "hawser");
            json.text("type", if self.side.is_client() { "client" } else { "server" });
        });
        json.array("event_schemas", |json| {
            EVENT_SCHEMAS.iter().for_each(|schema| json.text_element(schema));
        });
    }
}

/// Time since 1970 as a date and time of day in UTC (RFC 3339).
pub(super) struct DateTime(pub(super) Duration);

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let (year, month, day) = date(seconds / 86_400);
        let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        let millis = self.0.subsec_millis();
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
    }
}

/// The Gregorian date so many days after 1970-01-01.
fn date(days: u64) -> (u64, u64, u64) {
    // Years are counted from March, so that the leap day is the last, and in eras of 400 years, which are all alike.
    const DAYS_TO_1970: u64 = 719_468;
    const DAYS_PER_ERA: u64 = 146_097;
    let days = days + DAYS_TO_1970;
    let (era, day_of_era) = (days / DAYS_PER_ERA, days % DAYS_PER_ERA);
    let leap_days = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let months_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * months_from_march + 2) / 5 + 1;
    let month = if months_from_march < 10 { months_from_march + 3 } else { months_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}
