//! Both directions of a link in seven columns, as a rule every 100 ms.

use hawser_link::{MILLISECOND, Nanos, Series};

use crate::lines::Source;
use crate::{DirectionTrace, LinkTrace, RateTrace, Trace, TraceError};

/// The columns.
const COLUMNS: [&str; 7] = ["ul_Mbps", "dl_Mbps", "ul_ms", "dl_ms", "ul_loss", "dl_loss", "t_ms"];
/// How long the last line holds if it is the only one.
const STEP: Nanos = 100 * MILLISECOND;

/// Whether these are the names of the columns.
pub(super) fn is_header(words: &[&str]) -> bool {
    words.len() == COLUMNS.len()
        && words.iter().zip(COLUMNS).all(|(word, column)| word.trim_matches('"').eq_ignore_ascii_case(column))
}

/// One direction while it is read.
#[derive(Default)]
struct Columns {
    rate: Vec<(Nanos, u64)>,
    delay: Vec<(Nanos, Nanos)>,
    loss: Vec<(Nanos, f64)>,
}

impl Columns {
    fn finish(self) -> DirectionTrace {
        DirectionTrace {
            rate: Series::new(self.rate, None).ok().map(RateTrace::Steps),
            delay: Series::new(self.delay, None).ok(),
            loss: Series::new(self.loss, None).ok(),
            ..DirectionTrace::default()
        }
    }
}

/// Reads the seven columns; a line with their names may come first.
pub(super) fn parse(source: Source<'_>, name: &str) -> Result<Trace, TraceError> {
    let (mut up, mut down) = (Columns::default(), Columns::default());
    let (mut start, mut step) = (None, STEP);
    for (index, line) in source.lines().enumerate() {
        let words = line.words();
        if index == 0 && is_header(&words) {
            continue;
        }
        let Ok([up_rate, down_rate, up_delay, down_delay, up_loss, down_loss, time]) =
            <[&str; 7]>::try_from(words)
        else {
            let found = line.words().len();
            return Err(line.error(format!("expected 7 columns ({}), found {found}", COLUMNS.join(","))));
        };
        let stamp = line.time(time, "t_ms", MILLISECOND)?;
        let begin = *start.get_or_insert(stamp);
        let before = up.rate.last().map(|point| point.0 + begin);
        if before.is_some_and(|before| stamp <= before) {
            return Err(line.error(format!("t_ms is {time}, not later than in the line before")));
        }
        step = before.map_or(step, |before| stamp - before);
        let at = stamp - begin;
        up.rate.push((at, line.rate(up_rate, "ul_Mbps")?));
        down.rate.push((at, line.rate(down_rate, "dl_Mbps")?));
        up.delay.push((at, line.delay(up_delay, "ul_ms")?));
        down.delay.push((at, line.delay(down_delay, "dl_ms")?));
        up.loss.push((at, line.probability(up_loss, "ul_loss")?));
        down.loss.push((at, line.probability(down_loss, "dl_loss")?));
    }
    let Some(&(last, _)) = up.rate.last() else { return Err(source.empty()) };
    let mut link = LinkTrace::new(name);
    (link.up, link.down) = (up.finish(), down.finish());
    Ok(Trace { name: name.to_owned(), links: vec![link], duration: last + step, notes: Vec::new() })
}
