//! The same protection for everything.

use std::time::Duration;

use hawser_policy::{
    ErasureCode, MAX_REPAIR_SYMBOLS, MAX_SOURCE_SYMBOLS, ParameterInfo, Parameters, PolicyInfo, Protection,
    ProtectionPolicy, ProtectionView,
};

use super::{RepairPath, code_parameter, read_code};

/// What can be set of [`FixedProtection`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixedProtectionParameters {
    /// Repair symbols for each source symbol.
    pub rate: f64,
    /// Source symbols of a block or window.
    pub block: u16,
    /// The code.
    pub code: ErasureCode,
    /// How long a block waits to be full.
    pub span: Duration,
    /// Layers of the application's frames that are protected, from 0 on; data without frames is of layer 0.
    pub layers: u32,
    /// The path of the repair symbols.
    pub path: RepairPath,
}

impl Default for FixedProtectionParameters {
    fn default() -> Self {
        FixedProtectionParameters {
            rate: 0.1,
            block: 20,
            code: ErasureCode::ReedSolomon,
            span: Duration::from_millis(10),
            layers: u32::MAX,
            path: RepairPath::Own,
        }
    }
}

impl FixedProtectionParameters {
    pub(crate) fn read(parameters: &Parameters) -> Self {
        FixedProtectionParameters {
            rate: parameters.number("rate"),
            block: parameters.integer("block") as u16,
            code: read_code(parameters),
            span: parameters.duration("span"),
            layers: u32::try_from(parameters.integer("layers")).unwrap_or(u32::MAX),
            path: RepairPath::read(parameters),
        }
    }
}

/// Repair symbols at a fixed rate, whatever is lost.
#[derive(Clone, Copy, Debug)]
pub struct FixedProtection(FixedProtectionParameters);

impl FixedProtection {
    /// With these parameters.
    pub fn new(parameters: FixedProtectionParameters) -> Self {
        FixedProtection(parameters)
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        let default = FixedProtectionParameters::default();
        PolicyInfo::new("fixed", "repair symbols at a fixed rate")
            .parameter(
                ParameterInfo::number("rate", 0.01..=1.0, default.rate)
                    .meaning("repair symbols per source symbol; with xor it is one per block"),
            )
            .parameter(
                ParameterInfo::integer("block", 1..=u64::from(MAX_SOURCE_SYMBOLS), default.block.into())
                    .unit("packets")
                    .meaning("source symbols of a block or window; losses in bursts want long ones, deadlines short ones"),
            )
            .parameter(code_parameter())
            .parameter(span_parameter(default.span))
            .parameter(
                ParameterInfo::integer("layers", 1..=u64::from(u32::MAX), default.layers.into())
                    .meaning("so many layers of the application's frames are protected, the lowest first"),
            )
            .parameter(RepairPath::parameter())
    }
}

pub(super) fn span_parameter(default: Duration) -> ParameterInfo {
    ParameterInfo::duration("span", Duration::from_millis(1)..=Duration::from_secs(1), default)
        .meaning("how long a block waits to be full")
}

/// Repair symbols of a block of `block` at this rate.
pub(super) fn repair_symbols(block: u16, rate: f64) -> u16 {
    // Up, but not for what multiplication left behind the point.
    let exact = f64::from(block) * rate;
    ((exact - 1e-9).ceil() as u16).clamp(1, MAX_REPAIR_SYMBOLS)
}

impl ProtectionPolicy for FixedProtection {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn protect(&mut self, view: &ProtectionView<'_>) -> Option<Protection> {
        let FixedProtectionParameters { rate, block, code, span, layers, path } = self.0;
        (view.segment.layer < layers).then(|| {
            Protection::new(code, block, repair_symbols(block, rate), span)
                .with(|protection| protection.path = path.choose(view))
        })
    }
}
