use super::super::Gains;
use super::super::phase::Phase;

/// Whose rules hold where the versions differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// BBRv2, and BBRv2+ on top of it.
    V2,
    /// draft-ietf-ccwg-bbr.
    V3,
}

/// What a mark of explicit congestion notification means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EcnResponse {
    /// Nothing, as in the thesis.
    Ignored,
    /// The same as a lost packet (RFC 3168).
    Classic,
    /// A cut in proportion to the share of marks (BBRv2).
    Proportional,
}

/// Constants of a member of the family.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rules {
    pub(crate) name: &'static str,
    pub(crate) version: Version,
    pub(crate) ecn: EcnResponse,
    pub(crate) startup_pacing: f64,
    pub(crate) startup_window: f64,
    pub(crate) drain_pacing: f64,
    pub(crate) up: Gains,
    pub(crate) down_pacing: f64,
    /// BBRv2+.
    pub(crate) down_slight_pacing: f64,
    /// BBRv2+.
    pub(crate) try_pacing: f64,
    pub(crate) window: f64,
    /// Share of loss that is too much (alpha).
    pub(crate) loss_threshold: f64,
    /// What a lossy round trip takes of the lower bounds.
    pub(crate) beta: f64,
    /// Share of `inflight_hi` that is left to others.
    pub(crate) headroom: f64,
    /// Startup: places of loss in a round trip that end it.
    pub(crate) full_loss_count: u32,
    pub(crate) probe_rtt_gain: f64,
    /// Seconds between probes, and what is added to them at random.
    pub(crate) wait: [f64; 2],
    /// Round trips between probes at most, for the sake of Reno.
    pub(crate) reno_rounds: u64,
}

impl Rules {
    /// BBRv2 as in Linux, v2alpha of November 2019.
    pub(crate) const V2: Rules = Rules {
        name: "bbr2",
        version: Version::V2,
        ecn: EcnResponse::Ignored,
        startup_pacing: 2.885,
        startup_window: 2.885,
        drain_pacing: 1.0 / 2.885,
        up: Gains { pacing: 1.25, window: 2.0 },
        down_pacing: 0.75,
        down_slight_pacing: 0.9,
        try_pacing: 1.1,
        window: 2.0,
        loss_threshold: 0.02,
        beta: 0.3,
        headroom: 0.15,
        full_loss_count: 8,
        probe_rtt_gain: 0.5,
        wait: [2.0, 1.0],
        reno_rounds: 63,
    };

    /// draft-ietf-ccwg-bbr: sections 5.6.1 (gains), 5.3.1.3 and 5.5.10.
    pub(crate) const V3: Rules = Rules {
        name: "bbr3",
        version: Version::V3,
        ecn: EcnResponse::Classic,
        startup_pacing: 2.77,
        startup_window: 2.0,
        drain_pacing: 0.5,
        up: Gains { pacing: 1.25, window: 2.25 },
        down_pacing: 0.9,
        full_loss_count: 6,
        ..Rules::V2
    };

    /// What holds in a phase.
    pub(crate) fn gains(&self, phase: Phase) -> Gains {
        let of = |pacing| Gains { pacing, window: self.window };
        match phase {
            Phase::Startup => Gains { pacing: self.startup_pacing, window: self.startup_window },
            Phase::Drain => Gains { pacing: self.drain_pacing, window: self.startup_window },
            Phase::Up => self.up,
            Phase::Down => of(self.down_pacing),
            Phase::DownSlight => of(self.down_slight_pacing),
            Phase::Try1 => of(self.try_pacing),
            Phase::Cruise | Phase::Refill | Phase::Try2 | Phase::PostUp | Phase::ProbeRtt => of(1.0),
        }
    }

    pub(crate) fn window_gain(&self, phase: Phase) -> f64 {
        self.gains(phase).window
    }
}
