//! What the two ends of a measurement say to each other, without a connection, for fuzzing (feature `fuzzing`).

use hawser_lab::data::measure::{MAX_RECORD, Record};

use super::gps;
use super::protocol::{Answer, MAX_LINE, Receipt, Request};
use super::server::is_possible;
use hawser_command::lines::{Cutter, parse};
use hawser_command::report::to_json;

/// What a server is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// To measure, and whether that is possible; as it is written.
    Flow(bool, String),
    /// Records will come; as it is written.
    Upload(String),
    /// One of them.
    Record(Box<Record>),
    /// A line in its place that is no record.
    NoRecord,
}

/// The server's end of a client's stream.
#[derive(Debug, Default)]
pub struct Server {
    cutter: Cutter,
    takes_records: bool,
    /// Behind the line of a flow there is nothing to be understood.
    is_flow: bool,
}

impl Server {
    /// Bytes of the client.
    ///
    /// # Errors
    /// Why the stream ends.
    pub fn hear(&mut self, bytes: &[u8], mut heard: impl FnMut(Heard)) -> Result<(), String> {
        self.cutter.push(bytes);
        while !self.is_flow {
            let most = if self.takes_records { MAX_RECORD } else { MAX_LINE };
            let line = self.cutter.next(most).map_err(|error| error.words("measure"))?;
            let Some(line) = line else { return Ok(()) };
            if self.takes_records {
                heard(Record::read(&line).map_or(Heard::NoRecord, |record| Heard::Record(Box::new(record))));
                continue;
            }
            let request: Request = parse(&line).map_err(|error| error.words("measure"))?;
            let written = to_json(&request);
            heard(match request {
                Request::Flow(request) => {
                    self.is_flow = true;
                    Heard::Flow(is_possible(&request), written)
                }
                Request::Upload => {
                    self.takes_records = true;
                    Heard::Upload(written)
                }
            });
        }
        Ok(())
    }
}

/// What a server answers, as it is written; `None` if that is no answer.
pub fn answer(line: &[u8]) -> Option<String> {
    parse::<Answer>(line).ok().map(|answer| to_json(&answer))
}

/// What a server says of a record, as it is written; `None` if that is no receipt.
pub fn receipt(line: &[u8]) -> Option<String> {
    parse::<Receipt>(line).ok().map(|receipt| to_json(&receipt))
}

/// Where a client was on the way along the reports of gpsd: fixes, metres, and corners of the box around them. `None` without a fix.
pub fn position<'a>(reports: impl IntoIterator<Item = &'a [u8]>) -> Option<(u64, f64, [f64; 4])> {
    let position = gps::position(reports)?;
    Some((position.fixes, position.distance_m, position.bounds))
}
