//! The cells of figures 3.12 and 3.13.

pub(super) const SPACING_80: &[&str] =
    &["km-80-mhz-5", "km-80-mhz-10", "km-80-mhz-15", "km-80-mhz-20", "km-80-mhz-25", "km-80-mhz-30"];
pub(super) const SPACING_100: &[&str] =
    &["km-100-mhz-5", "km-100-mhz-10", "km-100-mhz-15", "km-100-mhz-20", "km-100-mhz-25", "km-100-mhz-30"];
pub(super) const SPACING_120: &[&str] =
    &["km-120-mhz-5", "km-120-mhz-10", "km-120-mhz-15", "km-120-mhz-20", "km-120-mhz-25", "km-120-mhz-30"];
pub(super) const SPACING_150: &[&str] =
    &["km-150-mhz-5", "km-150-mhz-10", "km-150-mhz-15", "km-150-mhz-20", "km-150-mhz-25", "km-150-mhz-30"];
pub(super) const DELAYS: &[&str] =
    &["rtt-50", "rtt-100", "rtt-150", "rtt-200", "rtt-250", "rtt-300", "rtt-350", "rtt-400"];
/// Beyond 250 ms.
pub(super) const LONG_DELAYS: &[&str] = &["rtt-300", "rtt-350", "rtt-400"];

/// By spacing, bandwidths rising.
pub(super) const BY_SPACING: [&[&str]; 4] = [SPACING_80, SPACING_100, SPACING_120, SPACING_150];

/// All by bandwidth: what a claim about them is made of.
pub(super) const BANDWIDTHS: &[&str] = &[
    "km-80-mhz-5",
    "km-80-mhz-10",
    "km-80-mhz-15",
    "km-80-mhz-20",
    "km-80-mhz-25",
    "km-80-mhz-30",
    "km-100-mhz-5",
    "km-100-mhz-10",
    "km-100-mhz-15",
    "km-100-mhz-20",
    "km-100-mhz-25",
    "km-100-mhz-30",
    "km-120-mhz-5",
    "km-120-mhz-10",
    "km-120-mhz-15",
    "km-120-mhz-20",
    "km-120-mhz-25",
    "km-120-mhz-30",
    "km-150-mhz-5",
    "km-150-mhz-10",
    "km-150-mhz-15",
    "km-150-mhz-20",
    "km-150-mhz-25",
    "km-150-mhz-30",
];
