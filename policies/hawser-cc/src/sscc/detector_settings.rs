//! The numbers of the detector of shared bottlenecks, which its grouping and its vote go by.

use std::time::Duration;

use hawser_learn::{Recent, Weights};

/// Paths that are watched; more are never grouped.
pub(crate) const MAX_PATHS: usize = 16;

/// How the votes of several intervals are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Vote {
    /// At each interval over the last ten: paths are together that were in six.
    #[default]
    Sliding,
    /// Every ten intervals, from no memory (the kernel code of MPTCP-SBD): paths are together that were in five, and a path that was
    /// uncongested in five is alone.
    Tumbling,
}

/// Numbers of the detector.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DetectorSettings {
    /// Length of an interval (T).
    pub interval: Duration,
    /// Intervals that statistics run over (N).
    pub history: usize,
    /// Skewness below which a path is congested (c_s).
    pub skewness: f64,
    /// Skewness below which a path that was congested stays so (c_h).
    pub skewness_hold: f64,
    /// Groups part where crossing rates differ by this (p_f).
    pub crossing_gap: f64,
    /// Groups part where skewnesses differ by this (p_s).
    pub skewness_gap: f64,
    /// Share of the deviation within which a mean is on neither side (p_v).
    pub crossing_margin: f64,
    /// Groups part where deviations differ by this share (p_mad).
    pub deviation_gap: f64,
    /// Groups part where losses differ by this share (p_d).
    pub loss_gap: f64,
    /// Share of losses from which on a path is congested whatever its delays (p_l).
    pub loss: f64,
    /// Deviation below which a path without such losses is not congested. Hawser's: where a link has no noise all delays are
    /// equal, the skewness is zero, and a path that was congested would stay so indefinitely.
    pub least_deviation: Duration,
    /// What counts alike in skewness and deviation. Both presets: samples. With [`Weights::Intervals`], which is Hawser's, paths of one
    /// bottleneck look alike although each samples its queue at a rate of its own.
    pub weights: Weights,
    /// A shorter memory for mean, skewness and deviation, as RFC 8382 has it; the thesis has none.
    pub recent: Option<Recent>,
    /// How votes are counted.
    pub vote: Vote,
    /// How long a pair stays grouped that the votes no longer find together. Hawser's: a coupled path fills the queue less, and what
    /// it shares may go out of sight. Zero in both presets.
    pub keep: Duration,
}

impl DetectorSettings {
    /// Table 5.1 of the thesis.
    pub const THESIS: DetectorSettings = DetectorSettings {
        interval: Duration::from_millis(350),
        history: 50,
        skewness: -0.01,
        skewness_hold: 0.3,
        crossing_gap: 0.1,
        skewness_gap: 0.1,
        crossing_margin: 0.7,
        deviation_gap: 0.1,
        loss_gap: 0.1,
        loss: 0.1,
        least_deviation: Duration::from_micros(200),
        weights: Weights::Values,
        recent: None,
        vote: Vote::Sliding,
        keep: Duration::ZERO,
    };

    /// The thresholds of RFC 8382 section 2.2 where they are others. Its shorter windows M and F are [`DetectorSettings::recent`].
    pub const RFC8382: DetectorSettings =
        DetectorSettings { skewness: 0.1, skewness_gap: 0.15, loss: 0.05, ..DetectorSettings::THESIS };
}
