//! HLS with low latency (RFC 8216 and its second edition): segments and their parts in memory, made as long as somebody asks
//! for them.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hawser_media::mp4::{Part, SegmentEvent, Segmenter};
use tokio::sync::Notify;

use super::formats::made_at_ms;
use super::hub::{Hub, Next};
use super::sink::AFTER_END;

/// The name of the playlist among the pieces.
pub(super) const PLAYLIST: &str = "playlist.m3u8";
const PLAYLIST_TYPE: &str = "application/vnd.apple.mpegurl";
const PIECE_TYPE: &str = "video/mp4";
/// Milliseconds of a part, and the most that the playlist promises: parts end with a picture.
const PART_MS: u32 = 400;
const PART_TARGET: f64 = 0.5;
/// Segments that are kept, and those of which parts are listed.
const MAX_SEGMENTS: usize = 8;
const WITH_PARTS: usize = 3;
/// Bytes that are kept.
const MAX_BYTES: usize = 64 << 20;
/// Parts of a segment at most: one of ten seconds has 25.
const MAX_PARTS: usize = 64;
/// How long nobody asks before nothing is made any more.
const IDLE: Duration = Duration::from_secs(30);
/// How long a request waits: for the first segment, and for a part that is to come.
const FIRST: Duration = Duration::from_secs(12);
const BLOCKED: Duration = Duration::from_secs(6);

/// The segments of one stream.
pub(super) struct Hls {
    hub: Arc<Hub>,
    state: Mutex<State>,
    /// A part has come, or the stream has ended.
    news: Notify,
}

#[derive(Default)]
struct State {
    /// With which addresses of pieces begin.
    name: String,
    is_running: bool,
    asked_at: Option<Instant>,
    /// What decoders need, under the number with which segments name it.
    headers: VecDeque<(u64, Bytes)>,
    segments: VecDeque<Segment>,
    /// The number of the next segment, and the discontinuities among those that are no longer kept.
    next: u64,
    discontinuities: u64,
    is_over: bool,
}

struct Segment {
    number: u64,
    header: u64,
    /// Whether its times or decoders do not go on from the segment before.
    is_new: bool,
    is_complete: bool,
    /// When the encoder made its first picture, milliseconds since 1970.
    made_at: u64,
    parts: Vec<Part>,
}

impl Segment {
    fn seconds(&self) -> f64 {
        self.parts.iter().map(|part| f64::from(part.duration)).sum::<f64>() / 1e3
    }

    fn size(&self) -> usize {
        self.parts.iter().map(|part| part.bytes.len()).sum()
    }
}

impl Hls {
    /// Of the stream with this name.
    pub(super) fn new(name: String, hub: Arc<Hub>) -> Arc<Self> {
        let state = Mutex::new(State { name, ..State::default() });
        Arc::new(Hls { hub, state, news: Notify::new() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The playlist or a piece, with its media type; `None` if it is not there, or did not come in time.
    pub(super) async fn answer(self: &Arc<Self>, piece: &str, query: &str) -> Option<(&'static str, Bytes)> {
        self.begin();
        if piece == PLAYLIST {
            let awaited = awaited(query);
            let patience = if awaited.is_some() { BLOCKED } else { FIRST };
            let is_there = |state: &State| match awaited {
                Some((number, part)) => state.has(number, part) || state.is_over,
                // A player that knows no parts begins with a whole segment.
                None => state.segments.iter().any(|segment| segment.is_complete),
            };
            let found = self.wait(patience, is_there).await;
            let state = self.lock();
            return (found || !state.segments.is_empty() && awaited.is_some())
                .then(|| (PLAYLIST_TYPE, state.playlist().into()));
        }
        let name = piece.strip_suffix(".mp4").or_else(|| piece.strip_suffix(".m4s"))?;
        if let Some(number) = name.strip_prefix("init-") {
            let number: u64 = number.parse().ok()?;
            let state = self.lock();
            let header = state.headers.iter().find(|(found, _)| *found == number)?;
            return Some((PIECE_TYPE, header.1.clone()));
        }
        let (number, part) = match name.split_once('.') {
            Some((number, part)) => (number.parse().ok()?, Some(part.parse().ok()?)),
            None => (name.parse().ok()?, None),
        };
        // The part that the playlist said would come next.
        self.wait(BLOCKED, |state| state.has(number, part) || number > state.next + 1).await;
        self.lock().piece(number, part).map(|bytes| (PIECE_TYPE, bytes))
    }

    /// Waits until something is there; returns whether it is.
    async fn wait(&self, patience: Duration, is_there: impl Fn(&State) -> bool) -> bool {
        let waiting = async {
            loop {
                let mut news = std::pin::pin!(self.news.notified());
                news.as_mut().enable();
                if is_there(&self.lock()) {
                    return;
                }
                news.await;
            }
        };
        tokio::time::timeout(patience, waiting).await.is_ok()
    }

    /// Begins to make segments, if nobody does.
    fn begin(self: &Arc<Self>) {
        let mut state = self.lock();
        state.asked_at = Some(Instant::now());
        if !std::mem::replace(&mut state.is_running, true) {
            tokio::spawn(self.clone().run());
        }
    }

    /// Makes segments until nobody has asked for a while.
    async fn run(self: Arc<Self>) {
        let mut subscription = self.hub.subscribe();
        let mut segmenter = Segmenter::new(PART_MS);
        let mut has_ended = false;
        // What was made before somebody asked again does not go on.
        let mut is_new = true;
        loop {
            let next = tokio::time::timeout(AFTER_END.min(IDLE), subscription.next()).await;
            if self.lock().asked_at.is_none_or(|at| at.elapsed() > IDLE) {
                let mut state = self.lock();
                state.is_running = false;
                state.clear();
                return;
            }
            match next {
                Ok(Next::Unit(unit)) => {
                    has_ended = false;
                    let made_at = made_at_ms(&unit);
                    for event in segmenter.push(&unit.tag) {
                        self.lock().take(event, made_at, &mut is_new);
                    }
                }
                Ok(Next::End) => has_ended = true,
                Err(_) if has_ended && !self.lock().is_over => {
                    let mut state = self.lock();
                    if let Some(part) = segmenter.finish() {
                        state.take(SegmentEvent::Part(part), 0, &mut is_new);
                    }
                    state.finish();
                    is_new = true;
                }
                Err(_) => {}
            }
            self.news.notify_waiters();
        }
    }
}

/// The segment and part for which a player waits (`_HLS_msn`, `_HLS_part`).
pub(super) fn awaited(query: &str) -> Option<(u64, Option<usize>)> {
    let value = |wanted: &str| {
        query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .find(|(name, _)| *name == wanted)
            .map(|(_, value)| value)
    };
    let number = value("_HLS_msn")?.parse().ok()?;
    Some((number, value("_HLS_part").and_then(|part| part.parse().ok())))
}

impl State {
    fn clear(&mut self) {
        self.discontinuities += self.segments.iter().filter(|segment| segment.is_new).count() as u64;
        self.segments.clear();
        self.headers.clear();
    }

    fn take(&mut self, event: SegmentEvent, made_at: u64, is_new: &mut bool) {
        match event {
            SegmentEvent::Header(_, bytes) => {
                if std::mem::take(&mut self.is_over) {
                    self.clear();
                }
                self.headers.push_back((self.next, bytes));
                *is_new = true;
                if let Some(last) = self.segments.back_mut() {
                    last.is_complete = true;
                }
            }
            SegmentEvent::Part(part) => {
                if part.starts_segment || self.segments.is_empty() {
                    self.begin_segment(made_at.saturating_sub(part.duration.into()), std::mem::take(is_new));
                }
                if let Some(segment) =
                    self.segments.back_mut().filter(|segment| segment.parts.len() < MAX_PARTS)
                {
                    segment.parts.push(part);
                }
            }
        }
    }

    fn begin_segment(&mut self, made_at: u64, is_new: bool) {
        if let Some(last) = self.segments.back_mut() {
            last.is_complete = true;
        }
        let Some((header, _)) = self.headers.back() else { return };
        let (number, header) = (self.next, *header);
        self.segments.push_back(Segment {
            number,
            header,
            is_new,
            is_complete: false,
            made_at,
            parts: Vec::new(),
        });
        self.next += 1;
        let size = |state: &State| state.segments.iter().map(Segment::size).sum::<usize>();
        while self.segments.len() > MAX_SEGMENTS || (self.segments.len() > 2 && size(self) > MAX_BYTES) {
            let gone = self.segments.pop_front();
            self.discontinuities += u64::from(gone.is_some_and(|gone| gone.is_new));
        }
        let oldest = self.segments.front().map_or(0, |segment| segment.header);
        self.headers.retain(|(number, _)| *number >= oldest);
    }

    fn finish(&mut self) {
        if let Some(last) = self.segments.back_mut() {
            last.is_complete = true;
        }
        self.is_over = true;
    }

    /// The address of a piece as the playlist names it, which lies one level above.
    fn uri(&self, piece: &str) -> String {
        format!("{}/{piece}", self.name)
    }

    fn has(&self, number: u64, part: Option<usize>) -> bool {
        let Some(first) = self.segments.front() else { return false };
        number < first.number
            || self.segments.iter().any(|segment| match part {
                Some(part) if segment.number == number => segment.is_complete || segment.parts.len() > part,
                Some(_) => segment.number > number,
                None => segment.number >= number && segment.is_complete,
            })
    }

    fn piece(&self, number: u64, part: Option<usize>) -> Option<Bytes> {
        let segment = self.segments.iter().find(|segment| segment.number == number)?;
        match part {
            Some(part) => Some(segment.parts.get(part)?.bytes.clone()),
            None if !segment.is_complete => None,
            None => {
                let parts: Vec<&[u8]> = segment.parts.iter().map(|part| &part.bytes[..]).collect();
                Some(parts.concat().into())
            }
        }
    }

    fn playlist(&self) -> String {
        let complete = self.segments.iter().filter(|segment| segment.is_complete);
        let longest = complete.map(|segment| segment.seconds().ceil() as u64).max().unwrap_or(0).max(2);
        let parts = self.segments.iter().flat_map(|segment| &segment.parts);
        let part = parts.map(|part| f64::from(part.duration) / 1e3).fold(PART_TARGET, f64::max);
        let first = self.segments.front().map_or(self.next, |segment| segment.number);
        let mut text = format!(
            "#EXTM3U\n#EXT-X-VERSION:9\n#EXT-X-TARGETDURATION:{longest}\n#EXT-X-INDEPENDENT-SEGMENTS\n\
             #EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK={:.3}\n#EXT-X-PART-INF:PART-TARGET={part:.3}\n\
             #EXT-X-MEDIA-SEQUENCE:{first}\n#EXT-X-DISCONTINUITY-SEQUENCE:{}\n",
            3.0 * part,
            self.discontinuities
        );
        let mut header = None;
        let with_parts = self.segments.len().saturating_sub(WITH_PARTS);
        for (at, segment) in self.segments.iter().enumerate() {
            if segment.is_new && at > 0 {
                text.push_str("#EXT-X-DISCONTINUITY\n");
            }
            if header.replace(segment.header) != Some(segment.header) {
                let _ = writeln!(
                    text,
                    "#EXT-X-MAP:URI=\"{}\"",
                    self.uri(&format!("init-{}.mp4", segment.header))
                );
            }
            let _ = writeln!(text, "#EXT-X-PROGRAM-DATE-TIME:{}", date(segment.made_at));
            let parts = segment.parts.iter().enumerate().filter(|_| at >= with_parts && !self.is_over);
            for (index, part) in parts {
                let uri = self.uri(&format!("{}.{index}.m4s", segment.number));
                let independent = if part.is_independent { ",INDEPENDENT=YES" } else { "" };
                let seconds = f64::from(part.duration) / 1e3;
                let _ = writeln!(text, "#EXT-X-PART:DURATION={seconds:.3},URI=\"{uri}\"{independent}");
            }
            if segment.is_complete {
                let uri = self.uri(&format!("{}.m4s", segment.number));
                let _ = writeln!(text, "#EXTINF:{:.3},\n{uri}", segment.seconds());
            }
        }
        match self.segments.back() {
            _ if self.is_over => text.push_str("#EXT-X-ENDLIST\n"),
            Some(last) => {
                let (number, part) =
                    if last.is_complete { (self.next, 0) } else { (last.number, last.parts.len()) };
                let uri = self.uri(&format!("{number}.{part}.m4s"));
                let _ = writeln!(text, "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"{uri}\"");
            }
            None => {}
        }
        text
    }
}

/// A time as RFC 3339 has it (the calendar's arithmetic is that of proleptic Gregorian days from 1970).
pub(super) fn date(milliseconds: u64) -> String {
    let (days, rest) = (milliseconds / 86_400_000, milliseconds % 86_400_000);
    // Years begin in March, so that the day that is left out comes last.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + era * 400 + u64::from(month <= 2);
    let (seconds, fraction) = (rest / 1_000, rest % 1_000);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_calendars_have_them() {
        assert_eq!(date(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(date(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(date(1_785_542_399_999), "2026-07-31T23:59:59.999Z");
    }

    fn part(starts_segment: bool, start: u64) -> SegmentEvent {
        let bytes = Bytes::from_static(b"part");
        SegmentEvent::Part(Part {
            starts_segment,
            is_independent: starts_segment,
            start,
            duration: 400,
            bytes,
        })
    }

    fn header() -> SegmentEvent {
        SegmentEvent::Header(Default::default(), Bytes::from_static(b"header"))
    }

    /// A state with so many segments of five parts.
    fn filled(segments: u64) -> State {
        let (mut state, mut is_new) = (State { name: "cam".to_owned(), ..State::default() }, true);
        state.take(header(), 0, &mut is_new);
        for at in 0..segments * 5 {
            state.take(part(at % 5 == 0, at * 400), at * 400, &mut is_new);
        }
        state
    }

    #[test]
    fn a_playlist_names_whole_segments_and_the_parts_of_the_last_ones() {
        let state = filled(4);
        let text = state.playlist();
        assert_eq!(text.matches("#EXTINF:2.000,\n").count(), 3);
        assert_eq!(text.matches("#EXT-X-PART:").count(), 15);
        assert!(
            text.contains("#EXT-X-MAP:URI=\"cam/init-0.mp4\"") && text.contains("\ncam/2.m4s\n"),
            "{text}"
        );
        assert!(text.ends_with("#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"cam/3.5.m4s\"\n"), "{text}");
        assert_eq!(state.piece(2, None).unwrap(), "partpartpartpartpart");
        assert_eq!((state.piece(3, None), state.piece(3, Some(4)).is_some()), (None, true));
        assert!(state.has(2, None) && state.has(3, Some(4)) && !state.has(3, Some(5)) && !state.has(3, None));
        assert_eq!(awaited("_HLS_msn=7&_HLS_part=2"), Some((7, Some(2))));
        assert_eq!((awaited("_HLS_msn=7"), awaited("x=1")), (Some((7, None)), None));
    }

    #[test]
    fn old_segments_go_and_another_set_up_is_a_discontinuity() {
        let mut state = filled(20);
        assert_eq!((state.segments.len(), state.segments[0].number), (MAX_SEGMENTS, 12));
        assert!(state.playlist().contains("#EXT-X-MEDIA-SEQUENCE:12\n"));
        assert!(state.playlist().contains("#EXT-X-DISCONTINUITY-SEQUENCE:1\n"));
        let mut is_new = false;
        state.take(header(), 0, &mut is_new);
        state.take(part(true, 0), 0, &mut is_new);
        let text = state.playlist();
        assert!(text.contains("#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI=\"cam/init-20.mp4\""), "{text}");
        state.finish();
        assert!(state.playlist().ends_with("#EXT-X-ENDLIST\n"));
    }
}
