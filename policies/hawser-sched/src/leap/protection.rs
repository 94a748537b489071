//! Blocks across paths, by layer.

use std::time::Duration;

use hawser_policy::{
    ErasureCode, MAX_REPAIR_SYMBOLS, MAX_SOURCE_SYMBOLS, PathState, Protection, ProtectionPolicy,
    ProtectionView, SegmentKind,
};
use smallvec::SmallVec;

use super::parameters::LeapParameters;
use super::parity::{LeapShare, leap_parity};
use super::state::Shared;

/// How long a block waits for a window that holds its layer up; the end of the layer ends it sooner.
const SPAN: Duration = Duration::from_millis(50);
/// Bytes of a datagram that are no data of the layer: headers, and what packets with protected data are shorter.
const OVERHEAD: u64 = 168;

/// Protects each layer of a frame by a block across all paths, with as many repair symbols as the requirement asks for.
pub(super) struct LeapProtection {
    shared: Shared,
    parameters: LeapParameters,
}

impl LeapProtection {
    pub(super) fn new(shared: Shared, parameters: LeapParameters) -> Self {
        LeapProtection { shared, parameters }
    }
}

impl ProtectionPolicy for LeapProtection {
    fn name(&self) -> &'static str {
        super::Leap::NAME
    }

    fn protect(&mut self, view: &ProtectionView<'_>) -> Option<Protection> {
        let segment = view.segment;
        // Without frames there are no layers; a header is retransmitted.
        if segment.kind == SegmentKind::Signalling || segment.id.is_none() {
            return None;
        }
        let datagram = view.own()?.max_datagram_size;
        let packet = u64::from(datagram).saturating_sub(OVERHEAD).max(1);
        let bytes = segment.extent.end.saturating_sub(segment.range.start);
        // A large layer has several blocks of one size.
        let packets = bytes.div_ceil(packet).max(1);
        let sources = packets.div_ceil(packets.div_ceil(MAX_SOURCE_SYMBOLS.into())) as u16;
        let usable = view.paths.iter().filter(|path| path.state == PathState::Active);
        let shares: SmallVec<[LeapShare; 4]> = usable
            .map(|path| LeapShare {
                weight: self.shared.low(path.id).unwrap_or(0.0),
                on_time: self.shared.on_time(path.id, path.min_rtt),
            })
            .collect();
        let most = MAX_REPAIR_SYMBOLS.into();
        let repairs = leap_parity(sources.into(), &shares, self.parameters.gamma, most);
        (repairs > 0).then_some(
            Protection::new(ErasureCode::ReedSolomon, sources, repairs as u16, SPAN)
                .with(|protection| protection.across_paths = true),
        )
    }
}
