//! How often a coded packet is sent, and of what.

use std::time::Duration;

use hawser_policy::{
    ErasureCode, MAX_REPAIR_SYMBOLS, MAX_SOURCE_SYMBOLS, PathState, PathView, PolicyInfo, Protection,
    ProtectionPolicy, ProtectionView,
};

use super::{SOURCE, Sedpf, margin_parameter};
use crate::arrival::paced_rate;
use crate::placement::datagram;

/// How long after a packet the next coded one is sent although not as many packets followed as it waits for: so many times
/// as long as these take at the present rates.
const PATIENCE: u32 = 2;

/// The bounds of that.
const SHORTEST: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_millis(500);

/// SEDPF's streaming code (Karzand, Leith, Cloud, Medard: Design of FEC for low delay in 5G, IEEE JSAC 2017): after every
/// [`sedpf_source_symbols`] packets with data, over all paths, a coded packet follows, a random linear combination over
/// GF(2^8) of the packets that are not acknowledged. Losses are those measured on the paths, weighted by their rates.
///
/// A combination has [`MAX_SOURCE_SYMBOLS`] packets at most, the newest ones; the paper bounds it by acknowledgements alone.
#[derive(Clone, Copy, Debug)]
pub struct SedpfProtection {
    margin: f64,
}

/// After how many packets with data a coded one follows: `ceil(1 / (1 - R)) - 1` at a code rate of `R = 1 - (loss + margin)`, where
/// `loss` and `margin` are shares; 1 to [`MAX_SOURCE_SYMBOLS`].
pub fn sedpf_source_symbols(loss: f64, margin: f64) -> u16 {
    let coded = (loss + margin).clamp(0.0, 1.0);
    // Rates are whole bit/s, and losses weighted by them not exact: 20 must not become 20.0000001.
    let packets = (1.0 / coded - 1e-6).ceil() - 1.0;
    packets.clamp(1.0, MAX_SOURCE_SYMBOLS.into()) as u16
}

impl SedpfProtection {
    /// With a share of coded packets beyond the share that is lost.
    pub fn new(margin: f64) -> Self {
        SedpfProtection { margin }
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        PolicyInfo::new(
            Sedpf::NAME,
            "after every few packets of all paths a coded one, as often as losses ask for",
        )
        .source(SOURCE)
        .parameter(margin_parameter())
    }
}

/// Bytes per second that a path carries as it uses its window.
fn rate(path: &PathView) -> f64 {
    paced_rate(path).bits_per_second() as f64 / 8.0
}

impl ProtectionPolicy for SedpfProtection {
    fn name(&self) -> &'static str {
        Sedpf::NAME
    }

    fn protect(&mut self, view: &ProtectionView<'_>) -> Option<Protection> {
        let packet = view.own().map(datagram)?;
        let usable = || view.paths.iter().filter(|path| path.state == PathState::Active);
        let together: f64 = usable().map(rate).sum();
        let lost: f64 = usable().map(|path| rate(path) * f64::from(path.loss_ppm) / 1e6).sum();
        let loss = if together > 0.0 { lost / together } else { 0.0 };
        let spacing = sedpf_source_symbols(loss, self.margin);
        let in_flight = usable().fold(0_u64, |sum, path| sum.saturating_add(path.bytes_in_flight));
        // A window begins with each coded packet: so many reach as far back as what is not acknowledged.
        let most = (MAX_SOURCE_SYMBOLS / spacing).min(MAX_REPAIR_SYMBOLS);
        let windows = in_flight.div_ceil(packet * u64::from(spacing)).clamp(1, most.into()) as u16;
        let time = f64::from(spacing) * packet as f64 / together.max(1.0);
        let span = Duration::from_secs_f64(time.min(LONGEST.as_secs_f64())) * PATIENCE;
        Some(
            Protection::new(
                ErasureCode::RandomLinear,
                spacing * windows,
                windows,
                span.clamp(SHORTEST, LONGEST),
            )
            .with(|protection| protection.across_paths = true),
        )
    }
}
