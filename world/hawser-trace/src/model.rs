//! What a trace says, whatever format it came in.

use hawser_link::{Direction, MILLISECOND, Nanos, OutagePolicy, SECOND, Series};

/// Bytes that one chance of a mahimahi trace carries.
pub const PACKET_BYTES: u64 = 1500;
/// Width of the intervals in which delivery chances are counted to get a rate.
const CHANCE_BIN: Nanos = 100 * MILLISECOND;

/// What several links did at the same time.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Name, as a rule of the file.
    pub name: String,
    /// The links, each name once.
    pub links: Vec<LinkTrace>,
    /// Time that the trace covers.
    pub duration: Nanos,
    /// What a reader has to know: what was assumed, what was left out.
    pub notes: Vec<String>,
}

/// What one link did.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkTrace {
    /// Its name.
    pub name: String,
    /// Client to server.
    pub up: DirectionTrace,
    /// Server to client.
    pub down: DirectionTrace,
    /// What happened to it, in the order of time.
    pub events: Vec<Event>,
}

/// What one direction of a link did; what was not measured is absent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DirectionTrace {
    /// What it could carry.
    pub rate: Option<RateTrace>,
    /// One-way delay without queueing, ns.
    pub delay: Option<Series<Nanos>>,
    /// Probability that a packet is lost.
    pub loss: Option<Series<f64>>,
    /// Times `[from, to)` without service, sorted, not overlapping.
    pub outages: Vec<(Nanos, Nanos)>,
    /// What becomes of packets in that time.
    pub outage_policy: OutagePolicy,
    /// Room before the link, bytes.
    pub queue: Option<u64>,
}

/// What a direction could carry.
#[derive(Debug, Clone, PartialEq)]
pub enum RateTrace {
    /// Times in ms at which [`PACKET_BYTES`] could leave, not decreasing, the last above 0; they start again
    /// after the last.
    Chances(Vec<u32>),
    /// Bit/s.
    Steps(Series<u64>),
}

/// Something that happened to a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// When it began.
    pub from: Nanos,
    /// When it ended; the same for something without duration.
    pub to: Nanos,
    /// What it was.
    pub kind: EventKind,
}

/// What happened to a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// It changed its cell or satellite.
    HandOver,
    /// It has used this radio technology from now on.
    Technology(String),
}

/// A time in which a value does not change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Piece {
    /// Begin.
    pub from: Nanos,
    /// End (exclusive), later than the begin.
    pub to: Nanos,
    /// The value: bit/s, ns or a probability.
    pub value: f64,
}

impl Piece {
    /// Length in ns.
    pub fn length(&self) -> Nanos {
        self.to - self.from
    }
}

impl LinkTrace {
    /// A link of which nothing is known.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            up: DirectionTrace::default(),
            down: DirectionTrace::default(),
            events: Vec::new(),
        }
    }

    /// One direction.
    pub fn direction(&self, direction: Direction) -> &DirectionTrace {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }

    /// One direction, to change it.
    pub(crate) fn direction_mut(&mut self, direction: Direction) -> &mut DirectionTrace {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }

    /// The directions that differ, with the words for them: `both` when they are the same.
    pub fn directions(&self) -> Vec<(&'static str, &DirectionTrace)> {
        if self.up == self.down {
            return vec![("both", &self.down)];
        }
        vec![("down", &self.down), ("up", &self.up)]
    }

    /// The handovers.
    pub fn hand_overs(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(|event| event.kind == EventKind::HandOver)
    }
}

impl DirectionTrace {
    /// Whether anything was measured; outages alone do not count.
    pub fn is_measured(&self) -> bool {
        self.rate.is_some() || self.delay.is_some() || self.loss.is_some()
    }

    /// What it could carry over time, outages counted as zero: bit/s, in pieces that cover `0..duration`.
    /// None if the rate was not measured. Delivery chances are counted per 100 ms.
    pub fn service(&self, duration: Nanos) -> Option<Vec<Piece>> {
        Some(cut_outages(self.rates(duration, CHANCE_BIN)?, &self.outages))
    }

    /// The rate alone, whatever outages there are: bit/s, in pieces that cover `0..duration`. Delivery chances are
    /// counted per `interval`, above zero. None if the rate was not measured.
    pub fn rates(&self, duration: Nanos, interval: Nanos) -> Option<Vec<Piece>> {
        Some(match self.rate.as_ref()? {
            RateTrace::Steps(series) => pieces(series, duration, |rate| rate as f64),
            RateTrace::Chances(chances) => binned(chances, duration, interval),
        })
    }

    /// Times without service that began before `duration`: outages, times with rate 0, and times of at least
    /// `least` between two delivery chances.
    pub fn gaps(&self, duration: Nanos, least: Nanos) -> Vec<(Nanos, Nanos)> {
        let mut gaps: Vec<(Nanos, Nanos)> = self.outages.clone();
        match &self.rate {
            None => {}
            Some(RateTrace::Steps(series)) => {
                let idle = pieces(series, duration, |rate| rate as f64);
                gaps.extend(
                    idle.iter().filter(|piece| piece.value == 0.0).map(|piece| (piece.from, piece.to)),
                );
            }
            Some(RateTrace::Chances(chances)) => {
                let mut before = 0;
                for time in repeated(chances, duration).chain([duration]) {
                    if time >= before + least {
                        gaps.push((before, time));
                    }
                    before = time;
                }
            }
        }
        gaps.retain(|gap| gap.0 < duration);
        gaps.iter_mut().for_each(|gap| gap.1 = gap.1.min(duration));
        merged(gaps)
    }

    /// The delay over time, ns.
    pub fn delays(&self, duration: Nanos) -> Option<Vec<Piece>> {
        self.delay.as_ref().map(|series| pieces(series, duration, |delay| delay as f64))
    }

    /// The loss over time.
    pub fn losses(&self, duration: Nanos) -> Option<Vec<Piece>> {
        self.loss.as_ref().map(|series| pieces(series, duration, |loss| loss))
    }
}

impl RateTrace {
    /// Mean over one repetition, or over `duration` if it does not repeat; bit/s, outages not counted.
    pub fn mean(&self, duration: Nanos) -> f64 {
        match self {
            Self::Chances(chances) => {
                let period = period_of(chances);
                (chances.len() as u64 * PACKET_BYTES * 8) as f64 / (period as f64 / SECOND as f64)
            }
            Self::Steps(series) => {
                let duration = series.period().unwrap_or(duration).max(1);
                let bits = pieces(series, duration, |rate| rate as f64);
                bits.iter().map(|piece| piece.value * piece.length() as f64).sum::<f64>() / duration as f64
            }
        }
    }
}

/// Sorts times and puts together those that touch.
pub(crate) fn merged(mut times: Vec<(Nanos, Nanos)>) -> Vec<(Nanos, Nanos)> {
    times.retain(|time| time.0 < time.1);
    times.sort_unstable();
    times.dedup_by(|next, kept| {
        let touch = next.0 <= kept.1;
        if touch {
            kept.1 = kept.1.max(next.1);
        }
        touch
    });
    times
}

/// Length of one repetition of a mahimahi trace.
pub(crate) fn period_of(chances: &[u32]) -> Nanos {
    u64::from(chances.last().copied().unwrap_or(1).max(1)) * MILLISECOND
}

/// Times of the chances of all repetitions before `duration`; one at the very end counts.
pub(crate) fn repeated(chances: &[u32], duration: Nanos) -> impl Iterator<Item = Nanos> {
    let period = period_of(chances);
    let repetitions = if chances.is_empty() { 0 } else { duration.div_ceil(period) };
    (0..repetitions)
        .flat_map(move |repetition| {
            chances.iter().map(move |&chance| repetition * period + u64::from(chance) * MILLISECOND)
        })
        .take_while(move |&time| time <= duration)
}

/// The pieces of a step function until `duration`.
fn pieces<T: Copy>(series: &Series<T>, duration: Nanos, value: impl Fn(T) -> f64) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut from = 0;
    while from < duration {
        let to = series.next_change(from).unwrap_or(duration).min(duration);
        pieces.push(Piece { from, to, value: value(series.value_at(from)) });
        from = to;
    }
    pieces
}

/// Chances counted in intervals, as bit/s. A chance at the end of an interval belongs to it, as it is what
/// this interval has led to: so the last one of the trace counts, too.
fn binned(chances: &[u32], duration: Nanos, interval: Nanos) -> Vec<Piece> {
    let bins = duration.div_ceil(interval) as usize;
    let mut counts = vec![0u64; bins];
    for time in repeated(chances, duration) {
        let bin = (time.saturating_sub(1) / interval) as usize;
        if let Some(count) = counts.get_mut(bin) {
            *count += 1;
        }
    }
    let piece = |(index, count): (usize, &u64)| {
        let from = index as u64 * interval;
        let to = (from + interval).min(duration);
        let seconds = (to - from) as f64 / SECOND as f64;
        Piece { from, to, value: (count * PACKET_BYTES * 8) as f64 / seconds }
    };
    counts.iter().enumerate().map(piece).collect()
}

/// Sets the value to zero in these times.
fn cut_outages(pieces: Vec<Piece>, outages: &[(Nanos, Nanos)]) -> Vec<Piece> {
    if outages.is_empty() {
        return pieces;
    }
    let mut cut = Vec::with_capacity(pieces.len() + 2 * outages.len());
    let mut next = 0;
    for mut piece in pieces {
        while outages.get(next).is_some_and(|outage| outage.1 <= piece.from) {
            next += 1;
        }
        // From here on only look ahead: an outage may go on in the next piece.
        for &(from, to) in outages[next..].iter().take_while(|outage| outage.0 < piece.to) {
            if from > piece.from {
                cut.push(Piece { to: from, ..piece });
                piece.from = from;
            }
            let end = to.min(piece.to);
            cut.push(Piece { to: end, value: 0.0, ..piece });
            piece.from = end;
        }
        if piece.from < piece.to {
            cut.push(piece);
        }
    }
    cut
}
