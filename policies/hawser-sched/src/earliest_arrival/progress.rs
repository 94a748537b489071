//! How the acknowledgements of each path come in: whether they come at all, how fast, and how late.

use std::time::Duration;

use hawser_policy::{Command, Commands, PathId, PathView, Rate, SendView, Time};

use super::pauses::Pauses;

/// For how long a receiver may hold back the acknowledgement of a last packet (RFC 9000 section 18.2).
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);

/// More datagrams in flight than this, and acknowledgements follow without that delay: every second packet draws one,
/// and some may be lost.
const STREAMING: u64 = 8;

/// What is usual is measured again after so long, while no path is degraded.
const USUAL_PERIOD: Duration = Duration::from_secs(1);

/// A round trip is not late by less than this.
const LEAST_LATENESS: Duration = Duration::from_millis(5);

/// Acknowledged bytes are counted over one to two of these for a rate.
const RATE_SPAN: Duration = Duration::from_millis(100);

/// At the start of a flight a shorter time must do.
const SHORTEST_SPAN: Duration = Duration::from_millis(10);

/// A path that needs longer than this for what it holds, on top of its own round trip, gets no more.
const LONGEST_BACKLOG: Duration = Duration::from_millis(2_500);

/// That a path holds too much is found within this time when nothing is acknowledged meanwhile.
const BACKLOG_STEP: Duration = Duration::from_millis(10);

/// The progress of all paths.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch(Vec<Progress>);

/// The progress of one path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    path: PathId,
    /// Bytes acknowledged so far.
    acked: u64,
    /// When that last changed, or nothing was in flight.
    at: Time,
    /// When anything of the present flight was acknowledged last.
    answered: Option<Time>,
    /// When the oldest packet of the flight left, as far as that was seen, and its number; and whether the last
    /// acknowledgement was for an older one, so that packets arrive in order.
    oldest: Option<(Time, Option<u64>)>,
    in_order: bool,
    pauses: Pauses,
    /// What a round trip took, and took at most, when all was well: before this flight, or [`USUAL_PERIOD`] ago.
    expected: Duration,
    usual: Duration,
    usual_at: Option<Time>,
    /// By how much longer an acknowledgement takes that returns on this path than one that returns on the quickest, as most do.
    detour: Duration,
    meter: Meter,
    /// Mean deviation of the first round trip of a flight. Those within a flight are all alike, and tell little of how
    /// the next one will be.
    swing: Duration,
    /// Whether its acknowledgements are missing.
    silent: bool,
    /// By how much the oldest packet in flight exceeds the smoothed round-trip time, if that is unusual.
    lateness: Duration,
    /// Whether it holds more than it delivers within [`LONGEST_BACKLOG`].
    clogged: bool,
    /// All is well until then, unless an acknowledgement or a loss comes: most decisions ask in between.
    well_until: Time,
    /// What is in flight is being copied to another path.
    alarm: Option<Alarm>,
    /// When it was asked whether it lives, since it fell silent.
    asked: Option<Time>,
    /// It is in an announced break; true once what was sent before should be acknowledged.
    on_break: Option<bool>,
}

/// Copies of what is in flight on a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alarm {
    pub(super) since: Time,
    /// Bytes of which copies were ordered.
    pub(super) ordered: u64,
}

/// Counts acknowledged bytes over the last one to two [`RATE_SPAN`]s of a flight.
#[derive(Clone, Copy, Debug, Default)]
struct Meter(Option<[(Time, u64); 2]>);

impl Meter {
    fn note(&mut self, now: Time, acked: u64, answers: bool) {
        match &mut self.0 {
            Some([before, last]) if now >= last.0 + RATE_SPAN => (*before, *last) = (*last, (now, acked)),
            // The first round trip of a flight says nothing of a rate.
            None if answers => self.0 = Some([(now, acked); 2]),
            _ => {}
        }
    }

    /// Whether what is in flight takes longer than `longest` at the rate of the last moments, if that is known.
    fn takes_longer(&self, now: Time, path: &PathView, longest: Duration) -> bool {
        let Some([(since, before), _]) = self.0.filter(|[(since, _), _]| now >= *since + RATE_SPAN) else {
            return false;
        };
        // By products: every acknowledgement asks, and the rate itself and the time would each be a division.
        let (span, acked) = (now.since(since).as_nanos(), path.bytes_acked.saturating_sub(before));
        u128::from(path.bytes_in_flight) * span > u128::from(acked) * longest.as_nanos()
    }

    /// When the next period begins, once the first one has.
    fn next(&self) -> Option<Time> {
        self.0.map(|[_, (last, _)]| last + RATE_SPAN)
    }

    fn rate(&self, now: Time, acked: u64, least: Duration) -> Option<Rate> {
        let [(since, before), _] = self.0?;
        let span = now.since(since);
        (span >= least).then(|| Rate::from_bytes_over(acked.saturating_sub(before), span))
    }
}

impl Progress {
    fn new(path: &PathView, now: Time) -> Self {
        Progress {
            path: path.id,
            acked: path.bytes_acked,
            at: now,
            answered: None,
            oldest: None,
            in_order: true,
            pauses: Pauses::default(),
            expected: Duration::ZERO,
            usual: Duration::ZERO,
            usual_at: None,
            detour: Duration::ZERO,
            meter: Meter::default(),
            swing: Duration::ZERO,
            silent: false,
            lateness: Duration::ZERO,
            clogged: false,
            well_until: Time::ZERO,
            alarm: None,
            asked: None,
            on_break: None,
        }
    }

    /// Records what was acknowledged; returns true if the path is degraded.
    #[inline]
    fn update(&mut self, view: &SendView<'_>, path: &PathView, shortest_silence: Duration) -> bool {
        let now = view.now;
        let Some(sent) = path.oldest_in_flight.filter(|_| path.bytes_in_flight > 0) else {
            self.settle(path, now);
            return false;
        };
        let answers = self.acked != path.bytes_acked;
        if now >= self.well_until || (!answers && self.oldest != Some((sent, path.oldest_packet))) {
            self.look(view, path, sent, shortest_silence);
            return self.is_amiss();
        }
        // Most decisions follow an acknowledgement that came when it was to be expected.
        if answers {
            self.on_answer(path, sent, now);
        }
        false
    }

    /// The oldest packet in flight was sent at `sent`.
    fn look(&mut self, view: &SendView<'_>, path: &PathView, sent: Time, shortest_silence: Duration) {
        let now = view.now;
        if self.usual_at.is_none() {
            // Control frames leave without the scheduler being asked, and so unseen.
            self.at = self.at.max(sent);
        }
        let answers = self.acked != path.bytes_acked;
        self.meter.note(now, path.bytes_acked, answers);
        let is_old = self.usual_at.is_none_or(|at| self.alarm.is_none() && now >= at + USUAL_PERIOD);
        if is_old {
            // How the first round trips of flights differ says nothing of one that lasts: an outage amid it would count as usual for good.
            let swing = if self.usual_at.is_none() { self.swing } else { Duration::ZERO };
            let tolerance = path.rtt_variance.max(swing).saturating_mul(4).max(LEAST_LATENESS);
            self.expected = path.smoothed_rtt;
            let quickest =
                view.paths.iter().filter(|other| other.has_rtt_sample).map(|other| other.smoothed_rtt).min();
            self.detour =
                quickest.map_or(Duration::ZERO, |quickest| path.smoothed_rtt.saturating_sub(quickest));
            (self.usual, self.usual_at) = (path.smoothed_rtt.saturating_add(tolerance), Some(now));
        }
        if answers {
            self.note_pause(path, now, shortest_silence);
            self.on_answer(path, sent, now);
        } else {
            self.oldest = Some((sent, path.oldest_packet));
            self.silent =
                now > self.at + shortest_silence && now > self.silent_at(path, sent, shortest_silence);
        }
        let is_late = now > self.overdue_at(path, sent);
        self.lateness =
            if is_late { now.since(sent).saturating_sub(path.smoothed_rtt) } else { Duration::ZERO };
        // Little's law: where nothing changes, what is in flight takes a round-trip time.
        let longest = path.min_rtt.saturating_add(LONGEST_BACKLOG);
        self.clogged = self.meter.takes_longer(now, path, longest);
        self.well_until = if self.is_amiss() { now } else { self.well_until(sent, now, shortest_silence) };
    }

    /// Something of the flight was acknowledged since it was asked last.
    #[inline]
    fn on_answer(&mut self, path: &PathView, sent: Time, now: Time) {
        if self.answered.is_none() {
            self.learn_swing(path, now);
        }
        (self.acked, self.at, self.answered, self.silent) = (path.bytes_acked, now, Some(now), false);
        self.asked = None;
        // Those of a burst left at the same moment.
        let oldest = Some((sent, path.oldest_packet));
        self.in_order = self.oldest != oldest;
        self.oldest = oldest;
    }

    /// The first acknowledgement of a flight has come. An outage is not usual, however long it was.
    fn learn_swing(&mut self, path: &PathView, now: Time) {
        let Some((sent, _)) = self.oldest.filter(|_| self.usual_at.is_some()) else { return };
        let age = now.since(sent);
        let late = age.saturating_sub(self.expected).saturating_sub(held_back(path));
        let deviation = late.max(self.expected.saturating_sub(age)).min(self.expected);
        self.swing = (self.swing.saturating_mul(3).saturating_add(deviation)) / 4;
    }

    /// For how long nothing of the flight was acknowledged until now.
    fn note_pause(&mut self, path: &PathView, now: Time, shortest_silence: Duration) {
        // A sender that sends nothing for a while hears nothing a round trip later: that is no pause of the path's.
        let due = self.oldest.map_or(self.at, |(sent, _)| self.at.max(sent + path.smoothed_rtt));
        // What is twice as long is silence in any case, and an outage is not usual, however long it was.
        let pause = now.since(due).min(path.probe_timeout / 2);
        self.pauses.note(pause, now, path.smoothed_rtt, shortest_silence);
    }

    /// The earliest moment at which it may be silent, late or clogged, or at which a pause counts, a rate or the usual round
    /// trip is measured again.
    fn well_until(&self, sent: Time, now: Time, shortest_silence: Duration) -> Time {
        let least_pause = shortest_silence / 2;
        let (Some(usual_at), Some(rate)) = (self.usual_at, self.meter.next()) else { return now };
        if self.pauses.longest() > least_pause {
            return now;
        }
        let news = rate.min(usual_at + USUAL_PERIOD).min(now + BACKLOG_STEP);
        let news = self.pauses.settles_at(shortest_silence).map_or(news, |settles| settles.min(news));
        news.min(self.at + least_pause).min(sent + self.usual)
    }

    /// Nothing is in flight.
    fn settle(&mut self, path: &PathView, now: Time) {
        if self.oldest.is_some() {
            let (pauses, swing, on_break) = (self.pauses, self.swing, self.on_break);
            *self = Progress { pauses, swing, on_break, ..Progress::new(path, now) };
        }
        (self.acked, self.at) = (path.bytes_acked, now);
    }

    /// When its acknowledgements are due and have been missing for twice as long as in recent round trips. A probe timeout is
    /// later by far on a path whose delay just grew, as that of a fading radio link does before it goes.
    fn silent_at(&self, path: &PathView, sent: Time, shortest_silence: Duration) -> Time {
        let quiet_since = self.at;
        let expected = sent
            + self
                .usual
                .max(path.smoothed_rtt.saturating_add(LEAST_LATENESS))
                .saturating_add(held_back(path));
        let missing = expected.max(quiet_since + self.pauses.longest().saturating_mul(2));
        missing.min(quiet_since + path.probe_timeout).max(quiet_since + shortest_silence)
    }

    /// When it will be found silent or late at the earliest.
    fn next_look(&self, path: &PathView, sent: Time, now: Time, shortest_silence: Duration) -> Option<Time> {
        let overdue = Some(self.overdue_at(path, sent)).filter(|at| *at > now);
        // No silence is shorter: usually that settles it.
        if let Some(overdue) = overdue.filter(|at| *at <= self.at + shortest_silence) {
            return Some(overdue);
        }
        let silent = Some(self.silent_at(path, sent, shortest_silence)).filter(|at| *at > now);
        let certain = self.certain_at(path, sent).filter(|at| *at > now);
        overdue.into_iter().chain(silent).chain(certain).min()
    }

    /// When the oldest packet in flight is later than usual.
    fn overdue_at(&self, path: &PathView, sent: Time) -> Time {
        sent + self.usual.saturating_add(held_back(path))
    }

    /// Whether the oldest packet may be late only because its acknowledgement returns on its own path: one that was held back does, when
    /// a quicker one was not heard from meanwhile.
    pub(super) fn is_doubtful(&self, path: &PathView, now: Time) -> bool {
        let certain = path.oldest_in_flight.and_then(|sent| self.certain_at(path, sent));
        certain.is_some_and(|at| now <= at)
    }

    /// When there is no such doubt any more, if there is one.
    fn certain_at(&self, path: &PathView, sent: Time) -> Option<Time> {
        (!streams(path)).then(|| self.overdue_at(path, sent) + self.detour)
    }
}

/// Whether more packets follow soon, so that acknowledgements are not held back.
fn streams(path: &PathView) -> bool {
    path.bytes_in_flight > STREAMING * u64::from(path.max_datagram_size)
}

/// For how long the acknowledgement of a last packet may be held back.
fn held_back(path: &PathView) -> Duration {
    if streams(path) { Duration::ZERO } else { MAX_ACK_DELAY }
}

impl Watch {
    /// Records what was acknowledged; returns true if any path is degraded.
    pub(crate) fn note(&mut self, view: &SendView<'_>, shortest_silence: Duration) -> bool {
        let mut amiss = false;
        for (at, path) in view.paths.iter().enumerate() {
            // Both are in order of id, and nearly always the same paths.
            let at = match self.0.get(at) {
                Some(progress) if progress.path == path.id => at,
                _ => self.place_of(path, view.now),
            };
            if let Some(progress) = self.0.get_mut(at) {
                amiss |= progress.update(view, path, shortest_silence);
            }
        }
        amiss
    }

    /// Where it is; a path that is new is added.
    #[inline(never)]
    fn place_of(&mut self, path: &PathView, now: Time) -> usize {
        self.0.iter().position(|progress| progress.path == path.id).unwrap_or_else(|| {
            self.0.push(Progress::new(path, now));
            self.0.len() - 1
        })
    }

    pub(crate) fn forget(&mut self, path: PathId) {
        self.0.retain(|progress| progress.path != path);
    }

    pub(super) fn of(&self, path: PathId) -> Option<&Progress> {
        self.0.iter().find(|progress| progress.path == path)
    }

    pub(super) fn of_mut(&mut self, path: PathId) -> Option<&mut Progress> {
        self.0.iter_mut().find(|progress| progress.path == path)
    }

    /// Has paths that are silent asked whether they live, once per round trip, where the detour is later by more than half a round
    /// trip: what is sent elsewhere meanwhile would not tell.
    pub(super) fn ask(&mut self, view: &SendView<'_>, commands: &mut Commands) {
        let answering = view.preferred().filter(|path| !self.is_avoided(path));
        let Some(detour) = answering.map(|path| path.smoothed_rtt).min() else { return };
        let is_nearer = |path: &&PathView| detour.saturating_sub(path.smoothed_rtt) > path.smoothed_rtt / 2;
        for path in view.preferred().filter(is_nearer) {
            let Some(progress) = self.of_mut(path.id).filter(|progress| progress.silent) else { continue };
            if progress.asked.is_none_or(|at| view.now.since(at) >= path.smoothed_rtt) {
                progress.asked = Some(view.now);
                commands.push(Command::Ping { path: path.id });
            }
        }
    }

    /// Says that a path is in an announced break, and whether what was sent before it should be acknowledged; or that it is over.
    pub(super) fn set_break(&mut self, path: PathId, on_break: Option<bool>) {
        if let Some(progress) = self.of_mut(path) {
            progress.on_break = on_break;
        }
    }

    /// Whether others are to be preferred to the path.
    pub(crate) fn is_avoided(&self, path: &PathView) -> bool {
        self.of(path.id).is_some_and(Progress::is_avoided)
    }

    /// How many are silent, and how many hold too much.
    pub(super) fn counts(&self) -> (usize, usize) {
        let count = |what: fn(&Progress) -> bool| self.0.iter().filter(|path| what(path)).count();
        (count(Progress::is_silent), count(Progress::is_clogged))
    }

    /// By how much what is sent now will be later than round trips tell.
    pub(super) fn lateness(&self, path: &PathView) -> Duration {
        self.of(path.id).map_or(Duration::ZERO, |progress| progress.lateness)
    }

    /// When a path will be found silent or late at the earliest, unless it answers.
    pub(crate) fn next_look(&self, view: &SendView<'_>, shortest_silence: Duration) -> Option<Time> {
        if view.paths.len() < 2 {
            return None;
        }
        let looks = view.preferred().filter_map(|path| {
            let progress = self.of(path.id)?;
            let sent = path.oldest_in_flight.filter(|_| path.bytes_in_flight > 0)?;
            progress.next_look(path, sent, view.now, shortest_silence)
        });
        // Strictly after the moment at which it is still in time.
        looks.min().map(|at| at + Duration::from_nanos(1))
    }
}

impl Progress {
    fn is_avoided(&self) -> bool {
        let is_late = self.alarm.is_some() && self.lateness > Duration::ZERO;
        self.silent || self.clogged || is_late || self.on_break.is_some()
    }

    fn is_amiss(&self) -> bool {
        self.silent || self.clogged || self.alarm.is_some() || self.lateness != Duration::ZERO
    }

    pub(super) fn alarm(&self) -> Option<Alarm> {
        self.alarm
    }

    /// Copies of what is in flight are ordered from now on, or no longer.
    pub(super) fn set_alarm(&mut self, alarm: Option<Alarm>) {
        (self.alarm, self.well_until) = (alarm, Time::ZERO);
    }

    pub(super) fn is_silent(&self) -> bool {
        self.silent || self.on_break == Some(true)
    }

    /// Whether it holds more than it delivers within seconds.
    pub(super) fn is_clogged(&self) -> bool {
        self.clogged
    }

    /// By how much the oldest packet exceeds the smoothed round-trip time; zero while that is not unusual.
    pub(super) fn lateness(&self) -> Duration {
        self.lateness
    }

    /// How long the oldest packet in flight will take yet, if its round trip is an ordinary one.
    pub(super) fn time_left(&self, path: &PathView, now: Time) -> Duration {
        let age = path.oldest_in_flight.map_or(Duration::ZERO, |sent| now.since(sent));
        path.smoothed_rtt.saturating_sub(age)
    }

    /// How the path fares with what is in flight.
    pub(super) fn pace(&self, path: &PathView, now: Time) -> Pace {
        let last = self.answered.zip(path.oldest_in_flight);
        match last.map(|(answered, sent)| answered > self.overdue_at(path, sent)) {
            Some(true) if !self.in_order => Pace::Hole,
            None | Some(false) if self.lateness > Duration::ZERO => Pace::Quiet,
            _ => match self.meter.rate(now, path.bytes_acked, SHORTEST_SPAN) {
                Some(rate) => Pace::Steady(rate),
                None => Pace::Unknown,
            },
        }
    }
}

/// How a path fares with what is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// Nothing was acknowledged since the oldest packet became late.
    Quiet,
    /// Younger packets were acknowledged since: the oldest ones are probably lost.
    Hole,
    /// Packets arrive in order, at this rate.
    Steady(Rate),
    /// Too little was acknowledged yet.
    Unknown,
}
