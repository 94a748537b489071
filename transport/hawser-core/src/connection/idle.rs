//! What a silent connection does: time out, keep alive, give back memory.

use std::time::Duration;

use hawser_policy::{Earliest, Side, Time};

/// After which memory of busier times is given back, if no data moved meanwhile.
const SHRINK_AFTER: Duration = Duration::from_secs(1);

/// How long a server's handshake takes at most: idle timeouts are longer for connections that rest for hours, or missing, and
/// a client that nobody knows yet is not waited for as long. A client may have to wait for coverage.
const LONGEST_ACCEPTED: Duration = Duration::from_secs(30);

/// The timers of a silent connection (RFC 9000 section 10.1).
#[derive(Debug)]
pub(crate) struct IdleTimer {
    /// The lesser of both ends' timeouts; `None`: never.
    pub(crate) timeout: Option<Duration>,
    since: Time,
    /// Whether an ack-eliciting packet left since the last one received.
    armed_by_send: bool,
    /// When a keep-alive was last sent, or would have been.
    last_keep_alive: Time,
    /// Whether memory of busier times was given back since something last arrived.
    shrunk: bool,
    /// When it was last seen that data had moved, or something arrived after memory was given back. Packets that only keep paths
    /// alive are no reason to hold memory.
    rests_since: Time,
    /// How much had moved then.
    moved: u64,
    /// When a client that waits for the rest of something asks for it next, and the pause after that.
    question: Option<(Time, Duration)>,
    /// When the handshake must be over: a peer may not be silent for longer than the timeout (a client, than [`LONGEST_ACCEPTED`]), and
    /// not busy without getting anywhere either.
    handshake_deadline: Option<Time>,
    /// The peer abandoned the last path: how long another one is waited for.
    pub(crate) no_path_deadline: Option<Time>,
}

impl IdleTimer {
    pub(crate) fn new(now: Time, side: Side, timeout: Option<Duration>) -> Self {
        let longest = match side {
            Side::Client => timeout,
            Side::Server => Some(timeout.map_or(LONGEST_ACCEPTED, |timeout| timeout.min(LONGEST_ACCEPTED))),
        };
        IdleTimer {
            timeout,
            since: now,
            armed_by_send: false,
            last_keep_alive: now,
            shrunk: false,
            rests_since: now,
            moved: 0,
            question: None,
            handshake_deadline: longest.map(|longest| now + longest),
            no_path_deadline: None,
        }
    }

    /// A packet was received and processed.
    #[inline]
    pub(crate) fn on_received(&mut self, now: Time) {
        self.since = now;
        self.armed_by_send = false;
        if self.shrunk {
            self.shrunk = false;
            self.rests_since = now;
        }
    }

    /// An ack-eliciting packet left: the first since the last one received restarts the timer.
    #[inline]
    pub(crate) fn on_ack_eliciting_sent(&mut self, now: Time) {
        if !self.armed_by_send {
            self.since = now;
            self.armed_by_send = true;
        }
    }

    /// The handshake is complete.
    pub(crate) fn on_handshake_complete(&mut self) {
        self.handshake_deadline = None;
    }

    /// When the connection ends: never in less than three probe timeouts once the handshake is complete.
    //= rfc9000-10.1-1: the idle timeout is three probe timeouts at least
    #[inline]
    pub(crate) fn deadline(&self, three_pto: Duration) -> Option<Time> {
        let silence = self.timeout.map(|timeout| self.since + timeout.max(three_pto));
        match self.handshake_deadline {
            None => silence,
            Some(end) => Some(silence.map_or(end, |silence| silence.min(end))),
        }
    }

    /// The earlier of [`deadline`](Self::deadline) and [`shrink_deadline`](Self::shrink_deadline): asked for after each packet.
    #[inline]
    pub(crate) fn next(&self, three_pto: Duration) -> Option<Time> {
        if self.handshake_deadline.is_some() || self.shrunk {
            let question = self.question.map(|(at, _)| at);
            let others = Earliest::NONE.or(self.shrink_deadline(three_pto)).or(question);
            return others.or(self.deadline(three_pto)).time();
        }
        let shrink = self.rests_since + SHRINK_AFTER.max(three_pto);
        Some(self.timeout.map_or(shrink, |timeout| shrink.min(self.since + timeout.max(three_pto))))
    }

    /// When a PING is due that keeps the connection alive.
    #[inline]
    pub(crate) fn keep_alive(&self, interval: Duration) -> Time {
        self.since.max(self.last_keep_alive) + interval
    }

    /// It was sent, or would have been.
    pub(crate) fn on_keep_alive(&mut self, now: Time) {
        self.last_keep_alive = now;
    }

    /// When an idle connection gives back memory, or looks whether it is idle.
    #[inline]
    pub(crate) fn shrink_deadline(&self, three_pto: Duration) -> Option<Time> {
        (!self.shrunk).then(|| self.rests_since + SHRINK_AFTER.max(three_pto))
    }

    /// Whether a question is due that was put off.
    pub(crate) fn is_question_due(&self, now: Time) -> bool {
        self.question.is_some_and(|(at, _)| at <= now)
    }

    /// Whether a client that misses the rest of something asks for it now: at once when data `came` since it last asked, then
    /// after pauses that double, since the answer to a question is not yet the rest.
    pub(crate) fn asks(&mut self, now: Time, came: bool) -> bool {
        let pause = match self.question {
            Some((at, _)) if !came && at > now => return false,
            Some((_, pause)) if !came => pause,
            _ => 2 * SHRINK_AFTER,
        };
        self.question = Some((now + pause, pause * 2));
        true
    }

    /// Nothing is missed any more.
    pub(crate) fn asks_no_more(&mut self) {
        self.question = None;
    }

    /// Whether memory is to be given back now; true once in each rest. `moved`: data sent, received and acknowledged so far, in any
    /// unit that grows with it.
    pub(crate) fn takes_memory_back(&mut self, now: Time, three_pto: Duration, moved: u64) -> bool {
        let is_due = |idle: &Self| idle.shrink_deadline(three_pto).is_some_and(|at| at <= now);
        if !is_due(self) {
            return false;
        }
        let before = std::mem::replace(&mut self.moved, moved);
        if self.moved != before {
            self.rests_since = self.rests_since.max(self.since);
        }
        self.shrunk = is_due(self);
        self.shrunk
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    #[test]
    fn a_server_waits_for_no_handshake_for_longer_than_half_a_minute() {
        let deadline =
            |side, timeout| IdleTimer::new(ms(0), side, timeout).deadline(Duration::from_millis(600));
        let ten_minutes = Some(Duration::from_secs(600));
        assert_eq!(deadline(Side::Server, None), Some(ms(30_000)));
        assert_eq!(deadline(Side::Server, ten_minutes), Some(ms(30_000)));
        assert_eq!(deadline(Side::Server, Some(Duration::from_secs(10))), Some(ms(10_000)));
        assert_eq!(deadline(Side::Client, ten_minutes), Some(ms(600_000)));
        let mut idle = IdleTimer::new(ms(0), Side::Server, None);
        idle.on_handshake_complete();
        assert_eq!(idle.deadline(Duration::from_millis(600)), None);
    }

    //= rfc9000-10.1-1
    #[test]
    fn only_the_first_packet_sent_since_one_was_received_restarts_the_timer() {
        let mut idle = IdleTimer::new(ms(0), Side::Client, Some(Duration::from_secs(30)));
        idle.on_handshake_complete();
        let deadline = |idle: &IdleTimer| idle.deadline(Duration::from_millis(600));
        idle.on_ack_eliciting_sent(ms(100));
        idle.on_ack_eliciting_sent(ms(200));
        assert_eq!(deadline(&idle), Some(ms(30_100)));
        idle.on_received(ms(300));
        assert_eq!(deadline(&idle), Some(ms(30_300)));
        idle.on_ack_eliciting_sent(ms(400));
        assert_eq!(deadline(&idle), Some(ms(30_400)));
        // RFC 9000 section 10.1: not before three probe timeouts are over.
        assert_eq!(idle.deadline(Duration::from_secs(40)), Some(ms(40_400)));
        idle.timeout = None;
        assert_eq!(deadline(&idle), None);
    }

    #[test]
    fn packets_do_not_prolong_a_handshake() {
        let mut idle = IdleTimer::new(ms(1_000), Side::Client, Some(Duration::from_secs(30)));
        idle.on_received(ms(20_000));
        assert_eq!(idle.deadline(Duration::from_millis(600)), Some(ms(31_000)));
        idle.on_handshake_complete();
        assert_eq!(idle.deadline(Duration::from_millis(600)), Some(ms(50_000)));
    }

    #[test]
    fn memory_is_given_back_once_in_each_silence() {
        let three_pto = Duration::from_millis(600);
        let mut idle = IdleTimer::new(ms(0), Side::Client, None);
        assert!(!idle.takes_memory_back(ms(999), three_pto, 0));
        assert!(idle.takes_memory_back(ms(1_000), three_pto, 0));
        assert!(!idle.takes_memory_back(ms(5_000), three_pto, 0));
        idle.on_received(ms(6_000));
        assert_eq!(idle.shrink_deadline(three_pto), Some(ms(7_000)));
        idle.on_received(ms(6_500));
        // Data moved until then.
        assert!(!idle.takes_memory_back(ms(7_000), three_pto, 1));
        assert_eq!(idle.shrink_deadline(three_pto), Some(ms(7_500)));
        assert!(idle.takes_memory_back(ms(7_500), three_pto, 1));
    }

    #[test]
    fn packets_that_move_no_data_do_not_hold_memory() {
        let three_pto = Duration::from_secs(3);
        let mut idle = IdleTimer::new(ms(0), Side::Client, None);
        let mut given_back = Vec::new();
        for n in 1..30 {
            let (now, moved) = (ms(n * 500), n.min(9));
            idle.on_received(now);
            if idle.takes_memory_back(now, three_pto, moved) {
                given_back.push(now);
            }
        }
        // Data last moved at 4.5 s, and was seen to have moved at 6 s.
        assert_eq!(given_back, [ms(9_000), ms(12_500)]);
    }

    #[test]
    fn what_is_next_is_the_end_of_the_connection_or_that_memory_is_given_back() {
        for timeout in [None, Some(300), Some(30_000)] {
            for three_pto in [Duration::from_millis(600), Duration::from_secs(40)] {
                let mut idle = IdleTimer::new(ms(0), Side::Client, timeout.map(Duration::from_millis));
                let mut check = |change: fn(&mut IdleTimer)| {
                    change(&mut idle);
                    let both = [idle.deadline(three_pto), idle.shrink_deadline(three_pto)];
                    assert_eq!(idle.next(three_pto), both.into_iter().flatten().min());
                };
                check(|idle| idle.on_received(ms(200)));
                check(IdleTimer::on_handshake_complete);
                check(|idle| idle.shrunk = true);
                check(|idle| idle.on_received(ms(900)));
            }
        }
    }

    #[test]
    fn questions_are_repeated_after_pauses_that_double() {
        let mut idle = IdleTimer::new(ms(0), Side::Client, None);
        idle.on_handshake_complete();
        idle.takes_memory_back(ms(1_000), Duration::ZERO, 0);
        assert!(idle.asks(ms(1_000), true));
        assert_eq!(idle.next(Duration::ZERO), Some(ms(3_000)));
        // An answer is silence again a second later.
        assert!(!idle.asks(ms(2_050), false));
        assert!(!idle.is_question_due(ms(2_999)) && idle.is_question_due(ms(3_000)));
        assert!(idle.asks(ms(3_000), false) && idle.asks(ms(7_000), false));
        assert_eq!(idle.next(Duration::ZERO), Some(ms(15_000)));
        // More came.
        assert!(idle.asks(ms(9_000), true));
        assert_eq!(idle.next(Duration::ZERO), Some(ms(11_000)));
        idle.asks_no_more();
        assert_eq!(idle.next(Duration::ZERO), None);
    }

    #[test]
    fn keep_alives_follow_silence_and_each_other() {
        let mut idle = IdleTimer::new(ms(0), Side::Client, None);
        let interval = Duration::from_secs(5);
        assert_eq!(idle.keep_alive(interval), ms(5_000));
        idle.on_keep_alive(ms(5_000));
        assert_eq!(idle.keep_alive(interval), ms(10_000));
        idle.on_received(ms(7_000));
        assert_eq!(idle.keep_alive(interval), ms(12_000));
    }
}
