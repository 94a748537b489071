use hawser_policy::{Ack, Loss, Sent, Time};

/// A monitor interval: what was sent at one rate, and what came of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    began: Time,
    ended: Option<Time>,
    first: u64,
    last: u64,
    packets: u64,
    bytes: u64,
    lost: u64,
    line: Line,
}

/// What an interval shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    /// Mbit/s that were sent.
    pub(super) rate: f64,
    /// dRTT/dt, seconds per second.
    pub(super) slope: f64,
    /// Share of the bytes that were lost.
    pub(super) loss: f64,
}

/// Sums of a line of least squares through round-trip times over the times of sending, both in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    n: f64,
    t: f64,
    rtt: f64,
    tt: f64,
    t_rtt: f64,
}

impl Line {
    fn add(&mut self, t: f64, rtt: f64) {
        self.n += 1.0;
        self.t += t;
        self.rtt += rtt;
        self.tt += t * t;
        self.t_rtt += t * rtt;
    }

    /// Zero where the samples do not make a line.
    fn slope(&self) -> f64 {
        let spread = self.n * self.tt - self.t * self.t;
        let slope = (self.n * self.t_rtt - self.t * self.rtt) / spread;
        if spread > 0.0 && slope.is_finite() { slope } else { 0.0 }
    }
}

impl Interval {
    /// One that begins with this packet.
    pub(super) fn begin(sent: &Sent) -> Interval {
        let mut interval = Interval {
            began: sent.now,
            ended: None,
            first: sent.packet_number,
            last: sent.packet_number,
            packets: 0,
            bytes: 0,
            lost: 0,
            line: Line::default(),
        };
        interval.add(sent);
        interval
    }

    pub(super) fn began(&self) -> Time {
        self.began
    }

    pub(super) fn packets(&self) -> u64 {
        self.packets
    }

    /// Another packet of it.
    pub(super) fn add(&mut self, sent: &Sent) {
        self.last = self.last.max(sent.packet_number);
        self.packets += 1;
        self.bytes = self.bytes.saturating_add(sent.bytes);
    }

    /// It ends with the first packet that is not part of it any more: packets are spaced, so that time then belongs to those before.
    pub(super) fn end(&mut self, now: Time) {
        self.ended = Some(now);
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    fn contains(&self, packet_number: u64) -> bool {
        (self.first..=self.last).contains(&packet_number)
    }

    /// A round-trip time, in seconds, of a packet that may be part of it.
    pub(super) fn on_rtt(&mut self, packet_number: u64, sent_at: Time, rtt: f64) {
        if self.contains(packet_number) {
            self.line.add(sent_at.since(self.began).as_secs_f64(), rtt);
        }
    }

    /// Lost packets. The seam names the oldest and the newest one of a detection: they are taken to be spread evenly between.
    pub(super) fn on_loss(&mut self, loss: &Loss) {
        let (first, last) = (self.first.max(loss.smallest_lost), self.last.min(loss.largest_lost));
        if first <= last {
            let (own, all) = ((last - first + 1) as f64, (loss.largest_lost - loss.smallest_lost + 1) as f64);
            self.lost = self.lost.saturating_add((loss.bytes as f64 * own / all) as u64).min(self.bytes);
        }
    }

    /// Whether what became of all its packets is known with this acknowledgement.
    pub(super) fn is_known(&self, ack: &Ack) -> bool {
        self.has_ended() && ack.settled > self.last
    }

    /// What it shows, if it took any time.
    pub(super) fn measured(&self) -> Option<Measured> {
        let seconds = self.ended?.since(self.began).as_secs_f64();
        if seconds <= 0.0 || self.bytes == 0 {
            return None;
        }
        Some(Measured {
            rate: self.bytes as f64 * 8e-6 / seconds,
            slope: self.line.slope(),
            loss: self.lost as f64 / self.bytes as f64,
        })
    }
}
